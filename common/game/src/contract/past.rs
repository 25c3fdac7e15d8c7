//! Checks that a game shows its past as it was: reach weights stand on it.

use crate::{Action, Game, Seat, Turn, stream};

use super::Report;
use super::probe::Probe;
use super::rule::{Findings, Rule};

/// Stream of the worlds whose past is checked.
const PAST: u64 = 4;

/// A decision of the game so far.
pub(super) struct Decided {
    pub(super) seat: Seat,
    pub(super) action: Action,
    /// What its mover saw.
    pub(super) view: Vec<u8>,
}

/// Compares the past of the true state, and of a world, with what was decided.
pub(super) fn check<G: Game>(
    probe: &Probe<'_, G>,
    state: &G::State,
    decided: &[Decided],
    seed: u64,
    report: &mut Report,
    findings: &mut Findings,
) {
    for viewer in [0, 1] {
        let view = probe.game.view(state, viewer);
        let world = probe.game.determinize(&view, &mut stream(seed, &[PAST, decided.len() as u64]));
        for seat in [0, 1] {
            let Some(truth) = shown(probe, &view, state, seat) else { return };
            let Some(guess) = shown(probe, &view, &world, seat) else { return };
            report.past_decisions += truth.len();
            let made: Vec<&Decided> = decided.iter().filter(|decided| decided.seat == seat).collect();
            let fault = if !equal(&truth, &made) {
                Some("the true state's past is not what was played")
            } else if guess.len() != made.len() {
                Some("a world's past has another number of decisions")
            } else if !guess.iter().all(|shown| shown.possible) {
                Some("a world's past shows an illegal action, or another mover")
            } else if seat == viewer && !equal(&guess, &made) {
                Some("a world's past changes the viewer's own decisions")
            } else {
                None
            };
            if let Some(fault) = fault {
                findings.add(Rule::Past, || {
                    let played: Vec<Action> = made.iter().map(|made| made.action).collect();
                    let [truth, guess] = [&truth, &guess].map(|past| past.iter().map(|s| s.action).collect::<Vec<_>>());
                    format!(
                        "{fault}: seat {seat} played {played:?}, shown for the truth {truth:?} and for a world {guess:?}, \
                         seen by seat {viewer}, at {}",
                        probe.at(state)
                    )
                });
            }
        }
    }
}

/// A decision as `past` shows it.
struct Shown {
    action: Action,
    view: Vec<u8>,
    /// The seat was to move and the action legal.
    possible: bool,
}

fn shown<G: Game>(probe: &Probe<'_, G>, view: &G::View, world: &G::State, seat: Seat) -> Option<Vec<Shown>> {
    let mut past = Vec::new();
    let offered = probe.game.past(view, world, seat, &mut |then, action| {
        let possible = probe.game.turn(then) == Turn::Player(seat) && probe.legal(then).contains(&action);
        past.push(Shown { action, view: probe.view_bytes(then, seat), possible });
    });
    offered.then_some(past)
}

fn equal(shown: &[Shown], made: &[&Decided]) -> bool {
    shown.len() == made.len()
        && shown.iter().zip(made).all(|(s, m)| s.possible && s.action == m.action && s.view == m.view)
}
