//! The learner as a process: real runs of small games, real signals, real files. Each idea has a file of its own.
//!
//! Nothing here sleeps for a fixed time: what is waited for is seen in files and output, with a deadline that only a
//! broken learner reaches.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod support;

mod admin;
mod cluster;
mod damage;
mod disk_full;
mod diverging;
mod equilibrium;
mod kill;
mod lockstep;
mod mistakes;
mod overview;
mod resume;
mod run;
mod stop;
