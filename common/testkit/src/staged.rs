//! [`Staged`]: any game, begun at a given position, for tests that need two true games with the same view.
//!
//! **Invariant:** it plays by the game's own rules and shows nothing else; the hidden label alone can be moved.

use std::sync::{Arc, Mutex};

use fogfall_game::{Action, Actions, Game, GameInfo, Rng, Seat, Turn};

/// A game that begins where it is told to.
pub struct Staged<G: Game> {
    game: Arc<G>,
    /// None: as the game begins. Behind a lock, since a state need not be shareable.
    from: Mutex<Option<G::State>>,
    /// Added to all numbers of the hidden label.
    label: f32,
}

impl<G: Game> Staged<G> {
    /// Every game begins at this position.
    pub fn from(game: Arc<G>, state: G::State) -> Self {
        Self { game, from: Mutex::new(Some(state)), label: 0.0 }
    }

    /// Games begin as ever, but `label` is added to each number of the hidden label.
    pub fn labelled(game: Arc<G>, label: f32) -> Self {
        Self { game, from: Mutex::new(None), label }
    }
}

impl<G: Game> Game for Staged<G> {
    type State = G::State;
    type View = G::View;

    fn info(&self) -> &GameInfo {
        self.game.info()
    }

    fn start(&self, setup: &mut Rng) -> G::State {
        let from = self.from.lock().expect("nobody panics while holding it").clone();
        from.unwrap_or_else(|| self.game.start(setup))
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
        self.game.apply(state, action);
    }

    fn advance(&self, state: &mut G::State, action: Action, rng: &mut Rng) {
        self.game.advance(state, action, rng);
    }

    fn play_out(&self, state: &mut G::State, scratch: &mut Actions, rng: &mut Rng) -> f32 {
        self.game.play_out(state, scratch, rng)
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
        out.iter_mut().for_each(|number| *number += self.label);
    }

    fn determinize(&self, view: &G::View, rng: &mut Rng) -> G::State {
        self.game.determinize(view, rng)
    }

    fn past(
        &self,
        view: &G::View,
        world: &G::State,
        seat: Seat,
        visit: &mut dyn FnMut(&G::State, Action),
    ) -> Option<f64> {
        self.game.past(view, world, seat, visit)
    }

    fn carry(
        &self,
        view: &G::View,
        world: &G::State,
        seat: Seat,
        rng: &mut Rng,
        visit: &mut dyn FnMut(&G::State, Action),
    ) -> Option<(G::State, f64)> {
        self.game.carry(view, world, seat, rng, visit)
    }

    fn describe(&self, state: &G::State) -> String {
        self.game.describe(state)
    }

    fn describe_view(&self, view: &G::View, seat: Seat) -> String {
        self.game.describe_view(view, seat)
    }
}
