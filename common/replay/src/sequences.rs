//! Which parts have been stored: for each publisher the numbers seen, as ranges, in a memory that outlives the rows.
//!
//! What is bounded is not how far parts may overtake each other but how many gaps a publisher may leave, so a part that
//! lies on the bus while thousands of later ones are stored is still known for what it is. With a gap too many the lowest
//! is given up: whether the parts in it were stored cannot be told from then on.

use std::collections::BTreeMap;

use fogfall_proto::PartId;
use serde::{Deserialize, Serialize};

/// Gaps in a publisher's numbers that are remembered: more than any bus hands out without an answer.
pub(crate) const MAX_GAPS: usize = 4096;

/// Publishers remembered; the one silent for longest is forgotten first. Each self-play thread is one, and a new one each
/// time that its process starts: so many are ten thousand actors of four threads that start six times, in 70 MB.
pub(crate) const MAX_PUBLISHERS: usize = 1 << 18;

/// The parts stored, by publisher.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sequences {
    publishers: BTreeMap<u64, Seen>,
    /// Counts parts, to know who was silent for longest.
    clock: u64,
}

/// What is known of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It has not been noted.
    New,
    /// It has been noted.
    Noted,
    /// Nobody can tell any more.
    Forgotten,
}

/// The parts of one publisher.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// All numbers below have been seen, but for the forgotten.
    below: u64,
    /// Numbers seen above, from the first of each range to what follows its last. Neither empty nor adjacent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ranges: BTreeMap<u64, u64>,
    /// From the lowest to the highest number in a gap that was given up, and what follows it; the same if there is none.
    #[serde(default, skip_serializing_if = "is_empty")]
    forgotten: (u64, u64),
    last: u64,
}

fn is_empty(&(from, to): &(u64, u64)) -> bool {
    from == to
}

impl Seen {
    /// What was seen as somebody else has written it down.
    pub(crate) fn of(below: u64, ranges: BTreeMap<u64, u64>, forgotten: (u64, u64)) -> Self {
        Self { below, ranges, forgotten, last: 0 }
    }

    /// What is known of a number.
    pub(crate) fn state(&self, number: u64) -> Known {
        let (from, to) = self.forgotten;
        if number < self.below {
            return if (from..to).contains(&number) { Known::Forgotten } else { Known::Noted };
        }
        let range = self.ranges.range(..=number).next_back();
        if range.is_some_and(|(_, &end)| number < end) { Known::Noted } else { Known::New }
    }

    /// Adds a number that is new.
    fn add(&mut self, number: u64, most_gaps: usize) {
        // What it joins to before and behind.
        let end = self.ranges.remove(&(number + 1)).unwrap_or(number + 1);
        match self.ranges.range_mut(..number).next_back() {
            _ if number == self.below => self.below = end,
            Some((_, before)) if *before == number => *before = end,
            _ => _ = self.ranges.insert(number, end),
        }
        if self.ranges.len() > most_gaps
            && let Some((start, end)) = self.ranges.pop_first()
        {
            let from = if is_empty(&self.forgotten) { self.below } else { self.forgotten.0 };
            self.forgotten = (from, start);
            self.below = end;
        }
    }
}

impl Sequences {
    /// What is known of a part.
    pub(crate) fn state(&self, part: PartId) -> Known {
        self.publishers.get(&part.publisher).map_or(Known::New, |seen| seen.state(part.sequence))
    }

    /// Notes a part.
    pub(crate) fn insert(&mut self, part: PartId) {
        self.insert_with(part, MAX_GAPS);
    }

    /// Notes a part where so many gaps are remembered.
    pub(crate) fn insert_with(&mut self, part: PartId, most_gaps: usize) {
        self.clock += 1;
        let seen = self.publishers.entry(part.publisher).or_default();
        seen.last = self.clock;
        if seen.state(part.sequence) == Known::New {
            seen.add(part.sequence, most_gaps);
        }
        if self.publishers.len() > MAX_PUBLISHERS {
            let silent = self.publishers.iter().min_by_key(|(_, seen)| seen.last).map(|(&id, _)| id);
            self.publishers.remove(&silent.expect("more publishers than none"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(sequence: u64) -> PartId {
        PartId { publisher: 1, sequence }
    }

    fn of(numbers: impl IntoIterator<Item = u64>) -> Sequences {
        let mut sequences = Sequences::default();
        numbers.into_iter().for_each(|number| sequences.insert(part(number)));
        sequences
    }

    #[test]
    fn parts_are_known_in_any_order_and_gaps_stay_open() {
        let mut sequences = Sequences::default();
        for sequence in [0, 1, 5, 3] {
            assert_eq!(sequences.state(part(sequence)), Known::New);
            sequences.insert(part(sequence));
            assert_eq!(sequences.state(part(sequence)), Known::Noted);
        }
        assert_eq!((sequences.state(part(2)), sequences.state(part(4))), (Known::New, Known::New));
        assert_eq!(sequences.state(PartId { publisher: 2, sequence: 0 }), Known::New);
        sequences.insert(part(2));
        assert_eq!(sequences.publishers[&1].below, 4); // 0 to 3 without gaps
        assert_eq!(sequences.publishers[&1].ranges, BTreeMap::from([(5, 6)]));
        assert_eq!(of([7, 9, 8, 6, 9]).publishers[&1].ranges, BTreeMap::from([(6, 10)]));
        assert_eq!(of((1..5).chain([0])), of([4, 3, 2, 1, 0]));
    }

    #[test]
    fn a_part_that_any_number_of_others_overtake_is_still_new() {
        let sequences = of((0..200_000).filter(|number| *number != 7));
        assert_eq!((sequences.state(part(7)), sequences.state(part(8))), (Known::New, Known::Noted));
        assert_eq!(sequences.publishers[&1].ranges.len(), 1);
    }

    #[test]
    fn with_a_gap_too_many_the_lowest_is_given_up_and_nothing_else() {
        let gaps = MAX_GAPS as u64 + 2;
        let sequences = of((0..=2 * gaps).step_by(2)); // every odd part is missing: gaps 1, 3, .. 2 * gaps - 1
        let states = |numbers: [u64; 5]| numbers.map(|number| sequences.state(part(number)));
        let expected = [Known::Noted, Known::Forgotten, Known::Forgotten, Known::Forgotten, Known::Noted];
        assert_eq!(states([0, 1, 2, 3, 4]), expected); // 1 and 3 are given up, and what lies between is not told apart
        assert_eq!(sequences.state(part(5)), Known::New);
        assert_eq!(sequences.state(part(2 * gaps - 1)), Known::New);
        assert_eq!(sequences.publishers[&1].ranges.len(), MAX_GAPS);
    }

    #[test]
    fn a_snapshot_comes_back() {
        let sequences = of((0..3 * MAX_GAPS as u64).step_by(2));
        let text = serde_json::to_vec(&sequences).unwrap();
        assert_eq!(serde_json::from_slice::<Sequences>(&text).unwrap(), sequences);
    }

    #[test]
    fn the_publisher_silent_for_longest_is_forgotten_first() {
        let mut sequences = Sequences::default();
        for publisher in 0..MAX_PUBLISHERS as u64 {
            sequences.insert(PartId { publisher, sequence: 0 });
        }
        sequences.insert(PartId { publisher: 0, sequence: 1 });
        sequences.insert(PartId { publisher: u64::MAX, sequence: 0 });
        let state = |publisher| sequences.state(PartId { publisher, sequence: 0 });
        assert_eq!((state(0), state(1), state(2)), (Known::Noted, Known::New, Known::Noted));
    }
}
