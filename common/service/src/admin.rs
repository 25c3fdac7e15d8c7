//! The admin routes of a process: `/metrics`, `/healthz`, `/readyz`, `/status`, and those that the program adds.
//!
//! They run on a small runtime of their own, so that they answer while everything else computes. `/healthz` says
//! whether the process makes progress and asks no other service; `/readyz` says what it still waits for.

mod export;
mod server;
mod vitals;

pub use server::{Admin, AdminServer, serve};
pub use vitals::{Condition, Heartbeat, Vitals};
