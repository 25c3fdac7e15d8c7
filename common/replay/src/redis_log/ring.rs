//! Where a row lies: a ring of segments of one size. Arithmetic only.
//!
//! **Invariant:** what is held follows from where the log ends. A segment that is written to anew loses all its old
//! rows at once, so a reader of the oldest rows is disturbed once a segment, not with every part.

use crate::{Bounds, ReplayError};

/// Capacity is kept by overwriting whole segments of at most this fraction.
const SEGMENTS: u64 = 8;

/// Most bytes of a segment: with its header it fills one size class of Redis's allocator and wastes nothing.
const MAX_SEGMENT_BYTES: u64 = (2 << 20) - 64;

/// The shape of a log in Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ring {
    pub(crate) row_bytes: u64,
    pub(crate) segment_rows: u64,
    pub(crate) segments: u64,
}

/// Bytes of one segment that hold some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) segment: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Ring {
    /// The ring of as many rows as both capacities allow.
    pub(crate) fn new(row_bytes: usize, capacity_rows: u64, capacity_bytes: u64) -> Result<Self, ReplayError> {
        let row = row_bytes as u64;
        let fitting = capacity_rows.min(capacity_bytes.checked_div(row).unwrap_or(0));
        let segment_rows = (fitting / SEGMENTS).min((MAX_SEGMENT_BYTES / row.max(1)).max(1));
        if segment_rows == 0 {
            return Err(ReplayError::Settings {
                what: format!(
                    "a replay log of {capacity_rows} rows and {capacity_bytes} bytes is too small for rows of {row} bytes: \
                     it takes at least {SEGMENTS} rows and {} bytes",
                    SEGMENTS * row
                ),
            });
        }
        Ok(Self { row_bytes: row, segment_rows, segments: fitting / segment_rows })
    }

    /// Bytes of one segment.
    pub(crate) fn segment_bytes(&self) -> u64 {
        self.segment_rows * self.row_bytes
    }

    /// Rows that one part may have: it must leave most of the log in place.
    pub(crate) fn largest_part(&self) -> u64 {
        self.segment_rows * self.segments / SEGMENTS
    }

    /// What a log that ends at `end` holds.
    pub(crate) fn bounds(&self, end: u64) -> Bounds {
        let first = end.div_ceil(self.segment_rows).saturating_sub(self.segments) * self.segment_rows;
        Bounds { first, end, bytes: (end - first) * self.row_bytes }
    }

    /// Where `rows` rows from position `from` lie, in order.
    pub(crate) fn spans(&self, from: u64, rows: u64) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut at = from;
        while at < from + rows {
            let within = at % self.segment_rows;
            let count = (from + rows - at).min(self.segment_rows - within);
            let segment = at / self.segment_rows % self.segments;
            spans.push(Span { segment, offset: within * self.row_bytes, bytes: count * self.row_bytes });
            at += count;
        }
        spans
    }

    /// The layout in words, as it is kept beside the rows: two logs fit if and only if these are the same.
    pub(crate) fn layout(&self) -> String {
        let Self { row_bytes, segment_rows, segments } = self;
        format!("format 2, rows of {row_bytes} bytes, {segments} segments of {segment_rows} rows")
    }

    /// The ring that a layout is of, if this program knows it.
    pub(crate) fn of_layout(layout: &str) -> Option<Self> {
        let mut numbers = layout.split(' ').filter_map(|word| word.parse().ok());
        let (row_bytes, segments, segment_rows) = (numbers.next()?, numbers.next()?, numbers.next()?);
        // Not each layout with three numbers is one of ours.
        let ring = Self { row_bytes, segment_rows, segments };
        (ring.layout() == layout && row_bytes * segments * segment_rows > 0).then_some(ring)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_read_back_and_one_of_another_format_is_not() {
        let ring = Ring::new(512, 1_000_000, 1 << 40).unwrap();
        assert_eq!(Ring::of_layout(&ring.layout()), Some(ring));
        for other in ["", "format 1, rows of 4 bytes, 8 segments of 8 rows", "4 8 8", "rows"] {
            assert_eq!(Ring::of_layout(other), None, "{other}");
        }
    }

    #[test]
    fn a_segment_is_as_large_as_the_allocator_likes_or_an_eighth_of_the_log() {
        let ring = Ring::new(512, 1_000_000, 1 << 40).unwrap();
        assert_eq!((ring.segment_rows, ring.segments), (4095, 244)); // (2^21 - 64) / 512; 1,000,000 / 4,095
        let ring = Ring::new(64, 256, 1 << 20).unwrap();
        assert_eq!((ring.segment_rows, ring.segments), (32, 8)); // 256 / 8
        let ring = Ring::new(64, 1000, 6400).unwrap();
        assert_eq!((ring.segment_rows, ring.segments), (12, 8)); // 100 rows fit: 100 / 8, 100 / 12
        let ring = Ring::new(3 << 20, 100, 1 << 30).unwrap();
        assert_eq!((ring.segment_rows, ring.segments), (1, 100)); // a row larger than a segment likes to be
        assert_eq!(ring.largest_part(), 12); // 100 / 8
    }

    #[test]
    fn a_log_that_cannot_hold_eight_rows_is_refused() {
        for (row_bytes, rows, bytes) in [(0, 100, 100), (64, 7, 1 << 20), (64, 100, 511)] {
            assert!(matches!(Ring::new(row_bytes, rows, bytes), Err(ReplayError::Settings { .. })), "{row_bytes}");
        }
        assert!(Ring::new(64, 8, 512).is_ok());
    }

    #[test]
    fn whole_segments_leave_the_log_when_the_next_row_needs_their_place() {
        let ring = Ring { row_bytes: 2, segment_rows: 10, segments: 3 };
        assert_eq!(ring.bounds(0), Bounds { first: 0, end: 0, bytes: 0 });
        assert_eq!(ring.bounds(30), Bounds { first: 0, end: 30, bytes: 60 });
        assert_eq!(ring.bounds(31), Bounds { first: 10, end: 31, bytes: 42 });
        assert_eq!(ring.bounds(40), Bounds { first: 10, end: 40, bytes: 60 });
    }

    #[test]
    fn rows_lie_in_one_segment_after_the_other_around_the_ring() {
        let ring = Ring { row_bytes: 2, segment_rows: 10, segments: 3 };
        let spans: Vec<_> = ring.spans(18, 15).iter().map(|s| (s.segment, s.offset, s.bytes)).collect();
        assert_eq!(spans, [(1, 16, 4), (2, 0, 20), (0, 0, 6)]); // rows 18 and 19, 20 to 29, 30 to 32
        assert!(ring.spans(5, 0).is_empty());
    }
}
