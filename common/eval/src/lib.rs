//! Honest numbers: intervals over independent samples, matches in numbers, exact exploitability of policies in small
//! games, and exhaustive referees for games of perfect information.
//!
//! What is exact is exact: the game is laid out whole, nothing is sampled but the search of the player that is measured.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod interval;
mod match_stats;

mod elo;
mod sprt;

pub mod balance;

mod game_tree;

mod advised;
mod average;
mod cfr;
mod exact;
mod figures;
mod referee;

mod connect_four;

mod suitability;

pub use advised::Advised;
pub use average::Average;
pub use cfr::Cfr;
pub use connect_four::ConnectFourSolver;
pub use elo::{Meeting, elo_difference, ratings};
pub use exact::{Exploitability, Policy, nash_conv};
pub use figures::{ExactFigures, decide_all, judge, played_profile};
pub use game_tree::{ExactError, GameTree, Profile};
pub use interval::Interval;
pub use match_stats::MatchStats;
pub use referee::{Referee, RefereeError, SolvedPosition, Verdict};
pub use sprt::{Hypotheses, Sprt, Verdict as SprtVerdict};
pub use suitability::Suitability;
