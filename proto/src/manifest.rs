//! The manifest: all that an actor must know of a run besides where the bus is.

use serde::{Deserialize, Serialize};

use crate::wire::{decode, encode_named};
use crate::{MAX_PART_ROW_BYTES, ProtoError, RowLayout, digest};

/// A named run of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedLen {
    /// Its name.
    pub name: String,
    /// How many numbers.
    pub len: usize,
}

/// Size of the convolutions over an observation's planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TowerSize {
    /// Numbers a cell.
    pub channels: usize,
    /// Residual blocks.
    pub blocks: usize,
}

/// What a run is. Its identity cannot change while it lives: other rules or another network are another run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The wire version of its learner.
    pub wire: u16,
    /// The run's id: letters, digits, `-` and `_`.
    pub run: String,
    /// The game's name.
    pub game: String,
    /// The full rules text, for games whose rules are data.
    pub rules: Option<String>,
    /// Observation fields in order.
    pub observation: Vec<NamedLen>,
    /// Action names; the index is the action.
    pub actions: Vec<String>,
    /// Hidden label fields in order.
    pub hidden: Vec<NamedLen>,
    /// Network shape: hidden width.
    pub width: usize,
    /// Network shape: residual blocks.
    pub blocks: usize,
    /// Network shape: convolutions before them, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tower: Option<TowerSize>,
    /// Self-play and search settings by key, as text: actors play by these.
    pub settings: std::collections::BTreeMap<String, String>,
    /// Settings of the replay log by key, as text: whoever stores rows goes by these. No game is played by them.
    #[serde(default)]
    pub log: std::collections::BTreeMap<String, String>,
}

impl Manifest {
    /// The layout of the run's rows. Of a manifest that was decoded, a row fits a part.
    pub fn row_layout(&self) -> RowLayout {
        RowLayout::new(numbers(&self.observation), self.actions.len(), numbers(&self.hidden))
    }

    /// A hash of the game's rules: of its name, rules text, and layouts.
    pub fn rules_hash(&self) -> u64 {
        hash(&(&self.game, &self.rules, &self.observation, &self.actions, &self.hidden))
    }

    /// A hash of the settings that games are played by.
    pub fn settings_hash(&self) -> u64 {
        hash(&self.settings)
    }

    /// As MessagePack.
    pub fn encode(&self) -> Vec<u8> {
        encode_named(self)
    }

    /// From MessagePack.
    ///
    /// # Errors
    /// [`ProtoError`] if it is too long, malformed, or of an unknown wire version, or if a row does not fit a part.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProtoError> {
        let manifest: Self = decode("manifest", bytes)?;
        // Each alone first: what a stranger sends may be so large that its sum means nothing.
        let (sees, hidden) = (numbers(&manifest.observation), numbers(&manifest.hidden));
        let least = sees.max(hidden).max(manifest.actions.len()).saturating_mul(4);
        let row_bytes = if least > MAX_PART_ROW_BYTES { least } else { manifest.row_layout().row_bytes() };
        if row_bytes > MAX_PART_ROW_BYTES {
            return Err(ProtoError::RowTooLong { bytes: row_bytes, limit: MAX_PART_ROW_BYTES });
        }
        Ok(manifest)
    }
}

/// Numbers in all fields; the most there is of more than can be counted.
fn numbers(fields: &[NamedLen]) -> usize {
    fields.iter().fold(0, |sum, field| field.len.saturating_add(sum))
}

fn hash<T: Serialize>(value: &T) -> u64 {
    digest(&rmp_serde::to_vec(value).expect("plain data")) as u64
}
