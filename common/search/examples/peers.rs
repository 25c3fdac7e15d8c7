//! Simulations per CPU second of plain searches with random playouts, one thread, as other libraries count them: the bench
//! `scripts/bench peers` runs it beside OpenSpiel's C++ bots.
//!
//!   peers GAME SIMULATIONS SECONDS
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::{sync::Arc, time::Duration};

use fogfall_game::{Game, GameSet, GameVisitor, Turn, stream};
use fogfall_games::Shipped;
use fogfall_search::{
    Budget, Choice, Decision, EvalBatch, Evaluator, Gathered, Rollout, Search, SearchSettings, Seats,
};

struct Bench {
    simulations: u32,
    patience: Duration,
}

impl GameVisitor for Bench {
    type Out = (u64, Duration);

    /// Plays games by searches of both seats until the time is up; simulations and the time they took.
    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        let settings = SearchSettings { free_simulations: 1 << 20, ..SearchSettings::for_game(game.info()) };
        let mut searches = [0, 1].map(|_| Search::new(Arc::clone(&game), settings));
        let mut batch = EvalBatch::new(game.info().observation_len());
        batch.want_rollouts = true;
        let (mut simulations, mut searching, mut decision) = (0, Duration::ZERO, Decision::default());
        for seed in 0.. {
            let mut rng = stream(seed, &[]);
            let mut state = game.start(&mut rng);
            game.settle(&mut state, &mut rng);
            while let Turn::Player(mover) = game.turn(&state) {
                let view = game.view(&state, mover);
                let search = &mut searches[if settings.seats == Seats::Shared { 0 } else { usize::from(mover) }];
                let since = cpu();
                search.begin(view, Budget::Simulations(self.simulations), None, seed);
                loop {
                    match search.gather(0, &mut batch) {
                        Gathered::Done => break,
                        Gathered::Busy => {}
                        Gathered::Asked => {
                            Rollout.evaluate(&mut batch);
                            let (prior, value) = batch.answer(0);
                            search.apply(prior, value);
                            batch.clear();
                        }
                    }
                }
                search.decide(Choice::Visits, &mut rng, &mut decision);
                searching += cpu() - since;
                simulations += u64::from(decision.simulations);
                game.advance(&mut state, decision.action, &mut rng);
            }
            if searching > self.patience {
                break;
            }
        }
        (simulations, searching)
    }
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [game, simulations, seconds] = &arguments[..] else { panic!("peers GAME SIMULATIONS SECONDS") };
    let bench = Bench {
        simulations: simulations.parse().unwrap(),
        patience: Duration::from_secs_f64(seconds.parse().unwrap()),
    };
    let (simulations, took) = Shipped::with(game, None, bench).unwrap();
    println!("{:.0}", simulations as f64 / took.as_secs_f64());
}
