//! The log of a fight: every move and every roll since the fighters were dealt and chose, as both sides saw it. With the
//! private parts of a world it is enough to fight the fight again (`past`).
//!
//! **Invariant:** public. A veiled skill is logged as hidden until its trap goes off; what it was stands in its owner's
//! private part till then.

use fogfall_game::{Action, Seat};
use serde::{Deserialize, Serialize};

use super::limits::MAX_LOG;

/// A veiled skill of seat 0 whose trap has not gone off; the next number is seat 1's.
const HIDDEN: u8 = u8::MAX - 1;
/// The count of a log that grew too long and was given up.
const LOST: u16 = u16::MAX;

/// Moves and rolls in order, a byte each. Places not reached are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Option<Vec<u8>>", try_from = "Option<Vec<u8>>")]
pub(crate) struct Log {
    count: u16,
    entries: [u8; MAX_LOG],
}

/// A move or a roll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An action or a chance outcome.
    Seen(Action),
    /// A veiled skill, known to its owner.
    Hidden(Seat),
}

impl Default for Log {
    fn default() -> Self {
        Self { count: 0, entries: [0; MAX_LOG] }
    }
}

impl Log {
    /// Adds a move or a roll; a log that is full is lost.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry) {
        let code = match entry {
            Entry::Seen(action) => action as u8,
            Entry::Hidden(seat) => HIDDEN + seat,
        };
        if let Some(place) = self.entries.get_mut(usize::from(self.count)) {
            *place = code;
            self.count += 1;
        } else {
            *self = Self { count: LOST, ..Self::default() };
        }
    }

    /// Shows which veiled skill it was that a seat used last.
    pub(crate) fn show(&mut self, seat: Seat, action: Action) {
        if let Some(place) = self.entries.iter().rposition(|&code| code == HIDDEN + seat) {
            self.entries[place] = action as u8;
        }
    }

    /// How much is logged; none if the log is lost.
    pub(crate) fn len(&self) -> Option<usize> {
        (self.count != LOST).then_some(usize::from(self.count))
    }

    /// All that happened from the entry `from` on; nothing if the log is lost.
    pub(crate) fn since(&self, from: usize) -> impl Iterator<Item = Entry> + Clone {
        let codes = self.entries.get(from..self.len().unwrap_or(0)).unwrap_or_default();
        codes.iter().map(|&code| match code.checked_sub(HIDDEN) {
            Some(seat) => Entry::Hidden(seat),
            None => Entry::Seen(code.into()),
        })
    }
}

impl From<Log> for Option<Vec<u8>> {
    fn from(log: Log) -> Self {
        log.len().map(|len| log.entries[..len].to_vec())
    }
}

impl TryFrom<Option<Vec<u8>>> for Log {
    type Error = &'static str;

    fn try_from(codes: Option<Vec<u8>>) -> Result<Self, Self::Error> {
        let Some(codes) = codes else { return Ok(Self { count: LOST, ..Self::default() }) };
        let mut log = Self { count: codes.len() as u16, ..Self::default() };
        log.entries.get_mut(..codes.len()).ok_or("the log of a fight is too long")?.copy_from_slice(&codes);
        Ok(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_skill_is_shown_in_its_place() {
        let mut log = Log::default();
        [Entry::Seen(3), Entry::Hidden(1), Entry::Hidden(0), Entry::Seen(0)]
            .into_iter()
            .for_each(|entry| log.push(entry));
        log.show(1, 9);
        let entries: Vec<_> = log.since(1).collect();
        assert_eq!(entries, [Entry::Seen(9), Entry::Hidden(0), Entry::Seen(0)]);
    }

    #[test]
    fn a_log_that_is_full_is_lost_and_stays_so() {
        let mut log = Log::default();
        (0..MAX_LOG).for_each(|_| log.push(Entry::Seen(1)));
        assert_eq!((log.len(), log.since(MAX_LOG - 1).count()), (Some(MAX_LOG), 1));
        for _ in 0..2 {
            log.push(Entry::Seen(1));
            assert_eq!((log.len(), log.since(0).count()), (None, 0));
        }
        let codes: Option<Vec<u8>> = log.into();
        assert_eq!((codes.clone(), Log::try_from(codes)), (None, Ok(log)));
        assert!(Log::try_from(Some(vec![0; MAX_LOG + 1])).is_err());
    }
}
