//! What belief and opponents in the tree cost on battle: `cargo run -p fogfall-search --example belief_cost [GAMES]`.
//! Fights at 64 simulations a move, answered by a pseudo-network; prints evaluations and time a move, the effective sample
//! size of the pools and how often they were refilled. Time is that of all but the network.
#![allow(clippy::print_stdout, reason = "figures for people")]

use std::{sync::Arc, time::Instant};

use fogfall_game::{Game, Turn, mix, stream};
use fogfall_games::Battle;
use fogfall_search::{Belief, Budget, Choice, Decision, EvalBatch, Hash, Opponents, Search, SearchSettings};

/// Sums over all moves.
#[derive(Default)]
struct Sums {
    moves: f64,
    evaluations: f64,
    effective_worlds: f64,
    refills: f64,
}

fn fight(game: &Arc<Battle>, settings: SearchSettings, seed: u64, sums: &mut Sums) {
    let mut searches = [0, 1].map(|_| Search::new(Arc::clone(game), settings));
    let mut batch = EvalBatch::new(game.info().observation_len());
    let mut rng = stream(seed, &[]);
    let mut state = game.start(&mut rng);
    game.settle(&mut state, &mut rng);
    while let Turn::Player(mover) = game.turn(&state) {
        let search = &mut searches[usize::from(mover)];
        search.begin(game.view(&state, mover), Budget::Simulations(64), None, mix(seed, sums.moves as u64));
        search.run(&mut Hash { seed: 1 }, &mut batch);
        let mut decision = Decision::default();
        search.decide(Choice::Sample { temperature: 1.0 }, &mut rng, &mut decision);
        game.advance(&mut state, decision.action, &mut rng);
        sums.moves += 1.0;
        sums.evaluations += f64::from(decision.evaluations);
        sums.effective_worlds += f64::from(decision.effective_worlds);
        sums.refills += f64::from(u8::from(decision.refilled));
    }
}

fn main() {
    let fights = std::env::args().nth(1).and_then(|games| games.parse().ok()).unwrap_or(40);
    let game = Arc::new(Battle::new(None).expect("the rules that ship are right"));
    let policy = Opponents::Policy { uniform: 0.05 };
    let reach = |pool| Belief::Reach { pool, floor: 0.1 };
    println!("belief      opponents  evaluations/move  us/move  effective worlds  refills/move");
    for (belief, opponents) in [
        (Belief::Uniform, Opponents::Search),
        (Belief::Uniform, policy),
        (reach(32), Opponents::Search),
        (reach(32), policy),
        (reach(128), policy),
    ] {
        let settings = SearchSettings { belief, opponents, ..SearchSettings::for_game(game.info()) };
        let (mut sums, start) = (Sums::default(), Instant::now());
        (0..fights).for_each(|seed| fight(&game, settings, seed, &mut sums));
        let us = start.elapsed().as_secs_f64() * 1e6;
        let name = match belief {
            Belief::Uniform => "uniform".to_owned(),
            Belief::Reach { pool, .. } => format!("reach {pool}"),
        };
        let opponents = if opponents == Opponents::Search { "search" } else { "policy" };
        println!(
            "{name:<10}  {opponents:<9}  {:>16.1}  {:>7.0}  {:>16.1}  {:>12.2}",
            sums.evaluations / sums.moves,
            us / sums.moves,
            sums.effective_worlds / sums.moves,
            sums.refills / sums.moves
        );
    }
}
