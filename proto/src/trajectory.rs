//! A trajectory: one finished game's rows and result with full provenance, the unit on the wire.

use serde::{Deserialize, Serialize};

use crate::manifest::{check_wire, decode};
use crate::{Manifest, ProtoError, WIRE_VERSION};

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

/// One game's rows with where they come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// The writer's wire version.
    pub wire: u16,
    /// The run it belongs to.
    pub run: String,
    /// [`Manifest::rules_hash`] it was played by.
    pub rules_hash: u64,
    /// [`Manifest::settings_hash`] it was played by.
    pub settings_hash: u64,
    /// Its id.
    pub part: PartId,
    /// The slot it was played in.
    pub slot: u32,
    /// The root seed of the game: with rules, settings and weights it can be played again.
    pub seed: u64,
    /// How it ended.
    pub result: GameResult,
    /// Decisions of both seats, recorded or not.
    pub decisions: u32,
    /// Evaluations asked for by all its searches.
    pub evaluations: u64,
    /// Rows in `rows`.
    pub row_count: u32,
    /// Encoded rows in playing order.
    #[serde(with = "serde_bytes")]
    pub rows: Vec<u8>,
}

impl Trajectory {
    /// As MessagePack.
    pub fn encode(&self) -> Vec<u8> {
        rmp_serde::to_vec_named(self).expect("a trajectory is plain data")
    }

    /// From MessagePack, of any run.
    ///
    /// # Errors
    /// [`ProtoError`] if it is too long, malformed, or of an unknown wire version.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProtoError> {
        let trajectory: Self = decode("trajectory", bytes)?;
        check_wire("trajectory", trajectory.wire)?;
        Ok(trajectory)
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

    /// The wire version that this program writes.
    pub const fn current_wire() -> u16 {
        WIRE_VERSION
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NamedLen;

    fn manifest() -> Manifest {
        Manifest {
            wire: WIRE_VERSION,
            run: "r".into(),
            game: "g".into(),
            rules: None,
            observation: vec![NamedLen { name: "all".into(), len: 2 }],
            actions: vec!["a".into(), "b".into()],
            hidden: vec![],
            width: 8,
            blocks: 1,
            settings: Default::default(),
            log: Default::default(),
        }
    }

    fn trajectory(manifest: &Manifest) -> Trajectory {
        Trajectory {
            wire: WIRE_VERSION,
            run: "r".into(),
            rules_hash: manifest.rules_hash(),
            settings_hash: manifest.settings_hash(),
            part: PartId { publisher: 1, sequence: 2 },
            slot: 3,
            seed: 4,
            result: GameResult::Finished(1.0),
            decisions: 1,
            evaluations: 9,
            row_count: 1,
            rows: vec![7; manifest.row_layout().row_bytes()],
        }
    }

    #[test]
    fn a_trajectory_comes_back_and_rows_of_another_run_layout_or_rules_are_refused_with_the_reason() {
        let manifest = manifest();
        let good = trajectory(&manifest);
        let back = Trajectory::decode(&good.encode()).expect("decodes");
        assert_eq!(back, good);
        assert!(good.encode().len() < good.rows.len() + 300, "rows are one binary, not a list of numbers");
        back.check(&manifest).expect("belongs here");

        let reason = |t: &Trajectory| t.check(&manifest).expect_err("refused").to_string();
        assert_eq!(reason(&Trajectory { run: "x".into(), ..good.clone() }), "run is x, not r");
        assert!(
            reason(&Trajectory { rules_hash: 0, ..good.clone() }).starts_with("rules hash is 0000000000000000, not ")
        );
        assert!(reason(&Trajectory { row_count: 2, ..good.clone() }).contains("for 2 rows"));
        let other = Trajectory { wire: 99, ..good.clone() }.encode();
        let refused = Trajectory::decode(&other).expect_err("refused").to_string();
        assert_eq!(refused, "trajectory has wire version 99; this program reads 1 to 1");
        let cut = &good.encode()[..40];
        assert!(matches!(Trajectory::decode(cut), Err(ProtoError::Malformed { .. })));
    }

    #[test]
    fn a_manifest_comes_back_and_its_hashes_follow_rules_and_settings() {
        let manifest = manifest();
        assert_eq!(Manifest::decode(&manifest.encode()).expect("decodes"), manifest);
        let other = Manifest { rules: Some("x".into()), ..manifest.clone() };
        assert_ne!(other.rules_hash(), manifest.rules_hash());
        assert_eq!(other.settings_hash(), manifest.settings_hash());
    }
}
