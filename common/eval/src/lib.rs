//! Honest numbers: intervals over independent samples, matches in numbers, exact exploitability of policies in small
//! games, and exhaustive referees for games of perfect information.
//!
//! What is exact here is exact: no sampling, no search. It plays nothing itself.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod interval;
mod match_stats;

mod exact;
mod referee;

pub use exact::{ExactError, Exploitability, Policy, nash_conv};
pub use interval::Interval;
pub use match_stats::MatchStats;
pub use referee::{Referee, RefereeError, SolvedPosition, Verdict};
