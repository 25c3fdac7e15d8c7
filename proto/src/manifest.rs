//! The manifest: all that an actor must know of a run besides where the bus is.

use serde::{Deserialize, Serialize};

use crate::{ProtoError, RowLayout, WIRE_VERSION, digest};

/// A named run of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedLen {
    /// Its name.
    pub name: String,
    /// How many numbers.
    pub len: usize,
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
    /// Self-play and search settings by key, as text: actors play by these.
    pub settings: std::collections::BTreeMap<String, String>,
    /// Settings of the replay log by key, as text: whoever stores rows goes by these. No game is played by them.
    #[serde(default)]
    pub log: std::collections::BTreeMap<String, String>,
}

impl Manifest {
    /// The layout of the run's rows.
    pub fn row_layout(&self) -> RowLayout {
        let len = |fields: &[NamedLen]| fields.iter().map(|f| f.len).sum();
        RowLayout::new(len(&self.observation), self.actions.len(), len(&self.hidden))
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
        rmp_serde::to_vec_named(self).expect("a manifest is plain data")
    }

    /// From MessagePack.
    ///
    /// # Errors
    /// [`ProtoError`] if it is too long, malformed, or of an unknown wire version.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProtoError> {
        let manifest: Self = decode("manifest", bytes)?;
        check_wire("manifest", manifest.wire)?;
        Ok(manifest)
    }
}

fn hash<T: Serialize>(value: &T) -> u64 {
    digest(&rmp_serde::to_vec(value).expect("plain data")) as u64
}

/// Decodes MessagePack within the size limit.
pub(crate) fn decode<'a, T: Deserialize<'a>>(what: &'static str, bytes: &'a [u8]) -> Result<T, ProtoError> {
    if bytes.len() > crate::MAX_MESSAGE_BYTES {
        return Err(ProtoError::TooLong { bytes: bytes.len(), limit: crate::MAX_MESSAGE_BYTES });
    }
    rmp_serde::from_slice(bytes).map_err(|e| ProtoError::Malformed { what, reason: e.to_string() })
}

/// Accepts this wire version and the one before.
pub(crate) fn check_wire(what: &'static str, found: u16) -> Result<(), ProtoError> {
    let oldest = WIRE_VERSION.saturating_sub(1).max(1);
    if (oldest..=WIRE_VERSION).contains(&found) {
        Ok(())
    } else {
        Err(ProtoError::WireVersion { what, found, oldest, newest: WIRE_VERSION })
    }
}
