//! Every rule of the contract that is not about leaks is found broken when it is: Kuhn poker with one fault.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use fogfall_game::contract::{Rule, Settings, check};
use fogfall_game::{Action, Actions, Game, GameInfo, Planes, Rng, Seat, Symmetry, Turn};
use fogfall_games::{BET, Deal, Hand, KuhnPoker, PASS, TicTacToe};
use serde::{Deserialize, Serialize};

/// Kuhn poker that breaks one rule.
struct Faulty {
    game: KuhnPoker,
    info: GameInfo,
    fault: Option<Rule>,
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
    fn new(fault: Option<Rule>) -> Self {
        let game = KuhnPoker::new();
        let mut info = game.info().clone();
        match fault {
            Some(Rule::Info) => info.value_scale = 0.0,
            Some(Rule::Length) => info.max_decisions = 2, // pass, bet, answer: 3
            Some(Rule::Payoff) => info.value_bound = 1.0, // a called bet pays 2
            _ => {}
        }
        Self { game, info, fault }
    }

    fn is(&self, rule: Rule) -> bool {
        self.fault == Some(rule)
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
        self.game.apply(&mut state.deal, action);
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
        self.game.payoff(&state.deal)
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
        let violations = check(&Faulty::new(Some(rule)), &SETTINGS).unwrap_err();
        assert!(violations.iter().any(|violation| violation.rule == rule), "{rule:?}: {violations:?}");
    }
}

#[test]
fn a_world_that_ends_beyond_the_bound_is_found() {
    let violations = check(&Faulty::new(Some(Rule::Payoff)), &SETTINGS).unwrap_err();
    assert!(violations.iter().any(|violation| violation.rule == Rule::WorldPlayable), "{violations:?}");
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
    let actions = info.symmetries[0].actions.clone();
    info.symmetries.push(Symmetry { observation: (0..18).collect(), actions });
    let violations = check(&Mirrored(game, info), &SETTINGS).unwrap_err();
    assert_eq!(violations[0].rule, Rule::Symmetry);
}

#[test]
fn planes_that_take_more_numbers_than_there_are_are_found() {
    let game = TicTacToe::new();
    let mut info = game.info().clone();
    info.planes = Some(Planes { channels: 3, height: 3, width: 3 }); // 27 of 18 numbers
    let violations = check(&Mirrored(game, info), &SETTINGS).unwrap_err();
    assert_eq!(violations[0].rule, Rule::Info);
}
