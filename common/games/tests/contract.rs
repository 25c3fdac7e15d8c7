//! Every shipped game fulfils the contract, and the suite that says so rejects games that leak.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_game::contract::{Leak, Leaky, Report, Settings, Violation, check};
use fogfall_game::{Game, GameSet, GameVisitor};
use fogfall_games::{Battle, KuhnPoker, LeducPoker, LiarsDice, PhantomTtt, Shipped, TicTacToe};

struct Contract;

impl GameVisitor for Contract {
    type Out = Result<Report, Vec<Violation>>;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        check(&*game, &Settings::default())
    }
}

fn explain(violations: Vec<Violation>) -> String {
    violations.iter().map(Violation::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_shipped_game_fulfils_the_contract() {
    for name in Shipped::names() {
        let report = Shipped::with(name, None, Contract).unwrap();
        let report = report.unwrap_or_else(|violations| panic!("{name}:\n{}", explain(violations)));
        assert!(report.pairs >= 10_000, "{name}: {report:?}");
    }
}

#[test]
fn kuhn_poker_is_checked_in_all_its_situations() {
    let report = check(&KuhnPoker::new(), &Settings::default()).unwrap();
    // Three cards times the betting '', 'pb' for seat 0 and 'p', 'b' for seat 1.
    assert_eq!((report.views, report.merged_views, report.longest), (12, 0, 3));
    // Half of the worlds give the foe its true card.
    let share = report.differing_pairs as f64 / report.pairs as f64;
    assert!((share - 0.5).abs() < 0.02, "{share}");
    assert!(report.past_decisions > 0);
}

fn every_leak_is_found<G: Game>(game: impl Fn() -> G, settings: &Settings) {
    leaks_are_found(game, settings, &Leak::ALL);
}

fn leaks_are_found<G: Game>(game: impl Fn() -> G, settings: &Settings, leaks: &[Leak]) {
    for &leak in leaks {
        let violations = check(&Leaky::new(game(), leak), settings).unwrap_err();
        let found = violations.iter().any(|violation| leak.breaks().contains(&violation.rule));
        let told = violations.iter().all(|violation| {
            let Violation { first, .. } = violation;
            first.contains("expected ") && first.contains("found")
        });
        assert!(found && told, "{leak:?}:\n{}", explain(violations));
    }
}

#[test]
fn every_leak_is_found_in_kuhn_poker() {
    every_leak_is_found(KuhnPoker::new, &Settings::default());
}

#[test]
fn leduc_poker_is_checked_in_both_bettings() {
    let report = check(&LeducPoker::new(), &Settings::default()).unwrap();
    assert_eq!(report.merged_views, 0);
    assert!(report.longest > 4, "{report:?}"); // the first betting has at most 4
    // A mover has at most 4 cards to guess from, so worlds differ in at least 3 of 4 cases.
    assert!(report.differing_pairs as f64 / report.pairs as f64 > 0.74, "{report:?}");
    assert!(report.past_decisions > 0);
}

#[test]
fn every_leak_is_found_in_leduc_poker() {
    every_leak_is_found(LeducPoker::new, &Settings::default());
}

#[test]
fn liars_dice_is_checked_with_all_bids() {
    let report = check(&LiarsDice::new(), &Settings::default()).unwrap();
    assert_eq!(report.merged_views, 0);
    assert!(report.longest > 6, "{report:?}"); // 13 at most, but few bid low so often
    // Five of six worlds give the foe another die.
    let share = report.differing_pairs as f64 / report.pairs as f64;
    assert!((share - 5.0 / 6.0).abs() < 0.02, "{share}");
    assert!(report.past_decisions > 0 && report.carried_worlds > 0);
}

#[test]
fn every_leak_is_found_in_liars_dice() {
    every_leak_is_found(LiarsDice::new, &Settings::default());
}

#[test]
fn phantom_tic_tac_toe_is_checked_with_moves_that_nobody_sees() {
    let report = check(&PhantomTtt::new(), &Settings::default()).unwrap();
    assert_eq!(report.merged_views, 0);
    assert!(report.longest >= 15, "{report:?}"); // 17 at most
    assert!(report.differing_pairs as f64 / report.pairs as f64 > 0.8, "{report:?}");
    assert!(report.past_decisions > 0 && report.carried_worlds > 1_000, "{report:?}");
}

/// All but those that show in chance outcomes, or in what is hidden before anybody has moved.
#[test]
fn every_leak_is_found_in_phantom_tic_tac_toe() {
    let shown = |leak: &Leak| !matches!(leak, Leak::Frozen | Leak::Odds | Leak::FirstOutcome);
    let leaks: Vec<Leak> = Leak::ALL.into_iter().filter(shown).collect();
    leaks_are_found(PhantomTtt::new, &Settings::default(), &leaks);
}

#[test]
fn every_leak_is_found_in_battle() {
    let settings = Settings { games: 10, pairs: 1_000, draws: 1_000, ..Settings::default() };
    every_leak_is_found(|| Battle::new(None).unwrap(), &settings);
}

#[test]
fn every_leak_is_found_in_battle_tiny() {
    every_leak_is_found(
        || Battle::tiny(None).unwrap(),
        &Settings { games: 50, pairs: 1_000, draws: 1_000, ..Settings::default() },
    );
}

#[test]
fn a_violation_names_the_position_and_what_to_do() {
    let violations = check(&Leaky::new(KuhnPoker::new(), Leak::Observation), &Settings::default()).unwrap_err();
    let text = explain(violations);
    assert!(text.contains("ObservationInvariance broken"), "{text}");
    assert!(text.contains("expected seat 0 to observe in a world ") && text.contains(" of field '"), "{text}");
    assert!(text.contains("cards ") && text.contains("  where: seed 1, game "), "{text}");
    assert!(text.contains("look at observe() and determinize()"), "{text}");
    assert!(text.contains("observe() must be a function of the seat's view"), "{text}");
}

#[test]
fn worlds_of_a_game_of_perfect_information_are_the_true_state() {
    let report = check(&TicTacToe::new(), &Settings::default()).unwrap();
    assert_eq!(report.differing_pairs, 0);
}
