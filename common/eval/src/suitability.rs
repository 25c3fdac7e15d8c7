//! How well determinized search suits a game, by the three properties of its tree that Long, Sturtevant, Buro and
//! Furtak (2010, "Understanding the Success of Perfect Information Monte Carlo Sampling in Game Tree Search") found to
//! decide it, measured in games played at random.
//!
//! It measures the game, not a player, and finds no fault of an implementation. Unlike the paper, whose games have two
//! actions, every action ends the game or none does, and information sets that are counted:
//!
//! - leaf correlation compares the last action that was a choice with one sibling, drawn by lot, and plays a sibling that
//!   does not end the game on at random, with the same chance outcomes;
//! - an information set's size is the effective number of worlds, `1 / sum p^2` over the odds by which worlds are drawn,
//!   estimated from how often drawn worlds coincide;
//! - the mean shrinking of an information set is geometric, so that a set that grows and shrinks again counts nothing.

use std::collections::HashMap;

use fogfall_game::{Actions, Game, Rng, Seat, Turn, stream};
use rand::RngExt;
use serde::Serialize;

use crate::Interval;

/// Worlds are drawn until this many pairs of them coincide, but no fewer and no more than the numbers below.
const COINCIDENCES: u64 = 32;
const LEAST_DRAWS: u64 = 128;
const MOST_DRAWS: u64 = 2048;
/// Information sets are followed in this many of the games: each takes many worlds.
const FOLLOWED: u32 = 200;
/// Streams below the root seed.
const SETUP: u64 = 0;
const PLAY: u64 = 1;
const WORLDS: u64 = 2;

/// From here on siblings agree so often that worlds which differ seldom want different actions.
const HIGH_CORRELATION: f64 = 0.85;
/// What is hidden comes to light if an information set loses at least the first share from decision to decision, and at
/// most the second share of its worlds is left at the last.
const FAST: [f64; 2] = [0.10, 0.25];
/// The same for what comes to light slowly.
const SLOW: [f64; 2] = [0.02, 0.5];

/// The three properties of a game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suitability {
    /// The game.
    pub game: String,
    /// Games played at random.
    pub games: u32,
    /// Probability that a sibling of the last choice has the same winner.
    pub leaf_correlation: Option<Interval>,
    /// Seat 0's mean score under random play: win 1, draw 1/2, loss 0.
    pub bias: Option<Interval>,
    /// Share of its information set that a seat loses from one of its decisions to the next; none if nothing is hidden.
    pub disambiguation: Option<f64>,
    /// Effective number of worlds at a seat's first and last decision, geometric means.
    pub worlds: [f64; 2],
}

impl Suitability {
    /// Plays `games` games at random and measures.
    pub fn measure<G: Game>(game: &G, games: u32, seed: u64) -> Self {
        let mut agree = Vec::new();
        let mut scores = Vec::new();
        let mut followed = Followed::default();
        let hidden = !game.info().perfect_information;
        for number in 0..games {
            let follow = hidden && number < FOLLOWED;
            let mut worlds = stream(seed, &[WORLDS, u64::from(number)]);
            let mut sizes = [Vec::new(), Vec::new()];
            let mut watch = |state: &G::State, seat: Seat| {
                if follow {
                    let size = effective_worlds(game, &game.view(state, seat), seat, &mut worlds);
                    sizes[usize::from(seat)].push(size);
                }
            };
            let played = play(game, seed, number, &mut watch);
            followed.add(&sizes);
            agree.extend(played.sibling.map(|sibling| sibling == played.result));
            scores.push(f64::from(played.result) / 2.0 + 0.5);
        }
        Self {
            game: game.info().name.clone(),
            games,
            leaf_correlation: Interval::of_share(agree.iter().filter(|&&same| same).count(), agree.len()),
            bias: Interval::of_score(&scores),
            disambiguation: hidden.then(|| followed.disambiguation()),
            worlds: followed.ends.map(|ends| ends.mean()),
        }
    }

    /// What follows from the numbers, in one sentence.
    pub fn advice(&self) -> &'static str {
        let Some(disambiguation) = self.disambiguation else {
            return "Nothing is hidden: every drawn world is the true one, and determinized search loses nothing.";
        };
        let correlated = self.leaf_correlation.is_some_and(|correlation| correlation.mean >= HIGH_CORRELATION);
        let left = self.worlds[1] / self.worlds[0];
        let comes_to_light = |[lost, most_left]: [f64; 2]| disambiguation >= lost && left <= most_left;
        match correlated {
            _ if comes_to_light(FAST) => {
                "Determinized search suits this game: what is hidden comes to light in play, so that wrong guesses do \
                 not last."
            }
            true => {
                "Determinized search suits this game: the last choice seldom changes the winner, so that worlds seldom \
                 want different actions, though little comes to light."
            }
            false if comes_to_light(SLOW) => {
                "Determinized search suits this game in part: what is hidden comes to light slowly while single choices \
                 decide; weight the worlds by the opponent's play and measure against other players."
            }
            false => {
                "Determinized search suits this game badly: what is hidden stays hidden while single choices decide, as \
                 in poker; weight the worlds by the opponent's play and measure NashConv before trusting a result."
            }
        }
    }
}

/// Means of logarithms.
#[derive(Clone, Copy, Default)]
struct GeometricMean {
    sum: f64,
    samples: u32,
}

impl GeometricMean {
    fn add(&mut self, value: f64) {
        self.sum += value.ln();
        self.samples += 1;
    }

    /// 1 without samples.
    fn mean(self) -> f64 {
        (self.sum / f64::from(self.samples.max(1))).exp()
    }
}

/// Sizes of information sets, followed from decision to decision of a seat.
#[derive(Default)]
struct Followed {
    /// From a decision to the seat's next, while more than one world is left.
    kept: GeometricMean,
    /// At the first and at the last decision.
    ends: [GeometricMean; 2],
}

impl Followed {
    fn add(&mut self, sizes: &[Vec<f64>; 2]) {
        for of_seat in sizes {
            for (end, size) in self.ends.iter_mut().zip([of_seat.first(), of_seat.last()]) {
                size.into_iter().for_each(|&size| end.add(size));
            }
            for pair in of_seat.windows(2).filter(|pair| pair[0] > 1.0) {
                self.kept.add(pair[1] / pair[0]);
            }
        }
    }

    fn disambiguation(&self) -> f64 {
        1.0 - self.kept.mean()
    }
}

/// A game played at random. Results are seat 0's: 1, 0 or -1.
struct Played {
    result: i8,
    /// The result if the last choice had been another; none if there was no choice.
    sibling: Option<i8>,
}

/// Plays a game at random and shows each state in which a seat decides.
fn play<G: Game>(game: &G, seed: u64, number: u32, watch: &mut dyn FnMut(&G::State, Seat)) -> Played {
    let mut state = game.start(&mut stream(seed, &[SETUP, u64::from(number)]));
    let mut rng = stream(seed, &[PLAY, u64::from(number)]);
    game.settle(&mut state, &mut rng);
    let mut legal = Actions::new();
    let mut last = None;
    while let Turn::Player(seat) = game.turn(&state) {
        watch(&state, seat);
        game.legal(&state, &mut legal);
        let place = rng.random_range(0..legal.len());
        if legal.len() > 1 {
            let other = (place + rng.random_range(1..legal.len())) % legal.len();
            last = Some((state.clone(), legal[other], rng.clone()));
        }
        game.advance(&mut state, legal[place], &mut rng);
    }
    let sibling = last.map(|(mut state, action, mut rng)| {
        game.advance(&mut state, action, &mut rng);
        play_on(game, &mut state, &mut rng);
        result(game, &state)
    });
    Played { result: result(game, &state), sibling }
}

fn play_on<G: Game>(game: &G, state: &mut G::State, rng: &mut Rng) {
    let mut legal = Actions::new();
    while let Turn::Player(_) = game.turn(state) {
        game.legal(state, &mut legal);
        let action = legal[rng.random_range(0..legal.len())];
        game.advance(state, action, rng);
    }
}

fn result<G: Game>(game: &G, state: &G::State) -> i8 {
    let payoff = game.payoff(state);
    i8::from(payoff > 0.0) - i8::from(payoff < 0.0)
}

/// `1 / sum p^2` over the worlds that a seat holds possible. Worlds are told apart by what the other seat has seen.
fn effective_worlds<G: Game>(game: &G, view: &G::View, seat: Seat, rng: &mut Rng) -> f64 {
    let mut seen: HashMap<Vec<u8>, u64> = HashMap::new();
    let (mut coincidences, mut draws) = (0, 0);
    while draws < LEAST_DRAWS || (coincidences < COINCIDENCES && draws < MOST_DRAWS) {
        let world = game.determinize(view, rng);
        let bytes = rmp_serde::to_vec(&game.view(&world, 1 - seat)).expect("a view is plain data");
        let same = seen.entry(bytes).or_default();
        coincidences += *same;
        *same += 1;
        draws += 1;
    }
    (draws * (draws - 1) / 2) as f64 / coincidences.max(1) as f64
}

#[cfg(test)]
mod tests;
