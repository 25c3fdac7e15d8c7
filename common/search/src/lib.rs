//! Determinized Monte Carlo tree search.

mod evaluator;

pub use evaluator::{EvalBatch, Evaluator};
