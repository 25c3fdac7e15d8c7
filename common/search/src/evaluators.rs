//! Evaluators that need no network: uniform priors, random playouts, a pseudo-network for tests, and a cache.

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

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

/// Counts of a [`Cached`] evaluator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Rows asked.
    pub asked: u64,
    /// Rows answered from the cache.
    pub hits: u64,
}

/// Answers repeated questions from a bounded table and the rest from the evaluator inside. Keys are 128 bits of
/// everything that the network sees: observation, legal actions, and the weights' number.
///
/// Of no use around [`Rollout`], whose answers differ from time to time.
pub struct Cached<E> {
    inner: E,
    weights: u64,
    stride: usize,
    keys: Vec<u128>,
    values: Vec<f32>,
    priors: Vec<f32>,
    misses: EvalBatch,
    missed: Vec<(usize, u128)>,
    counts: CacheCounts,
}

impl<E: Evaluator> Cached<E> {
    /// A cache of about `entries` answers with at most `max_legal` priors each, in front of `inner`; 0 entries for no
    /// cache.
    pub fn new(inner: E, entries: usize, max_legal: usize) -> Self {
        let entries = if entries == 0 { 0 } else { entries.next_power_of_two() };
        Self {
            inner,
            weights: 0,
            stride: max_legal,
            keys: vec![0; entries],
            values: vec![0.0; entries],
            priors: vec![0.0; entries * max_legal],
            misses: EvalBatch::default(),
            missed: Vec::new(),
            counts: CacheCounts::default(),
        }
    }

    /// Gives the evaluator inside new weights; answers of the old ones are no longer found.
    pub fn renew(&mut self, change: impl FnOnce(&mut E)) {
        self.weights += 1;
        change(&mut self.inner);
    }

    /// The evaluator inside.
    pub fn inner(&self) -> &E {
        &self.inner
    }

    /// Rows asked and answered so far.
    pub fn counts(&self) -> CacheCounts {
        self.counts
    }

    fn key(&self, batch: &EvalBatch, row: usize) -> u128 {
        let legal = xxh3_64_with_seed(bytemuck::cast_slice(batch.legal(row)), self.weights);
        // 0 marks an empty place.
        xxh3_128_with_seed(bytemuck::cast_slice(batch.observation(row)), legal).max(1)
    }

    fn place(&self, key: u128) -> usize {
        key as usize & (self.keys.len() - 1)
    }
}

impl<E: Evaluator> Evaluator for Cached<E> {
    fn evaluate(&mut self, batch: &mut EvalBatch) {
        self.counts.asked += batch.len() as u64;
        if self.keys.is_empty() {
            return self.inner.evaluate(batch);
        }
        batch.prior.resize(batch.legal.len(), 0.0);
        batch.value.resize(batch.len(), 0.0);
        self.misses.clear();
        self.misses.observation_len = batch.observation_len;
        self.missed.clear();
        for row in 0..batch.len() {
            let key = self.key(batch, row);
            let place = self.place(key);
            let span = batch.span(row);
            if self.keys[place] == key {
                let stored = place * self.stride;
                batch.value[row] = self.values[place];
                batch.prior[span.clone()].copy_from_slice(&self.priors[stored..stored + span.len()]);
            } else {
                self.missed.push((row, key));
                self.misses.push(row as u32, &batch.legal[span]).copy_from_slice(batch.observation(row));
            }
        }
        self.counts.hits += (batch.len() - self.missed.len()) as u64;
        if self.missed.is_empty() {
            return;
        }
        self.inner.evaluate(&mut self.misses);
        for (miss, &(row, key)) in self.missed.iter().enumerate() {
            let (prior, value) = self.misses.answer(miss);
            let place = self.place(key);
            if prior.len() <= self.stride {
                self.keys[place] = key;
                self.values[place] = value;
                self.priors[place * self.stride..place * self.stride + prior.len()].copy_from_slice(prior);
            }
            batch.value[row] = value;
            let span = batch.span(row);
            batch.prior[span].copy_from_slice(prior);
        }
    }

    fn wants_rollouts(&self) -> bool {
        self.inner.wants_rollouts()
    }
}
