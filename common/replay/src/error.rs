//! Why a replay log refused or failed.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a replay log refused or failed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The rows asked for have left the log.
    #[error("rows before {first} have been evicted")]
    Evicted {
        /// The oldest row still held.
        first: u64,
    },
    /// The rows asked for are not there yet, nor the row before them: the log has lost its tail.
    #[error("position {from} lies beyond the log's end at {end}: the log has lost its newest rows")]
    Ahead {
        /// The position asked for.
        from: u64,
        /// Where the log ends.
        end: u64,
    },
    /// Not whole rows, or none.
    #[error("part {part} has {bytes} bytes, not whole rows of {row_bytes}")]
    RowBytes {
        /// The part.
        part: fogfall_proto::PartId,
        /// Bytes given.
        bytes: usize,
        /// Bytes of one row.
        row_bytes: usize,
    },
    /// A part that the log's capacity cannot take.
    #[error(
        "part {part} with {rows} rows in {bytes} bytes is too large: at most {limit_rows} rows and {limit_bytes} bytes"
    )]
    PartTooLarge {
        /// The part.
        part: fogfall_proto::PartId,
        /// Its rows.
        rows: u64,
        /// Its bytes.
        bytes: u64,
        /// Most rows in a part.
        limit_rows: u64,
        /// Most bytes in a part.
        limit_bytes: u64,
    },
    /// Settings that no log can have.
    #[error("{what}")]
    Settings {
        /// What is wrong with them.
        what: String,
    },
    /// The log there belongs to something else.
    #[error("{} holds a log with {field} {found}, not {expected}", dir.display())]
    OtherLog {
        /// Where it lies.
        dir: PathBuf,
        /// What differs.
        field: &'static str,
        /// What is there.
        found: String,
        /// What was asked for.
        expected: String,
    },
    /// Another process has it.
    #[error("{} is in use by another process", dir.display())]
    InUse {
        /// Where it lies.
        dir: PathBuf,
    },
    /// The disk is full; what was stored before is whole.
    #[error("disk full at {}: the part was not stored", path.display())]
    DiskFull {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// The file system failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A failed write could not be undone; the log must be opened anew.
    #[error("the log failed and must be opened anew: {reason}")]
    Broken {
        /// The failure.
        reason: String,
    },
}

impl ReplayError {
    /// Names what was tried when the system said no.
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path: path.to_owned() },
            _ => Self::Io { action, path: path.to_owned(), source },
        }
    }
}
