//! Hidden cards, specials and traps: what shows them, what rules them out, and how worlds guess them.

use fogfall_game::{Game, Seat, stream};

use super::fixture::{Duel, rules_with_secrets};
use super::state::{Due, Private};

/// Items of the fixture's deck: two herbs and a stone.
const HERB: u16 = 0;
const STONE: u16 = 1;

/// Both hold a herb; seat 0 a stone too, seat 1 a second herb. Seat 0 chose `one` and `two`, seat 1 `two`, `three`.
fn duel() -> Duel {
    let mut duel = Duel::new(&rules_with_secrets());
    duel.deal(&[HERB, HERB, STONE, HERB]);
    duel.play("pick:one").play("pick:two").play("pick:two").play("pick:three");
    duel.begin();
    duel
}

/// Private parts of the foe in worlds drawn from a seat's view.
fn guesses(duel: &Duel, seat: Seat, worlds: u64) -> Vec<Private> {
    let view = duel.game.view(&duel.state, seat);
    let foe = usize::from(1 - seat);
    (0..worlds).map(|i| duel.game.determinize(&view, &mut stream(5, &[i])).private[foe]).collect()
}

/// Pearson's statistic of counts against exact odds.
fn chi_square(counts: &[usize], odds: &[f64]) -> f64 {
    let n: usize = counts.iter().sum();
    let terms = counts.iter().zip(odds).map(|(&seen, p)| (seen as f64 - p * n as f64).powi(2) / (p * n as f64));
    terms.sum()
}

#[test]
fn unseen_cards_follow_the_deck_without_replacement() {
    let duel = duel();
    let bags = guesses(&duel, 0, 30_000);
    let count = |herbs: u8| bags.iter().filter(|p| p.bag[..2] == [herbs, 2 - herbs]).count();
    // Two cards of two herbs and a stone: both herbs in 1 of 3 deals, one herb and the stone in 2 of 3.
    let counts = [count(2), count(1)];
    assert_eq!(counts.iter().sum::<usize>(), 30_000);
    assert!(chi_square(&counts, &[1.0 / 3.0, 2.0 / 3.0]) < 10.83, "{counts:?}"); // 0.1 % for one degree of freedom
}

#[test]
fn cards_seen_leave_the_deck() {
    let mut duel = duel();
    duel.play("attack").play("item:herb");
    let bags = guesses(&duel, 0, 30_000);
    let count = |herbs: u8| bags.iter().filter(|p| p.bag[..2] == [herbs, 1 - herbs]).count();
    let counts = [count(1), count(0)];
    // One card of what is left, a herb and a stone.
    assert!(chi_square(&counts, &[0.5, 0.5]) < 10.83, "{counts:?}");
}

#[test]
fn specials_are_uniform_over_the_sets_that_hold_what_was_shown() {
    let mut duel = duel();
    let counts = |duel: &Duel| {
        let guesses = guesses(duel, 0, 30_000);
        [0b011, 0b101, 0b110].map(|set| guesses.iter().filter(|p| p.specials == set).count())
    };
    let before = counts(&duel);
    assert!(chi_square(&before, &[1.0 / 3.0; 3]) < 13.82, "{before:?}"); // 0.1 % for two degrees of freedom
    duel.play("guard").play("skill:three");
    let [without, a, b] = counts(&duel);
    assert_eq!(without, 0); // `three` was seen
    assert!(chi_square(&[a, b], &[0.5, 0.5]) < 10.83, "{a} {b}");
}

#[test]
fn a_pending_trap_is_public_but_not_which_and_its_silence_rules_it_out() {
    let mut duel = duel();
    duel.play("skill:goad");
    assert_eq!(duel.fighter(0).candidates, 0b111);
    let traps = guesses(&duel, 1, 30_000);
    let counts = [1, 2, 4].map(|bit| traps.iter().filter(|p| p.veil == bit).count());
    assert!(chi_square(&counts, &[1.0 / 3.0; 3]) < 13.82, "{counts:?}");
    duel.play("attack"); // a riposte would have gone off
    assert_eq!(duel.fighter(0).candidates, 0b110);
    assert!(guesses(&duel, 1, 100).iter().all(|p| p.veil != 0b001));
    assert!(!duel.legal().contains(&"skill:riposte".to_owned())); // one trap at a time
    duel.play("attack").play("guard");
    assert_eq!((duel.fighter(0).candidates, duel.state.private[0].veil), (0, 0)); // it was a goad
    assert_eq!(duel.health(), [84, 80]); // 100 - 16 each way; the trap 20 * 50 % / 1.25 = 8, halved by the guard
}

#[test]
fn a_trap_that_waits_for_turns_goes_off_after_them() {
    let mut duel = duel();
    duel.play("skill:omen").play("guard").play("attack");
    assert_eq!(duel.fighter(0).candidates, 0b101); // the guard ruled a goad out
    let before = duel.health()[1];
    duel.play("guard"); // seat 0's second turn since begins
    assert_eq!(duel.fighter(0).candidates, 0);
    assert_eq!(duel.health()[1], before - 4); // 20 * 50 % / 1.25 = 8, halved by guard
}

#[test]
fn veiled_skills_look_the_same_to_the_foe() {
    let [mut a, mut b] = [duel(), duel()];
    a.play("skill:riposte");
    b.play("skill:goad");
    assert_eq!(a.game.view(&a.state, 1), b.game.view(&b.state, 1));
    assert_ne!(a.game.view(&a.state, 0), b.game.view(&b.state, 0));
}

#[test]
fn a_reveal_shows_each_hidden_thing_alike_and_keeps_it_in_every_world() {
    let mut duel = duel();
    duel.play("guard").play("skill:omen");
    let tested = duel.game.info().actions.iter().position(|n| n == "skill:tested").unwrap() as u16;
    duel.game.apply(&mut duel.state, tested);
    assert_eq!(duel.state.public.due, Due::Reveal);
    let mut outcomes = Vec::new();
    duel.game.chance(&duel.state, &mut outcomes);
    // Two herbs, the specials 1 and 2, the trap 2: five things.
    assert_eq!(outcomes, [(0, 0.4), (13, 0.2), (14, 0.2), (22, 0.2)]);
    for (outcome, _) in outcomes {
        let mut shown = Duel { game: super::Battle::new(Some(&rules_with_secrets())).unwrap(), state: duel.state };
        shown.game.apply(&mut shown.state, outcome);
        let worlds = guesses(&shown, 0, 200);
        let holds = |p: &Private| match outcome {
            0 => p.bag[0] >= 1,
            22 => p.veil == 1 << 2,
            special => p.specials >> (special - 12) & 1 == 1,
        };
        assert!(worlds.iter().all(holds), "{outcome}");
    }
}

#[test]
fn a_card_shown_is_known_until_it_is_used() {
    let mut duel = duel();
    duel.play_with("skill:tested", 0); // shows a herb of seat 1
    assert_eq!((duel.fighter(1).known[0], duel.fighter(1).unseen_cards()), (1, 1));
    duel.play("item:herb");
    assert_eq!((duel.fighter(1).known[0], duel.fighter(1).used[0]), (0, 1));
    assert_eq!(duel.fighter(1).unseen_cards(), 1);
}
