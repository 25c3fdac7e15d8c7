//! `actor match --referee`: both agents move once in each position that the game's referee has solved. Beside the score, which
//! depends on the other agent, that says how well each of them plays by itself.
//!
//! Positions are those of [`ExactFigures`]: all of a small game, or a fixed set of a larger one.

use std::{fmt, sync::Arc};

use anyhow::{Result, bail};
use fogfall_eval::{ExactFigures, Interval, Referee, judge};
use fogfall_game::{Game, GameSet, GameVisitor, mix};
use serde::Serialize;

use crate::{agent::AgentSpec, matches::Side};

/// Apart from the seeds of the match.
const SEED: u64 = 0x7265_6665;

/// Finds the names of the games that have a referee.
pub type Refereed = fn() -> Vec<&'static str>;

/// The games of a set that have a referee. Takes a moment: small games are solved to find out.
pub fn refereed<S: GameSet>() -> Vec<&'static str> {
    S::names().into_iter().filter(|name| S::with(name, None, HasReferee).unwrap_or(false)).collect()
}

struct HasReferee;

impl GameVisitor for HasReferee {
    type Out = bool;

    fn visit<G: Game>(self, game: Arc<G>) -> bool {
        ExactFigures::referee(&*game).is_some()
    }
}

/// The game's referee.
///
/// # Errors
/// If it has none; the error names those that have.
pub fn referee<G: Game>(game: &G, refereed: Refereed) -> Result<Referee<G::View>> {
    match ExactFigures::referee(game) {
        Some(referee) => Ok(referee),
        None => {
            let others = refereed();
            let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
            bail!("{} has no referee; games with one: {others}", game.info().name)
        }
    }
}

/// What the referee says of both agents.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// Solved positions in which both moved.
    pub positions: usize,
    /// The share of moves that keep the game-theoretic value, of the first agent and of the second.
    pub kept: [Option<Interval>; 2],
}

impl Judgement {
    /// Asks both agents.
    pub fn of<G: Game>(game: &Arc<G>, referee: &Referee<G::View>, agents: [&AgentSpec; 2], seed: u64) -> Self {
        let seed = mix(seed, SEED);
        let kept = agents.map(|spec| judge(game, referee, &mut spec.agent(&**game), seed).kept());
        Self { positions: referee.decisions().len(), kept }
    }

    /// As a table below that of the sides.
    pub fn write(&self, sides: &[Side; 2], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = sides.iter().map(|side| side.label().chars().count()).max().unwrap_or(0);
        write!(f, "\n\nreferee: share of moves that keep the game-theoretic value, in {} positions", self.positions)?;
        for (side, kept) in sides.iter().zip(&self.kept) {
            let kept = kept.map_or_else(|| "unknown".to_owned(), |kept| kept.to_string());
            write!(f, "\n{:width$}  {kept}", side.label())?;
        }
        Ok(())
    }
}
