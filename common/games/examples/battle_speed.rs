//! Times what a search does with `battle`: worlds, moves, observations.
//!
//! `cargo run -p fogfall-games --example battle_speed`
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use fogfall_game::{Action, Actions, Game, GameError, Turn, stream};
use fogfall_games::{Battle, BattleState};
use rand::RngExt;

/// Positions that each kind of work is done in.
const POSITIONS: usize = 2_000;
/// Times that all of them are gone through.
const ROUNDS: usize = 50;

/// Positions of random fights in which a player is to move, with a legal action each.
fn positions(game: &Battle) -> Vec<(BattleState, Action)> {
    let mut positions = Vec::new();
    let mut legal = Actions::new();
    for fight in 0.. {
        let mut rng = stream(1, &[fight]);
        let mut state = game.start(&mut stream(2, &[fight]));
        game.settle(&mut state, &mut rng);
        while let Turn::Player(_) = game.turn(&state) {
            game.legal(&state, &mut legal);
            let action = legal[rng.random_range(0..legal.len())];
            positions.push((state, action));
            if positions.len() == POSITIONS {
                return positions;
            }
            game.advance(&mut state, action, &mut rng);
        }
    }
    positions
}

fn time(what: &str, mut work: impl FnMut(usize)) {
    let began = Instant::now();
    for _ in 0..ROUNDS {
        (0..POSITIONS).for_each(&mut work);
    }
    println!("{what:<24}{:7.1} ns", 1e9 * began.elapsed().as_secs_f64() / (ROUNDS * POSITIONS) as f64);
}

fn main() -> Result<(), GameError> {
    let game = Battle::new(None)?;
    let positions = positions(&game);
    let mut rng = stream(3, &[]);
    let mut legal = Actions::new();
    let mut observation = vec![0.0; game.info().observation_len()];
    let views: Vec<_> = positions.iter().map(|(state, _)| game.view(state, 0)).collect();
    time("copy", |i| {
        black_box(positions[i].0);
    });
    time("copy and advance", |i| {
        let (mut state, action) = positions[i];
        game.advance(&mut state, action, &mut rng);
        black_box(state);
    });
    time("legal", |i| {
        game.legal(&positions[i].0, &mut legal);
        black_box(&legal);
    });
    time("tree key", |i| {
        black_box(game.tree_key(&positions[i].0, 0));
    });
    time("observe", |i| {
        game.observe(&positions[i].0, 0, &mut observation);
        black_box(&observation);
    });
    time("determinize", |i| {
        black_box(game.determinize(&views[i], &mut rng));
    });
    time("playout of 8 moves", |i| {
        let mut world = game.determinize(&views[i], &mut rng);
        for _ in 0..8 {
            let Turn::Player(_) = game.turn(&world) else { break };
            game.legal(&world, &mut legal);
            let action = legal[rng.random_range(0..legal.len())];
            game.advance(&mut world, action, &mut rng);
        }
        black_box(world);
    });
    Ok(())
}
