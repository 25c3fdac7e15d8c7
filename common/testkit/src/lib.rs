//! Conformance suites and golden files, for tests only.
