//! The rules are the ones meant, the game fulfils the contract, and nothing hidden reaches a search of it.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_game::contract::{Settings, Violation, check};
use fogfall_game::{Action, Game, Turn, stream};
use fogfall_search::{Budget, Hash, SearchSettings, TreeLife};
use fogfall_testkit::leaks::Poison;
use own_game::{KEEP, LEAVE, OPEN, PUSH, Table, TreasureOrTrap};

const TRAP: Action = 0;
const COINS: Action = 1;
const JEWEL: Action = 2;

fn after(actions: &[Action]) -> Table {
    let game = TreasureOrTrap::new();
    let mut table = game.start(&mut stream(1, &[]));
    for &action in actions {
        game.apply(&mut table, action);
    }
    table
}

#[test]
fn the_gold_is_counted_as_the_rules_say() {
    let game = TreasureOrTrap::new();
    #[rustfmt::skip]
    let table = after(&[
        JEWEL, KEEP,        // seat 0: 3
        TRAP, PUSH, OPEN,   // seat 0 opens: -3
        COINS, PUSH, LEAVE, // seat 0: twice 1
        JEWEL, PUSH, LEAVE, // seat 1: twice 3
        TRAP, PUSH, LEAVE,  // seat 0: -3, once
        COINS, PUSH, OPEN,  // seat 0 opens: 1
    ]);
    assert_eq!(game.turn(&table), Turn::Over);
    assert_eq!(game.payoff(&table), -6.0); // 3 - 3 + 2 - 6 - 3 + 1
}

#[test]
fn the_other_player_answers_a_push_and_the_keepers_take_turns() {
    let game = TreasureOrTrap::new();
    let mut legal = Vec::new();
    for (actions, turn, expected) in [
        (vec![], Turn::Chance, None),
        (vec![COINS], Turn::Player(0), Some([KEEP, PUSH])),
        (vec![COINS, PUSH], Turn::Player(1), Some([OPEN, LEAVE])),
        (vec![COINS, KEEP], Turn::Chance, None),
        (vec![COINS, KEEP, TRAP], Turn::Player(1), Some([KEEP, PUSH])),
    ] {
        let table = after(&actions);
        assert_eq!(game.turn(&table), turn, "{actions:?}");
        if let Some(expected) = expected {
            game.legal(&table, &mut legal);
            assert_eq!(legal, expected, "{actions:?}");
        }
    }
}

#[test]
fn a_world_gives_kept_chests_the_odds_of_those_not_seen() {
    // Seat 1 has seen a trap of its own. Seat 0 keeps one of the other seven chests, two of which hold a jewel.
    let game = TreasureOrTrap::new();
    let view = game.view(&after(&[COINS, KEEP, TRAP]), 1);
    let jewels = (0..7000).filter(|&i| {
        let mut world = game.determinize(&view, &mut stream(1, &[i]));
        for action in [KEEP, JEWEL, KEEP] {
            game.apply(&mut world, action);
        }
        let mut outcomes = Vec::new();
        game.chance(&world, &mut outcomes);
        outcomes.iter().all(|&(content, _)| content != JEWEL) // both jewels are on the table
    });
    let jewels = jewels.count();
    assert!((1850..2150).contains(&jewels), "{jewels}"); // 7000 * 2 / 7 = 2000, four standard errors of 38
}

#[test]
fn the_honest_player_keeps_treasure_pushes_traps_and_leaves_what_is_pushed() {
    let game = TreasureOrTrap::new();
    let honest = |actions: &[Action], seat| {
        let view = game.view(&after(actions), seat);
        game.expert_move("honest", &view, &[], &mut stream(1, &[]))
    };
    assert_eq!([honest(&[JEWEL], 0), honest(&[COINS], 0), honest(&[TRAP], 0)], [KEEP, KEEP, PUSH]);
    assert_eq!([honest(&[JEWEL, PUSH], 1), honest(&[TRAP, PUSH], 1)], [LEAVE, LEAVE]);
}

#[test]
fn the_game_fulfils_the_contract() {
    let report = check(&TreasureOrTrap::new(), &Settings::default());
    let explain =
        |violations: Vec<Violation>| panic!("{}", violations.iter().map(Violation::to_string).collect::<String>());
    let report = report.unwrap_or_else(explain);
    assert!(report.differing_foe_views > 0 && report.past_decisions > 0, "{report:?}");
    assert_eq!((report.longest, report.merged_views), (12, 0)); // every chest pushed; a view is never mistaken for another
}

#[test]
fn what_the_other_keeps_reaches_no_search() {
    let game = Arc::new(TreasureOrTrap::new());
    for life in [TreeLife::Move, TreeLife::Game] {
        let settings = SearchSettings { life, ..SearchSettings::for_game(game.info()) };
        let evaluator = &mut Hash { seed: 1 };
        let mut poison = Poison { game: Arc::clone(&game), settings, budget: Budget::Simulations(24), evaluator };
        let compared = poison.check(20, 1).unwrap();
        assert!(compared.differing > 0, "{compared:?}");
    }
}
