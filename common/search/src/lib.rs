//! Determinized Monte Carlo tree search: the moves of one slot, searched in worlds drawn from what the mover has seen,
//! one question to the network at a time.
//!
//! It is not a player: it knows no clock, no thread, no file. Randomness comes in as a seed.
//!
//! **Invariant:** nothing here takes a game's state. A search gets a view and draws worlds from it.

mod search;
mod settings;

mod alone;
mod belief;
mod cached;
mod decision;
mod evaluator;
mod evaluators;
mod leaves;
mod noise;
mod rollout;
mod select;
mod tree;
mod tree_stats;

pub use cached::{CacheCounts, Cached, cache_bytes};
pub use decision::Decision;
pub use evaluator::{EvalBatch, Evaluator};
pub use evaluators::{Hash, Rollout, Uniform};
pub use search::{Gathered, Search};
pub use settings::{
    Belief, Budget, Choice, FallOrder, Keys, Label, Opponents, RootNoise, SearchSettings, Seats, TreeLife,
};
pub use tree::tree_bytes;
pub use tree_stats::TreeStats;
