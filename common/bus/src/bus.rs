//! The seam between processes. Object safe, with boxed futures: it lies on no hot path.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use fogfall_proto::{Heartbeat, Manifest, PartId, Version, WeightsHead};

use crate::BusError;

/// A future behind a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How often a process of a run says that it lives, and up to a quarter less, so that they do not all speak at once.
pub const BEAT_EVERY: Duration = Duration::from_secs(10);

/// Whoever has not been heard for so long is taken for gone: three beats were missed.
pub const GONE_AFTER: Duration = Duration::from_secs(35);

/// What a publication did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// The part is stored until it is settled.
    Stored,
    /// The part was stored before, lately; nothing was done. Also the answer if this very call had to ask twice, because
    /// the first answer was lost.
    Duplicate,
}

/// Names one delivery of a part to its bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Receipt(pub(crate) u64);

/// A part handed out. Unless it is settled in time it is handed out again.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// To settle it by.
    pub receipt: Receipt,
    /// The part's id as published.
    pub part: PartId,
    /// 1 for the first time.
    pub attempt: u32,
    /// The message as published.
    pub bytes: Arc<[u8]>,
}

/// What became of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settle {
    /// Stored elsewhere; never again.
    Done,
    /// Not now; again soon.
    Retry,
    /// It can never be taken, for this reason; it is put aside.
    Poison(String),
}

/// A part that was put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The part.
    pub part: PartId,
    /// Why.
    pub reason: String,
    /// The message.
    pub bytes: Arc<[u8]>,
}

/// How full the store of trajectories is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// Parts stored, handed out or not.
    pub parts: u64,
    /// Of them, parts handed out and not settled.
    pub unsettled: u64,
    /// Bytes of all parts stored, with what the bus adds to each.
    pub bytes: u64,
    /// Bytes that may be stored.
    pub capacity_bytes: u64,
}

/// The parts put aside, at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutAside {
    /// How many are kept.
    pub kept: u64,
    /// The newest.
    pub newest: Option<DeadLetter>,
}

/// A process of the run that has been heard lately.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// What it said last.
    pub beat: Heartbeat,
    /// How long ago the bus heard it, by the bus's own clock.
    pub age: Duration,
}

/// Carries one run's manifest, trajectories and weights, and what its processes say of themselves.
///
/// Trajectories: at least once, at most one stored copy per part id within a window, first deliveries in order of each
/// publisher. Weights: newest wins, never back. Every wait has a deadline.
///
/// Where the bus is a server, the window ends when it restarts: it then knows the ids of the parts that it still stores,
/// not of those that are settled. Whoever stores parts elsewhere must know its own.
pub trait Bus: Send + Sync {
    /// Takes the run for a learner: stores the manifest and returns a new epoch, above any epoch claimed before and
    /// above `above` (the epoch of the checkpoint it goes on from, or 0). Earlier epochs are fenced from then on.
    ///
    /// # Errors
    /// [`BusError::OtherRun`] if the bus holds a manifest of another identity: run, rules, layouts or network.
    fn claim<'a>(&'a self, manifest: &'a Manifest, above: u32) -> BoxFuture<'a, Result<u32, BusError>>;

    /// The run's manifest, once a learner has claimed it.
    ///
    /// # Errors
    /// [`BusError`] if the bus does not answer.
    fn manifest(&self) -> BoxFuture<'_, Result<Option<Manifest>, BusError>>;

    /// Stores a message until somebody settles it.
    ///
    /// # Errors
    /// [`BusError::Full`] and [`BusError::Unanswered`]: publish the same part again later. [`BusError::TooLarge`].
    fn publish(&self, part: PartId, bytes: Arc<[u8]>) -> BoxFuture<'_, Result<Published, BusError>>;

    /// Takes messages, oldest first: at most `max_bytes` of them, but at least one if there is one; none after `wait`.
    /// What a call that is dropped half-way has taken comes again as if it had not been settled.
    ///
    /// # Errors
    /// [`BusError`] if the bus does not answer.
    fn pull(&self, max_bytes: usize, wait: Duration) -> BoxFuture<'_, Result<Vec<Delivery>, BusError>>;

    /// Says what became of a delivery. Settling what is settled already does nothing.
    ///
    /// # Errors
    /// [`BusError`] if the bus does not answer; the message may then come again.
    fn settle(&self, receipt: Receipt, outcome: Settle) -> BoxFuture<'_, Result<(), BusError>>;

    /// The newest parts put aside, oldest first.
    ///
    /// # Errors
    /// [`BusError`] if the bus does not answer.
    fn dead_letters(&self) -> BoxFuture<'_, Result<Vec<DeadLetter>, BusError>>;

    /// How many parts are put aside, and the newest.
    ///
    /// # Errors
    /// [`BusError`] if the bus does not answer.
    fn put_aside(&self) -> BoxFuture<'_, Result<PutAside, BusError>>;

    /// How full the store is.
    ///
    /// # Errors
    /// [`BusError`] if the bus does not answer.
    fn fill(&self) -> BoxFuture<'_, Result<Fill, BusError>>;

    /// Publishes weights: the blob first, then the head that all watch.
    ///
    /// # Errors
    /// [`BusError::Fenced`] if a newer epoch was claimed, [`BusError::NotNewer`], [`BusError::Damaged`] if `head` does
    /// not fit `blob`. After [`BusError::Unanswered`], [`BusError::NotNewer`] that names `head`'s own version says that it
    /// was done.
    fn announce(&self, epoch: u32, head: WeightsHead, blob: Arc<[u8]>) -> BoxFuture<'_, Result<(), BusError>>;

    /// The newest weights announced.
    ///
    /// # Errors
    /// [`BusError`] if the bus does not answer.
    fn newest(&self) -> BoxFuture<'_, Result<Option<WeightsHead>, BusError>>;

    /// The newest weights as soon as they are newer than `known` (any, without), or `None` after `wait`.
    ///
    /// # Errors
    /// [`BusError`] if the bus does not answer.
    fn newer_than(
        &self,
        known: Option<Version>,
        wait: Duration,
    ) -> BoxFuture<'_, Result<Option<WeightsHead>, BusError>>;

    /// The blob of announced weights, its length and digest checked.
    ///
    /// # Errors
    /// [`BusError::Gone`] if newer ones have replaced it, [`BusError::Damaged`].
    fn fetch<'a>(&'a self, head: &'a WeightsHead) -> BoxFuture<'a, Result<Arc<[u8]>, BusError>>;

    /// How long ago the newest weights were stored, by the bus's own clock; none if there are none.
    ///
    /// # Errors
    /// [`BusError`] if the bus does not answer.
    fn weights_age(&self) -> BoxFuture<'_, Result<Option<Duration>, BusError>>;

    /// Says that a process of the run lives. It replaces what the process said before, and is forgotten after
    /// [`GONE_AFTER`]; a process whose stage is `Ended` is forgotten at once.
    ///
    /// # Errors
    /// [`BusError`] if the bus does not answer. Nothing depends on it: the next beat makes up for it.
    fn beat(&self, beat: Heartbeat) -> BoxFuture<'_, Result<(), BusError>>;

    /// All processes of the run that have been heard lately, by role and then life. What cannot be read, as it comes from a
    /// version that is too new, is left out.
    ///
    /// # Errors
    /// [`BusError`] if the bus does not answer.
    fn alive(&self) -> BoxFuture<'_, Result<Vec<Member>, BusError>>;
}
