//! A search that shares its batch with no other: for programs that decide one position at a time.

use fogfall_game::Game;

use crate::{EvalBatch, Evaluator, Gathered, Search};

impl<G: Game> Search<G> {
    /// Brings a search that has begun to its end. `batch` is its working memory: empty before, empty after.
    ///
    /// # Panics
    /// If an answer is outstanding, or [`begin`](Self::begin) was never called.
    pub fn run(&mut self, evaluator: &mut dyn Evaluator, batch: &mut EvalBatch) {
        batch.want_rollouts = evaluator.wants_rollouts();
        loop {
            match self.gather(0, batch) {
                Gathered::Done => return,
                Gathered::Busy => {}
                Gathered::Asked => {
                    evaluator.evaluate(batch);
                    for row in 0..batch.len() {
                        let (prior, value) = batch.answer(row);
                        self.apply(prior, value);
                    }
                    batch.clear();
                }
            }
        }
    }
}
