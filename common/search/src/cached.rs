//! [`Cached`]: answers that were given before, kept in a table of fixed size.

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

use crate::evaluator::{EvalBatch, Evaluator};

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
/// Of no use around [`crate::Rollout`], whose answers differ from time to time.
pub struct Cached<E> {
    inner: E,
    weights: u64,
    table: Table,
    misses: EvalBatch,
    /// `[rows]` of the batch.
    keys: Vec<u128>,
    /// `[rows]` where their answers are.
    found: Vec<Option<usize>>,
    /// The rows that `misses` are.
    missed: Vec<usize>,
    counts: CacheCounts,
}

impl<E: Evaluator> Cached<E> {
    /// A cache of about `entries` answers with at most `max_legal` priors each, in front of `inner`; 0 entries for no
    /// cache.
    pub fn new(inner: E, entries: usize, max_legal: usize) -> Self {
        Self {
            inner,
            weights: 0,
            table: Table::new(entries, max_legal),
            misses: EvalBatch::default(),
            keys: Vec::new(),
            found: Vec::new(),
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
}

fn key(batch: &EvalBatch, row: usize, weights: u64) -> u128 {
    let legal = xxh3_64_with_seed(bytemuck::cast_slice(batch.legal(row)), weights);
    // 0 marks an empty place.
    xxh3_128_with_seed(bytemuck::cast_slice(batch.observation(row)), legal).max(1)
}

impl<E: Evaluator> Evaluator for Cached<E> {
    fn evaluate(&mut self, batch: &mut EvalBatch) {
        self.counts.asked += batch.len() as u64;
        // A playout is of one world and says nothing of the next.
        if self.table.is_empty() || self.inner.wants_rollouts() {
            return self.inner.evaluate(batch);
        }
        batch.prior.resize(batch.legal.len(), 0.0);
        batch.value.resize(batch.len(), 0.0);
        self.misses.clear();
        self.misses.observation_len = batch.observation_len;
        self.missed.clear();
        // First all keys, then all look-ups: so the processor waits for many places of the table at once.
        self.keys.clear();
        self.keys.extend((0..batch.len()).map(|row| key(batch, row, self.weights)));
        self.found.clear();
        self.found.extend(self.keys.iter().map(|&key| self.table.find(key)));
        for row in 0..batch.len() {
            let span = batch.span(row);
            if let Some(start) = self.found[row] {
                let (value, prior) = self.table.answer(start, span.len());
                batch.value[row] = value;
                batch.prior[span.clone()].copy_from_slice(prior);
            } else {
                self.missed.push(row);
                self.misses.push(row as u32, &batch.legal[span]).copy_from_slice(batch.observation(row));
            }
        }
        self.counts.hits += (batch.len() - self.missed.len()) as u64;
        if self.missed.is_empty() {
            return;
        }
        self.inner.evaluate(&mut self.misses);
        for (miss, &row) in self.missed.iter().enumerate() {
            let (prior, value) = self.misses.answer(miss);
            self.table.store(self.keys[row], value, prior);
            batch.value[row] = value;
            let span = batch.span(row);
            batch.prior[span].copy_from_slice(prior);
        }
    }

    fn wants_rollouts(&self) -> bool {
        self.inner.wants_rollouts()
    }
}

/// Bytes that a cache of about `entries` answers with at most `max_legal` priors each takes.
pub fn cache_bytes(entries: usize, max_legal: usize) -> usize {
    let (places, ring) = Table::size(entries, max_legal);
    places * (size_of::<u128>() + size_of::<u64>()) + ring * size_of::<f32>()
}

/// Answers by key, the newest of them. Keys lie apart from answers, and answers one after the other in a ring: what is
/// looked at for every question stays small, and what is written is written in order. With a place of its own for each
/// answer the table costs more than it saves where few questions repeat.
struct Table {
    /// A key's place is its lowest bits; a new key takes the old one's. 0: none.
    keys: Vec<u128>,
    /// `[keys]` where each answer starts, counted from the first that was ever stored.
    starts: Vec<u64>,
    /// Answers, each a value and its priors; a start is taken modulo the length.
    ring: Vec<f32>,
    /// Where the next answer starts.
    end: u64,
}

impl Table {
    /// The ring holds the answers to all keys if they have this many priors on average.
    const USUAL_PRIORS: usize = 15;

    /// Places for keys, and numbers in the ring.
    fn size(entries: usize, max_legal: usize) -> (usize, usize) {
        let places = if entries == 0 { 0 } else { entries.next_power_of_two() };
        (places, places * (1 + max_legal.min(Self::USUAL_PRIORS)))
    }

    fn new(entries: usize, max_legal: usize) -> Self {
        let (places, ring) = Self::size(entries, max_legal);
        Self { keys: vec![0; places], starts: vec![0; places], ring: vec![0.0; ring], end: 0 }
    }

    fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn place(&self, key: u128) -> usize {
        key as usize & (self.keys.len() - 1)
    }

    /// Where the answer to a key is, if it is still there.
    fn find(&self, key: u128) -> Option<usize> {
        let place = self.place(key);
        let (start, capacity) = (self.starts[place], self.ring.len() as u64);
        (self.keys[place] == key && self.end - start <= capacity).then_some((start % capacity) as usize)
    }

    /// A found answer: value and `legal` priors.
    fn answer(&self, start: usize, legal: usize) -> (f32, &[f32]) {
        (self.ring[start], &self.ring[start + 1..][..legal])
    }

    fn store(&mut self, key: u128, value: f32, prior: &[f32]) {
        let (len, capacity) = (1 + prior.len(), self.ring.len());
        let mut at = (self.end % capacity as u64) as usize;
        if at + len > capacity {
            if len > capacity {
                return;
            }
            self.end += (capacity - at) as u64;
            at = 0;
        }
        self.ring[at] = value;
        self.ring[at + 1..at + len].copy_from_slice(prior);
        let place = self.place(key);
        self.keys[place] = key;
        self.starts[place] = self.end;
        self.end += len as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of 4 places and a ring of 12 numbers: three priors an answer.
    fn table(answers: &[(u128, f32, &[f32])]) -> Table {
        let mut table = Table::new(4, 2);
        for &(key, value, prior) in answers {
            table.store(key, value, prior);
        }
        table
    }

    fn find(table: &Table, key: u128, legal: usize) -> Option<(f32, &[f32])> {
        table.find(key).map(|start| table.answer(start, legal))
    }

    #[test]
    fn an_answer_is_found_by_its_whole_key() {
        let table = table(&[(1, 0.5, &[0.25, 0.75])]);
        assert_eq!(find(&table, 1, 2), Some((0.5, [0.25, 0.75].as_slice())));
        assert_eq!(find(&table, 5, 2), None, "the same place, another key");
        assert_eq!(find(&table, 1 | 1 << 64, 2), None);
    }

    #[test]
    fn a_new_answer_takes_its_place_and_the_oldest_room() {
        // 12 numbers hold four answers of 3; the fifth overwrites the first, which is lost though its place is not.
        let prior: &[f32] = &[0.5, 0.5];
        let all = [(1, 0.1, prior), (2, 0.2, prior), (3, 0.3, prior), (6, 0.6, prior), (7, 0.7, prior)];
        let table = table(&all);
        assert_eq!(table.ring.len(), 12);
        assert_eq!([1, 2, 3].map(|key| find(&table, key, 2)), [None; 3], "overwritten; taken by 6; taken by 7");
        assert_eq!([6, 7].map(|key| find(&table, key, 2).map(|found| found.0)), [Some(0.6), Some(0.7)]);
    }

    #[test]
    fn no_answer_runs_over_the_end_of_the_ring() {
        // 5 + 5 numbers, 2 are left over: the third answer starts again at 0 and overwrites the first.
        let prior: &[f32] = &[0.25; 4];
        let table = table(&[(1, 0.1, prior), (2, 0.2, prior), (3, 0.3, prior)]);
        assert_eq!(find(&table, 1, 4), None);
        assert_eq!(find(&table, 2, 4), Some((0.2, prior)));
        assert_eq!(find(&table, 3, 4), Some((0.3, prior)));
        assert_eq!(table.find(3), Some(0));
    }

    #[test]
    fn an_answer_too_long_for_the_ring_is_not_kept() {
        let mut table = table(&[(1, 0.1, &[1.0])]);
        table.store(2, 0.2, &[0.1; 12]); // 13 numbers
        assert_eq!(find(&table, 2, 12), None);
        assert_eq!(find(&table, 1, 1), Some((0.1, [1.0].as_slice())));
    }
}
