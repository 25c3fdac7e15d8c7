//! Times random games of every shipped game, from the start to the end: as a search without a network plays them, and move by
//! move.
//!
//! `cargo run -p fogfall-games --example playouts`
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fogfall_game::{Actions, Game, GameError, GameSet, GameVisitor, Turn, stream};
use fogfall_games::Shipped;
use rand::RngExt;

/// Time spent on each figure.
const TIME: Duration = Duration::from_millis(500);
/// Games a round.
const ROUND: u32 = 256;

/// Microseconds a game in the median of many short rounds: what other programs take in between does not count.
fn time(mut play: impl FnMut()) -> f64 {
    let (began, mut rounds) = (Instant::now(), Vec::new());
    while began.elapsed() < TIME {
        let round = Instant::now();
        (0..ROUND).for_each(|_| play());
        rounds.push(round.elapsed());
    }
    rounds.sort_unstable();
    1e6 * rounds[rounds.len() / 2].as_secs_f64() / f64::from(ROUND)
}

struct Playouts;

impl GameVisitor for Playouts {
    type Out = ();

    fn visit<G: Game>(self, game: Arc<G>) {
        let start = game.start(&mut stream(1, &[]));
        let (mut scratch, mut rng) = (Actions::new(), stream(2, &[]));
        let whole = time(|| {
            black_box(game.play_out(&mut start.clone(), &mut scratch, &mut rng));
        });
        let (mut games, mut moves) = (0_u64, 0_u64);
        let stepwise = time(|| {
            let mut state = start.clone();
            game.settle(&mut state, &mut rng);
            games += 1;
            while let Turn::Player(_) = game.turn(&state) {
                game.legal(&state, &mut scratch);
                game.advance(&mut state, scratch[rng.random_range(0..scratch.len())], &mut rng);
                moves += 1;
            }
            black_box(game.payoff(&state));
        });
        let mut observation = vec![0.0; game.info().observation_len()];
        let mut state = start.clone();
        game.settle(&mut state, &mut rng);
        let observe = time(|| {
            game.observe(black_box(&state), 0, &mut observation);
            black_box(&observation);
        });
        let view = game.view(&state, 0);
        let world = time(|| {
            black_box(game.determinize(black_box(&view), &mut rng));
        });
        println!(
            "{:<14}{:7.3} us a playout, {:7.3} us move by move, {:5.1} moves a game; {:3.0} ns an observation, {:3.0} ns a world",
            game.info().name,
            whole,
            stepwise,
            moves as f64 / games as f64,
            1e3 * observe,
            1e3 * world,
        );
    }
}

fn main() -> Result<(), GameError> {
    Shipped::names().into_iter().try_for_each(|name| Shipped::with(name, None, Playouts))
}
