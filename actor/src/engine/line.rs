//! One line of the engine's protocol: what can be asked and how it is answered. Numbers and names only; the rules are the
//! session's.

use anyhow::{Result, anyhow};
use fogfall_search::Choice;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A request with the id that its answer carries.
#[derive(Debug)]
pub struct Line {
    /// As given; null without one.
    pub id: Value,
    /// What is asked, or why that cannot be said.
    pub ask: Result<Ask>,
}

impl Line {
    /// Reads a line.
    ///
    /// # Errors
    /// If it is no JSON object.
    pub fn parse(text: &str) -> Result<Self> {
        let mut object: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| anyhow!("the line is no JSON object: {error}"))?;
        let id = object.remove("id").unwrap_or(Value::Null);
        let ask = serde_json::from_value(Value::Object(object)).map_err(|error| anyhow!("{error}"));
        Ok(Self { id, ask })
    }
}

/// What can be asked.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// What is played here.
    Rules {},
    /// A new game under a name.
    New {
        /// Its name.
        game: String,
        /// Root of its randomness.
        #[serde(default)]
        seed: u64,
    },
    /// A player's move or a chance outcome.
    Apply {
        /// The game.
        game: String,
        /// The action.
        action: Named,
    },
    /// A chance outcome, drawn here.
    Chance {
        /// The game.
        game: String,
    },
    /// One step back.
    Undo {
        /// The game.
        game: String,
    },
    /// A decision for whoever is to move.
    Decide {
        /// The game.
        game: String,
        /// Who is meant, for safety.
        seat: Option<u8>,
        /// The budget, instead of the engine's.
        #[serde(default, deserialize_with = "budget")]
        simulations: Option<u32>,
        /// How the move is chosen, instead of the engine's way.
        choice: Option<How>,
        /// Root of the search's randomness; without, it follows from the game's seed and the moves played.
        seed: Option<u64>,
    },
    /// The position as text, everything shown.
    Show {
        /// The game.
        game: String,
    },
    /// Forget a game.
    Close {
        /// The game.
        game: String,
    },
}

/// The largest budget of one decision.
const MAX_SIMULATIONS: u32 = 10_000_000;

fn budget<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let Some(n) = Option::<u64>::deserialize(from)? else { return Ok(None) };
    match u32::try_from(n) {
        Ok(n @ 1..=MAX_SIMULATIONS) => Ok(Some(n)),
        _ => Err(serde::de::Error::custom(format!("simulations is {n}, allowed is 1 to {MAX_SIMULATIONS}"))),
    }
}

/// An action by number or, for players, by name.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Named {
    /// Its number.
    Number(u64),
    /// Its name.
    Name(String),
}

/// How a move is chosen.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The most visited action.
    Visits,
    /// By lot, as visits say.
    Sample,
    /// By lot, as the policy label says.
    Label,
}

impl From<How> for Choice {
    fn from(how: How) -> Self {
        match how {
            How::Visits => Self::Visits,
            How::Sample => Self::Sample { temperature: 1.0 },
            How::Label => Self::Label,
        }
    }
}

/// An answer: the request's id, then what was asked for or an error.
#[derive(Debug, Serialize)]
pub struct Answer {
    id: Value,
    #[serde(flatten)]
    content: Content,
}

impl Answer {
    /// The answer to a request.
    pub fn to(id: Value, result: Result<Content>) -> Self {
        Self { id, content: result.unwrap_or_else(|error| Content::Error { error: format!("{error:#}") }) }
    }
}

/// What is answered.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Content {
    Rules(Rules),
    Position(Position),
    Decided(Decided),
    Shown(Shown),
    Closed {},
    Error { error: String },
}

/// What is played.
#[derive(Debug, Serialize)]
pub struct Rules {
    pub game: String,
    pub weights: String,
    pub actions: Vec<String>,
    /// The payoff that the network's values count as 1.
    pub value_scale: f32,
    pub perfect_information: bool,
    pub max_decisions: usize,
    pub simulations: u32,
}

/// Where a game stands.
#[derive(Debug, Serialize)]
pub struct Position {
    /// Who acts next: 0, 1, "chance" or "over".
    pub turn: Value,
    /// Steps so far, chance outcomes too.
    pub moves: usize,
    /// The mover's legal actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legal: Option<Vec<u16>>,
    /// Chance outcomes with their probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Vec<(u16, f32)>>,
    /// What each seat gets, once over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returns: Option<[f32; 2]>,
}

/// A position for people, everything shown.
#[derive(Debug, Serialize)]
pub struct Shown {
    pub text: String,
    /// Actions and chance outcomes so far.
    pub steps: Vec<u16>,
    /// What each seat has seen.
    pub views: [Value; 2],
}

/// A decision.
#[derive(Debug, Serialize)]
pub struct Decided {
    pub seat: u8,
    pub action: u16,
    pub name: String,
    /// The seat's expected payoff, in the game's own units.
    pub value: f32,
    pub simulations: u32,
    pub evaluations: u32,
    /// Nodes of the tree.
    pub nodes: u32,
    pub actions: Vec<Weighed>,
}

/// A legal action as the search sees it.
#[derive(Debug, Serialize)]
pub struct Weighed {
    pub action: u16,
    pub visits: u32,
    pub prior: f32,
    /// The seat's expected payoff.
    pub value: f32,
    /// Its share in the policy label.
    pub policy: f32,
}
