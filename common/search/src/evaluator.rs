//! [`Evaluator`]: who answers the search's questions, in batches of positions.

use fogfall_game::Action;

/// Positions to evaluate and their answers, as flat arrays of one row a position. Reused from batch to batch.
#[derive(Debug, Default)]
pub struct EvalBatch {
    /// Numbers in one observation.
    pub observation_len: usize,
    /// `[rows * observation_len]` what the mover sees.
    pub observation: Vec<f32>,
    /// The legal actions of all rows, one row after the other, ascending within a row.
    pub legal: Vec<Action>,
    /// `[rows]` where each row's legal actions end in `legal`.
    pub legal_end: Vec<u32>,
    /// `[rows]` the search that asked.
    pub lane: Vec<u32>,
    /// True if the searches shall play each leaf to its end at random and record the result.
    pub want_rollouts: bool,
    /// `[rows]` the mover's result of one random playout, if wanted; else empty.
    pub rollout: Vec<f32>,
    /// Answer: parallel to `legal`, probabilities that sum to 1 over each row.
    pub prior: Vec<f32>,
    /// Answer: `[rows]` the mover's value in units of the game's scale.
    pub value: Vec<f32>,
}

impl EvalBatch {
    /// An empty batch for observations of this length.
    pub fn new(observation_len: usize) -> Self {
        Self { observation_len, ..Self::default() }
    }

    /// Rows asked.
    #[inline]
    pub fn len(&self) -> usize {
        self.lane.len()
    }

    /// True if nothing is asked.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.lane.is_empty()
    }

    /// Forgets all rows and answers, keeps the memory.
    pub fn clear(&mut self) {
        self.observation.clear();
        self.legal.clear();
        self.legal_end.clear();
        self.lane.clear();
        self.rollout.clear();
        self.prior.clear();
        self.value.clear();
    }

    /// Appends a row and returns where to write its observation.
    #[inline]
    pub fn push(&mut self, lane: u32, legal: &[Action]) -> &mut [f32] {
        self.legal.extend_from_slice(legal);
        self.legal_end.push(self.legal.len() as u32);
        self.lane.push(lane);
        let start = self.observation.len();
        self.observation.resize(start + self.observation_len, 0.0);
        &mut self.observation[start..]
    }

    /// Where a row's legal actions and priors lie.
    #[inline]
    pub fn span(&self, row: usize) -> std::ops::Range<usize> {
        let start = if row == 0 { 0 } else { self.legal_end[row - 1] };
        start as usize..self.legal_end[row] as usize
    }

    /// One row's observation.
    #[inline]
    pub fn observation(&self, row: usize) -> &[f32] {
        &self.observation[row * self.observation_len..(row + 1) * self.observation_len]
    }

    /// One row's legal actions.
    #[inline]
    pub fn legal(&self, row: usize) -> &[Action] {
        &self.legal[self.span(row)]
    }

    /// One row's answer: priors of its legal actions, and value.
    #[inline]
    pub fn answer(&self, row: usize) -> (&[f32], f32) {
        (&self.prior[self.span(row)], self.value[row])
    }
}

/// Answers batches of positions. The mover's information is all it gets.
///
/// The suite in `fogfall-testkit` checks: one prior a legal action, summing to 1; finite values; a row alone gets
/// the same bits as the row within a batch.
pub trait Evaluator: Send {
    /// Fills `prior` and `value` of every row.
    fn evaluate(&mut self, batch: &mut EvalBatch);

    /// True if the batches must carry rollouts.
    fn wants_rollouts(&self) -> bool {
        false
    }
}
