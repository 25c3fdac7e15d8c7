//! Evaluators that need no network: uniform priors, random playouts, and a pseudo-network for tests.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::evaluator::{EvalBatch, Evaluator};

/// Uniform priors and value 0.
#[derive(Debug, Default)]
pub struct Uniform;

impl Evaluator for Uniform {
    fn evaluate(&mut self, batch: &mut EvalBatch) {
        uniform_priors(batch);
        batch.value.clear();
        batch.value.resize(batch.len(), 0.0);
    }
}

/// Uniform priors and the result of one random playout of the leaf's world.
#[derive(Debug, Default)]
pub struct Rollout;

impl Evaluator for Rollout {
    fn evaluate(&mut self, batch: &mut EvalBatch) {
        assert_eq!(batch.rollout.len(), batch.len(), "the batch was gathered with `want_rollouts`");
        uniform_priors(batch);
        batch.value.clear();
        batch.value.extend_from_slice(&batch.rollout);
    }

    fn wants_rollouts(&self) -> bool {
        true
    }
}

fn uniform_priors(batch: &mut EvalBatch) {
    batch.prior.clear();
    for row in 0..batch.len() {
        let n = batch.span(row).len();
        batch.prior.extend(std::iter::repeat_n(1.0 / n as f32, n));
    }
}

/// A pseudo-network: priors and values are a fixed hash of the observation. For tests that need answers that depend on
/// every bit of what the search showed.
#[derive(Debug, Default)]
pub struct Hash {
    /// Another seed is another network.
    pub seed: u64,
}

impl Evaluator for Hash {
    fn evaluate(&mut self, batch: &mut EvalBatch) {
        batch.prior.clear();
        batch.value.clear();
        for row in 0..batch.len() {
            let h = xxh3_64_with_seed(bytemuck::cast_slice(batch.observation(row)), self.seed);
            let unit = |i: u64| (fogfall_game::mix(h, i) >> 40) as f32 / (1_u64 << 24) as f32;
            batch.value.push(2.0 * unit(u64::MAX) - 1.0);
            let span = batch.span(row);
            let weights = batch.legal[span].iter().map(|&a| 0.1 + unit(u64::from(a)));
            let total: f32 = weights.clone().sum();
            batch.prior.extend(weights.map(|w| w / total));
        }
    }
}
