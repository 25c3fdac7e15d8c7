//! How self-play plays.

use fogfall_game::GameInfo;
use fogfall_search::{Budget, Choice, RootNoise, SearchSettings};

/// How self-play plays.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaySettings {
    /// The search.
    pub search: SearchSettings,
    /// Budget of a full search: its row carries a policy label.
    pub full: Budget,
    /// Budget of a cheap search: no noise, and its row carries a value label only (playout-cap randomisation, Wu 2019).
    pub cheap: Budget,
    /// Share of decisions with a full search.
    pub full_share: f32,
    /// Noise of full searches.
    pub noise: Option<RootNoise>,
    /// Decisions of both seats that are played at `opening_temperature`.
    pub opening_decisions: u32,
    /// Temperature of the choice in the opening.
    pub opening_temperature: f32,
    /// Temperature of the choice after the opening.
    pub temperature: f32,
    /// A game with more decisions than this is cut: truncated, not over.
    pub max_decisions: usize,
}

impl PlaySettings {
    /// Full searches of `budget` at every decision, without noise, always the most visited action but for ties.
    pub fn new(info: &GameInfo, budget: Budget) -> Self {
        Self {
            search: SearchSettings::for_game(info),
            full: budget,
            cheap: budget,
            full_share: 1.0,
            noise: None,
            opening_decisions: 0,
            opening_temperature: 1.0,
            temperature: 0.0,
            max_decisions: info.max_decisions,
        }
    }

    /// The choice rule of the `ply`-th decision of a game.
    pub(crate) fn choice(&self, ply: u32) -> Choice {
        let temperature = if ply < self.opening_decisions { self.opening_temperature } else { self.temperature };
        if temperature > 0.0 { Choice::Sample { temperature } } else { Choice::Visits }
    }
}
