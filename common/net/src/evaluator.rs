//! [`NetEvaluator`]: a network's answers to the search.

use std::sync::Arc;

use fogfall_search::{EvalBatch, Evaluator};

use crate::{Net, net::Scratch, softmax::softmax};

/// Rows computed at once. Fills `gemm`'s tiles of 6 rows; with more it would copy the weights before it uses them.
const CHUNK: usize = 48;

/// Evaluates positions with a network. One per thread; the network is shared.
///
/// Priors are the softmax of the legal actions' logits. Finite weights can still overflow on a position; then priors
/// are finite all the same and the value is 0.
pub struct NetEvaluator {
    net: Arc<Net>,
    scratch: Scratch,
}

impl NetEvaluator {
    /// An evaluator with its own working memory.
    pub fn new(net: Arc<Net>) -> Self {
        Self { net, scratch: Scratch::default() }
    }

    /// The network.
    pub fn net(&self) -> &Arc<Net> {
        &self.net
    }

    /// Goes on with another network.
    pub fn set_net(&mut self, net: Arc<Net>) {
        if net.shape() != self.net.shape() {
            self.scratch = Scratch::default();
        }
        self.net = net;
    }

    /// Logits of all actions `[rows, actions]` and values `[rows]` of observations `[rows, observation]`, as the
    /// network says them.
    ///
    /// # Panics
    /// If `observations` is not whole rows.
    pub fn outputs(&mut self, observations: &[f32]) -> (Vec<f32>, Vec<f32>) {
        self.net.forward(observations, &mut self.scratch);
        let rows = observations.len() / self.net.shape().observation_len();
        let actions = self.net.shape().num_actions();
        let row = |row| self.net.row(row, &self.scratch);
        let logits = (0..rows).flat_map(|r| (0..actions).map(move |action| row(r).logit(action))).collect();
        (logits, (0..rows).map(|r| row(r).value()).collect())
    }
}

impl Evaluator for NetEvaluator {
    /// # Panics
    /// If the batch's observations have another length than the network's, or an action is none of its.
    fn evaluate(&mut self, batch: &mut EvalBatch) {
        let len = self.net.shape().observation_len();
        assert_eq!(batch.observation_len, len, "length of observations");
        batch.prior.resize(batch.legal.len(), 0.0);
        batch.value.resize(batch.len(), 0.0);
        for first in (0..batch.len()).step_by(CHUNK) {
            let rows = CHUNK.min(batch.len() - first);
            self.net.forward(&batch.observation[first * len..(first + rows) * len], &mut self.scratch);
            for row in 0..rows {
                let outputs = self.net.row(row, &self.scratch);
                let span = batch.span(first + row);
                let prior = &mut batch.prior[span.clone()];
                for (prior, &action) in prior.iter_mut().zip(&batch.legal[span]) {
                    *prior = outputs.logit(action as usize);
                }
                softmax(prior);
                let value = outputs.value();
                batch.value[first + row] = if value.is_finite() { value } else { 0.0 };
            }
        }
    }
}
