//! Agents by name: `random`, a rule-based player of the game, `search:N`, or a weights file.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context, ensure};
use fogfall_game::Game;
use fogfall_net::{Net, NetEvaluator, Shape, Weights};
use fogfall_pipeline::SearchFlags;
use fogfall_search::{Budget, Choice, Evaluator, Rollout};
use fogfall_selfplay::{Agent, Searcher};

/// An agent as asked for, its files read and checked.
#[derive(Clone)]
pub enum AgentSpec {
    /// Uniformly random legal actions.
    Random,
    /// One of the game's rule-based players.
    Expert(String),
    /// Search with random playouts in place of a network.
    Search {
        /// Simulations a move.
        simulations: u32,
    },
    /// Search with a network.
    Network(Arc<Net>),
}

impl AgentSpec {
    /// Finds out what `text` names.
    ///
    /// # Errors
    /// If it names no agent of this game, or a weights file that cannot be used for it.
    pub fn parse(text: &str, game: &impl Game) -> anyhow::Result<Self> {
        if text == "random" {
            return Ok(Self::Random);
        }
        if game.experts().contains(&text) {
            return Ok(Self::Expert(text.to_owned()));
        }
        if let Some(number) = text.strip_prefix("search:") {
            let simulations = number.parse::<u32>().ok().filter(|&n| n > 0);
            let simulations =
                simulations.with_context(|| format!("agent '{text}': search:N wants a number above 0"))?;
            return Ok(Self::Search { simulations });
        }
        let path = PathBuf::from(text);
        ensure!(
            path.is_file(),
            "agent '{text}' is no file and none of: {}",
            ["random"].iter().chain(game.experts()).chain(&["search:N"]).copied().collect::<Vec<_>>().join(", ")
        );
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read weights {text}"))?;
        let weights = Weights::from_bytes(&bytes).with_context(|| format!("weights {text} cannot be used"))?;
        let wanted = Shape::new(game.info(), weights.shape().width, weights.shape().blocks);
        weights.fits(&wanted).with_context(|| format!("weights {text} are not for this {}", game.info().name))?;
        Ok(Self::Network(Arc::new(Net::new(&weights))))
    }

    /// The agent. Each thread makes its own.
    pub fn agent(&self, game: &impl Game, flags: &SearchFlags) -> Agent {
        match self {
            Self::Random => Agent::Random,
            Self::Expert(name) => Agent::Expert(name.clone()),
            _ => Agent::Search(Box::new(self.searcher(game, flags).expect("it searches"))),
        }
    }

    /// The agent as a searcher; none if it does not search.
    pub fn searcher(&self, game: &impl Game, flags: &SearchFlags) -> Option<Searcher> {
        let (evaluator, budget): (Box<dyn Evaluator>, Budget) = match self {
            Self::Random | Self::Expert(_) => return None,
            Self::Search { simulations } => (Box::new(Rollout), flags.budget_of(*simulations)),
            Self::Network(net) => (Box::new(NetEvaluator::new(Arc::clone(net))), flags.full_budget()),
        };
        Some(Searcher { evaluator, search: flags.search(game.info()), budget, choice: Choice::Visits })
    }
}
