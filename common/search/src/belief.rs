//! Reach belief: a pool of worlds that one seat keeps for a game, each weighted by how likely the opponent would have done
//! in it what it did (Rebstock et al. 2019). Importance sampling: worlds are drawn by the rules' own odds, and every
//! decision of the opponent multiplies one factor, the network's probability for it.
//!
//! A world lives as long as it agrees with what is seen. The network is asked about the decisions made since the last
//! search; about all of them only for worlds that replace those that died. Where few worlds carry all the weight, as many
//! again are drawn, and the pool is thinned without bias (Fearnhead and Clifford 2003).
//!
//! **Invariant:** a kept pool weighs worlds as a pool drawn anew does. Unlike in one sample, new worlds and kept ones
//! differ by a factor near 1 that depends on which cards came to light: each part by itself has the right odds, and so has
//! any mixture of them.

use std::collections::{HashMap, VecDeque};

use fogfall_game::{Action, Actions, Game, Rng, Seat, World, stream};
use rand::RngExt;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

use crate::evaluator::EvalBatch;

/// Streams below a search's seed, beside those of simulations: of new worlds, of worlds carried on, of thinning.
const DRAW_STREAM: u64 = u64::MAX - 2;
const CARRY_STREAM: u64 = u64::MAX - 3;
const THIN_STREAM: u64 = u64::MAX - 4;
/// Share of uniform play in the opponent's policy: with a wrong network no world becomes impossible by one decision.
const UNIFORM_SHARE: f64 = 0.05;
/// Questions asked in one batch.
const QUESTIONS: usize = 64;
/// As many worlds again are drawn when the effective sample size is a smaller share of the pool than this.
const REFILL_BELOW: f64 = 0.1;

/// A world and the logarithm of its weight.
struct Weighted<G: Game> {
    world: World<G>,
    log_weight: f64,
}

/// Weighted worlds of one seat in one game.
pub(crate) struct Pool<G: Game> {
    /// Whose worlds these are.
    owner: Seat,
    /// Worlds that it holds when it is not being refilled.
    size: usize,
    seed: u64,
    worlds: Vec<Weighted<G>>,
    /// `[worlds]` running sums of the weights' shares, once they are known; the last is 1.
    shares: Vec<f64>,
    effective_worlds: f64,
    questions: Questions,
    /// [`REFILL_BELOW`].
    refill_below: f64,
    /// Worlds drawn for this search.
    drawn: u64,
    refilled: bool,
    ready: bool,
}

impl<G: Game> Pool<G> {
    /// A pool of `size` worlds for the search that begins: those that `kept` holds and that still agree with the view, and
    /// new ones. None if the game does not replay the past.
    pub(crate) fn begin(
        kept: Option<Self>,
        game: &G,
        view: &G::View,
        owner: Seat,
        size: u32,
        seed: u64,
    ) -> Option<Self> {
        let mut pool = Self {
            owner,
            size: size.max(1) as usize,
            seed,
            worlds: Vec::new(),
            shares: Vec::new(),
            effective_worlds: 0.0,
            questions: Questions::default(),
            refill_below: REFILL_BELOW,
            drawn: 0,
            refilled: false,
            ready: false,
        };
        if let Some(kept) = kept.filter(|kept| kept.owner == owner && kept.ready) {
            let old = kept.worlds.iter().enumerate();
            old.for_each(|(index, old)| pool.carry(old, game, view, &mut stream(seed, &[CARRY_STREAM, index as u64])));
        }
        while pool.worlds.len() < pool.size {
            pool.draw(game, view)?;
        }
        Some(pool)
    }

    /// Carries a world of an earlier view on, if it still agrees with what is seen.
    fn carry(&mut self, old: &Weighted<G>, game: &G, view: &G::View, rng: &mut Rng) {
        let (index, mut since) = (self.worlds.len(), Vec::new());
        let carried = old.world.carry(game, view, 1 - self.owner, rng, |observation, legal, action| {
            since.push((observation.to_vec(), legal.to_vec(), action));
        });
        let Some((world, odds)) = carried else { return };
        for (observation, legal, action) in since {
            self.questions.add(index, &observation, &legal, action);
        }
        self.worlds.push(Weighted { world, log_weight: old.log_weight + odds.ln() });
    }

    /// Draws a new world; none if the game does not replay its past.
    fn draw(&mut self, game: &G, view: &G::View) -> Option<()> {
        let index = self.worlds.len();
        let world = World::draw(game, view, &mut stream(self.seed, &[DRAW_STREAM, self.drawn]));
        let odds = world.past(game, view, 1 - self.owner, |observation, legal, action| {
            self.questions.add(index, observation, legal, action);
        })?;
        self.drawn += 1;
        self.worlds.push(Weighted { world, log_weight: odds.ln() });
        Some(())
    }

    /// Adds questions to the batch and tells how many; 0 once the pool is ready.
    ///
    /// # Panics
    /// If answers are outstanding.
    pub(crate) fn gather(&mut self, game: &G, view: &G::View, lane: u32, batch: &mut EvalBatch) -> u32 {
        assert!(!self.is_waiting(), "the last questions are not answered yet");
        while !self.ready {
            let asked = self.questions.ask(lane, batch);
            if asked > 0 {
                return asked;
            }
            self.settle(game, view);
        }
        0
    }

    /// True while answers are outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.questions.asked.is_empty()
    }

    /// Takes the answer to the oldest question.
    pub(crate) fn answer(&mut self, prior: &[f32]) {
        let (worlds, factor) = self.questions.answer(prior);
        for world in worlds {
            self.worlds[world].log_weight += factor;
        }
    }

    /// Makes shares of the weights when all is answered, and refills the pool once if they lie on few worlds.
    fn settle(&mut self, game: &G, view: &G::View) {
        let (highest, mut weights) = self.weights();
        self.effective_worlds = effective(&weights);
        if !self.refilled && self.effective_worlds < self.refill_below * self.size as f64 {
            self.refilled = true;
            // A past too long to be replayed leaves the pool as it is.
            while self.worlds.len() < 2 * self.size && self.draw(game, view).is_some() {}
            return;
        }
        let drawn = self.worlds.len();
        if drawn > self.size {
            thin(&mut weights, self.size, &mut stream(self.seed, &[THIN_STREAM]));
            let mut kept = weights.iter();
            self.worlds.retain(|_| kept.next().is_some_and(|&weight| weight > 0.0));
            weights.retain(|&weight| weight > 0.0);
            // Fewer worlds carry the sum of all: on average a world weighs what a new one does.
            let scale = highest + (weights.len() as f64 / drawn as f64).ln();
            for (weighted, weight) in self.worlds.iter_mut().zip(&weights) {
                weighted.log_weight = scale + weight.ln();
            }
            self.effective_worlds = effective(&weights);
        }
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        self.shares.clear();
        self.shares.extend(weights.iter().map(|weight| {
            sum += weight / total;
            sum
        }));
        self.ready = true;
    }

    /// The logarithm of the largest weight, and `[worlds]` weights as shares of it.
    fn weights(&self) -> (f64, Vec<f64>) {
        let highest = self.worlds.iter().map(|w| w.log_weight).fold(f64::NEG_INFINITY, f64::max);
        (highest, self.worlds.iter().map(|weighted| (weighted.log_weight - highest).exp()).collect())
    }

    /// Draws a world by its weight.
    pub(crate) fn world(&self, rng: &mut Rng) -> World<G> {
        let at = rng.random::<f64>();
        let index = self.shares.partition_point(|&sum| sum <= at).min(self.worlds.len() - 1);
        self.worlds[index].world.clone()
    }

    /// Effective sample size, see [`effective`]: low means few worlds explain what the opponent did.
    pub(crate) fn effective_worlds(&self) -> f64 {
        self.effective_worlds
    }

    /// True if worlds were drawn for this search beyond those that replaced dead ones.
    pub(crate) fn is_refilled(&self) -> bool {
        self.refilled
    }
}

/// Effective sample size `(sum w)^2 / sum w^2`, from 1 to the number of weights.
fn effective(weights: &[f64]) -> f64 {
    let (sum, squares) = weights.iter().fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
    sum * sum / squares
}

/// Leaves `size` of the weights and makes the others 0 so that each weight keeps its expectation: those above a threshold
/// `c` stay as they are, of the others each stays with probability `w / c` and then weighs `c` (Fearnhead and Clifford
/// 2003, section 3.2, with systematic sampling).
fn thin(weights: &mut [f64], size: usize, rng: &mut Rng) {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
    // Of the heaviest as many stay as weigh more than what the rest would weigh each.
    let mut rest: f64 = weights.iter().sum();
    let mut heavy = 0;
    while heavy < size && weights[order[heavy]] * (size - heavy) as f64 >= rest {
        rest -= weights[order[heavy]];
        heavy += 1;
    }
    let threshold = rest.max(0.0) / (size - heavy).max(1) as f64;
    let mut next = rng.random::<f64>() * threshold;
    let mut left = size - heavy;
    for &index in &order[heavy..] {
        next -= weights[index];
        let stays = next < 0.0 && left > 0;
        weights[index] = if stays { threshold } else { 0.0 };
        if stays {
            next += threshold;
            left -= 1;
        }
    }
}

/// Decisions of the opponent about which the network is asked, each once for all worlds in which it looks the same.
#[derive(Default)]
struct Questions {
    open: VecDeque<Question>,
    asked: VecDeque<Question>,
    /// Places in `open` by all that the network sees, until the first is asked.
    places: HashMap<u128, usize>,
}

struct Question {
    worlds: Vec<usize>,
    observation: Vec<f32>,
    legal: Actions,
    action: Action,
}

impl Questions {
    /// Adds a question; none where nothing could be chosen.
    fn add(&mut self, world: usize, observation: &[f32], legal: &[Action], action: Action) {
        if legal.len() < 2 {
            return;
        }
        let seed = xxh3_64_with_seed(bytemuck::cast_slice(legal), action.into());
        let key = xxh3_128_with_seed(bytemuck::cast_slice(observation), seed);
        let place = *self.places.entry(key).or_insert(self.open.len());
        match self.open.get_mut(place) {
            Some(question) => question.worlds.push(world),
            None => self.open.push_back(Question {
                worlds: vec![world],
                observation: observation.to_vec(),
                legal: legal.to_vec(),
                action,
            }),
        }
    }

    /// Adds open questions to the batch; how many.
    fn ask(&mut self, lane: u32, batch: &mut EvalBatch) -> u32 {
        self.places.clear();
        let count = self.open.len().min(QUESTIONS);
        for question in self.open.drain(..count) {
            batch.push(lane, &question.legal).copy_from_slice(&question.observation);
            if batch.want_rollouts {
                batch.rollout.push(0.0);
            }
            self.asked.push_back(question);
        }
        count as u32
    }

    /// The worlds of the oldest question and the logarithm of their factor.
    fn answer(&mut self, prior: &[f32]) -> (Vec<usize>, f64) {
        let question = self.asked.pop_front().expect("a question was asked");
        let place = question.legal.binary_search(&question.action).expect("what was done was legal");
        let uniform = 1.0 / question.legal.len() as f64;
        let chance = f64::from(prior[place]);
        let chance = if chance.is_finite() { chance.max(0.0) } else { uniform };
        (question.worlds, ((1.0 - UNIFORM_SHARE) * chance + UNIFORM_SHARE * uniform).ln())
    }
}

#[cfg(test)]
#[path = "belief_tests.rs"]
mod belief_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_heavy_weights_and_the_expectation_of_all() {
        let weights = [0.5, 0.3, 0.1, 0.06, 0.04];
        let mut sums = [0.0; 5];
        for seed in 0..20_000 {
            let mut thinned = weights;
            thin(&mut thinned, 3, &mut stream(seed, &[]));
            assert_eq!(thinned.iter().filter(|&&w| w > 0.0).count(), 3);
            // 0.5 * 3 >= 1 stays; 0.3 * 2 >= 0.5 stays; 0.1 * 1 < 0.2: one of three stays and weighs 0.2.
            assert_eq!(thinned[..2], [0.5, 0.3]);
            sums.iter_mut().zip(thinned).for_each(|(sum, w)| *sum += w / 20_000.0);
        }
        // A weight of 0.1 stays in half of all cases: 0.1 +- 0.0007.
        assert!(sums.iter().zip(weights).all(|(sum, w)| (sum - w).abs() < 0.003), "{sums:?}");
    }

    #[test]
    fn the_effective_size_counts_the_worlds_that_matter() {
        assert_eq!(effective(&[2.0; 8]), 8.0);
        assert_eq!(effective(&[1.0, 0.0, 0.0]), 1.0);
        assert_eq!(effective(&[3.0, 1.0]), 1.6); // 16 / 10
    }

    #[test]
    fn worlds_that_look_the_same_to_the_opponent_share_a_question() {
        let mut questions = Questions::default();
        questions.add(0, &[1.0], &[0, 1], 1);
        questions.add(1, &[2.0], &[0, 1], 1);
        questions.add(2, &[1.0], &[0, 1], 1);
        questions.add(3, &[1.0], &[0, 1], 0);
        questions.add(4, &[1.0], &[0], 0); // nothing to choose
        let mut batch = EvalBatch::new(1);
        assert_eq!(questions.ask(0, &mut batch), 3);
        let (worlds, factor) = questions.answer(&[0.2, 0.8]);
        assert_eq!(worlds, [0, 2]);
        assert!((factor - 0.785_f64.ln()).abs() < 1e-6); // .95 * .8 + .05 * .5
        assert_eq!(questions.answer(&[0.5, 0.5]).0, [1]);
        let (worlds, factor) = questions.answer(&[f32::NAN, f32::NAN]);
        assert_eq!(worlds, [3]);
        assert!((factor - 0.5_f64.ln()).abs() < 1e-12, "a broken answer tells nothing");
    }
}
