//! How much a log holds. Arithmetic only.

use crate::{Bounds, ReplayError};

/// A part may take at most this fraction of the log: it must leave most of it in place.
const PARTS: u64 = 8;

/// Bytes that the server takes for a part besides its rows, about: its key, its place in the index.
pub(crate) const PART_BYTES: u64 = 256;

/// What bounds a log in Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capacity {
    pub(crate) row_bytes: u64,
    pub(crate) rows: u64,
    /// With [`PART_BYTES`] for each part.
    pub(crate) bytes: u64,
}

impl Capacity {
    /// A log of at most so many rows and bytes.
    pub(crate) fn new(row_bytes: usize, rows: u64, bytes: u64) -> Result<Self, ReplayError> {
        let row = row_bytes as u64;
        let capacity = Self { row_bytes: row, rows, bytes };
        if row == 0 || capacity.largest_part() == 0 {
            return Err(ReplayError::Settings {
                what: format!(
                    "a replay log of {rows} rows and {bytes} bytes is too small for rows of {row} bytes: it takes at least \
                     {PARTS} rows and {} bytes",
                    PARTS * (row + PART_BYTES)
                ),
            });
        }
        Ok(capacity)
    }

    /// Rows that one part may have.
    pub(crate) fn largest_part(&self) -> u64 {
        let fitting = (self.bytes / PARTS).saturating_sub(PART_BYTES) / self.row_bytes.max(1);
        (self.rows / PARTS).min(fitting)
    }

    /// Most bytes that all rows can take.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.rows.saturating_mul(self.row_bytes).min(self.bytes)
    }

    /// The bounds of a log that holds the rows from `first` to `end` in so many parts.
    pub(crate) fn bounds(&self, first: u64, end: u64, parts: u64) -> Bounds {
        Bounds { first, end, bytes: (end - first) * self.row_bytes + parts * PART_BYTES }
    }

    /// The capacity in words, as it is kept beside the rows: two logs fit if and only if these are the same.
    pub(crate) fn layout(&self) -> String {
        let Self { row_bytes, rows, bytes } = self;
        format!("format 3, rows of {row_bytes} bytes, at most {rows} rows and {bytes} bytes")
    }

    /// The capacity that a layout is of, if this program knows it.
    pub(crate) fn of_layout(layout: &str) -> Option<Self> {
        let mut numbers = layout.split(' ').filter_map(|word| word.parse().ok());
        let capacity = Self { row_bytes: numbers.next()?, rows: numbers.next()?, bytes: numbers.next()? };
        // Not each layout with three numbers is one of ours.
        (capacity.layout() == layout && capacity.row_bytes > 0).then_some(capacity)
    }

    /// Rows that the log holds when it is full of parts that are not too small.
    pub(crate) fn most_rows(&self) -> u64 {
        self.most_bytes() / self.row_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_read_back_and_one_of_another_format_is_not() {
        let capacity = Capacity::new(512, 1_000_000, 1 << 40).unwrap();
        assert_eq!(Capacity::of_layout(&capacity.layout()), Some(capacity));
        for other in ["", "format 2, rows of 4 bytes, 8 segments of 8 rows", "4 8 8", "rows"] {
            assert_eq!(Capacity::of_layout(other), None, "{other}");
        }
    }

    #[test]
    fn a_part_takes_at_most_an_eighth_of_rows_and_bytes() {
        assert_eq!(Capacity::new(64, 800, 1 << 20).unwrap().largest_part(), 100); // 800 / 8
        assert_eq!(Capacity::new(64, 1 << 40, 8 * (256 + 640)).unwrap().largest_part(), 10); // 640 / 64
    }

    #[test]
    fn a_log_that_cannot_hold_eight_rows_is_refused() {
        for (row_bytes, rows, bytes) in [(0, 100, 10_000), (64, 7, 1 << 20), (64, 100, 8 * 320 - 1)] {
            assert!(matches!(Capacity::new(row_bytes, rows, bytes), Err(ReplayError::Settings { .. })), "{row_bytes}");
        }
        assert!(Capacity::new(64, 8, 8 * 320).is_ok()); // a row and what a part takes besides, eight times
    }

    #[test]
    fn parts_count_with_what_they_take_besides_their_rows() {
        let capacity = Capacity::new(10, 100, 1 << 20).unwrap();
        assert_eq!(capacity.bounds(5, 30, 4), Bounds { first: 5, end: 30, bytes: 250 + 1024 });
        assert_eq!(capacity.most_bytes(), 1000); // 100 * 10
    }
}
