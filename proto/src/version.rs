//! Weights versions and the announcement of a new one.

use serde::{Deserialize, Serialize};

/// A weights version. It only grows: the epoch is a fencing token that each start of a learner takes anew, the step
/// counts train steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Version {
    /// Counts the starts of a run's learner.
    pub epoch: u32,
    /// Train steps behind these weights.
    pub step: u64,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.epoch, self.step)
    }
}

/// Announces weights: small, and enough to fetch them and check them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightsHead {
    /// Which weights.
    pub version: Version,
    /// Counts the publications of the run; a generation of games is one publication.
    pub ordinal: u64,
    /// Length of the weights file.
    pub bytes: u64,
    /// [`digest`] of the weights file.
    pub digest: u128,
}

/// The digest that guards blobs against damage in transit: XXH3-128. Not a signature.
pub fn digest(bytes: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(bytes)
}
