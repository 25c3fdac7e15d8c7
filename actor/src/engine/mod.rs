//! `actor engine`: decisions for other programs, one JSON object a line on standard input and output, in the spirit of
//! KataGo's analysis engine. `docs/engine.md` has the protocol.
//!
//! It plays no games of its own: whoever asks applies every move and chance outcome, and tells it when to decide. A line
//! that it cannot follow gets an error and changes nothing.
//!
//! **Invariant:** a decision follows from the deciding seat's view, the settings and the seed alone.

mod line;
mod session;

use std::{
    collections::BTreeMap,
    io::{BufRead, Read, Write},
    sync::Arc,
};

use anyhow::{Context, Result, bail, ensure};
use fogfall_game::{Game, GameVisitor, mix};
use fogfall_selfplay::Searcher;
use serde_json::Value;

use crate::agent::{AgentFlags, AgentSpec};

use self::{
    line::{Answer, Ask, Content, Line, Rules},
    session::Session,
};

/// A longer line is refused.
const MAX_LINE_BYTES: u64 = 1 << 20;
/// Most games at once.
const MAX_GAMES: usize = 10_000;
/// How weights are named where there are none: random playouts decide.
pub const NO_WEIGHTS: &str = "none";

/// What the engine is asked for.
pub struct Engine<R, W> {
    /// The weights that decide, or [`NO_WEIGHTS`].
    pub weights: String,
    /// How it searches and chooses where a request says nothing.
    pub flags: AgentFlags,
    /// Requests.
    pub requests: R,
    /// Answers.
    pub answers: W,
}

impl<R: BufRead, W: Write> GameVisitor for Engine<R, W> {
    type Out = Result<()>;

    /// Answers line by line until there are no more.
    fn visit<G: Game>(mut self, game: Arc<G>) -> Self::Out {
        let agent = match self.weights.as_str() {
            NO_WEIGHTS => format!("search:{}", self.flags.search.simulations),
            weights => weights.to_owned(),
        };
        let spec = AgentSpec::parse(&agent, &*game, &self.flags)?;
        let player = spec.searcher(&*game).with_context(|| format!("'{agent}' is no weights file"))?;
        let mut hall = Hall { weights: self.weights, player, games: BTreeMap::new(), game };
        while let Some(text) = next_line(&mut self.requests)? {
            if text.as_ref().is_ok_and(|text| text.trim().is_empty()) {
                continue;
            }
            let answer = match text.and_then(|text| Line::parse(&text)) {
                Ok(Line { id, ask }) => Answer::to(id, ask.and_then(|ask| hall.answer(ask))),
                Err(error) => Answer::to(Value::Null, Err(error)),
            };
            serde_json::to_writer(&mut self.answers, &answer)?;
            self.answers.write_all(b"\n")?;
            self.answers.flush()?;
        }
        Ok(())
    }
}

/// The next line; none at the end. A line that is too long or no text is skipped and an error of its own.
fn next_line(requests: &mut impl BufRead) -> Result<Option<Result<String>>> {
    let mut bytes = Vec::new();
    let read = requests.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    if bytes.last() != Some(&b'\n') && bytes.len() as u64 == MAX_LINE_BYTES {
        requests.skip_until(b'\n')?;
        return Ok(Some(Err(anyhow::anyhow!("a line has at most {MAX_LINE_BYTES} bytes"))));
    }
    Ok(Some(String::from_utf8(bytes).context("the line is not UTF-8")))
}

/// The games in progress.
struct Hall<G: Game> {
    game: Arc<G>,
    weights: String,
    player: Searcher,
    games: BTreeMap<String, Session<G>>,
}

impl<G: Game> Hall<G> {
    /// Does what is asked for, or nothing.
    fn answer(&mut self, ask: Ask) -> Result<Content> {
        match ask {
            Ask::Rules {} => {
                let info = self.game.info();
                Ok(Content::Rules(Rules {
                    game: info.name.clone(),
                    weights: self.weights.clone(),
                    actions: info.actions.clone(),
                    value_scale: info.value_scale,
                    perfect_information: info.perfect_information,
                    max_decisions: info.max_decisions,
                    simulations: self.player.budget.size(),
                }))
            }
            Ask::New { game, seed } => {
                ensure!(!self.games.contains_key(&game), "game {game:?} goes on already: close it first");
                ensure!(self.games.len() < MAX_GAMES, "{MAX_GAMES} games go on already: close some");
                let session = Session::new(Arc::clone(&self.game), self.player.search, seed);
                let position = session.position();
                self.games.insert(game, session);
                Ok(position)
            }
            Ask::Apply { game, action } => {
                let session = self.session(&game)?;
                session.apply(&action)?;
                Ok(session.position())
            }
            Ask::Chance { game } => {
                let session = self.session(&game)?;
                session.draw()?;
                Ok(session.position())
            }
            Ask::Undo { game } => {
                let session = self.session(&game)?;
                session.undo()?;
                Ok(session.position())
            }
            Ask::Decide { game, seat, simulations, choice, seed } => {
                let budget = simulations.map_or(self.player.budget, |n| self.player.budget.resized(n));
                let choice = choice.map_or(self.player.choice, Into::into);
                let Some(session) = self.games.get_mut(&game) else { bail!(no_game(&game)) };
                let seed = seed.unwrap_or_else(|| mix(session.seed(), session.moves() as u64));
                session.decide(seat, budget, choice, seed, &mut *self.player.evaluator)
            }
            Ask::Show { game } => self.session(&game)?.show(),
            Ask::Close { game } => {
                self.games.remove(&game).with_context(|| no_game(&game))?;
                Ok(Content::Closed {})
            }
        }
    }

    fn session(&mut self, game: &str) -> Result<&mut Session<G>> {
        self.games.get_mut(game).with_context(|| no_game(game))
    }
}

fn no_game(game: &str) -> String {
    format!("there is no game {game:?}: open it with \"new\"")
}

#[cfg(test)]
mod tests;
