//! Nobody who plays by what he sees gains anything from an equilibrium policy, over both seats. A player that does has
//! seen too much: this finds leaks that no comparison of two views can see, as long as they help.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::sync::Arc;

use fogfall_eval::{Advised, Cfr, GameTree, Interval, MatchStats, Profile};
use fogfall_game::contract::{Leak, Leaky};
use fogfall_game::{Game, stream};
use fogfall_games::{Battle, KuhnPoker, LeducPoker};
use fogfall_search::{Belief, Budget, Choice, Label, Opponents, Rollout, SearchSettings, TreeLife};
use fogfall_selfplay::{Agent, MatchSettings, Searcher, play_match};

/// Lays the game out and solves it; what the policy lacks to an equilibrium is far below what the matches can resolve.
fn solve<G: Game>(game: &G, iterations: u32) -> (GameTree<G::View>, Profile) {
    let tree = GameTree::lay_out(game, &game.start(&mut stream(0, &[])), 1_000_000).unwrap();
    let mut solver = Cfr::new(&tree);
    (0..iterations).for_each(|_| solver.iterate());
    let average = solver.average();
    let found = tree.exploitability(&average);
    assert!(found.nash_conv < 0.006, "{found:?}");
    (tree, average)
}

fn advised<G: Game>(game: G, iterations: u32) -> Advised<G> {
    let (tree, average) = solve(&game, iterations);
    Advised::new(game, &tree, &average)
}

/// What a best response that sees everything gets from the equilibrium policy, over both seats.
fn peeking<G: Game>(game: G, iterations: u32) -> f64 {
    let (tree, average) = solve(&game, iterations);
    let key = |view: serde_json::Value| view.to_string();
    let policy: HashMap<_, _> = tree
        .policy(&average)
        .map(|(view, _, odds)| (key(serde_json::to_value(view).unwrap()), odds.to_vec()))
        .collect();
    let leaky = Leaky::new(game, Leak::Truth);
    let leaky_tree = GameTree::lay_out(&leaky, &leaky.start(&mut stream(0, &[])), 1_000_000).unwrap();
    // The policy looks at its own part of the view alone; the best response at all of it.
    let blind = leaky_tree.profile(|view, _| policy[&key(serde_json::to_value(view).unwrap()["view"].take())].clone());
    let [first, second] = leaky_tree.exploitability(&blind.unwrap()).best_response;
    (first + second) / 2.0
}

/// Payoff of a search against the equilibrium policy, over both seats.
fn payoff<G: Game>(game: G, pairs: u32, simulations: u32, choice: Choice) -> Interval {
    payoff_of(Agent::Search, game, pairs, simulations, choice, |_| ())
}

fn payoff_of<G: Game>(
    agent: fn(Box<Searcher>) -> Agent,
    game: G,
    pairs: u32,
    simulations: u32,
    choice: Choice,
    change: fn(&mut SearchSettings),
) -> Interval {
    let mut search = SearchSettings { life: TreeLife::Game, ..SearchSettings::for_game(game.info()) };
    change(&mut search);
    let searcher = Searcher { evaluator: Box::new(Rollout), search, budget: Budget::Simulations(simulations), choice };
    let mut agents = [agent(Box::new(searcher)), Agent::Expert(Advised::<G>::NASH.to_owned())];
    let settings = MatchSettings { pairs, first_pair: 0, slots: 32, seed: 3 };
    MatchStats::of(&play_match(&Arc::new(game), &mut agents, settings, &|| false)).payoff.unwrap()
}

/// A search of worlds that agree with the truth.
fn cheating<G: Game>(game: Advised<G>) -> Leaky<Advised<G>> {
    Leaky::new(game, Leak::Truth)
}

/// Plays the most visited action, and visit shares; then as games are played in which good play is mixed.
fn honest_search_gains_nothing<G: Game>(game: impl Fn() -> Advised<G>, pairs: u32) {
    for choice in [Choice::Visits, Choice::Sample { temperature: 1.0 }] {
        let found = payoff(game(), pairs, 64, choice);
        assert!(found.low <= 0.0, "an honest player gains {found} from an equilibrium policy");
    }
    let found = payoff_of(Agent::Search, game(), pairs, 64, Choice::Label, |search| {
        search.belief = Belief::Reach { pool: 64, floor: 0.1 };
        search.opponents = Opponents::Policy { uniform: 0.05 };
        search.label = Label::Response { precision: 15.0 };
        search.root_uniform = 0.5;
    });
    assert!(found.low <= 0.0, "an honest player of mixed play gains {found} from an equilibrium policy");
}

fn cheating_search_gains<G: Game>(game: Advised<G>, pairs: u32, simulations: u32) {
    let found = payoff(cheating(game), pairs, simulations, Choice::Visits);
    assert!(found.low > 0.0, "a player that sees everything gains {found} from an equilibrium policy");
}

#[test]
fn who_peeks_at_the_foes_card_gains_what_is_known_of_kuhn_and_leduc_poker() {
    let kuhn = peeking(KuhnPoker::new(), 1_000);
    assert!((kuhn - 0.278).abs() < 0.005, "{kuhn}");
    let leduc = peeking(LeducPoker::new(), 400);
    assert!((leduc - 1.35).abs() < 0.02, "{leduc}");
}

#[test]
fn who_peeks_at_what_is_hidden_gains_much_in_battle_tiny() {
    let gain = peeking(Battle::tiny(None).unwrap(), 100);
    assert!(gain > 0.1, "{gain}");
}

#[test]
fn an_honest_search_gains_nothing_from_an_equilibrium_and_a_cheating_one_does_in_kuhn_poker() {
    let game = || advised(KuhnPoker::new(), 1_000);
    honest_search_gains_nothing(game, 2_000);
    cheating_search_gains(game(), 2_000, 64);
}

#[test]
fn the_agent_that_cheats_gains_from_an_equilibrium_of_kuhn_poker_and_no_more_than_peeking_can() {
    let game = advised(KuhnPoker::new(), 1_000);
    let found = payoff_of(Agent::Cheat, game, 2_000, 64, Choice::Visits, |_| ());
    // An honest player gains 0 at most, the best response that peeks 0.278; this one takes its foe to see everything too.
    assert!(found.low > 0.05 && found.low < 0.278, "{found}");
}

#[test]
fn an_honest_search_gains_nothing_from_an_equilibrium_and_a_cheating_one_does_in_leduc_poker() {
    let game = || advised(LeducPoker::new(), 400);
    honest_search_gains_nothing(game, 1_000);
    cheating_search_gains(game(), 1_000, 64);
}

/// Here even a cheating search gains little: what the foe can do it takes for what a random player does.
#[test]
fn an_honest_search_gains_nothing_from_an_equilibrium_and_a_cheating_one_does_in_battle_tiny() {
    let game = || advised(Battle::tiny(None).unwrap(), 100);
    honest_search_gains_nothing(game, 1_000);
    cheating_search_gains(game(), 3_000, 256);
}
