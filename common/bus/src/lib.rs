//! How trajectories, weights and manifests travel between a learner and its actors.
//!
//! [`Bus`] is the seam; [`MemoryBus`] carries within one process, with seeded faults for tests, [`NatsBus`] between
//! machines. Trajectories go one way at least once and push back when nobody takes them; weights go the other way, newest
//! wins; the manifest says what the run is, and its epoch fences off learners that have been replaced.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bus;
mod error;
mod faults;
mod members;
mod memory;
mod nats;
mod queue;
mod weights;

pub use bus::{
    BEAT_EVERY, BoxFuture, Bus, DeadLetter, Delivery, Fill, GONE_AFTER, Member, Published, PutAside, Receipt, Settle,
};
pub use error::BusError;
pub use faults::Faults;
pub use memory::{MemoryBus, MemoryBusSettings};
pub use nats::{NatsAuth, NatsBus, NatsLimits, NatsSettings, NatsTls, without_secrets};
