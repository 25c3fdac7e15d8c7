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
    /// A part with a number that no publisher reaches.
    #[error("part {part} has a number of {limit} or more")]
    Sequence {
        /// The part.
        part: fogfall_proto::PartId,
        /// The first number too large.
        limit: u64,
    },
    /// Settings that no log can have.
    #[error("{what}")]
    Settings {
        /// What is wrong with them.
        what: String,
    },
    /// The log there belongs to something else.
    #[error("{place} holds a log with {field} {found}, not {expected}")]
    OtherLog {
        /// Where it lies.
        place: String,
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
    /// The server did not do it, or did not answer in time. An append may have been done: sent again, it is stored once.
    #[error("cannot {action} redis at {server}: {reason}")]
    Server {
        /// What was tried.
        action: &'static str,
        /// Which server.
        server: String,
        /// What it said, or that it said nothing.
        reason: String,
    },
    /// The server has no memory left; it holds what it held. It may be tried again when there is more.
    #[error("redis at {server} is out of memory: raise its maxmemory or lower the log's capacity; nothing was stored")]
    OutOfMemory {
        /// Which server.
        server: String,
    },
    /// The server refuses the user, the password, or the user's rights.
    #[error("redis at {server} refuses this user: {reason}")]
    Denied {
        /// Which server.
        server: String,
        /// What it said.
        reason: String,
    },
    /// The server is set up so that a log would not be safe there.
    #[error("redis at {server} cannot keep a replay log: {what}")]
    Unfit {
        /// Which server.
        server: String,
        /// What is wrong with it.
        what: String,
    },
    /// The server lost its data, and another log has begun. Said once; reading goes on in the new log.
    #[error("redis at {server} lost its data: another log has begun and holds rows {first} to {end}")]
    Replaced {
        /// Which server.
        server: String,
        /// The new log's first row.
        first: u64,
        /// Where the new log ends.
        end: u64,
    },
    /// A failed write could not be undone; the log must be opened anew.
    #[error("the log failed and must be opened anew: {reason}")]
    Broken {
        /// The failure.
        reason: String,
    },
}

impl ReplayError {
    /// True if the fault lies in the part itself: no log will ever take it.
    pub fn refuses_part(&self) -> bool {
        matches!(self, Self::RowBytes { .. } | Self::PartTooLarge { .. } | Self::Sequence { .. })
    }

    /// True if the same may go well later: the server was not there, did not answer, or had no memory.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Server { .. } | Self::OutOfMemory { .. })
    }

    /// Names what was tried when the system said no.
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path: path.to_owned() },
            _ => Self::Io { action, path: path.to_owned(), source },
        }
    }
}
