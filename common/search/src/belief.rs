//! Reach belief: a pool of worlds drawn by the rules' own odds, each weighted by how likely the opponent would have
//! done in it what it did (Rebstock et al. 2019). The network is asked once for each past decision of the opponent in each
//! world.

use std::collections::VecDeque;

use fogfall_game::{Action, Actions, Game, Rng, Seat, World, stream};
use rand::RngExt;

use crate::evaluator::EvalBatch;

/// Stream of the pool's worlds below a search's seed, beside those of simulations.
const POOL_STREAM: u64 = u64::MAX - 2;
/// Share of uniform play in the opponent's policy: with a wrong network no world becomes impossible by one decision.
const UNIFORM_SHARE: f64 = 0.05;
/// Questions asked in one batch.
const QUESTIONS: usize = 64;

/// A past decision of the opponent in one world.
struct Question {
    world: usize,
    observation: Vec<f32>,
    legal: Actions,
    action: Action,
}

/// Weighted worlds of one search.
pub(crate) struct Pool<G: Game> {
    worlds: Vec<World<G>>,
    /// Products of the opponent's probabilities; from [`settle`](Self::settle) on, chances that add up to 1.
    weights: Vec<f64>,
    open: VecDeque<Question>,
    asked: VecDeque<Question>,
    floor: f64,
    ready: bool,
}

impl<G: Game> Pool<G> {
    /// Draws `size` worlds; none if the game does not replay the past.
    pub(crate) fn draw(game: &G, view: &G::View, opponent: Seat, size: u32, floor: f32, seed: u64) -> Option<Self> {
        let mut pool = Self {
            worlds: Vec::new(),
            weights: Vec::new(),
            open: VecDeque::new(),
            asked: VecDeque::new(),
            floor: f64::from(floor),
            ready: false,
        };
        for index in 0..size.max(1) as usize {
            let world = World::draw(game, view, &mut stream(seed, &[POOL_STREAM, index as u64]));
            let offered = world.past(game, view, opponent, |observation, legal, action| {
                let (observation, legal) = (observation.to_vec(), legal.to_vec());
                pool.open.push_back(Question { world: index, observation, legal, action });
            });
            if !offered {
                return None;
            }
            pool.worlds.push(world);
            pool.weights.push(1.0);
        }
        Some(pool)
    }

    /// Adds questions to the batch; true if there were any.
    pub(crate) fn ask(&mut self, lane: u32, batch: &mut EvalBatch) -> bool {
        let count = self.open.len().min(QUESTIONS);
        for question in self.open.drain(..count) {
            batch.push(lane, &question.legal).copy_from_slice(&question.observation);
            if batch.want_rollouts {
                batch.rollout.push(0.0);
            }
            self.asked.push_back(question);
        }
        count > 0
    }

    /// True while answers are outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Takes the answer to the oldest question.
    pub(crate) fn answer(&mut self, prior: &[f32]) {
        let question = self.asked.pop_front().expect("a question was asked");
        let place = question.legal.binary_search(&question.action).expect("what was done was legal");
        let uniform = 1.0 / question.legal.len() as f64;
        let chance = (1.0 - UNIFORM_SHARE) * f64::from(prior[place]) + UNIFORM_SHARE * uniform;
        self.weights[question.world] *= chance;
    }

    /// Makes chances of the weights once all is answered; does nothing a second time.
    pub(crate) fn settle(&mut self) {
        if std::mem::replace(&mut self.ready, true) {
            return;
        }
        let total: f64 = self.weights.iter().sum();
        let uniform = 1.0 / self.weights.len() as f64;
        for weight in &mut self.weights {
            let share = if total > 0.0 { *weight / total } else { uniform };
            *weight = (1.0 - self.floor) * share + self.floor * uniform;
        }
    }

    /// Draws a world by its chance.
    pub(crate) fn world(&self, rng: &mut Rng) -> World<G> {
        let mut rest: f64 = rng.random();
        let found = self.weights.iter().position(|&weight| {
            rest -= weight;
            rest < 0.0
        });
        self.worlds[found.unwrap_or(self.worlds.len() - 1)].clone()
    }

    /// Effective sample size `1 / sum of squared chances`, at most the size of the pool: low means few worlds explain
    /// what the opponent did.
    pub(crate) fn effective_worlds(&self) -> f64 {
        1.0 / self.weights.iter().map(|w| w * w).sum::<f64>()
    }
}
