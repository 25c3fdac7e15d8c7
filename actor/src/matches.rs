//! `actor match`: pairs of games between two agents, on all cores, with intervals.

use std::sync::Arc;

use fogfall_eval::MatchStats;
use fogfall_game::{Game, GameVisitor};
use fogfall_pipeline::SearchFlags;
use fogfall_selfplay::{MatchSettings, play_match};
use serde::Serialize;

use crate::{agent::AgentSpec, parts::in_parts};

/// Games in progress a thread.
const SLOTS: usize = 32;

/// A match as asked for.
pub struct Match {
    /// The first agent.
    pub a: String,
    /// The second agent.
    pub b: String,
    /// Pairs of games.
    pub pairs: u32,
    /// Root seed.
    pub seed: u64,
    /// How agents search.
    pub flags: SearchFlags,
}

/// A match and its numbers, from the first agent's side.
#[derive(Serialize)]
pub struct MatchReport {
    /// The game.
    pub game: String,
    /// The first agent.
    pub a: String,
    /// The second agent.
    pub b: String,
    /// Root seed.
    pub seed: u64,
    /// Simulations a move of agents with a network.
    pub simulations: u32,
    /// The numbers.
    #[serde(flatten)]
    pub stats: MatchStats,
}

impl std::fmt::Display for MatchReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}: {} against {}", self.game, self.a, self.b)?;
        write!(f, "{}", self.stats)
    }
}

impl GameVisitor for Match {
    type Out = anyhow::Result<MatchReport>;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        let specs = [AgentSpec::parse(&self.a, &*game)?, AgentSpec::parse(&self.b, &*game)?];
        let pairs = in_parts(self.pairs, |first_pair, pairs| {
            let mut agents = specs.clone().map(|spec| spec.agent(&*game, &self.flags));
            let settings = MatchSettings { pairs, first_pair, slots: SLOTS, seed: self.seed };
            play_match(&game, &mut agents, settings, &|| false)
        })?;
        Ok(MatchReport {
            game: game.info().name.clone(),
            a: self.a,
            b: self.b,
            seed: self.seed,
            simulations: self.flags.simulations,
            stats: MatchStats::of(&pairs),
        })
    }
}
