//! The replay log, the learner's window over it, and the samples-per-insert limiter.
//!
//! The log is the durable, shared store of rows behind [`ReplayLog`]: in files, for one process, or in Redis, for
//! many. The window is the learner's own copy of the log's tail in memory, from which batches are drawn. Rows are opaque
//! bytes of one fixed size.
//!
//! **Invariant:** the sampling path ([`Window`], [`SampleToInsert`]) is synchronous and never touches the log.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod error;
mod file_log;
mod frame;
mod limiter;
mod log;
mod redis_log;
mod segment;
mod sequences;
mod window;

pub use error::ReplayError;
pub use file_log::{FileLog, FileLogSettings, Recovery};
pub use limiter::{LimiterCounts, LimiterError, LimiterSettings, SampleToInsert};
pub use log::{Appended, Bounds, BoxFuture, LogCounts, ReplayLog};
pub use redis_log::{RedisLog, RedisLogSettings, RedisLogState, RedisServer};
pub use window::{Window, WindowError};
