//! A thread whose game does not go on is noticed, with the game; one that waits for room is not taken for it.
#![allow(clippy::unwrap_used)]

use std::{collections::HashSet, sync::Arc, time::Duration};

use crossbeam_channel::{Receiver, bounded};
use fogfall_game::{Game, mix};
use fogfall_games::KuhnPoker;
use fogfall_net::{Net, Shape, Weights};
use fogfall_pipeline::{Outlet, SelfPlay, SelfPlaySettings, VersionedNet, WeightsCell};
use fogfall_proto::{Trajectory, Version, WIRE_VERSION};
use fogfall_search::Budget;
use fogfall_selfplay::{Origin, PlaySettings};
use fogfall_service::shutdown::Stop;
use fogfall_testkit::stuck::{Gate, Stuck};

const SEED: u64 = 5;
/// However busy the machine, a thread that goes on comes back within this time.
const LONG: Duration = Duration::from_secs(600);

fn start(gate: &'static Gate, room: usize, stop: &Stop) -> (SelfPlay, Receiver<Trajectory>, Stop) {
    let game = Arc::new(Stuck::new(KuhnPoker::new(), gate));
    let play = PlaySettings::new(game.info(), Budget::Simulations(4));
    let settings = SelfPlaySettings { play, threads: 1, slots: 2, cache_entries: 0 };
    let weights = Weights::random(Shape::new(game.info(), 8, 1), 1).unwrap();
    let first = VersionedNet { version: Version::default(), net: Arc::new(Net::new(&weights)) };
    let origin =
        Origin { wire: WIRE_VERSION, run: "r".into(), rules_hash: 0, settings_hash: 0, publisher: 1, seed: SEED };
    let (games, finished) = bounded(room);
    let give_up = Stop::new();
    let outlet = Outlet { games, give_up: give_up.clone() };
    let weights = Arc::new(WeightsCell::new(first));
    (SelfPlay::start(&game, &settings, &origin, &weights, &outlet, stop).unwrap(), finished, give_up)
}

#[test]
fn a_game_that_does_not_go_on_is_named_by_its_seed() {
    static GATE: Gate = Gate::at(500);
    let stop = Stop::new();
    let (play, finished, _) = start(&GATE, 10_000, &stop);
    while !GATE.holds() {
        std::thread::yield_now();
    }
    let hung = play.hung(Duration::ZERO)[0];
    assert_eq!(hung.thread, 0);
    // The thread's games are numbered from 1 below its own seed.
    let seeds: HashSet<u64> = (1..500).map(|game| mix(mix(SEED, 0), game)).collect();
    assert!(seeds.contains(&hung.seed), "{hung:?}");
    assert!(finished.iter().take(finished.len()).all(|game| game.seed != hung.seed), "it has not ended");
    stop.request("for a test");
    GATE.release();
    assert!(play.join());
}

#[test]
fn a_thread_that_waits_for_room_does_not_hang() {
    static GATE: Gate = Gate::at(u64::MAX);
    let stop = Stop::new();
    let (play, finished, give_up) = start(&GATE, 1, &stop);
    while play.stats().waiting == 0 {
        std::thread::yield_now();
    }
    assert_eq!(play.hung(Duration::ZERO), []);
    drop(finished.recv().unwrap());
    assert_eq!(play.hung(LONG), []);
    stop.request("for a test");
    give_up.request("for a test");
    assert!(play.join());
}
