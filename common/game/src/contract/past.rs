//! Checks that a game shows its past as it was, and that worlds carried on are worlds of the later view: reach weights
//! stand on both.
//!
//! A seat that moved may have done so unseen, if nothing changed in what the other sees. How often it did is hidden, and
//! worlds may differ in it.

use crate::{Action, Game, Seat, Turn, stream};

use super::Report;
use super::probe::Probe;
use super::rule::{Findings, Rule};

/// Stream of the worlds whose past is checked, and of those carried on.
const PAST: u64 = 4;
const CARRY: u64 = 12;
/// How many worlds must have been carried on, or have died of it, before a game is blamed for losing all.
const ENOUGH: usize = 100;

/// A decision of the game so far.
pub(super) struct Decided {
    pub(super) seat: Seat,
    pub(super) action: Action,
    /// What its mover saw.
    pub(super) view: Vec<u8>,
    /// The other seat saw that it was made.
    pub(super) noticed: bool,
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
            report.past_decisions += truth.decisions.len();
            let made: Vec<&Decided> = decided.iter().filter(|decided| decided.seat == seat).collect();
            let fault = if !equal(&truth.decisions, &made) {
                Some("the true state's past is not what was played")
            } else if guess.noticed() != truth.noticed() {
                Some("a world's past has another number of decisions")
            } else if !guess.decisions.iter().all(|shown| shown.possible) {
                Some("a world's past shows an illegal action, or another mover")
            } else if seat == viewer && !equal(&guess.decisions, &made) {
                Some("a world's past changes the viewer's own decisions")
            } else if ![truth.odds, guess.odds].into_iter().all(possible) {
                Some("the odds are not positive")
            } else {
                None
            };
            if let Some(fault) = fault {
                findings.add(Rule::Past, || {
                    let played: Vec<Action> = made.iter().map(|made| made.action).collect();
                    let (shown, drawn) = (truth.actions(), guess.actions());
                    format!(
                        "{fault}: expected seat {seat}'s decisions {played:?} and odds above 0, as seat {viewer} sees it; found \
                         for the true state {shown:?}, odds {}, and for a world {drawn:?}, odds {}, at{}\n  and the world{}",
                        truth.odds,
                        guess.odds,
                        probe.at(state),
                        probe.at(&world)
                    )
                });
            }
        }
    }
}

/// What each seat thought of the game when it last moved, to be carried on when it moves again.
pub(super) struct Carried<G: Game> {
    /// Root seed and number of the game.
    counters: [u64; 2],
    thoughts: [Option<Thought<G>>; 2],
}

struct Thought<G: Game> {
    truth: G::State,
    world: G::State,
    /// Decisions of the game at that time.
    decided: usize,
}

impl<G: Game> Carried<G> {
    pub(super) fn new(seed: u64, game: u64) -> Self {
        Self { counters: [seed, game], thoughts: [None, None] }
    }

    /// Carries on what the mover thought when it last moved, the true state of that time too, and compares.
    pub(super) fn check(
        &mut self,
        probe: &Probe<'_, G>,
        state: &G::State,
        mover: Seat,
        decided: &[Decided],
        report: &mut Report,
        findings: &mut Findings,
    ) {
        let view = probe.game.view(state, mover);
        let [seed, number] = self.counters;
        let draws = |what: u64| stream(seed, &[CARRY, number, decided.len() as u64, what]);
        let mut world = None;
        if let Some(before) = self.thoughts[usize::from(mover)].take() {
            let made = decided[before.decided..].iter().filter(|decided| decided.seat != mover);
            let since = made.filter(|decided| decided.noticed).count();
            let mut carry = |then: &G::State, what: u64| {
                let mut past = Vec::new();
                let carried = probe.game.carry(&view, then, 1 - mover, &mut draws(what), &mut |then, action| {
                    past.push(decision(probe, then, 1 - mover, action));
                });
                let (carried, odds) = carried?;
                let past = Shown { decisions: past, odds };
                if let Some(fault) = fault(probe, &view, &carried, &past, since) {
                    findings.add(Rule::Carry, || {
                        let (from, to) = (probe.at(then), probe.at(&carried));
                        format!(
                            "{fault}: expected a world of what seat {mover} sees now, {since} decisions of the other seat \
                             since, and odds above 0; found decisions {:?} and odds {odds}, carried from{from}\n  to{to}\n  as \
                             seat {mover} sees{}",
                            past.actions(),
                            probe.at(state)
                        )
                    });
                }
                Some(carried)
            };
            let truth = carry(&before.truth, 0);
            world = carry(&before.world, 1);
            report.carried_truths += usize::from(truth.is_some());
            report.lost_truths += usize::from(truth.is_none());
            report.carried_worlds += usize::from(world.is_some());
        }
        let world = world.unwrap_or_else(|| probe.game.determinize(&view, &mut draws(2)));
        self.thoughts[usize::from(mover)] = Some(Thought { truth: state.clone(), world, decided: decided.len() });
    }
}

/// Checks that need all games.
pub(super) fn finish(report: &Report, findings: &mut Findings) {
    let (carried, lost, worlds) = (report.carried_truths, report.lost_truths, report.carried_worlds);
    findings.expect(carried == 0 || lost == 0, Rule::Carry, || {
        format!("expected the true state of an earlier view to be carried on always; found that it was {carried} times, lost {lost}")
    });
    findings.expect(carried < ENOUGH || worlds > 0, Rule::Carry, || {
        format!("expected worlds to be carried on as the true state was, {carried} times; found that none ever was")
    });
}

/// What is wrong with a world that was carried on.
fn fault<G: Game>(
    probe: &Probe<'_, G>,
    view: &G::View,
    carried: &G::State,
    since: &Shown,
    noticed: usize,
) -> Option<&'static str> {
    let Some((viewer, foe)) = [(0, 1), (1, 0)].into_iter().find(|&(seat, _)| probe.game.view(carried, seat) == *view)
    else {
        return Some("a world carried on looks otherwise than what is seen");
    };
    if probe.game.turn(carried) != Turn::Player(viewer) {
        return Some("a world carried on has another mover");
    }
    let faulty = since.noticed() != noticed || !since.decisions.iter().all(|shown| shown.possible);
    if faulty || !possible(since.odds) {
        return Some("the decisions made since are shown in another number, or are not possible, or the odds are not");
    }
    let past = shown(probe, view, carried, foe)?;
    let ends = past.decisions.len().checked_sub(since.decisions.len()).map(|from| &past.decisions[from..]);
    (ends != Some(&since.decisions)).then_some("the past of a world carried on does not end with the decisions shown")
}

/// A decision as `past` shows it.
#[derive(PartialEq)]
struct ShownDecision {
    action: Action,
    view: Vec<u8>,
    /// The seat was to move and the action legal.
    possible: bool,
    /// The other seat saw that it was made.
    noticed: bool,
}

/// What `past` or `carry` shows.
struct Shown {
    decisions: Vec<ShownDecision>,
    odds: f64,
}

impl Shown {
    fn actions(&self) -> Vec<Action> {
        self.decisions.iter().map(|shown| shown.action).collect()
    }

    /// How many of the decisions the other seat saw being made.
    fn noticed(&self) -> usize {
        self.decisions.iter().filter(|shown| shown.noticed).count()
    }
}

fn possible(odds: f64) -> bool {
    odds.is_finite() && odds > 0.0
}

fn decision<G: Game>(probe: &Probe<'_, G>, then: &G::State, seat: Seat, action: Action) -> ShownDecision {
    let possible = probe.game.turn(then) == Turn::Player(seat) && probe.legal(then).contains(&action);
    let noticed = possible && noticed(probe, then, seat, action);
    ShownDecision { action, view: probe.view_bytes(then, seat), possible, noticed }
}

/// Whether a decision of `seat` changes what the other sees.
pub(super) fn noticed<G: Game>(probe: &Probe<'_, G>, then: &G::State, seat: Seat, action: Action) -> bool {
    let mut next = then.clone();
    probe.game.apply(&mut next, action);
    probe.view_bytes(&next, 1 - seat) != probe.view_bytes(then, 1 - seat)
}

fn shown<G: Game>(probe: &Probe<'_, G>, view: &G::View, world: &G::State, seat: Seat) -> Option<Shown> {
    let mut decisions = Vec::new();
    let odds = probe.game.past(view, world, seat, &mut |then, action| {
        decisions.push(decision(probe, then, seat, action));
    })?;
    Some(Shown { decisions, odds })
}

/// How many decisions of both seats led to `state`; none if the game does not show its past.
pub(super) fn made<G: Game>(probe: &Probe<'_, G>, state: &G::State) -> Option<usize> {
    [0, 1].into_iter().try_fold(0, |made, seat| {
        let mut count = 0;
        probe.game.past(&probe.game.view(state, seat), state, seat, &mut |_, _| count += 1)?;
        Some(made + count)
    })
}

fn equal(shown: &[ShownDecision], made: &[&Decided]) -> bool {
    shown.len() == made.len()
        && shown.iter().zip(made).all(|(s, m)| s.possible && s.action == m.action && s.view == m.view)
}
