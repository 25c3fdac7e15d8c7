//! Why bytes were refused.

use thiserror::Error;

/// Why a message was refused.
#[derive(Debug, Error)]
pub enum ProtoError {
    /// Too long to be looked at.
    #[error("message of {bytes} bytes is over the limit of {limit}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Packed rows of a part that would take too much room.
    #[error("rows of {bytes} bytes are over the limit of {limit}")]
    RowsTooLong {
        /// Bytes that they say they take.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A run whose rows do not fit a part.
    #[error("a row of {bytes} bytes or more is over the limit of {limit}")]
    RowTooLong {
        /// Bytes that a row takes at least.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Not the MessagePack that was expected.
    #[error("not a {what}: {reason}")]
    Malformed {
        /// The kind of message expected.
        what: &'static str,
        /// What the decoder said.
        reason: String,
    },
    /// Written by a version that this one does not read.
    #[error("{what} has wire version {found}; this program reads {oldest} to {newest}")]
    WireVersion {
        /// The kind of message.
        what: &'static str,
        /// Its version.
        found: u16,
        /// The oldest version read.
        oldest: u16,
        /// The newest version read.
        newest: u16,
    },
    /// The rows do not fit the run's row layout.
    #[error("trajectory with {bytes} bytes of rows for {rows} rows; a row takes {row_bytes} bytes")]
    RowBytes {
        /// Bytes of rows in the message.
        bytes: usize,
        /// Rows it says it has.
        rows: usize,
        /// Bytes a row takes.
        row_bytes: usize,
    },
    /// It belongs elsewhere.
    #[error("{field} is {found}, not {expected}")]
    Mismatch {
        /// What differs.
        field: &'static str,
        /// The value in the message.
        found: String,
        /// The value of this run.
        expected: String,
    },
}
