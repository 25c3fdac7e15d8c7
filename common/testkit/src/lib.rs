//! Conformance suites and golden files, for tests only.

pub mod bus;
pub mod replay_log;
