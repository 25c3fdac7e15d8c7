//! Games recorded to look at: what is written of each move, and that what a seat knew gives nothing away.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_game::{Game, GameSet, GameVisitor, Turn, stream};
use fogfall_games::{Battle, KuhnPoker, Shipped, TicTacToe};
use fogfall_search::{Budget, Choice, Hash, SearchSettings};
use fogfall_selfplay::{RecordedGame, Searcher, record_game};
use rand::RngExt;

fn player(game: &impl Game) -> Searcher {
    Searcher {
        evaluator: Box::new(Hash { seed: 7 }),
        search: SearchSettings::for_game(game.info()),
        budget: Budget::Simulations(16),
        choice: Choice::Visits,
    }
}

fn record<G: Game>(game: G, seed: u64) -> RecordedGame {
    let game = Arc::new(game);
    record_game(&game, &mut player(&*game), seed, &|| false).unwrap()
}

#[test]
fn a_record_holds_each_move_with_what_the_search_made_of_it_and_comes_back_from_its_text() {
    let record = record(Battle::new(None).unwrap(), 3);
    assert!(record.moves.len() > 10 && record.payoff.is_some());
    assert!(record.characters.iter().all(Option::is_some));
    for step in &record.moves {
        // A search of its own tree has no visits besides its simulations'.
        assert!(step.options.iter().map(|option| option.visits).sum::<u32>() >= step.simulations - 1);
        assert!((step.options.iter().map(|option| option.prior).sum::<f32>() - 1.0).abs() < 1e-3);
        let most = step.options.iter().map(|option| option.visits).max().unwrap();
        assert!(step.options[step.chosen].visits == most || step.options.len() == 1, "{step:?}");
        assert!(step.options.iter().all(|option| option.value.is_some() == (option.visits > 0)));
        assert!(step.position.starts_with("turn "), "{}", step.position);
    }
    assert!(record.end.contains("over, payoff"), "{}", record.end);
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<RecordedGame>(&text).unwrap(), record);
}

#[test]
fn a_seed_records_the_same_game_each_time_and_a_stop_records_none() {
    assert_eq!(record(KuhnPoker::new(), 5), record(KuhnPoker::new(), 5));
    let game = Arc::new(KuhnPoker::new());
    assert!(record_game(&game, &mut player(&*game), 5, &|| true).is_none());
}

#[test]
fn where_all_is_seen_both_sides_knew_the_position() {
    for step in record(TicTacToe::new(), 1).moves {
        assert!(step.knew.iter().all(|knew| *knew == step.position));
    }
}

#[test]
fn a_poker_player_knew_its_own_card_and_not_the_other() {
    for step in record(KuhnPoker::new(), 1).moves {
        // "cards 2 0, betting ''" is known as "cards 2 ?, ..." and "cards ? 0, ..."
        let cards: Vec<&str> = step.position[6..].split([' ', ',']).collect();
        assert!(step.knew[0].starts_with(&format!("cards {} ?,", cards[0])), "{:?}", step.knew);
        assert!(step.knew[1].starts_with(&format!("cards ? {},", cards[1])), "{:?}", step.knew);
    }
}

#[test]
fn a_fighter_knew_its_own_bag_and_how_many_cards_the_other_has() {
    let record = record(Battle::new(None).unwrap(), 3);
    let bags = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix("    bag: ").map(str::to_owned)).collect()
    };
    let (mut unseen, mut moves) = (0, 0);
    for step in &record.moves {
        let truth = bags(&step.position);
        for seat in [0, 1] {
            let knew = bags(&step.knew[seat]);
            assert_eq!(knew[seat], truth[seat]);
            unseen += usize::from(knew[1 - seat].ends_with("unseen"));
            moves += 1;
        }
    }
    assert!(unseen > moves / 4, "{unseen} of {moves}");
}

/// Plays at random and compares what is said of a seat's knowledge in the truth and in worlds in which the rest differs.
struct SaysNoMore;

impl GameVisitor for SaysNoMore {
    /// Positions in which a world differed from the truth, and those in which the two seats knew different things.
    type Out = (usize, usize);

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        let (mut differing, mut apart) = (0, 0);
        for seed in 0..6 {
            let rng = &mut stream(seed, &[9]);
            let mut state = game.start(&mut stream(seed, &[]));
            game.settle(&mut state, rng);
            let mut legal = Vec::new();
            while let Turn::Player(_) = game.turn(&state) {
                let said = [0, 1].map(|seat| game.describe_view(&game.view(&state, seat), seat));
                apart += usize::from(said[0] != said[1]);
                for seat in [0, 1] {
                    for _ in 0..3 {
                        let world = game.determinize(&game.view(&state, seat), rng);
                        differing += usize::from(game.describe(&world) != game.describe(&state));
                        let said_there = game.describe_view(&game.view(&world, seat), seat);
                        assert_eq!(said_there, said[usize::from(seat)], "{}, seat {seat}", game.info().name);
                    }
                }
                game.legal(&state, &mut legal);
                game.advance(&mut state, legal[rng.random_range(0..legal.len())], rng);
            }
        }
        (differing, apart)
    }
}

#[test]
fn what_a_seat_knew_does_not_change_with_what_is_hidden_from_it() {
    for name in Shipped::names() {
        let (differing, apart) = Shipped::with(name, None, SaysNoMore).unwrap();
        let hidden = Shipped::with(name, None, Hides).unwrap();
        assert_eq!((differing > 0, apart > 0), (hidden, hidden), "{name}: {differing} worlds, {apart} positions");
    }
}

/// Whether a game hides anything.
struct Hides;

impl GameVisitor for Hides {
    type Out = bool;

    fn visit<G: Game>(self, game: Arc<G>) -> bool {
        !game.info().perfect_information
    }
}
