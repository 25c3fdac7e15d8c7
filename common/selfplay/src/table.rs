//! The table: one true game in progress. Only the table knows the state; players are given views.

use std::sync::Arc;

use fogfall_game::{Action, Actions, Game, Rng, Seat, Turn, mix, stream};

/// Streams below a game's seed.
const SETUP: u64 = 0;
const CHANCE: u64 = 1;

/// One true game in progress.
pub(crate) struct Table<G: Game> {
    game: Arc<G>,
    state: G::State,
    chance: Rng,
    /// `[seat]` decisions played.
    decisions: [u32; 2],
    history: u64,
}

impl<G: Game> Table<G> {
    /// Starts a game: set-up and chance follow from `seed`, each from a stream of its own.
    pub(crate) fn start(game: Arc<G>, seed: u64) -> Self {
        let state = game.start(&mut stream(seed, &[SETUP]));
        let mut table = Self { game, state, chance: stream(seed, &[CHANCE]), decisions: [0; 2], history: 0 };
        table.settle();
        table
    }

    /// Draws chance until a player moves or the game is over.
    fn settle(&mut self) {
        while self.game.turn(&self.state) == Turn::Chance {
            let outcome = self.game.sample(&self.state, &mut self.chance);
            self.apply(outcome);
        }
    }

    fn apply(&mut self, action: Action) {
        self.game.apply(&mut self.state, action);
        self.history = mix(self.history, u64::from(action));
    }

    /// Plays the mover's action, then chance.
    ///
    /// # Panics
    /// If the game is over.
    pub(crate) fn play(&mut self, action: Action) {
        let mover = self.mover().expect("somebody is to move");
        self.decisions[usize::from(mover)] += 1;
        self.apply(action);
        self.settle();
    }

    /// The seat to move; none when the game is over.
    pub(crate) fn mover(&self) -> Option<Seat> {
        match self.game.turn(&self.state) {
            Turn::Player(seat) => Some(seat),
            _ => None,
        }
    }

    pub(crate) fn view(&self, seat: Seat) -> G::View {
        self.game.view(&self.state, seat)
    }

    pub(crate) fn legal(&self, out: &mut Actions) {
        self.game.legal(&self.state, out);
    }

    pub(crate) fn observe(&self, seat: Seat, out: &mut Vec<f32>) {
        out.resize(self.game.info().observation_len(), 0.0);
        self.game.observe(&self.state, seat, out);
    }

    pub(crate) fn hidden(&self, seat: Seat, out: &mut Vec<f32>) {
        out.resize(self.game.info().hidden.len(), 0.0);
        self.game.hidden(&self.state, seat, out);
    }

    /// Seat 0's payoff of a finished game, in the game's own units.
    pub(crate) fn payoff(&self) -> f32 {
        self.game.payoff(&self.state)
    }

    /// The true game, for spectators.
    pub(crate) fn state(&self) -> &G::State {
        &self.state
    }

    /// Decisions played.
    pub(crate) fn decisions(&self) -> u32 {
        self.decisions.iter().sum()
    }

    /// The number of `seat`'s next decision, as if the seats took turns: all that a seat may know of how many were made,
    /// where moves can go unnoticed.
    pub(crate) fn ply(&self, seat: Seat) -> u32 {
        2 * self.decisions[usize::from(seat)] + u32::from(seat)
    }

    /// A hash of all actions and chance outcomes.
    pub(crate) fn history(&self) -> u64 {
        self.history
    }
}
