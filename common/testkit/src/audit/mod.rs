//! The audit of a run on servers: what publishers and ingesters wrote down is compared with what the replay log holds.
//! Nothing may be lost, nothing stored twice, and no process may count anything else than it did.
//!
//! [`AuditedBus`] and [`AuditedLog`] write a [`Journal`] of what passes, a line an event, each written before the next is
//! begun: it survives `kill -9` (not a loss of power). A process that is killed takes its counters with it; its journal
//! says what it did all the same, but for the one event that was under way.

mod balance;
mod bus;
mod journal;
mod log;

pub use balance::{Found, Life, audit};
pub use bus::{AuditedBus, Mutant, row_sum};
pub use journal::{Event, Journal, Settled};
pub use log::AuditedLog;
