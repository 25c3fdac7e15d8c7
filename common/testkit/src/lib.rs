//! Conformance suites and golden files, for tests only.

pub mod replay_log;
