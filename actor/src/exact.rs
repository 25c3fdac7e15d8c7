//! `actor exact`: the exact figure of a searching agent in a small game: mistakes in all positions, or NashConv.

use std::sync::Arc;

use anyhow::{Context, ensure};
use fogfall_eval::ExactFigures;
use fogfall_game::{Game, GameVisitor};
use serde::Serialize;

use crate::agent::{AgentFlags, AgentSpec};

/// A game with more positions or tree nodes than this would be searched for hours.
const MAX_SIZE: usize = 1_000_000;

/// The figure asked for.
pub struct Exact {
    /// The agent.
    pub a: String,
    /// Root seed.
    pub seed: u64,
    /// How it searches and chooses, but for its own settings.
    pub flags: AgentFlags,
}

/// The figure.
#[derive(Serialize)]
pub struct ExactReport {
    /// The game.
    pub game: String,
    /// The agent.
    pub a: String,
    /// Simulations a move, or nodes it adds.
    pub simulations: u32,
    /// What is measured.
    pub figure: String,
    /// Its value.
    pub value: f64,
}

impl std::fmt::Display for ExactReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { game, a, simulations, figure, value } = self;
        write!(f, "{game}: {a}, {simulations} simulations a move\n{figure}: {value}")
    }
}

impl GameVisitor for Exact {
    type Out = anyhow::Result<ExactReport>;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        let name = &game.info().name;
        let exact = ExactFigures::up_to(&*game, MAX_SIZE)
            .with_context(|| format!("{name} is too large for exact figures, or draws its start at random"))?;
        let spec = AgentSpec::parse(&self.a, &*game, &self.flags)?;
        ensure!(!spec.wants_equal_cpu(), "search:cpu takes the CPU time of another side, and here is none");
        ensure!(!spec.cheats(), "'{}' sees what is hidden: there is no policy to measure", self.a);
        let mut player =
            spec.searcher(&*game).with_context(|| format!("'{}' does not search: give search:N or weights", self.a))?;
        let value = exact.measure(&game, &mut player, self.seed)?;
        Ok(ExactReport { game: name.clone(), a: self.a, simulations: spec.simulations(), figure: exact.name(), value })
    }
}
