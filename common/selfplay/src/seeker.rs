//! [`Seeker`]: the search of one side of a game in a match, honest or not. The only place where a search is chosen by
//! what it may see.

use std::sync::Arc;

use fogfall_game::{Action, Game, Rng, Seat};
use fogfall_search::{Budget, Choice, Decision, EvalBatch, Gathered, Search, SearchSettings};

use crate::{revealed::Revealed, table::Table};

/// The search of one side.
pub(crate) enum Seeker<G: Game> {
    /// Searches worlds drawn from what its seat has seen.
    Honest(Search<G>),
    /// Searches the truth.
    Cheat(Search<Revealed<G>>),
}

impl<G: Game> Seeker<G> {
    pub(crate) fn honest(game: &Arc<G>, settings: SearchSettings) -> Self {
        Self::Honest(Search::new(Arc::clone(game), settings))
    }

    pub(crate) fn cheat(game: &Arc<G>, settings: SearchSettings) -> Self {
        Self::Cheat(Search::new(Arc::new(Revealed::new(Arc::clone(game))), settings))
    }

    /// Begins the search of `seat`'s move.
    pub(crate) fn begin(&mut self, game: &Arc<G>, table: &Table<G>, seat: Seat, budget: Budget, seed: u64) {
        match self {
            Self::Honest(search) => search.begin(table.view(seat), budget, None, seed),
            Self::Cheat(search) => {
                let truth = Revealed::new(Arc::clone(game)).view(table.state(), seat);
                search.begin(truth, budget, None, seed);
            }
        }
    }

    pub(crate) fn gather(&mut self, lane: u32, batch: &mut EvalBatch) -> Gathered {
        match self {
            Self::Honest(search) => search.gather(lane, batch),
            Self::Cheat(search) => search.gather(lane, batch),
        }
    }

    pub(crate) fn apply(&mut self, prior: &[f32], value: f32) {
        match self {
            Self::Honest(search) => search.apply(prior, value),
            Self::Cheat(search) => search.apply(prior, value),
        }
    }

    pub(crate) fn decide(&self, choice: Choice, rng: &mut Rng, out: &mut Decision) {
        match self {
            Self::Honest(search) => search.decide(choice, rng, out),
            Self::Cheat(search) => search.decide(choice, rng, out),
        }
    }

    pub(crate) fn played(&mut self, action: Action) {
        match self {
            Self::Honest(search) => search.played(action),
            Self::Cheat(search) => search.played(action),
        }
    }
}
