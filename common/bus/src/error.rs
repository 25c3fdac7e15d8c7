//! Why a bus refused or failed.

use fogfall_proto::{PartId, Version};
use thiserror::Error;

/// Why a bus refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BusError {
    /// The store of trajectories is full: wait and publish the same part again.
    #[error("the bus is full: {bytes} of {capacity_bytes} bytes wait to be taken")]
    Full {
        /// Bytes stored.
        bytes: u64,
        /// Bytes it may store.
        capacity_bytes: u64,
    },
    /// A message that can never be taken.
    #[error("part {part} of {bytes} bytes is over the limit of {limit_bytes}")]
    TooLarge {
        /// The part.
        part: PartId,
        /// Its bytes.
        bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// A newer learner has claimed the run; this one must stop.
    #[error("epoch {epoch} was replaced by epoch {current}: another learner has claimed the run")]
    Fenced {
        /// The caller's epoch.
        epoch: u32,
        /// The epoch of the newest claim.
        current: u32,
    },
    /// The run on the bus is another one.
    #[error("the bus holds run {run} with another {field}: found {found}, expected {expected}")]
    OtherRun {
        /// The run.
        run: String,
        /// What differs.
        field: &'static str,
        /// What the bus holds.
        found: String,
        /// What the caller has.
        expected: String,
    },
    /// Weights never go back.
    #[error("weights {version} are not newer than {newest}")]
    NotNewer {
        /// The version announced.
        version: Version,
        /// The newest on the bus.
        newest: Version,
    },
    /// The blob is not the one announced.
    #[error("weights {version} are damaged: {what} is {found}, not {expected}")]
    Damaged {
        /// The version.
        version: Version,
        /// Length or digest.
        what: &'static str,
        /// What came.
        found: String,
        /// What was announced.
        expected: String,
    },
    /// The blob was replaced by newer ones; ask for the newest.
    #[error("weights {version} are no longer held")]
    Gone {
        /// The version.
        version: Version,
    },
    /// The other side did not answer in time; it may or may not have acted. Do it again.
    #[error("no answer to {what}; it may or may not have been done")]
    Unanswered {
        /// What was asked.
        what: &'static str,
    },
    /// No server could be reached.
    #[error("cannot connect to {servers}: {reason}")]
    Unreachable {
        /// Where it was tried, without passwords.
        servers: String,
        /// Why not.
        reason: String,
    },
    /// A server does not know this user, password, token or key.
    #[error("{servers} does not let this program in: {reason}")]
    Denied {
        /// Where it was tried, without passwords.
        servers: String,
        /// What it said.
        reason: String,
    },
    /// The server said no, and will say it again: a missing right, a missing feature, a record that is not ours.
    #[error("the server refused to {what}: {reason}")]
    Refused {
        /// What was asked.
        what: &'static str,
        /// The server's words.
        reason: String,
    },
    /// The bus has been set up otherwise than this program would.
    #[error("{what} has another {field}: found {found}, expected {expected}")]
    OtherSettings {
        /// The stream, bucket or consumer.
        what: String,
        /// The setting that differs.
        field: &'static str,
        /// What the server has.
        found: String,
        /// What this program asks for.
        expected: String,
    },
    /// The run's id cannot be part of the names of its streams.
    #[error("run id {run:?} is not 1 to 64 letters, digits, '-' and '_'")]
    BadRun {
        /// The id.
        run: String,
    },
}

impl BusError {
    /// True if the same may go well later: nobody was there or answered, or there was no room.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::Unanswered { .. } | Self::Unreachable { .. })
    }
}
