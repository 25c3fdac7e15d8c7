//! `battle_tiny` is small enough to be solved, and worth it.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use fogfall_eval::{Cfr, GameTree, Profile};
use fogfall_game::{Game, Turn, stream};
use fogfall_games::{Battle, BattleView};
use rand::RngExt;

/// With more information sets than this a searching player is slow to measure.
const MOST_SETS: usize = 100_000;
const GAMES: u64 = 10_000;

/// How often each action is played in a game, on average, if both seats follow the profile.
fn plays(game: &Battle, tree: &GameTree<BattleView>, profile: &Profile) -> HashMap<String, f64> {
    let bytes = |view: &BattleView| rmp_serde::to_vec(view).unwrap();
    let policy: HashMap<_, _> = tree.policy(profile).map(|(view, legal, odds)| (bytes(view), (legal, odds))).collect();
    let mut plays = HashMap::new();
    for number in 0..GAMES {
        let rng = &mut stream(1, &[number]);
        let mut state = game.start(rng);
        game.settle(&mut state, rng);
        while let Turn::Player(seat) = game.turn(&state) {
            let (legal, odds) = policy[&bytes(&game.view(&state, seat))];
            let mut left: f64 = rng.random();
            let chosen = odds.iter().position(|&p| {
                left -= p;
                left < 0.0
            });
            let action = legal[chosen.unwrap_or(legal.len() - 1)];
            *plays.entry(game.info().actions[usize::from(action)].clone()).or_default() += 1.0 / GAMES as f64;
            game.advance(&mut state, action, rng);
        }
    }
    plays
}

#[test]
fn battle_tiny_is_solved_and_its_equilibrium_plays_everything_there_is() {
    let game = Battle::tiny(None).unwrap();
    let tree = GameTree::lay_out(&game, &game.start(&mut stream(0, &[])), 1_000_000).unwrap();
    assert!(tree.information_sets() <= MOST_SETS, "{}", tree.information_sets());
    let uniform = tree.exploitability(&tree.uniform());
    assert!(uniform.nash_conv > 1.0, "{uniform:?}");

    let mut solver = Cfr::new(&tree);
    (0..100).for_each(|_| solver.iterate());
    let average = solver.average();
    let found = tree.exploitability(&average);
    assert!(found.nash_conv < 0.01, "{found:?}");
    assert!(found.value.abs() < 0.01, "both sides are the same, and chance says who begins: {found:?}");

    // An action that is never played, or always, would leave nothing to hide.
    let plays = plays(&game, &tree, &average);
    assert_eq!(plays.len(), game.info().num_actions(), "{plays:?}");
    assert!(plays.values().all(|&plays| plays > 0.1), "{plays:?}");
}
