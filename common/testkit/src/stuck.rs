//! A game that stops in the midst of a move and does not come back until it is let go: what no game should do, and what
//! watchers must notice.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use fogfall_game::{Action, Actions, Game, GameInfo, Rng, Seat, Turn};

/// When a game stops, and whether it may go on.
#[derive(Debug)]
pub struct Gate {
    /// Actions that are still to be applied before one is not.
    left: AtomicU64,
    /// True once somebody stands before it.
    holds: AtomicBool,
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    /// The game stops at its `action`-th action, counted from 1 over all its threads and searches; the others go on.
    pub const fn at(action: u64) -> Self {
        Self {
            left: AtomicU64::new(action),
            holds: AtomicBool::new(false),
            open: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    /// Lets the game go on, for good.
    pub fn release(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// True once the game has stopped.
    pub fn holds(&self) -> bool {
        self.holds.load(Ordering::SeqCst)
    }

    fn pass(&self) {
        let one_less = |left: u64| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) == Ok(1) {
            self.holds.store(true, Ordering::SeqCst);
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.changed.wait_while(open, |open| !*open));
        }
    }
}

/// A game behind a gate.
pub struct Stuck<G> {
    game: G,
    gate: &'static Gate,
}

impl<G> Stuck<G> {
    /// The game, which stops when `gate` says so.
    pub fn new(game: G, gate: &'static Gate) -> Self {
        Self { game, gate }
    }
}

impl<G: Game> Game for Stuck<G> {
    type State = G::State;
    type View = G::View;

    fn info(&self) -> &GameInfo {
        self.game.info()
    }

    fn start(&self, setup: &mut Rng) -> G::State {
        self.game.start(setup)
    }

    fn turn(&self, state: &G::State) -> Turn {
        self.game.turn(state)
    }

    fn legal(&self, state: &G::State, out: &mut Actions) {
        self.game.legal(state, out);
    }

    fn chance(&self, state: &G::State, out: &mut Vec<(Action, f32)>) {
        self.game.chance(state, out);
    }

    fn sample(&self, state: &G::State, rng: &mut Rng) -> Action {
        self.game.sample(state, rng)
    }

    fn apply(&self, state: &mut G::State, action: Action) {
        self.gate.pass();
        self.game.apply(state, action);
    }

    fn payoff(&self, state: &G::State) -> f32 {
        self.game.payoff(state)
    }

    fn view(&self, state: &G::State, seat: Seat) -> G::View {
        self.game.view(state, seat)
    }

    fn tree_key(&self, state: &G::State, seat: Seat) -> u64 {
        self.game.tree_key(state, seat)
    }

    fn observe(&self, state: &G::State, seat: Seat, out: &mut [f32]) {
        self.game.observe(state, seat, out);
    }

    fn hidden(&self, state: &G::State, seat: Seat, out: &mut [f32]) {
        self.game.hidden(state, seat, out);
    }

    fn determinize(&self, view: &G::View, rng: &mut Rng) -> G::State {
        self.game.determinize(view, rng)
    }

    fn describe(&self, state: &G::State) -> String {
        self.game.describe(state)
    }

    fn describe_view(&self, view: &G::View, seat: Seat) -> String {
        self.game.describe_view(view, seat)
    }
}
