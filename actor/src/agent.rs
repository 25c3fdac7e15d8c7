//! Agents by text: `AGENT` or `AGENT,key=value,...` with settings of its own, the same as the flags of the search and of
//! the choice. What is not given there is as the flags say.
//!
//! | text | agent |
//! |---|---|
//! | `random` | uniformly random legal actions |
//! | a rule-based player of the game | itself |
//! | `search:N` | search with random playouts, N simulations a move |
//! | `search:cpu` | the same with as many simulations as take the other side's CPU time; in a match of two |
//! | a weights file | search with its network |
//! | `cheat:N`, `cheat:FILE` | the same two, searching the true game: no player, but a ceiling |

use std::{path::Path, sync::Arc};

use anyhow::{Context, Result, bail, ensure};
use fogfall_game::Game;
use fogfall_net::{Net, NetEvaluator, Shape, Weights};
use fogfall_pipeline::SearchFlags;
use fogfall_search::{Choice, Evaluator, Rollout};
use fogfall_selfplay::{Agent, Searcher};
use fogfall_service::settings::{Loader, Settings};

fogfall_service::settings! {
    /// Choice
    pub struct ChoiceFlags {
        /// How a searching agent chooses its move: the most visited one, by lot with probabilities as visits to the power
        /// of 1 / temperature, or by lot from the policy label. Games in which good play is mixed need the lot.
        choice: String = "visits".into(), one_of &["visits", "sample", "label"], class Operational;
        /// Temperature of the choice by lot; 1 plays the visit shares.
        choice_temperature: f32 = 1.0, in 0.01..=100.0, class Operational;
    }
}

/// How agents search and choose.
#[derive(Clone, Default)]
pub struct AgentFlags {
    /// The search.
    pub search: SearchFlags,
    /// The choice of the move.
    pub choice: ChoiceFlags,
}

/// An agent as asked for, its files read and checked.
#[derive(Clone)]
pub struct AgentSpec {
    name: String,
    kind: Kind,
    flags: AgentFlags,
    equal_cpu: bool,
}

#[derive(Clone)]
enum Kind {
    Random,
    Expert(String),
    Search(Mind),
    Cheat(Mind),
}

/// What answers a search's questions.
#[derive(Clone)]
enum Mind {
    Playouts,
    Network(Arc<Net>),
}

impl AgentSpec {
    /// Finds out what `text` names.
    ///
    /// # Errors
    /// If it names no agent of this game, a weights file that cannot be used for it, or settings that there are not.
    pub fn parse(text: &str, game: &impl Game, flags: &AgentFlags) -> Result<Self> {
        let (agent, own) = text.split_once(',').unwrap_or((text, ""));
        let mut own = pairs(own).with_context(|| format!("agent '{text}'"))?;
        let mut simulations = |number: &str| own.insert(0, ("simulations".to_owned(), number.to_owned()));
        let mut equal_cpu = false;
        let kind = if agent == "random" {
            Kind::Random
        } else if game.experts().contains(&agent) {
            Kind::Expert(agent.to_owned())
        } else if agent == "search:cpu" {
            equal_cpu = true;
            Kind::Search(Mind::Playouts)
        } else if let Some(number) = agent.strip_prefix("search:") {
            simulations(number);
            Kind::Search(Mind::Playouts)
        } else if let Some(number) = agent.strip_prefix("cheat:").filter(|rest| is_number(rest)) {
            simulations(number);
            Kind::Cheat(Mind::Playouts)
        } else if let Some(path) = agent.strip_prefix("cheat:") {
            Kind::Cheat(read_network(path, text, game)?)
        } else {
            Kind::Search(read_network(agent, text, game)?)
        };
        ensure!(
            own.is_empty() || matches!(kind, Kind::Search(_) | Kind::Cheat(_)),
            "agent '{text}': {agent} does not search and takes no settings"
        );
        let flags = flags.with(own).with_context(|| format!("agent '{text}'"))?;
        Ok(Self { name: text.to_owned(), kind, flags, equal_cpu })
    }

    /// The agent that searches with these weights.
    ///
    /// # Errors
    /// If they are not for this game.
    pub fn network(name: String, weights: &[u8], game: &impl Game, flags: &AgentFlags) -> Result<Self> {
        let kind = Kind::Search(network(weights, &name, game)?);
        Ok(Self { name, kind, flags: flags.clone(), equal_cpu: false })
    }

    /// What it was asked for as.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The agent. Each thread makes its own.
    pub fn agent(&self, game: &impl Game) -> Agent {
        match &self.kind {
            Kind::Random => Agent::Random,
            Kind::Expert(name) => Agent::Expert(name.clone()),
            Kind::Search(mind) => Agent::Search(Box::new(self.search(mind, game))),
            Kind::Cheat(mind) => Agent::Cheat(Box::new(self.search(mind, game))),
        }
    }

    /// The agent as a searcher; none if it does not search, or cheats.
    pub fn searcher(&self, game: &impl Game) -> Option<Searcher> {
        match &self.kind {
            Kind::Search(mind) => Some(self.search(mind, game)),
            _ => None,
        }
    }

    fn search(&self, mind: &Mind, game: &impl Game) -> Searcher {
        let AgentFlags { search, choice } = &self.flags;
        let evaluator: Box<dyn Evaluator> = match mind {
            Mind::Playouts => Box::new(Rollout),
            Mind::Network(net) => Box::new(NetEvaluator::new(Arc::clone(net))),
        };
        let choice = match choice.choice.as_str() {
            "label" => Choice::Label,
            "sample" => Choice::Sample { temperature: choice.choice_temperature },
            _ => Choice::Visits,
        };
        Searcher { evaluator, search: search.search(game.info()), budget: search.full_budget(), choice }
    }

    /// True if it searches, honestly or not.
    pub fn searches(&self) -> bool {
        matches!(self.kind, Kind::Search(_) | Kind::Cheat(_))
    }

    /// True if it sees what is hidden from it.
    pub fn cheats(&self) -> bool {
        matches!(self.kind, Kind::Cheat(_))
    }

    /// True if it has a network.
    pub fn has_network(&self) -> bool {
        matches!(self.kind, Kind::Search(Mind::Network(_)) | Kind::Cheat(Mind::Network(_)))
    }

    /// True if its simulations follow from the other side's CPU time.
    pub fn wants_equal_cpu(&self) -> bool {
        self.equal_cpu
    }

    /// Simulations of a search, or nodes it adds.
    pub fn simulations(&self) -> u32 {
        self.flags.search.simulations
    }

    /// Searches with another number of simulations.
    pub fn set_simulations(&mut self, simulations: u32) {
        self.flags.search.simulations = simulations;
    }
}

impl AgentFlags {
    /// These, but for an agent's own settings.
    fn with(&self, own: Vec<(String, String)>) -> Result<Self> {
        let mut loader = Loader::new();
        loader.stored("flags", &self.search.texts());
        loader.stored("flags", &self.choice.texts());
        loader.flags(own);
        let flags = Self { search: loader.load(), choice: loader.load() };
        loader.finish()?;
        Ok(flags)
    }
}

/// `key=value,...`; dashes in keys are as good as underscores.
fn pairs(text: &str) -> Result<Vec<(String, String)>> {
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts
        .map(|part| match part.split_once('=') {
            Some((key, value)) => Ok((key.replace('-', "_"), value.to_owned())),
            None => bail!("'{part}' is no setting: it wants key=value"),
        })
        .collect()
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
}

fn read_network(path: &str, text: &str, game: &impl Game) -> Result<Mind> {
    let named = ["random"].iter().chain(game.experts()).chain(&["search:N", "search:cpu", "cheat:N", "cheat:FILE"]);
    ensure!(
        Path::new(path).is_file(),
        "agent '{text}' is no file and none of: {}",
        named.copied().collect::<Vec<_>>().join(", ")
    );
    let bytes = std::fs::read(path).with_context(|| format!("cannot read weights {path}"))?;
    network(&bytes, path, game)
}

fn network(bytes: &[u8], name: &str, game: &impl Game) -> Result<Mind> {
    let weights = Weights::from_bytes(bytes).with_context(|| format!("weights {name} cannot be used"))?;
    let Shape { width, blocks, tower, .. } = weights.shape();
    let (channels, tower_blocks) = tower.map_or((0, 0), |tower| (tower.channels, tower.blocks));
    let wanted = Shape::new(game.info(), *width, *blocks).with_tower(game.info().planes, channels, tower_blocks);
    weights.fits(&wanted).with_context(|| format!("weights {name} are not for this {}", game.info().name))?;
    Ok(Mind::Network(Arc::new(Net::new(&weights))))
}

#[cfg(test)]
mod tests {
    use fogfall_games::{KuhnPoker, TicTacToe};
    use fogfall_search::{Belief, Budget, Label, Opponents, TreeLife};
    use fogfall_service::settings::Mistakes;

    use super::*;

    fn searcher(text: &str) -> Searcher {
        let game = KuhnPoker::new();
        AgentSpec::parse(text, &game, &AgentFlags::default()).unwrap().searcher(&game).unwrap()
    }

    fn error(text: &str) -> anyhow::Error {
        AgentSpec::parse(text, &KuhnPoker::new(), &AgentFlags::default()).map(|_| ()).unwrap_err()
    }

    #[test]
    fn an_agents_own_settings_are_its_own() {
        let own = searcher("search:30,belief=reach,opponents=policy,tree=game,label=visits,choice=sample");
        assert_eq!(own.budget, Budget::Simulations(30));
        assert!(matches!(own.search.belief, Belief::Reach { .. }) && own.search.life == TreeLife::Game);
        assert!(matches!(own.search.opponents, Opponents::Policy { .. }) && own.search.label == Label::Visits);
        assert_eq!(own.choice, Choice::Sample { temperature: 1.0 });
        let plain = searcher("search:30");
        assert!(plain.search.belief == Belief::Uniform && plain.choice == Choice::Visits);
        assert_eq!(searcher("search:30,simulations=40,c-puct=2").budget, Budget::Simulations(40));
    }

    #[test]
    fn what_is_not_its_own_is_as_the_flags_say() {
        let game = KuhnPoker::new();
        let mut flags = AgentFlags::default();
        flags.search.c_puct = 3.0;
        flags.choice.choice = "sample".into();
        let agent = AgentSpec::parse("search:7,choice-temperature=0.5", &game, &flags).unwrap();
        let searcher = agent.searcher(&game).unwrap();
        assert_eq!((searcher.search.c_puct, searcher.choice), (3.0, Choice::Sample { temperature: 0.5 }));
        assert_eq!(agent.name(), "search:7,choice-temperature=0.5");
    }

    #[test]
    fn mistakes_in_an_agents_settings_are_told_as_those_of_flags() {
        let wrong = error("search:30,beleif=reach,label=visit");
        assert!(wrong.is::<Mistakes>(), "bad usage");
        assert_eq!(
            format!("{wrong:#}"),
            "agent 'search:30,beleif=reach,label=visit': 2 mistakes in the settings:\n  \
             --label: label is \"visit\"; allowed is one of visits, completed_q, response\n  \
             --beleif: there is no setting beleif; did you mean belief?"
        );
        assert!(format!("{:#}", error("search:0")).contains("simulations is \"0\""));
        assert!(format!("{:#}", error("search:many")).contains("simulations is \"many\""));
        let text = format!("{:#}", error("search:30,reach"));
        assert_eq!(text, "agent 'search:30,reach': 'reach' is no setting: it wants key=value");
        let text = error("random,label=visits").to_string();
        assert_eq!(text, "agent 'random,label=visits': random does not search and takes no settings");
        assert!(error("nobody").to_string().starts_with("agent 'nobody' is no file and none of: random, search:N"));
    }

    #[test]
    fn a_cheat_is_told_from_a_player() {
        let game = TicTacToe::new();
        let parse = |text| AgentSpec::parse(text, &game, &AgentFlags::default()).unwrap();
        let cheat = parse("cheat:20");
        assert!(cheat.cheats() && cheat.searches() && cheat.searcher(&game).is_none());
        assert!(matches!(cheat.agent(&game), Agent::Cheat(searcher) if searcher.budget == Budget::Simulations(20)));
        assert!(!parse("search:20").cheats());
    }
}
