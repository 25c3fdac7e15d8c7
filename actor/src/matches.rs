//! `actor match`: pairs of games between two agents, on all cores, with intervals.

use std::{sync::Arc, thread};

use fogfall_eval::MatchStats;
use fogfall_game::{Game, GameVisitor};
use fogfall_pipeline::SearchFlags;
use fogfall_selfplay::{MatchSettings, PairResult, play_match};
use serde::Serialize;

use crate::agent::AgentSpec;

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
        let threads = thread::available_parallelism()?.get().min(self.pairs as usize).max(1) as u32;
        let share = self.pairs.div_ceil(threads);
        let play = |part: u32| -> Vec<PairResult> {
            let first_pair = part * share;
            let pairs = self.pairs.saturating_sub(first_pair).min(share);
            let mut agents = specs.clone().map(|spec| spec.agent(&*game, &self.flags));
            let settings = MatchSettings { pairs, first_pair, slots: SLOTS, seed: self.seed };
            play_match(&game, &mut agents, settings, &|| false)
        };
        let pairs: Vec<PairResult> = thread::scope(|scope| {
            let parts: Vec<_> = (0..threads).map(|part| scope.spawn(move || play(part))).collect();
            parts.into_iter().map(|part| part.join()).collect::<Result<Vec<_>, _>>()
        })
        .map_err(|_| anyhow::anyhow!("a thread of the match has died"))?
        .concat();
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
