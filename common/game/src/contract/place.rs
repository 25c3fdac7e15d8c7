//! [`Place`]: where in its own play the suite found something, so that an author can go there.

use std::fmt;

use crate::{Action, Game, stream};

/// Stream of the set-up, below the root seed.
const SETUP: u64 = 2;

/// A position that the suite played to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// [`Settings::seed`](super::Settings::seed).
    pub seed: u64,
    /// Number of the game, from 0 on.
    pub game: u64,
    /// Actions and chance outcomes from its start.
    pub steps: Vec<Action>,
}

impl Place {
    /// The start of a game.
    pub(super) fn new(seed: u64, game: u64) -> Self {
        Self { seed, game, steps: Vec::new() }
    }

    /// The first position of the game.
    pub(super) fn start<G: Game>(&self, game: &G) -> G::State {
        game.start(&mut stream(self.seed, &[SETUP, self.game]))
    }

    /// Plays to the position, for a debugger or a test of one's own.
    pub fn reach<G: Game>(&self, game: &G) -> G::State {
        let mut state = self.start(game);
        self.steps.iter().for_each(|&step| game.apply(&mut state, step));
        state
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, game, steps } = self;
        write!(f, "seed {seed}, game {game}, after {} steps {steps:?}", steps.len())
    }
}
