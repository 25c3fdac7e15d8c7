//! The seam: a bounded, durable, ever growing list of rows. Anything that stores rows for a learner implements it.
//!
//! Every row has a position: the first row ever stored is 0, and positions only grow. What is held is contiguous.

use std::pin::Pin;

use fogfall_proto::PartId;

use crate::ReplayError;

/// A future behind a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What an append did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// All rows of the part are stored.
    Stored,
    /// The part had been stored before; nothing was done.
    Duplicate,
    /// The part lies in a gap that was given up, so nobody can tell whether it had been stored; nothing was done.
    TooOld,
}

/// What a log holds: the rows `first..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Position of the oldest row held; as many rows have been evicted since the log began.
    pub first: u64,
    /// Position of the next row to be stored; as many rows have been stored since the log began.
    pub end: u64,
    /// Bytes of storage they take.
    pub bytes: u64,
}

impl Bounds {
    /// Rows held.
    pub fn rows(&self) -> u64 {
        self.end - self.first
    }
}

/// What this handle did since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// Parts stored.
    pub appended_parts: u64,
    /// Rows stored.
    pub appended_rows: u64,
    /// Parts that had been stored before.
    pub duplicate_parts: u64,
    /// Rows in them.
    pub duplicate_rows: u64,
    /// Parts too old to tell.
    pub too_old_parts: u64,
}

/// A bounded, durable list of rows of one size, oldest evicted first. Object safe.
pub trait ReplayLog: Send + Sync {
    /// Stores all rows of a part or none, once: a part that was stored before, even if evicted since, is a
    /// [`Appended::Duplicate`], however many parts came in between; only if its publisher has left thousands of gaps since
    /// may it be [`Appended::TooOld`]. Evicts as many of the oldest rows as capacity asks for. A future that is dropped has
    /// stored the part wholly or not at all, and the part may be sent again.
    ///
    /// # Errors
    /// [`ReplayError`]; nothing was stored.
    fn append<'a>(&'a self, part: PartId, rows: &'a [u8]) -> BoxFuture<'a, Result<Appended, ReplayError>>;

    /// Notes a part as if it had been stored, without its rows: whoever drops a part on the way does this, so that it comes
    /// once and leaves no gap.
    ///
    /// # Errors
    /// [`ReplayError`]; nothing was noted.
    fn note(&self, part: PartId) -> BoxFuture<'_, Result<Appended, ReplayError>>;

    /// What is held now.
    ///
    /// # Errors
    /// [`ReplayError`] if the store does not answer.
    fn bounds(&self) -> BoxFuture<'_, Result<Bounds, ReplayError>>;

    /// Whole rows from position `from` on, at most `max_bytes`, but at least one row if there is one; empty at the end.
    ///
    /// # Errors
    /// [`ReplayError::Evicted`] with the position to go on from; [`ReplayError::Ahead`] if the log ends before `from`, so has
    /// lost rows; [`ReplayError::Replaced`] if it is another one than before.
    fn read(&self, from: u64, max_bytes: usize) -> BoxFuture<'_, Result<Vec<u8>, ReplayError>>;

    /// Returns when all that was appended would survive a loss of power.
    ///
    /// # Errors
    /// [`ReplayError`] if that cannot be said.
    fn sync(&self) -> BoxFuture<'_, Result<(), ReplayError>>;

    /// What was done through this handle.
    fn counts(&self) -> LogCounts;
}
