//! The shell around a process: settings, logs, metrics, admin routes, shutdown. It knows nothing of games, networks or
//! transports, and the work inside needs none of it: what it offers is handed in as plain values.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod admin;
pub mod host;
pub mod metrics;
pub mod settings;
pub mod shutdown;
pub mod telemetry;
