//! A trajectory: one finished game's rows and result with full provenance, the unit on the wire. A long game is several.

use serde::{Deserialize, Serialize};

use crate::packing::{pack, unpack};
use crate::wire::{decode, encode_named};
use crate::{Manifest, ProtoError};

/// Most bytes of rows in a part, before they are packed: with all else in the message half of what NATS takes, and some
/// hundred rows even of games that see a lot.
pub const MAX_PART_ROW_BYTES: usize = 512 << 10;

/// Names a part once and for all: a publisher's life and its running number. Never a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartId {
    /// Drawn anew at each start of a publisher.
    pub publisher: u64,
    /// Counts the publisher's parts from 0, without gaps.
    pub sequence: u64,
}

impl std::fmt::Display for PartId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}-{}", self.publisher, self.sequence)
    }
}

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum GameResult {
    /// By its rules, with seat 0's payoff in units of the game's scale.
    Finished(f32),
    /// Cut at the technical length limit; rows carry the last searched values.
    Truncated,
}

/// Which part of its game a trajectory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartOfGame {
    /// Counts the game's parts from 0, in playing order.
    pub index: u32,
    /// Parts of the game.
    pub count: u32,
}

impl PartOfGame {
    /// All of its game.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// True of a game's last part. Whoever counts games counts these.
    pub fn is_last(&self) -> bool {
        self.index >= self.count.saturating_sub(1)
    }

    fn is_whole(&self) -> bool {
        *self == Self::WHOLE
    }

    fn whole() -> Self {
        Self::WHOLE
    }
}

/// One game's rows with where they come from; of a long game a part of its rows, which is of use without the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// The wire version that it is written in: that of the run's [`Manifest`], so that all who read the run can read it.
    pub wire: u16,
    /// The run it belongs to.
    pub run: String,
    /// [`Manifest::rules_hash`] it was played by.
    pub rules_hash: u64,
    /// [`Manifest::settings_hash`] it was played by.
    pub settings_hash: u64,
    /// Its id.
    pub part: PartId,
    /// Which part of its game it is.
    pub part_of_game: PartOfGame,
    /// The slot it was played in.
    pub slot: u32,
    /// The root seed of the game: with rules, settings and weights it can be played again.
    pub seed: u64,
    /// How the game ended.
    pub result: GameResult,
    /// Decisions of both seats in the game, recorded or not; 0 but in its last part.
    pub decisions: u32,
    /// Evaluations asked for by all searches of the game; 0 but in its last part.
    pub evaluations: u64,
    /// Rows in `rows`.
    pub row_count: u32,
    /// Encoded rows in playing order.
    pub rows: Vec<u8>,
}

/// A trajectory as it is written. In version 1 rows are never packed and `part_of_game` is not known.
#[derive(Serialize, Deserialize)]
struct Message<'a> {
    wire: u16,
    run: &'a str,
    rules_hash: u64,
    settings_hash: u64,
    part: PartId,
    #[serde(default = "PartOfGame::whole", skip_serializing_if = "PartOfGame::is_whole")]
    part_of_game: PartOfGame,
    slot: u32,
    seed: u64,
    result: GameResult,
    decisions: u32,
    evaluations: u64,
    row_count: u32,
    /// Bytes that packed rows take once they are unpacked; none of rows that are not packed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unpacked_bytes: Option<u32>,
    #[serde(with = "serde_bytes")]
    rows: &'a [u8],
}

impl Trajectory {
    /// As MessagePack of version [`wire`](Self::wire), with rows packed where that is known and pays.
    pub fn encode(&self) -> Vec<u8> {
        let packed = if self.wire > 1 { pack(&self.rows) } else { None };
        encode_named(&Message {
            wire: self.wire,
            run: &self.run,
            rules_hash: self.rules_hash,
            settings_hash: self.settings_hash,
            part: self.part,
            part_of_game: self.part_of_game,
            slot: self.slot,
            seed: self.seed,
            result: self.result,
            decisions: self.decisions,
            evaluations: self.evaluations,
            row_count: self.row_count,
            unpacked_bytes: packed.as_ref().map(|_| self.rows.len() as u32), // at most MAX_PART_ROW_BYTES
            rows: packed.as_deref().unwrap_or(&self.rows),
        })
    }

    /// From MessagePack, of any run.
    ///
    /// # Errors
    /// [`ProtoError`] if it is too long, packed or unpacked, malformed, or of an unknown wire version.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProtoError> {
        let message: Message<'_> = decode("trajectory", bytes)?;
        let rows = match message.unpacked_bytes {
            Some(unpacked) => unpack(message.rows, unpacked as usize)?,
            None => message.rows.to_vec(),
        };
        Ok(Self {
            wire: message.wire,
            run: message.run.to_owned(),
            rules_hash: message.rules_hash,
            settings_hash: message.settings_hash,
            part: message.part,
            part_of_game: message.part_of_game,
            slot: message.slot,
            seed: message.seed,
            result: message.result,
            decisions: message.decisions,
            evaluations: message.evaluations,
            row_count: message.row_count,
            rows,
        })
    }

    /// A whole game cut into parts of at most `most_bytes` of rows, at least one row each, numbered on from its own id. Each
    /// has the game's result; what is counted once a game comes with its last part.
    pub fn split(self, most_bytes: usize) -> Vec<Self> {
        if self.rows.len() <= most_bytes || self.row_count <= 1 {
            return vec![self];
        }
        let row_bytes = self.rows.len() / self.row_count as usize;
        let most_rows = (most_bytes / row_bytes).max(1);
        let parts = self.rows.chunks(most_rows * row_bytes);
        let count = parts.len() as u32; // no more than rows
        let part = |(index, rows): (u32, &[u8])| {
            let part_of_game = PartOfGame { index, count };
            let last = part_of_game.is_last();
            Self {
                run: self.run.clone(),
                part: PartId { sequence: self.part.sequence + u64::from(index), ..self.part },
                part_of_game,
                decisions: if last { self.decisions } else { 0 },
                evaluations: if last { self.evaluations } else { 0 },
                row_count: (rows.len() / row_bytes) as u32,
                rows: rows.to_vec(),
                ..self
            }
        };
        (0..).zip(parts).map(part).collect()
    }

    /// Checks that it belongs to `manifest`'s run and that its rows have the run's layout.
    ///
    /// # Errors
    /// [`ProtoError::Mismatch`] with the first difference, or [`ProtoError::RowBytes`].
    pub fn check(&self, manifest: &Manifest) -> Result<(), ProtoError> {
        let differs = |field, found: String, expected: String| Err(ProtoError::Mismatch { field, found, expected });
        if self.run != manifest.run {
            return differs("run", self.run.clone(), manifest.run.clone());
        }
        if self.rules_hash != manifest.rules_hash() {
            return differs(
                "rules hash",
                format!("{:016x}", self.rules_hash),
                format!("{:016x}", manifest.rules_hash()),
            );
        }
        let row_bytes = manifest.row_layout().row_bytes();
        if self.rows.len() != row_bytes * self.row_count as usize {
            return Err(ProtoError::RowBytes { bytes: self.rows.len(), rows: self.row_count as usize, row_bytes });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NamedLen, WIRE_VERSION};

    fn manifest() -> Manifest {
        let named = |name: &str, len| vec![NamedLen { name: name.into(), len }];
        Manifest {
            wire: WIRE_VERSION,
            run: "r".into(),
            game: "g".into(),
            rules: None,
            observation: named("all", 2),
            actions: vec!["a".into(), "b".into()],
            hidden: named("hand", 1),
            width: 8,
            blocks: 1,
            tower: None,
            settings: Default::default(),
            log: Default::default(),
        }
    }

    /// Rows of 80 bytes: 40 + 2 * 4 + 3 * 2 * 4 + 1 * 4 + 4.
    fn trajectory(manifest: &Manifest, row_count: u32) -> Trajectory {
        Trajectory {
            wire: WIRE_VERSION,
            run: manifest.run.clone(),
            rules_hash: manifest.rules_hash(),
            settings_hash: manifest.settings_hash(),
            part: PartId { publisher: 1, sequence: 2 },
            part_of_game: PartOfGame::WHOLE,
            slot: 3,
            seed: 4,
            result: GameResult::Finished(1.0),
            decisions: row_count,
            evaluations: 9,
            row_count,
            rows: (0..row_count * 80).map(|i| (i / 80) as u8).collect(),
        }
    }

    #[test]
    fn a_trajectory_comes_back_with_its_rows_packed_or_not() {
        let manifest = manifest();
        for (rows, wire, most_bytes) in [(1, 2, 80 + 300), (100, 1, 8000 + 300), (100, 2, 2000)] {
            let good = Trajectory { wire, ..trajectory(&manifest, rows) };
            let bytes = good.encode();
            assert!(bytes.len() < most_bytes, "{} bytes for {rows} rows in version {wire}", bytes.len());
            assert_eq!(Trajectory::decode(&bytes).unwrap(), good);
            good.check(&manifest).unwrap();
        }
    }

    #[test]
    fn a_part_of_another_run_game_rules_or_layout_is_refused_with_what_was_found_and_expected() {
        let here = manifest();
        let part = trajectory(&here, 1);
        let reason = |manifest: &Manifest| part.check(manifest).expect_err("refused").to_string();
        assert_eq!(reason(&Manifest { run: "x".into(), ..here.clone() }), "run is r, not x");
        let longer = vec![NamedLen { name: "all".into(), len: 3 }];
        let others = [
            Manifest { game: "h".into(), ..here.clone() },
            Manifest { rules: Some("x".into()), ..here.clone() },
            Manifest { observation: longer.clone(), ..here.clone() },
            Manifest { actions: vec!["b".into(), "a".into()], ..here.clone() },
            Manifest { hidden: longer, ..here.clone() },
        ];
        for other in &others {
            let (found, expected) = (here.rules_hash(), other.rules_hash());
            assert_eq!(reason(other), format!("rules hash is {found:016x}, not {expected:016x}"));
        }
        // Other settings play by the same rules.
        let settings = [("simulations".to_owned(), "8".to_owned())].into();
        part.check(&Manifest { settings, ..here.clone() }).unwrap();

        let refused = Trajectory { row_count: 2, ..part.clone() }.check(&here).expect_err("refused").to_string();
        assert_eq!(refused, "trajectory with 80 bytes of rows for 2 rows; a row takes 80 bytes");
        let refused = Trajectory::decode(&Trajectory { wire: 3, ..part }.encode()).expect_err("refused").to_string();
        assert_eq!(refused, "trajectory has wire version 3; this program reads 1 to 2");
    }

    #[test]
    fn a_long_game_is_cut_between_rows_and_counted_once() {
        let game = trajectory(&manifest(), 7);
        let parts = game.clone().split(3 * 80 + 79);
        let about = |t: &Trajectory| (t.part.sequence, t.part_of_game.index, t.row_count, t.decisions, t.evaluations);
        assert_eq!(parts.iter().map(about).collect::<Vec<_>>(), [(2, 0, 3, 0, 0), (3, 1, 3, 0, 0), (4, 2, 1, 7, 9)]);
        assert_eq!(parts.iter().filter(|part| part.part_of_game.is_last()).count(), 1);
        assert_eq!(parts.iter().flat_map(|part| part.rows.clone()).collect::<Vec<_>>(), game.rows);
        for part in &parts {
            assert_eq!((part.result, part.seed, part.part_of_game.count), (game.result, game.seed, 3));
            part.check(&manifest()).unwrap();
            assert_eq!(&Trajectory::decode(&part.encode()).unwrap(), part);
        }

        assert_eq!(game.clone().split(7 * 80), vec![game.clone()], "it just fits");
        assert_eq!(game.clone().split(1).len(), 7, "a row is never cut");
        let empty = Trajectory { row_count: 0, rows: vec![], ..game };
        assert_eq!(empty.clone().split(0), vec![empty]);
    }

    #[test]
    fn a_manifest_comes_back_and_its_hashes_follow_rules_and_settings() {
        let manifest = manifest();
        assert_eq!(Manifest::decode(&manifest.encode()).expect("decodes"), manifest);
        let other = Manifest { rules: Some("x".into()), ..manifest.clone() };
        assert_ne!(other.rules_hash(), manifest.rules_hash());
        assert_eq!(other.settings_hash(), manifest.settings_hash());
    }

    #[test]
    fn a_manifest_whose_rows_fit_no_part_is_refused_however_large_they_are() {
        let with = |len| Manifest { observation: vec![NamedLen { name: "all".into(), len }; 2], ..manifest() };
        // 40 + 2 * 65526 * 4 + 24 + 4 + 4 = 524,280 bytes, and 8 more.
        Manifest::decode(&with(65_526).encode()).unwrap();
        let refusal = |len| Manifest::decode(&with(len).encode()).unwrap_err().to_string();
        assert_eq!(refusal(65_528), "a row of 524296 bytes or more is over the limit of 524288");
        let most = usize::MAX;
        assert_eq!(refusal(most), format!("a row of {most} bytes or more is over the limit of 524288"));
    }
}
