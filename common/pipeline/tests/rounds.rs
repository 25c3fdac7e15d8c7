//! Rounds of games: the same whoever plays them, and given up as a whole.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_game::Game;
use fogfall_games::KuhnPoker;
use fogfall_net::{Net, Shape, Weights};
use fogfall_pipeline::{PlayFigures, Rounds, SelfPlaySettings, VersionedNet};
use fogfall_proto::{Trajectory, Version, WIRE_VERSION};
use fogfall_search::{Budget, FallOrder, RootNoise, TreeLife};
use fogfall_selfplay::{Origin, PlaySettings};
use fogfall_service::shutdown::Stop;

const ORIGIN: fn() -> Origin =
    || Origin { wire: WIRE_VERSION, run: "test".into(), rules_hash: 1, settings_hash: 2, publisher: 3, seed: 4 };

fn rounds(game: &Arc<KuhnPoker>, threads: usize, slots: usize, cache_entries: usize) -> Rounds<KuhnPoker> {
    let play = PlaySettings {
        noise: Some(RootNoise { concentration: 10.0, fraction: 0.25 }),
        opening_decisions: 9,
        ..PlaySettings::new(game.info(), Budget::Simulations(8))
    };
    Rounds::new(game, SelfPlaySettings { play, threads, slots, cache_entries }, ORIGIN())
}

fn weights(game: &KuhnPoker, seed: u64) -> VersionedNet {
    let weights = Weights::random(Shape::new(game.info(), 8, 1), seed).unwrap();
    VersionedNet { version: Version { epoch: 1, step: seed }, net: Arc::new(Net::new(&weights)) }
}

/// Where each game lies in the run and its rows.
fn told(games: Vec<Trajectory>) -> Vec<(u64, Vec<u8>)> {
    games.into_iter().map(|game| (game.part.sequence, game.rows)).collect()
}

#[test]
fn a_round_is_the_same_whatever_the_threads_slots_and_cache_and_its_games_come_in_order() {
    let game = Arc::new(KuhnPoker::new());
    let net = weights(&game, 7);
    let play = |rounds: &Rounds<_>, numbers| told(rounds.play(&net, numbers, &Stop::new(), &|| ()).unwrap());
    let (one, many) = (rounds(&game, 1, 1, 0), rounds(&game, 3, 5, 64));
    let all = play(&one, 50..90);
    assert_eq!(all.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (50..90).collect::<Vec<_>>());
    assert_eq!(play(&many, 50..90), all);
    assert_eq!(play(&many, 60..70), all[10..20], "a part of a round is played alone");
    assert_eq!(many.stats().counts.games, 50);
    let other = told(one.play(&weights(&game, 8), 50..90, &Stop::new(), &|| ()).unwrap());
    assert_ne!(other, all, "other weights play other games");
}

#[test]
fn a_round_that_is_stopped_gives_nothing() {
    let game = Arc::new(KuhnPoker::new());
    let rounds = rounds(&game, 2, 4, 0);
    let stop = Stop::new();
    stop.request("test");
    assert!(rounds.play(&weights(&game, 7), 0..10, &stop, &|| ()).is_none());
    assert_eq!(rounds.stats().waiting, 2, "nobody plays");
}

#[test]
fn trees_of_a_generation_are_seen_and_what_falls_is_counted_over_all_rounds() {
    let game = Arc::new(KuhnPoker::new());
    let mut play = PlaySettings::new(game.info(), Budget::Simulations(8));
    play.search.life = TreeLife::Generation { up: 8, down: 4, order: FallOrder::FirstIn };
    let rounds = Rounds::new(&game, SelfPlaySettings { play, threads: 2, slots: 2, cache_entries: 0 }, ORIGIN());
    let mut before = PlayFigures::of(&rounds.stats());
    assert_eq!((before.threads, before.slots, before.batches, before.tree_starts), (2, 4, 0, 0));
    for (round, numbers) in [0..60, 60..120].into_iter().enumerate() {
        assert!(rounds.play(&weights(&game, round as u64), numbers, &Stop::new(), &|| ()).is_some());
        let now = PlayFigures::of(&rounds.stats());
        assert!(now.tree_falls > before.tree_falls && now.tree_re_expansions > before.tree_re_expansions, "{now:?}");
        assert!(now.tree_evaluations > before.tree_evaluations && now.inherited_visits > before.inherited_visits);
        // New weights, new trees, at most one for each of four slots; a thread may find no game left.
        let starts = now.tree_starts - before.tree_starts;
        assert!((1..=4).contains(&starts), "{starts}");
        assert!(now.batches > before.batches, "{now:?}");
        assert!(now.seconds.evaluate > before.seconds.evaluate && now.seconds.search > before.seconds.search);
        let games = [now.results.first, now.results.draw, now.results.second].iter().sum::<u64>();
        assert_eq!(games, 60 * (round as u64 + 1), "all games have ended, by the rules");
        before = now;
    }
    assert_eq!(before.tree_games, 120.0 / before.tree_starts as f64);
    assert_eq!((before.tree_nodes, before.tree_bytes), (0, 0), "trees end with the round");
}
