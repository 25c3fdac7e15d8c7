//! The journal: what a process saw pass, in order, as one JSON object a line.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use fogfall_proto::{PartId, Version};
use serde::{Deserialize, Serialize};

/// Something that passed between a process and its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A part is about to be published, perhaps again.
    Sent {
        /// The part.
        part: PartId,
        /// Its rows.
        rows: u64,
        /// [`super::row_sum`] of them.
        sum: u64,
    },
    /// The bus said that it holds the part.
    Acked(PartId),
    /// The bus handed the part out.
    Taken(PartId),
    /// The part is about to be appended to the log, or noted there.
    Append(PartId),
    /// The log said that it has stored the part.
    Stored(PartId),
    /// The log said that it has noted the part, without its rows.
    Noted(PartId),
    /// The log said that it had stored the part before.
    Duplicate(PartId),
    /// The log said that nobody can tell any more.
    TooOld(PartId),
    /// The log did not store the part, or did not answer.
    Failed(PartId),
    /// The delivery is about to be settled.
    Settle(PartId, Settled),
    /// These are the newest weights, says the bus.
    Heard(Version),
}

/// How a delivery is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Settled {
    /// It is stored.
    Done,
    /// It is handed back.
    Retry,
    /// It is put aside.
    Poison,
}

impl Event {
    /// The part that it is about.
    pub fn part(&self) -> Option<PartId> {
        match *self {
            Self::Sent { part, .. } | Self::Settle(part, _) => Some(part),
            Self::Acked(part) | Self::Taken(part) | Self::Append(part) => Some(part),
            Self::Stored(part) | Self::Noted(part) | Self::Duplicate(part) => Some(part),
            Self::TooOld(part) | Self::Failed(part) => Some(part),
            Self::Heard(_) => None,
        }
    }
}

/// Writes a journal.
#[derive(Debug)]
pub struct Journal(File);

impl Journal {
    /// Goes on with the journal in this file, or begins it.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<Self> {
        File::options().create(true).append(true).open(path).map(Self)
    }

    /// Writes an event down: it has reached the system when this returns.
    ///
    /// # Panics
    /// If it cannot be written: an audit without it is worth nothing.
    pub fn note(&self, event: Event) {
        let mut line = serde_json::to_vec(&event).expect("an event is plain data");
        line.push(b'\n');
        // One call, and so one piece, whichever threads write.
        (&self.0).write_all(&line).expect("the journal can be written");
    }

    /// Reads a journal back. A last line that its writer was killed in is left out.
    ///
    /// # Errors
    /// What the system says, or a line that is no event.
    pub fn read(path: &Path) -> io::Result<Vec<Event>> {
        let text = std::fs::read_to_string(path)?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).map_err(io::Error::from)).collect()
    }
}
