//! Every rule of the contract that is not about leaks is found broken when it is: Kuhn poker with one fault. What the suite says
//! then tells the game's author what was expected, what was found, where, and which methods to look at.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use fogfall_game::contract::{Rule, Settings, Violation, check};
use fogfall_game::{Action, Actions, Game, GameInfo, Planes, Rng, Seat, Symmetry, Turn};
use fogfall_games::{BET, Deal, Hand, KuhnPoker, PASS, TicTacToe};
use serde::{Deserialize, Serialize};

/// Kuhn poker with one fault.
struct Faulty {
    game: KuhnPoker,
    info: GameInfo,
    fault: Option<Fault>,
    /// Calls of apply, where a game should count nothing.
    applied: AtomicU16,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Breaks a rule in the plainest way.
    Of(Rule),
    /// One action more than it names.
    Unnamed,
    /// Nobody may do anything.
    Stuck,
    /// Every third action is taken for the other one.
    Wanders,
    /// The payoff is no number.
    NoNumber,
    /// The payoff cannot be told.
    Panics,
    /// Cards are dealt, and info() says that nothing is drawn.
    SaysNoChance,
}

/// A deal, with a count of moves that clones share.
#[derive(Clone)]
struct Shared {
    deal: Deal,
    moves: Arc<AtomicU16>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Forgetful {
    hand: Hand,
    #[serde(skip)]
    lost: u16,
}

impl Faulty {
    fn new(fault: Option<Fault>) -> Self {
        let game = KuhnPoker::new();
        let mut info = game.info().clone();
        match fault {
            Some(Fault::Of(Rule::Info)) => info.value_scale = 0.0,
            Some(Fault::Of(Rule::Length)) => info.max_decisions = 2, // pass, bet, answer: 3
            Some(Fault::Of(Rule::Payoff)) => info.value_bound = 1.0, // a called bet pays 2
            Some(Fault::Unnamed) => info.actions.truncate(1),
            Some(Fault::SaysNoChance) => info.has_chance = false,
            _ => {}
        }
        Self { game, info, fault, applied: AtomicU16::new(0) }
    }

    fn is(&self, rule: Rule) -> bool {
        self.has(Fault::Of(rule))
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn shared(&self, deal: Deal) -> Shared {
        Shared { deal, moves: Arc::default() }
    }
}

impl Game for Faulty {
    type State = Shared;
    type View = Forgetful;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn start(&self, setup: &mut Rng) -> Shared {
        self.shared(self.game.start(setup))
    }

    fn turn(&self, state: &Shared) -> Turn {
        self.game.turn(&state.deal)
    }

    fn legal(&self, state: &Shared, out: &mut Actions) {
        self.game.legal(&state.deal, out);
        if self.is(Rule::Legal) {
            out.reverse();
        }
        if self.has(Fault::Stuck) {
            out.clear();
        }
    }

    fn chance(&self, state: &Shared, out: &mut Vec<(Action, f32)>) {
        self.game.chance(&state.deal, out);
        if self.is(Rule::ChanceList) {
            out[0].1 *= 0.5;
        }
    }

    fn sample(&self, state: &Shared, rng: &mut Rng) -> Action {
        self.game.sample(&state.deal, rng)
    }

    fn apply(&self, state: &mut Shared, action: Action) {
        state.moves.fetch_add(1, Ordering::Relaxed);
        let third = self.applied.fetch_add(1, Ordering::Relaxed) % 3 == 2;
        let wanders = third && self.has(Fault::Wanders) && self.turn(state) != Turn::Chance;
        self.game.apply(&mut state.deal, if wanders { BET - action } else { action });
    }

    fn advance(&self, state: &mut Shared, action: Action, rng: &mut Rng) {
        let action = if self.is(Rule::Advance) { PASS } else { action };
        self.apply(state, action);
        self.settle(state, rng);
    }

    fn play_out(&self, state: &mut Shared, scratch: &mut Actions, rng: &mut Rng) -> f32 {
        let payoff = self.game.play_out(&mut state.deal, scratch, rng);
        if self.is(Rule::PlayOut) { payoff.abs() } else { payoff }
    }

    fn payoff(&self, state: &Shared) -> f32 {
        assert!(!self.has(Fault::Panics), "nobody has won");
        if self.has(Fault::NoNumber) { f32::NAN } else { self.game.payoff(&state.deal) }
    }

    fn view(&self, state: &Shared, seat: Seat) -> Forgetful {
        Forgetful { hand: self.game.view(&state.deal, seat), lost: u16::from(self.is(Rule::ViewBytes)) }
    }

    fn tree_key(&self, state: &Shared, seat: Seat) -> u64 {
        self.game.tree_key(&state.deal, seat)
    }

    fn observe(&self, state: &Shared, seat: Seat, out: &mut [f32]) {
        let last = out[out.len() - 1];
        self.game.observe(&state.deal, seat, out);
        if let (true, Some(number)) = (self.is(Rule::Numbers), out.last_mut()) {
            *number = last;
        }
    }

    fn hidden(&self, state: &Shared, seat: Seat, out: &mut [f32]) {
        self.game.hidden(&state.deal, seat, out);
    }

    fn determinize(&self, view: &Forgetful, rng: &mut Rng) -> Shared {
        self.shared(self.game.determinize(&view.hand, rng))
    }

    fn past(
        &self,
        view: &Forgetful,
        world: &Shared,
        seat: Seat,
        visit: &mut dyn FnMut(&Shared, Action),
    ) -> Option<f64> {
        self.game.past(&view.hand, &world.deal, seat, &mut |deal, action| {
            visit(&self.shared(*deal), if self.is(Rule::Past) { BET } else { action });
        })
    }

    fn experts(&self) -> &'static [&'static str] {
        &["passive"]
    }

    fn expert_move(&self, _: &str, _: &Forgetful, legal: &[Action], _: &mut Rng) -> Action {
        if self.is(Rule::Expert) { legal.len() as Action } else { legal[0] }
    }

    fn describe(&self, state: &Shared) -> String {
        let moves = if self.is(Rule::Clone) { state.moves.load(Ordering::Relaxed) } else { 0 };
        format!("{} {moves}", self.game.describe(&state.deal))
    }
}

const SETTINGS: Settings = Settings { seed: 1, games: 100, pairs: 1_000, draws: 500 };

#[test]
fn the_game_without_a_fault_passes() {
    check(&Faulty::new(None), &SETTINGS).unwrap();
}

#[test]
fn each_fault_is_found_under_its_own_rule() {
    for rule in [
        Rule::Info,
        Rule::Legal,
        Rule::ChanceList,
        Rule::Advance,
        Rule::PlayOut,
        Rule::ViewBytes,
        Rule::Numbers,
        Rule::Length,
        Rule::Payoff,
        Rule::Past,
        Rule::Expert,
        Rule::Clone,
    ] {
        told(Fault::Of(rule), rule);
    }
}

/// The text on a rule that a fault breaks.
fn told(fault: Fault, rule: Rule) -> (Violation, String) {
    let violations = check(&Faulty::new(Some(fault)), &SETTINGS).unwrap_err();
    let found = violations.iter().find(|violation| violation.rule == rule);
    let violation = found.unwrap_or_else(|| panic!("{fault:?}: {violations:?}")).clone();
    let text = violation.to_string();
    for part in ["expected ", "found", &format!("; look at {}\n", rule.methods()), "\n  to do: "] {
        assert!(text.contains(part), "{text}");
    }
    (violation, text)
}

#[test]
fn an_author_is_told_what_was_expected_what_was_found_and_where_to_look() {
    for (fault, rule, words) in [
        (Fault::Unnamed, Rule::Legal, "all below 1 (as many as info().actions names); found [0, 1], at"),
        (Fault::Stuck, Rule::Legal, "at least one, all below 2 (as many as info().actions names); found [], at"),
        (
            Fault::Wanders,
            Rule::Clone,
            "expected the same after an action was applied to a state and to its clone; found",
        ),
        (Fault::NoNumber, Rule::Payoff, "expected a payoff from -2 to 2 (value_bound), found NaN, at"),
        (Fault::Panics, Rule::Panic, "expected no panic, found: nobody has won"),
        (Fault::SaysNoChance, Rule::Info, "expected no chance outcome where has_chance is false, found one due, at"),
        (Fault::Of(Rule::Numbers), Rule::Numbers, "observe() for seat 0: expected number "),
        (Fault::Of(Rule::Length), Rule::Length, "after at most 2 decisions (max_decisions), found one more due, at"),
        (
            Fault::Of(Rule::Expert),
            Rule::Expert,
            "expected 'passive' to play one of [0, 1], and the same twice; found 2",
        ),
    ] {
        let (violation, text) = told(fault, rule);
        assert!(text.contains(words), "{fault:?}: {text}");
        let place = violation.place.unwrap();
        assert!(text.contains(&format!("\n  where: seed 1, game {}, after ", place.game)), "{text}");
    }
}

#[test]
fn a_panic_is_found_at_the_position_that_was_looked_at() {
    let (violation, _) = told(Fault::Panics, Rule::Panic);
    let place = violation.place.unwrap();
    // At the first decision, after two cards, a world is played to its end, where the payoff is asked for.
    assert_eq!((place.game, place.steps.len()), (0, 2), "{place}");
}

#[test]
fn the_place_of_a_violation_leads_to_its_position() {
    let (violation, _) = told(Fault::Of(Rule::Legal), Rule::Legal);
    let game = Faulty::new(Some(Fault::Of(Rule::Legal)));
    let state = violation.place.as_ref().unwrap().reach(&game);
    assert!(violation.first.ends_with(&game.describe(&state)), "{violation}");
    let mut legal = Actions::new();
    game.legal(&state, &mut legal);
    assert_eq!(legal, [1, 0]);
}

#[test]
fn a_world_that_ends_beyond_the_bound_is_found() {
    let (_, text) = told(Fault::Of(Rule::Payoff), Rule::WorldPlayable);
    assert!(text.contains("expected a world to end with a payoff up to 1 (value_bound), found "), "{text}");
}

/// Tic-tac-toe with a symmetry more.
struct Mirrored(TicTacToe, GameInfo);

impl Game for Mirrored {
    type State = <TicTacToe as Game>::State;
    type View = <TicTacToe as Game>::View;

    fn info(&self) -> &GameInfo {
        &self.1
    }

    fn start(&self, setup: &mut Rng) -> Self::State {
        self.0.start(setup)
    }

    fn turn(&self, state: &Self::State) -> Turn {
        self.0.turn(state)
    }

    fn legal(&self, state: &Self::State, out: &mut Actions) {
        self.0.legal(state, out);
    }

    fn chance(&self, state: &Self::State, out: &mut Vec<(Action, f32)>) {
        self.0.chance(state, out);
    }

    fn sample(&self, state: &Self::State, rng: &mut Rng) -> Action {
        self.0.sample(state, rng)
    }

    fn apply(&self, state: &mut Self::State, action: Action) {
        self.0.apply(state, action);
    }

    fn payoff(&self, state: &Self::State) -> f32 {
        self.0.payoff(state)
    }

    fn view(&self, state: &Self::State, seat: Seat) -> Self::View {
        self.0.view(state, seat)
    }

    fn tree_key(&self, state: &Self::State, seat: Seat) -> u64 {
        self.0.tree_key(state, seat)
    }

    fn observe(&self, state: &Self::State, seat: Seat, out: &mut [f32]) {
        self.0.observe(state, seat, out);
    }

    fn hidden(&self, state: &Self::State, seat: Seat, out: &mut [f32]) {
        self.0.hidden(state, seat, out);
    }

    fn determinize(&self, view: &Self::View, rng: &mut Rng) -> Self::State {
        self.0.determinize(view, rng)
    }

    fn describe(&self, state: &Self::State) -> String {
        self.0.describe(state)
    }
}

#[test]
fn a_symmetry_that_moves_actions_but_not_cells_is_found() {
    let game = TicTacToe::new();
    let mut info = game.info().clone();
    let (actions, added) = (info.symmetries[0].actions.clone(), info.symmetries.len());
    info.symmetries.push(Symmetry { observation: (0..18).collect(), actions });
    let violations = check(&Mirrored(game, info), &SETTINGS).unwrap_err();
    assert_eq!(violations[0].rule, Rule::Symmetry);
    let text = violations[0].to_string();
    assert!(text.contains(&format!("symmetry {added}: expected seat ")), "{text}");
}

#[test]
fn planes_that_take_more_numbers_than_there_are_are_found() {
    let game = TicTacToe::new();
    let mut info = game.info().clone();
    info.planes = Some(Planes { channels: 3, height: 3, width: 3 }); // 27 of 18 numbers
    let violations = check(&Mirrored(game, info), &SETTINGS).unwrap_err();
    assert_eq!(violations[0].rule, Rule::Info);
}
