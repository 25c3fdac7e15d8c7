//! [`Revealed`]: a game whose views hold the true state, so that every world drawn from them is the truth. It is no game
//! to be played or learned: it is what a search gains by knowing all, the ceiling of determinized search. Chance to come
//! is as open as ever.
//!
//! **Invariant:** private to this crate, and a view of it is made from the table alone. A search of the game itself is of
//! another type and takes the game's own views: no honest player can be given the truth by mistake.

use std::{fmt, sync::Arc};

use fogfall_game::{Action, Actions, Game, GameInfo, Rng, Seat, Turn, mix};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// A game with open cards.
pub(crate) struct Revealed<G>(Arc<G>);

/// What a cheat sees: all.
pub(crate) struct Truth<G: Game> {
    /// The seat's honest view, which tells two truths apart.
    view: G::View,
    state: G::State,
}

impl<G: Game> Revealed<G> {
    pub(crate) fn new(game: Arc<G>) -> Self {
        Self(game)
    }
}

impl<G: Game> Game for Revealed<G> {
    type State = G::State;
    type View = Truth<G>;

    fn info(&self) -> &GameInfo {
        self.0.info()
    }

    fn start(&self, setup: &mut Rng) -> G::State {
        self.0.start(setup)
    }

    fn turn(&self, state: &G::State) -> Turn {
        self.0.turn(state)
    }

    fn legal(&self, state: &G::State, out: &mut Actions) {
        self.0.legal(state, out);
    }

    fn chance(&self, state: &G::State, out: &mut Vec<(Action, f32)>) {
        self.0.chance(state, out);
    }

    fn sample(&self, state: &G::State, rng: &mut Rng) -> Action {
        self.0.sample(state, rng)
    }

    fn apply(&self, state: &mut G::State, action: Action) {
        self.0.apply(state, action);
    }

    fn advance(&self, state: &mut G::State, action: Action, rng: &mut Rng) {
        self.0.advance(state, action, rng);
    }

    fn play_out(&self, state: &mut G::State, scratch: &mut Actions, rng: &mut Rng) -> f32 {
        self.0.play_out(state, scratch, rng)
    }

    fn payoff(&self, state: &G::State) -> f32 {
        self.0.payoff(state)
    }

    fn view(&self, state: &G::State, seat: Seat) -> Truth<G> {
        Truth { view: self.0.view(state, seat), state: state.clone() }
    }

    /// What both seats have seen together.
    fn tree_key(&self, state: &G::State, _: Seat) -> u64 {
        mix(self.0.tree_key(state, 0), self.0.tree_key(state, 1))
    }

    /// The network is asked as in any world: it was never taught to read open cards.
    fn observe(&self, state: &G::State, seat: Seat, out: &mut [f32]) {
        self.0.observe(state, seat, out);
    }

    fn hidden(&self, state: &G::State, seat: Seat, out: &mut [f32]) {
        self.0.hidden(state, seat, out);
    }

    fn determinize(&self, view: &Truth<G>, _: &mut Rng) -> G::State {
        view.state.clone()
    }

    fn describe(&self, state: &G::State) -> String {
        self.0.describe(state)
    }
}

impl<G: Game> Clone for Truth<G> {
    fn clone(&self) -> Self {
        Self { view: self.view.clone(), state: self.state.clone() }
    }
}

impl<G: Game> PartialEq for Truth<G> {
    fn eq(&self, other: &Self) -> bool {
        self.view == other.view
    }
}

impl<G: Game> Eq for Truth<G> {}

impl<G: Game> fmt::Debug for Truth<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Truth").field(&self.view).finish()
    }
}

/// The contract asks for it; the truth is never written.
impl<G: Game> Serialize for Truth<G> {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(ser::Error::custom("the truth of a game is not written"))
    }
}

impl<'de, G: Game> Deserialize<'de> for Truth<G> {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom("the truth of a game is not read"))
    }
}
