//! Games made by hand, whose balance is known.

use super::{Balance, Finding, Level, PlayedGame, PlayedMatch};

const OPTIONS: [&str; 3] = ["hit", "heal", "flee"];

/// A game of ten decisions in which both seats choose `actions` by turns, all of them legal each time.
fn game(payoff: f32, characters: [&str; 2], actions: [u16; 2]) -> PlayedGame {
    let mut game = PlayedGame::new(OPTIONS.len(), characters.map(|name| Some(name.to_owned())));
    game.payoff = payoff;
    for ply in 0..10 {
        let seat = ply % 2;
        game.decide(seat, &[0, 1, 2], actions[usize::from(seat)]);
    }
    game
}

fn mirror(pairs: Vec<[PlayedGame; 2]>) -> PlayedMatch {
    PlayedMatch { players: ["judge".to_owned(), "judge".to_owned()], pairs }
}

fn judged(matches: &[PlayedMatch]) -> Balance {
    Balance::of(&OPTIONS.map(str::to_owned), matches, &["judge".to_owned()], "random")
}

/// Findings that are not good, on one question.
fn complaints<'a>(balance: &'a Balance, topic: &str) -> Vec<(Level, &'a str)> {
    let complain = |finding: &&Finding| finding.topic == topic && finding.level > Level::Good;
    balance.findings.iter().filter(complain).map(|finding| (finding.level, finding.text.as_str())).collect()
}

/// Pairs in which each side wins once, with every option used alike.
fn even(pairs: u16) -> Vec<[PlayedGame; 2]> {
    (0..pairs)
        .map(|i| {
            let actions = [i % 3, (i + 1) % 3];
            [game(1.0, ["fox", "owl"], actions), game(-1.0, ["fox", "owl"], actions)]
        })
        .collect()
}

#[test]
fn even_games_are_good_in_every_respect() {
    let balance = judged(&[mirror(even(300))]);
    assert!(balance.findings.iter().all(|finding| finding.level == Level::Good), "{:?}", balance.findings);
    let topics: Vec<_> = balance.findings.iter().map(|finding| finding.topic).collect();
    for topic in ["do games end", "is an option dead", "is an option dominant", "is a seat favoured"] {
        assert!(topics.contains(&topic), "{topic} is not answered");
    }
    let use_of_heal = &balance.use_of[0][1];
    // 600 games of 10 decisions, heal legal at each and chosen at a third.
    assert_eq!(use_of_heal.legal, 6000);
    assert!((use_of_heal.relative.unwrap().mean - 1.0).abs() < 1e-3, "{use_of_heal:?}");
    assert_eq!(balance.characters, ["fox", "owl"]);
    assert_eq!(balance.scores[0][0].unwrap().mean, 0.5);
    assert_eq!(balance.pairings[0].lengths.counts[10], 600);
}

#[test]
fn few_games_accuse_nobody() {
    let lost = |_| [game(-1.0, ["fox", "owl"], [0, 1]), game(-1.0, ["fox", "owl"], [0, 1])];
    let balance = judged(&[mirror((0..2).map(lost).collect())]);
    // Two pairs lost by seat 0: their interval reaches from 0 to 0.81 or so. The option that nobody chose was legal 40 times.
    assert!(balance.findings.iter().all(|finding| finding.level == Level::Good), "{:?}", balance.findings);
}

#[test]
fn a_seat_and_a_character_that_always_lose_are_bad() {
    let lost =
        |i: u16| [game(-1.0, ["fox", "owl"], [i % 3, (i + 1) % 3]), game(-1.0, ["fox", "owl"], [i % 3, (i + 2) % 3])];
    let balance = judged(&[mirror((0..200).map(lost).collect())]);
    let seat = complaints(&balance, "is a seat favoured");
    assert_eq!(seat.len(), 1);
    // Wins and losses as 200 pairs of 0, with one 0 and one 1 added: up to 1/202 + 1.96 * sqrt(.00495 / 202) = 0.015.
    assert_eq!(seat[0].0, Level::Bad);
    assert!(seat[0].1.starts_with("judge against itself: seat 0 scores 0 % [0, 1] ("), "{}", seat[0].1);
    let characters = complaints(&balance, "is a character hopeless");
    assert_eq!(characters.len(), 2, "one loses and the other wins: {characters:?}");
    let match_ups = complaints(&balance, "is a match-up hopeless");
    assert_eq!(match_ups.len(), 1, "named once: {match_ups:?}");
    assert!(match_ups[0].1.contains("fox against owl scores 0 % [0, 1]"), "{match_ups:?}");
}

#[test]
fn a_character_against_itself_says_nothing_of_match_ups() {
    let same = |_| [game(-1.0, ["fox", "fox"], [0, 1]), game(-1.0, ["fox", "fox"], [0, 1])];
    let balance = judged(&[mirror((0..200).map(same).collect())]);
    assert_eq!(balance.scores, [[None]]);
    assert!(complaints(&balance, "is a character hopeless").is_empty());
}

#[test]
fn options_that_nobody_chooses_or_can_choose_are_dead() {
    let mut pairs: Vec<_> =
        (0..100).map(|_| [game(1.0, ["fox", "owl"], [0, 1]), game(-1.0, ["fox", "owl"], [0, 1])]).collect();
    let balance = judged(&[mirror(pairs.clone())]);
    let dead = complaints(&balance, "is an option dead");
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].0, Level::Bad);
    // Legal 2000 times, never chosen: up to 3.84 / 2003.84 = 0.2 % of chances, three times that by lot.
    assert!(dead[0].1.starts_with("flee is chosen 0 % [0, 1] as often as by lot"), "{}", dead[0].1);
    for side in pairs.iter_mut().flatten().flat_map(|game| &mut game.options) {
        side[2].legal = 0;
    }
    let dead = judged(&[mirror(pairs)]);
    assert_eq!(complaints(&dead, "is an option dead"), [(Level::Bad, "flee was legal in no game")]);
}

#[test]
fn an_option_that_winners_use_is_dominant_and_so_is_one_that_is_always_chosen() {
    // The side that hits wins, from either seat.
    let hits = |_| [game(1.0, ["fox", "owl"], [0, 1]), game(-1.0, ["fox", "owl"], [2, 0])];
    let balance = judged(&[mirror((0..200).map(hits).collect())]);
    let strong = complaints(&balance, "is an option dominant");
    assert_eq!(strong.len(), 1, "{strong:?}");
    assert_eq!(strong[0].0, Level::Bad);
    assert!(strong[0].1.starts_with("hit goes with a score of 100 %"), "{strong:?}");
    assert!(strong[0].1.contains("where 50 % is usual"), "{strong:?}");

    let only = |_| [game(1.0, ["fox", "owl"], [0, 0]), game(-1.0, ["fox", "owl"], [0, 0])];
    let balance = judged(&[mirror((0..200).map(only).collect())]);
    let strong = complaints(&balance, "is an option dominant");
    assert_eq!(strong.len(), 1, "{strong:?}");
    assert!(
        strong[0].1.starts_with("hit is chosen at 100 % [100, 100] of its chances, among 3.0 actions"),
        "{strong:?}"
    );
}

#[test]
fn games_that_run_out_or_are_drawn_or_cut_are_complained_of() {
    let mut pairs = even(50);
    pairs.iter_mut().flatten().take(40).for_each(|game| (game.payoff, game.ran_out) = (0.0, true));
    pairs[49][1].truncated = true;
    let balance = judged(&[mirror(pairs)]);
    let found = complaints(&balance, "do games end");
    // 40 of 100 ran out: from 31 % on by Wilson's interval, beyond 20 %; drawn are the same, beyond 30 %.
    let texts: Vec<_> = found.iter().map(|(level, text)| (*level, text.split(" (").next().unwrap())).collect();
    assert_eq!(
        texts,
        [
            (Level::Bad, "judge against judge: 1.0 % of games were cut at the most decisions the game promises"),
            (Level::Bad, "judge against itself: 40.0 % ran into a limit"),
            (Level::Bad, "judge against itself: 40.0 % drawn"),
        ]
    );
}

#[test]
fn a_judge_that_hardly_beats_play_by_lot_shows_that_play_does_not_matter() {
    let mut by_lot = mirror(even(200));
    by_lot.players = ["judge".to_owned(), "random".to_owned()];
    let balance = judged(&[mirror(even(200)), by_lot]);
    let found = complaints(&balance, "does play matter");
    // In even pairs the first player wins both games: seat 0 of the first, seat 1 of the second.
    assert!(found.is_empty(), "{found:?}");

    let luck = |_| [game(1.0, ["fox", "owl"], [0, 1]), game(1.0, ["fox", "owl"], [0, 1])];
    let mut by_lot = mirror((0..200).map(luck).collect());
    by_lot.players = ["judge".to_owned(), "random".to_owned()];
    let balance = judged(&[mirror(even(200)), by_lot]);
    let found = complaints(&balance, "does play matter");
    assert!(found[0].0 == Level::Bad && found[0].1.starts_with("judge scores 50 %"), "{found:?}");
}
