//! The rules are the ones meant, the game fulfils the contract, and nothing hidden reaches a search of it.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_game::contract::{Settings, Violation, check};
use fogfall_game::{Action, Game, Turn, stream};
use fogfall_search::{Budget, Hash, SearchSettings, TreeLife};
use fogfall_testkit::leaks::Poison;
use own_game::{Table, TreasureHunt};

/// Seat 0 holds 1, 3, 5, 7, 9 and seat 1 holds 2, 4, 6, 8, 10; 11 is left over.
const DEAL: [Action; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/// The table after the deal and these treasures and cards, by their values.
fn after(events: &[Action]) -> Table {
    let game = TreasureHunt::new();
    let mut table = game.start(&mut stream(1, &[]));
    for event in DEAL.iter().chain(events) {
        game.apply(&mut table, event - 1);
    }
    table
}

#[test]
fn the_higher_card_wins_the_treasure_and_leads() {
    let game = TreasureHunt::new();
    #[rustfmt::skip]
    let table = after(&[
        5, 9, 2,  // seat 0 leads and wins 5
        1, 1, 4,  // seat 1 wins 1
        4, 10, 3, // seat 1 leads and wins 4
        3, 8, 5,  // seat 1 wins 3
        2, 6, 7,  // seat 0 wins 2
    ]);
    assert_eq!(game.turn(&table), Turn::Over);
    assert_eq!(game.payoff(&table), -1.0); // 5 - 1 - 4 - 3 + 2
}

#[test]
fn leader_and_follower_play_from_their_own_hands() {
    let game = TreasureHunt::new();
    let mut legal = Vec::new();
    for (events, turn, cards) in [
        (vec![], Turn::Chance, vec![]),
        (vec![3], Turn::Player(0), vec![1, 3, 5, 7, 9]),
        (vec![3, 5], Turn::Player(1), vec![2, 4, 6, 8, 10]),
        (vec![3, 5, 6], Turn::Chance, vec![]),
        (vec![3, 5, 6, 1], Turn::Player(1), vec![2, 4, 8, 10]),
    ] {
        let table = after(&events);
        assert_eq!(game.turn(&table), turn, "{events:?}");
        if turn != Turn::Chance {
            game.legal(&table, &mut legal);
            assert_eq!(legal.iter().map(|card| card + 1).collect::<Vec<_>>(), cards, "{events:?}");
        }
    }
}

#[test]
fn a_world_deals_the_other_seat_cards_that_were_not_seen() {
    // Seat 1 has played 2 and 10. To seat 0, its other three are among 4, 6, 8 and 11.
    let game = TreasureHunt::new();
    let view = game.view(&after(&[3, 1, 2, 5, 10, 3, 1]), 0);
    let mut missing = [0; 4];
    for i in 0..4000 {
        let mut hand = vec![0.0; 11];
        game.hidden(&game.determinize(&view, &mut stream(1, &[i])), 0, &mut hand);
        let held: Vec<bool> = [4, 6, 8, 11].iter().map(|card| hand[card - 1] == 1.0).collect();
        assert_eq!((hand.iter().sum::<f32>(), held.iter().filter(|held| **held).count()), (3.0, 3));
        missing[held.iter().position(|held| !held).unwrap()] += 1;
    }
    // 4000 / 4 = 1000 each, four standard errors of sqrt(4000 * 1/4 * 3/4) = 27
    assert!(missing.iter().all(|n| (890..1110).contains(n)), "{missing:?}");
}

#[test]
fn the_thrifty_player_wins_much_gold_cheaply_and_throws_low_cards_for_little() {
    let game = TreasureHunt::new();
    let thrifty = |events: &[Action]| {
        let table = after(events);
        let Turn::Player(mover) = game.turn(&table) else { panic!("nobody moves") };
        let mut legal = Vec::new();
        game.legal(&table, &mut legal);
        game.expert_move("thrifty", &game.view(&table, mover), &legal, &mut stream(1, &[])) + 1
    };
    assert_eq!([thrifty(&[3]), thrifty(&[2])], [9, 1]);
    assert_eq!([thrifty(&[3, 5]), thrifty(&[2, 5])], [6, 2]);
    assert_eq!(thrifty(&[3, 9, 10, 5, 8]), 1, "what cannot be won gets the lowest");
}

#[test]
fn the_game_fulfils_the_contract() {
    let report = check(&TreasureHunt::new(), &Settings::default());
    let explain = |all: Vec<Violation>| panic!("{}", all.iter().map(Violation::to_string).collect::<String>());
    let report = report.unwrap_or_else(explain);
    assert!(report.differing_foe_views > 0 && report.past_decisions > 0, "{report:?}");
    assert_eq!(report.longest, 10);
}

#[test]
fn what_the_other_holds_reaches_no_search() {
    let game = Arc::new(TreasureHunt::new());
    for life in [TreeLife::Move, TreeLife::Game] {
        let settings = SearchSettings { life, ..SearchSettings::for_game(game.info()) };
        let evaluator = &mut Hash { seed: 1 };
        let mut poison = Poison { game: Arc::clone(&game), settings, budget: Budget::Simulations(24), evaluator };
        let compared = poison.check(20, 1).unwrap();
        assert!(compared.differing > 0, "{compared:?}");
    }
}
