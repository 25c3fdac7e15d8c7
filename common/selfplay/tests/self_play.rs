//! Workers and matches on small games: labels, provenance, reproducibility, weights between games, mirrored pairs.
#![allow(clippy::unwrap_used)]

use std::{cell::Cell, collections::HashSet, sync::Arc, time::Duration};

use fogfall_game::Game;
use fogfall_games::{KuhnPoker, LeducPoker, TicTacToe};
use fogfall_proto::{GameResult, RowLayout, Trajectory, Version, WIRE_VERSION};
use fogfall_search::{Budget, Cached, Choice, FallOrder, Hash, Rollout, RootNoise, SearchSettings, TreeLife, Uniform};
use fogfall_selfplay::{
    Agent, Growth, MatchSettings, Origin, PairResult, PlaySettings, Searcher, Worker, WorkerCounts, measure_match,
    play_match, watch_match,
};

const FIRST: Version = Version { epoch: 1, step: 0 };
const SECOND: Version = Version { epoch: 1, step: 10 };

fn origin(seed: u64) -> Origin {
    Origin { wire: WIRE_VERSION, run: "test".into(), rules_hash: 1, settings_hash: 2, publisher: 3, seed }
}

fn layout(game: &impl Game) -> RowLayout {
    let info = game.info();
    RowLayout::new(info.observation_len(), info.num_actions(), info.hidden.len())
}

/// Plays until `games` games are finished.
fn play<G: Game>(game: &Arc<G>, settings: &PlaySettings, seed: u64, games: usize) -> (Vec<Trajectory>, WorkerCounts) {
    let evaluator = Cached::new(Hash { seed: 1 }, 1024, game.info().num_actions());
    let mut worker = Worker::new(Arc::clone(game), settings.clone(), origin(seed), 4, FIRST, evaluator);
    let mut out = Vec::new();
    while out.len() < games {
        worker.round(&mut out);
    }
    (out, worker.counts())
}

fn noisy(game: &impl Game) -> PlaySettings {
    PlaySettings {
        noise: Some(RootNoise { concentration: 10.0, fraction: 0.25 }),
        opening_decisions: 4,
        ..PlaySettings::new(game.info(), Budget::Simulations(24))
    }
}

#[test]
fn every_row_is_labelled_from_its_movers_side_and_carries_what_was_searched() {
    let game = Arc::new(TicTacToe::new());
    let (games, counts) = play(&game, &noisy(&*game), 5, 40);
    let mut results = HashSet::new();
    for t in &games {
        let GameResult::Finished(payoff) = t.result else { panic!("tic-tac-toe is never cut") };
        results.insert(payoff as i32);
        let rows: Vec<_> = layout(&*game).rows(&t.rows).map(|r| r.to_row()).collect();
        assert_eq!((rows.len(), t.decisions as usize), (t.row_count as usize, rows.len()));
        for (ply, row) in rows.iter().enumerate() {
            assert_eq!(usize::from(row.seat), ply % 2);
            assert_eq!(row.value, if row.seat == 0 { payoff } else { -payoff });
            assert_eq!(row.legal.len(), 9 - ply);
            assert!(row.legal.contains(&row.action));
            assert!((row.policy.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            assert!((row.prior.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            assert_eq!(row.version, FIRST);
            let forced = row.legal.len() == 1;
            assert_eq!(row.simulations, if forced { 1 } else { 24 });
            assert_eq!((row.policy_weight, row.value_weight), (if forced { 0.0 } else { 1.0 }, 1.0));
            let visits: u32 = row.visits.iter().sum();
            assert_eq!(visits, row.simulations - 1, "one visit is the root's own");
        }
    }
    assert_eq!(results, HashSet::from([-1, 0, 1]), "40 games are won by both seats, and drawn");
    assert_eq!(counts.games as usize, games.len());
    let of_result = |wanted: f32| games.iter().filter(|t| t.result == GameResult::Finished(wanted)).count() as u64;
    let results = [counts.first_wins, counts.draws, counts.second_wins];
    assert_eq!(results, [1.0, 0.0, -1.0].map(of_result));
    assert_eq!(results.iter().sum::<u64>() + counts.truncated, counts.games);
    // A search of one simulation, as where a move is forced, cannot disagree with itself.
    let forced = games.iter().map(|t| layout(&*game).rows(&t.rows).filter(|r| r.simulations() == 1).count() as u64);
    assert!(counts.disagreements > 0 && counts.disagreements + forced.sum::<u64>() <= counts.decisions);
    assert!((0.0..1.5).contains(&(counts.disagreement / counts.disagreements as f64)), "values lie in -1 to 1");
    assert_eq!(counts.rows, games.iter().map(|t| u64::from(t.row_count)).sum::<u64>());
    assert!(counts.cache_hits > 0 && counts.cache_hits < counts.evaluations);
}

#[test]
fn what_comes_to_trees_is_counted_while_they_live_and_after_their_games_have_ended() {
    let game = Arc::new(TicTacToe::new());
    let play = |life, games: u64| {
        let mut settings = noisy(&*game);
        settings.search.life = life;
        let mut numbers = 0..games;
        let (evaluator, next) = (Cached::new(Hash { seed: 1 }, 0, 9), move || numbers.next());
        let mut worker = Worker::of_games(game.clone(), settings, origin(1), next, 4, FIRST, evaluator);
        let (mut out, mut most) = (Vec::new(), 0);
        while !worker.is_idle() {
            worker.round(&mut out);
            most = most.max(worker.trees().nodes);
        }
        assert_eq!(worker.trees().nodes, 0, "all games have ended");
        let counts = worker.counts();
        assert_eq!((counts.started, counts.games), (games, games));
        (counts, most)
    };
    let (fresh, _) = play(TreeLife::Move, 40);
    assert_eq!((fresh.tree_hits, fresh.falls, fresh.re_expansions, fresh.empty_trees), (0, 0, 0, 40));
    let (kept, _) = play(TreeLife::Game, 40);
    assert!(kept.tree_hits > 0, "what a move has searched below its child serves the next but one");
    assert_eq!((kept.falls, kept.re_expansions, kept.empty_trees), (0, 0, 40));
    let of_generation = |up, down| TreeLife::Generation { up, down, order: FallOrder::FirstIn };
    let (grown, all) = play(of_generation(TreeLife::UNBOUNDED, 0), 40);
    assert!(grown.tree_hits > kept.tree_hits, "{} and {}", grown.tree_hits, kept.tree_hits);
    // One tree for each of four slots; nothing fell, so all that was added is there, less what the slots that ended first
    // took with them.
    assert_eq!((grown.falls, grown.re_expansions, grown.empty_trees), (0, 0, 4));
    assert!(all <= grown.nodes + 40 * 9, "{all} of {}", grown.nodes); // and a root a decision at most
    let (bounded, most) = play(of_generation(60, 30), 40);
    assert!(bounded.falls > 0 && bounded.re_expansions > 0 && bounded.re_expansions < bounded.falls, "{bounded:?}");
    assert!(most < all, "{most} and {all}");
    assert_eq!(bounded.empty_trees, 4);
}

#[test]
fn a_random_opening_is_no_rows_and_never_ends_the_game() {
    let game = Arc::new(TicTacToe::new());
    let settings = PlaySettings { random_opening: 8, ..noisy(&*game) };
    let (games, counts) = play(&game, &settings, 5, 300);
    let (mut first_legal, mut openings) = (HashSet::new(), HashSet::new());
    for t in &games {
        let rows: Vec<_> = layout(&*game).rows(&t.rows).map(|r| r.to_row()).collect();
        assert_eq!((rows.len(), t.decisions as usize), (t.row_count as usize, rows.len()));
        let first = &rows[0];
        // Of nine cells, one is taken by each move of the opening; seats take turns.
        assert_eq!(usize::from(first.seat), (9 - first.legal.len()) % 2);
        first_legal.insert(first.legal.len());
        openings.insert(first.legal.clone());
    }
    assert_eq!(first_legal, (1..=9).collect(), "openings of 0 to 8 moves");
    assert!(openings.len() > 50, "{} different sets of cells are left", openings.len());
    assert_eq!(counts.rows, games.iter().map(|t| u64::from(t.row_count)).sum::<u64>());

    let (again, _) = play(&game, &settings, 5, 300);
    assert!(again == games, "openings follow from the seed");
}

#[test]
fn the_same_seed_plays_the_same_games_and_another_seed_others() {
    let game = Arc::new(KuhnPoker::new());
    let settings = noisy(&*game);
    assert_eq!(play(&game, &settings, 1, 20).0, play(&game, &settings, 1, 20).0);
    let (a, b) = (play(&game, &settings, 1, 20).0, play(&game, &settings, 2, 20).0);
    assert!(a.iter().zip(&b).any(|(a, b)| a.rows != b.rows));
    let parts: HashSet<_> = a.iter().map(|t| t.part).collect();
    assert_eq!(parts.len(), a.len(), "every part has its own id");
}

#[test]
fn games_given_by_number_are_the_same_whatever_plays_beside_them() {
    let game = Arc::new(KuhnPoker::new());
    let play = |slots: usize, numbers: std::ops::Range<u64>| {
        let mut numbers = numbers.into_iter();
        let (evaluator, next) = (Cached::new(Hash { seed: 1 }, 64, 2), move || numbers.next());
        let mut worker = Worker::of_games(game.clone(), noisy(&*game), origin(1), next, slots, FIRST, evaluator);
        let mut out = Vec::new();
        while !worker.is_idle() {
            worker.round(&mut out);
        }
        out.sort_by_key(|t| t.part.sequence);
        out.into_iter().map(|t| (t.part.sequence, t.seed, t.rows)).collect::<Vec<_>>()
    };
    let all = play(1, 100..130);
    assert_eq!(all.iter().map(|(number, ..)| *number).collect::<Vec<_>>(), (100..130).collect::<Vec<_>>());
    assert_eq!(play(7, 100..130), all);
    assert_eq!(play(64, 100..130), all, "more slots than games");
    assert_eq!(play(4, 110..120), all[10..20]);
    assert_eq!(play(4, 5..5), []);
}

#[test]
fn early_weights_search_less_where_budgets_grow_and_rows_say_how_much() {
    let game = Arc::new(TicTacToe::new());
    let settings = PlaySettings { growth: Some(Growth { start: 4, full_at: 20 }), ..noisy(&*game) };
    let evaluator = |seed| Cached::new(Hash { seed }, 0, 9);
    let mut worker = Worker::new(game.clone(), settings, origin(1), 4, FIRST, evaluator(1));
    worker.renew(SECOND, evaluator(2));
    let mut out = Vec::new();
    while out.len() < 12 {
        worker.round(&mut out);
    }
    let rows: Vec<_> = out.iter().flat_map(|t| layout(&*game).rows(&t.rows).map(|r| r.to_row())).collect();
    for row in rows.iter().filter(|row| row.legal.len() > 1) {
        let expected = if row.version == FIRST { 4 } else { 14 }; // 4 + (24 - 4) * 10 / 20
        assert_eq!(row.simulations, expected, "{}", row.version);
    }
    assert!(rows.iter().any(|row| row.version == FIRST) && rows.iter().any(|row| row.version == SECOND));
}

#[test]
fn a_game_cut_at_the_length_limit_is_truncated_and_labelled_by_its_last_root_value() {
    let game = Arc::new(TicTacToe::new());
    let settings = PlaySettings { max_decisions: 3, ..noisy(&*game) };
    let (games, counts) = play(&game, &settings, 5, 10);
    assert_eq!(counts.truncated, counts.games);
    for t in games {
        assert_eq!((t.result, t.decisions), (GameResult::Truncated, 3));
        let rows: Vec<_> = layout(&*game).rows(&t.rows).map(|r| r.to_row()).collect();
        let last = rows[2].root_value; // seat 0 moved last
        assert_eq!([rows[0].value, rows[1].value, rows[2].value], [last, -last, last]);
    }
}

#[test]
fn values_count_in_typical_payoffs_and_not_in_the_largest() {
    let game = Arc::new(LeducPoker::new());
    let (games, _) = play(&game, &noisy(&*game), 5, 40);
    let values: Vec<f32> =
        games.iter().flat_map(|t| layout(&*game).rows(&t.rows)).map(|row| row.value().abs()).collect();
    // Hands are won for 1 to 13 chips, and the scale is 3: a raise called is worth 1, and not 3 / 13.
    assert!(values.iter().all(|value| (3.0 * value).fract().min(1.0 - (3.0 * value).fract()) < 1e-5), "{values:?}");
    assert!(values.contains(&1.0) && values.iter().any(|&value| value > 1.0), "{values:?}");
}

#[test]
fn cheap_searches_carry_no_policy_label_and_no_noise() {
    let game = Arc::new(TicTacToe::new());
    let settings = PlaySettings { cheap: Budget::Simulations(6), full_share: 0.25, ..noisy(&*game) };
    let (games, _) = play(&game, &settings, 5, 60);
    let rows: Vec<_> = games.iter().flat_map(|t| layout(&*game).rows(&t.rows).map(|r| r.to_row())).collect();
    let free: Vec<_> = rows.iter().filter(|r| r.legal.len() > 1).collect();
    let full = free.iter().filter(|r| r.policy_weight == 1.0).count();
    let share = full as f64 / free.len() as f64;
    assert!((0.18..0.32).contains(&share), "{share} of {}", free.len()); // 0.25, three standard errors of 0.02
    assert!(free.iter().all(|r| r.simulations == if r.policy_weight == 1.0 { 24 } else { 6 }));
}

#[test]
fn games_in_progress_finish_with_the_weights_they_began_with() {
    let game = Arc::new(TicTacToe::new());
    let evaluator = |seed| Cached::new(Hash { seed }, 0, 9);
    let settings = noisy(&*game);
    let mut worker = Worker::new(Arc::clone(&game), settings, origin(1), 6, FIRST, evaluator(1));
    let mut out = Vec::new();
    for _ in 0..60 {
        worker.round(&mut out);
    }
    let before = out.len();
    worker.renew(SECOND, evaluator(2));
    worker.renew(FIRST, evaluator(3));
    assert_eq!(worker.version(), SECOND, "weights never go back");
    while out.len() < before + 20 {
        worker.round(&mut out);
    }
    let mut versions = Vec::new();
    for t in &out {
        let of_rows: HashSet<_> = layout(&*game).rows(&t.rows).map(|r| r.version()).collect();
        assert_eq!(of_rows.len(), 1, "one game, one version");
        versions.extend(of_rows);
    }
    assert!(versions[..before].iter().all(|&v| v == FIRST));
    assert_eq!(versions[before..].iter().filter(|&&v| v == FIRST).count(), 6, "the six games in progress");
    assert!(versions[before + 6..].iter().all(|&v| v == SECOND));
}

fn searcher(game: &impl Game, simulations: u32, life: TreeLife) -> Agent {
    Agent::Search(Box::new(Searcher {
        evaluator: Box::new(Rollout),
        search: SearchSettings { life, ..SearchSettings::for_game(game.info()) },
        budget: Budget::Simulations(simulations),
        choice: Choice::Visits,
    }))
}

fn score(pairs: &[PairResult]) -> f64 {
    let games = pairs.iter().flatten();
    games.map(|g| f64::from(g.payoff.signum()) / 2.0 + 0.5).sum::<f64>() / (2.0 * pairs.len() as f64)
}

#[test]
fn search_beats_random_play_from_both_seats() {
    let game = Arc::new(TicTacToe::new());
    for life in [TreeLife::Move, TreeLife::Game] {
        let mut agents = [searcher(&*game, 100, life), Agent::Random];
        let settings = MatchSettings { pairs: 40, first_pair: 0, slots: 7, seed: 1 };
        let pairs = play_match(&game, &mut agents, settings, &|| false);
        assert_eq!(pairs.len(), 40);
        assert!(score(&pairs) > 0.86, "{}", score(&pairs)); // perfect play scores 0.95
        let lost_second = pairs.iter().filter(|p| p[1].payoff < 0.0).count();
        assert!(lost_second <= 3, "{lost_second} of 40 lost as second player");
    }
}

#[test]
fn a_match_of_an_agent_against_itself_is_even_in_every_pair() {
    let game = Arc::new(KuhnPoker::new());
    let uniform = || {
        Agent::Search(Box::new(Searcher {
            evaluator: Box::new(Uniform),
            search: SearchSettings::for_game(game.info()),
            budget: Budget::Simulations(50),
            choice: Choice::Visits,
        }))
    };
    // Most visited actions do not depend much on the seed here, but on the cards: the same cards for both games.
    let settings = MatchSettings { pairs: 30, first_pair: 0, slots: 4, seed: 3 };
    let pairs = play_match(&game, &mut [uniform(), uniform()], settings, &|| false);
    let even = pairs.iter().filter(|p| p[0].payoff + p[1].payoff == 0.0).count();
    assert!(even >= 25, "{even} of 30 pairs cancel out");
    assert!(pairs.iter().any(|p| p[0].payoff != 0.0));
}

#[test]
fn a_match_is_reproducible_whatever_the_number_of_slots_and_can_be_stopped() {
    let game = Arc::new(KuhnPoker::new());
    let run = |slots, seed| {
        let mut agents = [searcher(&*game, 20, TreeLife::Move), Agent::Random];
        play_match(&game, &mut agents, MatchSettings { pairs: 12, first_pair: 0, slots, seed }, &|| false)
    };
    assert_eq!(run(1, 4), run(9, 4));
    assert_ne!(run(1, 4), run(1, 5));
    let part = |first_pair, pairs| {
        let mut agents = [searcher(&*game, 20, TreeLife::Move), Agent::Random];
        play_match(&game, &mut agents, MatchSettings { pairs, first_pair, slots: 3, seed: 4 }, &|| false)
    };
    assert_eq!([part(0, 5), part(5, 7)].concat(), run(1, 4), "a match may be played in parts");
    let mut agents = [Agent::Random, Agent::Random];
    let settings = MatchSettings { pairs: 12, first_pair: 0, slots: 1, seed: 1 };
    assert!(play_match(&game, &mut agents, settings, &|| true).is_empty());
}

#[test]
fn a_spectator_sees_every_decision_and_every_end_and_changes_nothing() {
    let game = Arc::new(TicTacToe::new());
    let settings = MatchSettings { pairs: 6, first_pair: 0, slots: 4, seed: 2 };
    let agents = || [searcher(&*game, 20, TreeLife::Move), Agent::Random];
    let mut seen = vec![[(0, 0.0); 2]; 6];
    let pairs = watch_match(&game, &mut agents(), settings, &|| false, &mut |watched| {
        let (decisions, payoff) = &mut seen[watched.pair as usize][usize::from(watched.first)];
        match watched.decision {
            Some((mover, action)) => {
                let mut legal = Vec::new();
                game.legal(watched.state, &mut legal);
                assert!(legal.contains(&action), "{action} in {legal:?}");
                assert_eq!(u32::from(mover), *decisions % 2, "seats alternate");
                *decisions += 1;
            }
            None => *payoff = game.payoff(watched.state) * if watched.first == 0 { 1.0 } else { -1.0 },
        }
    });
    assert_eq!(pairs, play_match(&game, &mut agents(), settings, &|| false));
    let told: Vec<_> = pairs.iter().map(|pair| pair.map(|game| (game.decisions, game.payoff))).collect();
    assert_eq!(seen, told);
}

#[test]
fn what_a_match_takes_each_agent_is_counted_and_changes_nothing() {
    let game = Arc::new(KuhnPoker::new());
    let settings = MatchSettings { pairs: 10, first_pair: 0, slots: 4, seed: 2 };
    let agents = || [searcher(&*game, 20, TreeLife::Move), Agent::Random];
    let looks = Cell::new(0);
    let clock = || {
        looks.set(looks.get() + 1);
        Duration::from_secs(looks.get())
    };
    let (pairs, [search, random]) = measure_match(&game, &mut agents(), settings, &clock);
    assert_eq!(pairs, play_match(&game, &mut agents(), settings, &|| false));
    let decisions: u64 = pairs.iter().flatten().map(|game| u64::from(game.decisions)).sum();
    assert_eq!(search.moves + random.moves, decisions);
    assert_eq!(search.simulations, 20 * search.moves);
    // The root is asked once and is a simulation; each other simulation asks at most once.
    assert!((search.moves..=20 * search.moves).contains(&search.evaluations), "{search:?}");
    assert_eq!((random.simulations, random.evaluations), (0, 0));
    // Two looks at the clock a half round, a second apart: each agent had half of the looks.
    assert_eq!([search.time, random.time], [Duration::from_secs(looks.get() / 4); 2]);
}

#[test]
fn seeing_everything_changes_nothing_where_nothing_is_hidden() {
    let game = Arc::new(TicTacToe::new());
    let settings = MatchSettings { pairs: 10, first_pair: 0, slots: 4, seed: 2 };
    for life in [TreeLife::Move, TreeLife::Game] {
        let honest = searcher(&*game, 50, life);
        let Agent::Search(same) = searcher(&*game, 50, life) else { unreachable!("it searches") };
        let [honest, cheat] = [honest, Agent::Cheat(same)]
            .map(|agent| play_match(&game, &mut [agent, searcher(&*game, 10, life)], settings, &|| false));
        assert_eq!(honest, cheat);
    }
}
