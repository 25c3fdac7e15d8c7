//! Conformance suites, golden files and real servers, for tests only.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod audit;
pub mod bus;
pub mod cache;
pub mod chaos;
pub mod evaluator;
pub mod golden;
pub mod labels;
pub mod leaks;
pub mod nats;
pub mod redis_server;
pub mod replay_log;
pub mod staged;
pub mod stuck;
pub mod supervise;
