//! Searches of whole positions and games: strength on solved positions, reproducibility, tree invariants, budgets.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_game::{Game, Turn, stream};
use fogfall_games::{KuhnPoker, TicTacToe};
use fogfall_search::{
    Belief, Budget, Cached, Choice, Decision, EvalBatch, Evaluator, Gathered, Hash, Keys, Label, Opponents, Rollout,
    RootNoise, Search, SearchSettings, Seats, TreeLife, Uniform,
};

const NOISE: RootNoise = RootNoise { concentration: 10.0, fraction: 0.25 };

/// Runs a begun search to its end; the number of questions asked.
fn finish<G: Game>(search: &mut Search<G>, evaluator: &mut dyn Evaluator, observation_len: usize) -> u32 {
    let mut batch = EvalBatch::new(observation_len);
    batch.want_rollouts = evaluator.wants_rollouts();
    let mut asked = 0;
    loop {
        match search.gather(0, &mut batch) {
            Gathered::Done => return asked,
            Gathered::Busy => {}
            Gathered::Asked => {
                evaluator.evaluate(&mut batch);
                for row in 0..batch.len() {
                    let (prior, value) = batch.answer(row);
                    search.apply(prior, value);
                }
                asked += batch.len() as u32;
                batch.clear();
            }
        }
        search.check().unwrap();
    }
}

fn search<G: Game>(
    game: &Arc<G>,
    settings: SearchSettings,
    view: G::View,
    budget: Budget,
    evaluator: &mut dyn Evaluator,
    noise: Option<RootNoise>,
    seed: u64,
) -> Decision {
    let mut search = Search::new(Arc::clone(game), settings);
    search.begin(view, budget, noise, seed);
    finish(&mut search, evaluator, game.info().observation_len());
    let mut decision = Decision::default();
    search.decide(Choice::Visits, &mut stream(seed, &[1]), &mut decision);
    decision
}

/// The tic-tac-toe position after these moves, as the mover sees it.
fn board(game: &TicTacToe, moves: &[u16]) -> <TicTacToe as Game>::View {
    let mut state = game.start(&mut stream(0, &[]));
    for &m in moves {
        game.apply(&mut state, m);
    }
    let Turn::Player(mover) = game.turn(&state) else { panic!("game over") };
    game.view(&state, mover)
}

/// Kuhn poker after the deal `cards` and these bets, as the mover sees it.
fn kuhn(game: &KuhnPoker, actions: &[u16]) -> <KuhnPoker as Game>::View {
    let mut state = game.start(&mut stream(0, &[]));
    for &a in actions {
        game.apply(&mut state, a);
    }
    let Turn::Player(mover) = game.turn(&state) else { panic!("nobody moves") };
    game.view(&state, mover)
}

#[test]
fn wins_and_blocks_are_found_for_both_seats_without_a_network() {
    let game = Arc::new(TicTacToe::new());
    // X: 0 1, O: 3 4. X to move wins at 2; with O to move (after X 8), O wins at 5.
    let settings = SearchSettings::for_game(game.info());
    for (moves, best) in [(&[0, 3, 1, 4][..], 2), (&[0, 3, 1, 4, 8][..], 5), (&[0, 4, 1][..], 2)] {
        let decision = search(&game, settings, board(&game, moves), Budget::Simulations(400), &mut Rollout, None, 3);
        assert_eq!(decision.action, best, "after {moves:?}: {decision:?}");
    }
}

#[test]
fn a_won_position_has_a_value_near_one_for_whoever_moves() {
    let game = Arc::new(TicTacToe::new());
    let settings = SearchSettings::for_game(game.info());
    for moves in [&[0, 3, 1, 4][..], &[0, 3, 1, 4, 8][..]] {
        let decision = search(&game, settings, board(&game, moves), Budget::Simulations(2000), &mut Uniform, None, 3);
        assert!(decision.root_value > 0.8, "{}", decision.root_value);
    }
}

#[test]
fn budgets_of_zero_and_one_evaluate_the_root_and_follow_the_prior() {
    let game = Arc::new(TicTacToe::new());
    let settings = SearchSettings::for_game(game.info());
    for n in [0, 1] {
        let view = board(&game, &[0, 3]);
        let decision = search(&game, settings, view, Budget::Simulations(n), &mut Hash { seed: 4 }, None, 5);
        assert_eq!((decision.simulations, decision.evaluations), (1, 1));
        let best = decision.prior.iter().copied().fold(0.0, f32::max);
        let index = decision.legal.iter().position(|&a| a == decision.action).unwrap();
        assert_eq!(decision.prior[index], best);
        assert!((decision.policy.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }
}

#[test]
#[should_panic(expected = "a search begins where a player is to move")]
fn a_finished_game_is_not_searched() {
    let game = Arc::new(KuhnPoker::new());
    let mut state = game.start(&mut stream(0, &[]));
    [0, 1, 0, 0].into_iter().for_each(|action| game.apply(&mut state, action)); // two cards, two passes
    let settings = SearchSettings::for_game(game.info());
    Search::new(Arc::clone(&game), settings).begin(game.view(&state, 0), Budget::Simulations(1), None, 1);
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_another_search() {
    let game = Arc::new(KuhnPoker::new());
    let settings = SearchSettings::for_game(game.info());
    let run = |seed| {
        let view = kuhn(&game, &[1, 0, 0]);
        search(&game, settings, view, Budget::Simulations(100), &mut Hash { seed: 1 }, Some(NOISE), seed)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).visits, run(2).visits);
}

#[test]
fn the_true_hidden_card_changes_nothing() {
    let game = Arc::new(KuhnPoker::new());
    for life in [TreeLife::Move, TreeLife::Game] {
        let settings = SearchSettings { life, ..SearchSettings::for_game(game.info()) };
        let run = |hidden| {
            let view = kuhn(&game, &[hidden, 1, 1]);
            search(&game, settings, view, Budget::Simulations(200), &mut Hash { seed: 1 }, None, 9)
        };
        assert_eq!(run(0), run(2));
    }
}

#[test]
fn a_cache_changes_no_decision() {
    let game = Arc::new(KuhnPoker::new());
    let settings = SearchSettings::for_game(game.info());
    let run = |evaluator: &mut dyn Evaluator| {
        search(&game, settings, kuhn(&game, &[1, 0]), Budget::Simulations(300), evaluator, None, 2)
    };
    let mut cached = Cached::new(Hash { seed: 1 }, 64, 2);
    assert_eq!(run(&mut cached), run(&mut Hash { seed: 1 }));
    let first = cached.counts().asked;
    assert_eq!(run(&mut cached), run(&mut Hash { seed: 1 }));
    assert!(cached.counts().hits >= first, "the second search finds all answers of the first");
    let asked = cached.counts();
    cached.renew(|hash| hash.seed = 2);
    assert_eq!(run(&mut cached), run(&mut Hash { seed: 2 }), "new weights are asked anew");
    assert!(cached.counts().asked > asked.asked);
    assert_eq!(run(&mut Cached::new(Hash { seed: 1 }, 0, 2)), run(&mut Hash { seed: 1 }), "no entries, no cache");
}

#[test]
fn noise_changes_the_visits_but_not_the_recorded_prior() {
    let game = Arc::new(TicTacToe::new());
    let settings = SearchSettings::for_game(game.info());
    let run = |noise, seed| {
        search(&game, settings, board(&game, &[]), Budget::Simulations(60), &mut Hash { seed: 1 }, noise, seed)
    };
    let (plain, noisy, other) = (run(None, 1), run(Some(NOISE), 1), run(Some(NOISE), 2));
    assert_eq!(plain.prior, noisy.prior);
    assert_ne!(plain.visits, noisy.visits);
    assert_ne!(noisy.visits, other.visits, "each search draws its own noise");
}

/// Plays whole games by search and checks the tree after every simulation.
fn play_games<G: Game>(
    game: &Arc<G>,
    settings: SearchSettings,
    budget: Budget,
    evaluator: &mut dyn Evaluator,
) -> Vec<Decision> {
    let shared = settings.seats == Seats::Shared;
    let mut searches: Vec<_> = (0..2).map(|_| Search::new(Arc::clone(game), settings)).collect();
    let mut decisions = Vec::new();
    for seed in 0..6 {
        let mut rng = stream(seed, &[77]);
        let mut state = game.start(&mut rng);
        game.settle(&mut state, &mut rng);
        searches.iter_mut().for_each(Search::reset);
        let mut ply = 0;
        while let Turn::Player(mover) = game.turn(&state) {
            let search = &mut searches[if shared { 0 } else { usize::from(mover) }];
            search.begin(game.view(&state, mover), budget, None, seed * 1000 + ply);
            finish(search, evaluator, game.info().observation_len());
            let mut decision = Decision::default();
            search.decide(Choice::Sample { temperature: 1.0 }, &mut rng, &mut decision);
            assert_eq!(decision.mover, mover);
            for search in &mut searches {
                search.played(decision.action);
            }
            game.advance(&mut state, decision.action, &mut rng);
            decisions.push(decision);
            ply += 1;
        }
    }
    decisions
}

#[test]
fn trees_keep_their_invariants_over_whole_games_with_every_life_key_and_owner() {
    let (ttt, poker) = (Arc::new(TicTacToe::new()), Arc::new(KuhnPoker::new()));
    for life in [TreeLife::Move, TreeLife::Game] {
        for keys in [Keys::Actions, Keys::Owner] {
            for seats in [Seats::Shared, Seats::PerSeat] {
                for label in [Label::Visits, Label::CompletedQ { scale: 0.1, offset: 50.0 }] {
                    let settings = SearchSettings { life, keys, seats, label, ..SearchSettings::for_game(ttt.info()) };
                    let decisions = play_games(&ttt, settings, Budget::Simulations(40), &mut Hash { seed: 1 });
                    assert!(decisions.iter().all(|d| d.simulations == 40 && d.policy.iter().all(|p| p.is_finite())));
                    play_games(&poker, settings, Budget::Simulations(40), &mut Hash { seed: 1 });
                }
            }
        }
    }
}

#[test]
fn a_tree_that_lives_for_the_game_inherits_visits() {
    let game = Arc::new(TicTacToe::new());
    for keys in [Keys::Actions, Keys::Owner] {
        let base = SearchSettings { keys, ..SearchSettings::for_game(game.info()) };
        let total = |life| {
            let settings = SearchSettings { life, ..base };
            let decisions = play_games(&game, settings, Budget::Simulations(40), &mut Hash { seed: 1 });
            decisions.iter().map(|d| d.visits.iter().sum::<u32>()).sum::<u32>()
        };
        let (fresh, kept) = (total(TreeLife::Move), total(TreeLife::Game));
        assert!(kept > fresh + fresh / 10, "{keys:?}: {kept} visits against {fresh}");
    }
}

#[test]
fn a_budget_of_new_nodes_adds_that_many_or_stops_in_an_exhausted_tree() {
    let game = Arc::new(TicTacToe::new());
    let settings = SearchSettings::for_game(game.info());
    let budget = Budget::NewNodes { nodes: 50, max_simulations: 400 };
    let decision = search(&game, settings, board(&game, &[]), budget, &mut Hash { seed: 1 }, None, 1);
    assert_eq!(decision.new_nodes, 50);
    let late = board(&game, &[0, 1, 2, 4, 3, 5, 7, 6]); // one empty square: one node to add
    let decision = search(&game, settings, late, budget, &mut Hash { seed: 1 }, None, 1);
    assert_eq!((decision.new_nodes, decision.simulations), (1, 400));
}

#[test]
fn searches_that_share_batches_decide_as_if_alone() {
    let game = Arc::new(KuhnPoker::new());
    let settings = SearchSettings::for_game(game.info());
    let views: Vec<_> = [[0, 1], [1, 2], [2, 0]].iter().map(|deal| kuhn(&game, deal)).collect();
    let alone: Vec<_> = views
        .iter()
        .map(|v| search(&game, settings, v.clone(), Budget::Simulations(64), &mut Hash { seed: 8 }, None, 6))
        .collect();
    let mut searches: Vec<_> = views
        .iter()
        .map(|view| {
            let mut search = Search::new(Arc::clone(&game), settings);
            search.begin(view.clone(), Budget::Simulations(64), None, 6);
            search
        })
        .collect();
    let mut batch = EvalBatch::new(game.info().observation_len());
    loop {
        let mut busy = false;
        for (lane, search) in searches.iter_mut().enumerate() {
            busy |= search.gather(lane as u32, &mut batch) != Gathered::Done;
        }
        if !busy {
            break;
        }
        Hash { seed: 8 }.evaluate(&mut batch);
        for row in 0..batch.len() {
            let (prior, value) = batch.answer(row);
            searches[batch.lane[row] as usize].apply(prior, value);
        }
        batch.clear();
    }
    for (search, alone) in searches.iter().zip(alone) {
        let mut decision = Decision::default();
        search.decide(Choice::Visits, &mut stream(6, &[1]), &mut decision);
        assert_eq!(decision, alone);
    }
}

#[test]
fn settings_that_leak_hidden_facts_into_labels_warn() {
    let (ttt, poker) = (TicTacToe::new(), KuhnPoker::new());
    let literal = SearchSettings { life: TreeLife::Game, ..SearchSettings::for_game(ttt.info()) };
    assert_eq!(literal.leak_warning(ttt.info()), None);
    let warning = literal.leak_warning(poker.info()).unwrap();
    assert!(warning.contains("shared by both seats") && warning.contains("keyed by actions"), "{warning}");
    let safe = SearchSettings { life: TreeLife::Game, ..SearchSettings::for_game(poker.info()) };
    assert_eq!(safe.leak_warning(poker.info()), None);
}

/// Priors that depend on the mover's own card alone: a bold player bets a jack seldom and a king always.
struct Bold;

impl Evaluator for Bold {
    fn evaluate(&mut self, batch: &mut EvalBatch) {
        batch.prior.clear();
        batch.value.clear();
        for row in 0..batch.len() {
            let observation = batch.observation(row);
            let card = (0..3).find(|&card| observation[2 + card] == 1.0).unwrap(); // after the seat's two numbers
            let bet = [0.0, 0.5, 1.0][card];
            batch.prior.extend([1.0 - bet, bet]);
            batch.value.push(0.0);
        }
    }
}

#[test]
fn reach_belief_expects_the_worlds_in_which_the_opponent_would_have_done_what_it_did() {
    let game = Arc::new(KuhnPoker::new());
    let reach = |floor| SearchSettings {
        belief: Belief::Reach { pool: 64, floor },
        opponents: Opponents::Policy { uniform: 0.0 },
        ..SearchSettings::for_game(game.info())
    };
    // The second seat holds a queen and faces a bet: a bold player has a king for it. Calling loses 2, folding 1.
    let run = |settings| {
        let view = kuhn(&game, &[0, 1, 1]);
        search(&game, settings, view, Budget::Simulations(400), &mut Bold, None, 3)
    };
    let believing = run(reach(0.0));
    // A jack bets with .05 * .5 = .025, a king with .95 + .025 = .975: 39 to 1 where both are drawn equally often.
    assert!((-2.0..-1.7).contains(&believing.q[1]), "calling is worth {}", believing.q[1]);
    assert!((25.0..40.0).contains(&believing.effective_worlds), "{}", believing.effective_worlds); // the kings of 64
    assert_eq!(believing.action, 0, "it folds");
    let floored = run(reach(1.0));
    assert!((-0.5..0.5).contains(&floored.q[1]), "calling is worth {}", floored.q[1]); // the rules alone: wins or loses 2
    let uniform = run(SearchSettings::for_game(game.info()));
    assert_eq!(uniform.effective_worlds, 0.0);
}

#[test]
fn opponents_that_play_by_policy_choose_by_their_own_card_in_each_world() {
    let game = Arc::new(KuhnPoker::new());
    let settings =
        SearchSettings { opponents: Opponents::Policy { uniform: 0.0 }, ..SearchSettings::for_game(game.info()) };
    // The first seat bets a queen: a jack always folds (+1), a king always calls (-2): -0.5 on the whole.
    let run = || search(&game, settings, kuhn(&game, &[1, 0]), Budget::Simulations(2000), &mut Bold, None, 3);
    let decision = run();
    assert!((-0.6..-0.4).contains(&decision.q[1]), "betting is worth {}", decision.q[1]);
    assert_eq!(decision, run(), "a suspended descent changes no bit");
}

#[test]
fn the_true_hidden_card_changes_nothing_for_reach_belief_and_policy_opponents() {
    let game = Arc::new(KuhnPoker::new());
    for life in [TreeLife::Move, TreeLife::Game] {
        let settings = SearchSettings {
            life,
            belief: Belief::Reach { pool: 32, floor: 0.1 },
            opponents: Opponents::Policy { uniform: 0.05 },
            ..SearchSettings::for_game(game.info())
        };
        let run = |hidden| {
            let view = kuhn(&game, &[hidden, 1, 1]);
            search(&game, settings, view, Budget::Simulations(200), &mut Hash { seed: 1 }, None, 9)
        };
        assert_eq!(run(0), run(2));
        play_games(&game, settings, Budget::Simulations(40), &mut Hash { seed: 1 });
    }
}
