//! Which parts have been stored: for each publisher the sequence numbers seen, in a window that survives the rows.
//!
//! A part is known while its number lies at most [`WINDOW`] below its publisher's highest; an older one is taken for
//! stored before. Gaps are normal (a part may be dropped as stale on the way) and are forgotten with the window.

use std::collections::{BTreeMap, BTreeSet};

use fogfall_proto::PartId;
use serde::{Deserialize, Serialize};

/// How far a publisher's parts may overtake each other. More than any bus lets be in flight.
pub(crate) const WINDOW: u64 = 4096;

/// Publishers remembered. Each start of an actor is one; the one silent for longest is forgotten first.
pub(crate) const MAX_PUBLISHERS: usize = 16_384;

/// The parts stored, by publisher.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sequences {
    publishers: BTreeMap<u64, Seen>,
    /// Counts parts, to know who was silent for longest.
    clock: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Seen {
    /// All numbers below count as seen.
    below: u64,
    /// Numbers seen above.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    above: BTreeSet<u64>,
    last: u64,
}

impl Sequences {
    /// True if the part was noted, or is too old to tell.
    pub(crate) fn contains(&self, part: PartId) -> bool {
        let seen = self.publishers.get(&part.publisher);
        seen.is_some_and(|seen| part.sequence < seen.below || seen.above.contains(&part.sequence))
    }

    /// Notes a part as stored.
    pub(crate) fn insert(&mut self, part: PartId) {
        self.clock += 1;
        let seen = self.publishers.entry(part.publisher).or_default();
        seen.last = self.clock;
        if part.sequence >= seen.below {
            seen.above.insert(part.sequence);
        }
        let highest = seen.above.last().copied().unwrap_or(0);
        if highest >= WINDOW && highest - WINDOW > seen.below {
            seen.below = highest - WINDOW;
            seen.above = seen.above.split_off(&seen.below);
        }
        while seen.above.remove(&seen.below) {
            seen.below += 1;
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

    #[test]
    fn parts_are_known_in_any_order_within_the_window_and_gaps_stay_open() {
        let mut sequences = Sequences::default();
        for sequence in [0, 1, 5, 3] {
            assert!(!sequences.contains(part(sequence)));
            sequences.insert(part(sequence));
            assert!(sequences.contains(part(sequence)));
        }
        assert!(!sequences.contains(part(2)) && !sequences.contains(part(4)));
        assert!(!sequences.contains(PartId { publisher: 2, sequence: 0 }));
        sequences.insert(part(2));
        assert_eq!(sequences.publishers[&1].below, 4); // 0 to 3 without gaps
        assert_eq!(sequences.publishers[&1].above, BTreeSet::from([5]));
    }

    #[test]
    fn a_gap_older_than_the_window_counts_as_stored_and_memory_stays_bounded() {
        let mut sequences = Sequences::default();
        for sequence in (1..20_000).step_by(2) {
            sequences.insert(part(sequence)); // every even part is missing
        }
        assert!(!sequences.contains(part(19_998))); // 19,999 - 4,096 = 15,903
        assert!(!sequences.contains(part(15_904)));
        assert!(sequences.contains(part(15_902)));
        assert!(sequences.publishers[&1].above.len() <= WINDOW as usize);
    }

    #[test]
    fn the_publisher_silent_for_longest_is_forgotten_first() {
        let mut sequences = Sequences::default();
        for publisher in 0..MAX_PUBLISHERS as u64 {
            sequences.insert(PartId { publisher, sequence: 0 });
        }
        sequences.insert(PartId { publisher: 0, sequence: 1 });
        sequences.insert(PartId { publisher: u64::MAX, sequence: 0 });
        assert!(sequences.contains(PartId { publisher: 0, sequence: 0 }));
        assert!(!sequences.contains(PartId { publisher: 1, sequence: 0 }));
        assert!(sequences.contains(PartId { publisher: 2, sequence: 0 }));
    }
}
