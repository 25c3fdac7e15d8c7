//! Records that a bus keeps of a run: who leads it, which weights are newest, and what it is. Whoever keeps them sees that
//! they change in order.

use serde::{Deserialize, Serialize};

use crate::wire::decode;
use crate::{Manifest, ProtoError, WIRE_VERSION, WeightsHead};

/// Who leads the run and which weights are newest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadRecord {
    /// The writer's wire version.
    pub wire: u16,
    /// The newest epoch claimed.
    pub epoch: u32,
    /// The newest weights announced.
    pub newest: Option<WeightsHead>,
}

/// What the run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestRecord {
    /// The writer's wire version.
    pub wire: u16,
    /// Epoch of the learner that wrote it.
    pub epoch: u32,
    /// Encoded.
    #[serde(with = "serde_bytes")]
    manifest: Vec<u8>,
}

impl LeadRecord {
    /// As MessagePack.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// From MessagePack.
    ///
    /// # Errors
    /// [`ProtoError`] if it is too long, malformed, or of an unknown wire version.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProtoError> {
        decode("lead record", bytes)
    }
}

impl ManifestRecord {
    /// A record of a manifest that the learner of `epoch` writes.
    pub fn new(epoch: u32, manifest: &Manifest) -> Self {
        Self { wire: WIRE_VERSION, epoch, manifest: manifest.encode() }
    }

    /// The manifest.
    ///
    /// # Errors
    /// [`ProtoError`] as of [`Manifest::decode`].
    pub fn manifest(&self) -> Result<Manifest, ProtoError> {
        Manifest::decode(&self.manifest)
    }

    /// As MessagePack.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// From MessagePack; the manifest within stays as it is.
    ///
    /// # Errors
    /// [`ProtoError`] if it is too long, malformed, or of an unknown wire version.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProtoError> {
        decode("manifest record", bytes)
    }
}

/// Fields without names, as version 1 has them.
fn encode(record: &impl Serialize) -> Vec<u8> {
    rmp_serde::to_vec(record).expect("a record is plain data")
}
