//! Replays recorded games, one JSON object a line as OpenSpiel's playthroughs were written, and compares the mover, the
//! legal actions or chance outcomes, and the returns at every step.
//!
//! It says where our rules and the record part; it does not say who is right.

use std::io::BufRead;
use std::sync::Arc;

use fogfall_game::{Action, Game, GameVisitor, Turn, stream};
use serde::Deserialize;
use thiserror::Error;

/// Returns may differ by rounding alone.
const TOLERANCE: f64 = 1e-6;

/// All games agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Games replayed to their end.
    pub games: usize,
    /// Actions and chance outcomes in them.
    pub steps: usize,
}

impl std::fmt::Display for Agreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "all {} games agree, {} steps", self.games, self.steps)
    }
}

/// Why a replay ended early. Lines count from 1, steps of a game from 0.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The record cannot be read.
    #[error("line {line} cannot be read: {source}")]
    Read {
        /// Where.
        line: usize,
        /// Why.
        source: std::io::Error,
    },
    /// A line is no recorded game.
    #[error("line {line} is no recorded game: {source}")]
    Format {
        /// Where.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// There is no game in the record.
    #[error("the record holds no game")]
    Empty,
    /// A recorded game does not go by our rules.
    #[error("line {line}, step {step}: {what}: recorded {recorded}, ours {ours}\n{position}")]
    Difference {
        /// The game's line.
        line: usize,
        /// The step, or the number of steps at the end of the game.
        step: usize,
        /// What differs.
        what: &'static str,
        /// As recorded.
        recorded: String,
        /// By our rules.
        ours: String,
        /// Our position before the step.
        position: String,
    },
}

/// Replays every game that `record` holds.
///
/// # Errors
/// [`ReplayError`] at the first difference, or where the record cannot be read.
pub fn replay<G: Game>(game: &G, record: impl BufRead) -> Result<Agreement, ReplayError> {
    let mut agreement = Agreement::default();
    for (index, text) in record.lines().enumerate() {
        let line = index + 1;
        let text = text.map_err(|source| ReplayError::Read { line, source })?;
        if text.trim().is_empty() {
            continue;
        }
        let recorded: Recorded = serde_json::from_str(&text).map_err(|source| ReplayError::Format { line, source })?;
        Replayed { game, state: game.start(&mut stream(0, &[])), line, step: 0 }.run(&recorded)?;
        agreement.games += 1;
        agreement.steps += recorded.steps.len();
    }
    if agreement.games == 0 { Err(ReplayError::Empty) } else { Ok(agreement) }
}

/// [`replay`] for a game known by name.
pub struct Replay<R>(
    /// The record.
    pub R,
);

impl<R: BufRead> GameVisitor for Replay<R> {
    type Out = Result<Agreement, ReplayError>;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        replay(&*game, self.0)
    }
}

/// One line of a record.
#[derive(Deserialize)]
struct Recorded {
    steps: Vec<Step>,
    returns: [f64; 2],
}

#[derive(Deserialize)]
struct Step {
    /// -1 is chance.
    player: i8,
    /// Legal actions, or chance outcomes.
    legal: Vec<Action>,
    action: Action,
}

/// A game on its way.
struct Replayed<'a, G: Game> {
    game: &'a G,
    state: G::State,
    line: usize,
    step: usize,
}

impl<G: Game> Replayed<'_, G> {
    fn run(mut self, recorded: &Recorded) -> Result<(), ReplayError> {
        for step in &recorded.steps {
            self.compare("mover", mover(step.player), self.mover())?;
            let legal = self.legal();
            self.compare("legal actions or outcomes", format!("{:?}", step.legal), format!("{legal:?}"))?;
            if !legal.contains(&step.action) {
                return self.compare("action", step.action.to_string(), format!("one of {legal:?}"));
            }
            self.game.apply(&mut self.state, step.action);
            self.step += 1;
        }
        self.compare("mover", "over".to_owned(), self.mover())?;
        let payoff = f64::from(self.game.payoff(&self.state));
        let ours = [payoff, -payoff];
        if recorded.returns.iter().zip(ours).all(|(recorded, ours)| (recorded - ours).abs() < TOLERANCE) {
            return Ok(());
        }
        self.compare("returns", format!("{:?}", recorded.returns), format!("{ours:?}"))
    }

    fn mover(&self) -> String {
        match self.game.turn(&self.state) {
            Turn::Player(seat) => seat.to_string(),
            Turn::Chance => "chance".to_owned(),
            Turn::Over => "over".to_owned(),
        }
    }

    /// Legal actions or chance outcomes.
    fn legal(&self) -> Vec<Action> {
        let mut legal = Vec::new();
        if self.game.turn(&self.state) == Turn::Chance {
            let mut outcomes = Vec::new();
            self.game.chance(&self.state, &mut outcomes);
            legal.extend(outcomes.into_iter().map(|(outcome, _)| outcome));
        } else {
            self.game.legal(&self.state, &mut legal);
        }
        legal
    }

    fn compare(&self, what: &'static str, recorded: String, ours: String) -> Result<(), ReplayError> {
        if recorded == ours {
            return Ok(());
        }
        let position = self.game.describe(&self.state);
        Err(ReplayError::Difference { line: self.line, step: self.step, what, recorded, ours, position })
    }
}

/// A recorded player in our words.
fn mover(player: i8) -> String {
    if player == -1 { "chance".to_owned() } else { player.to_string() }
}

#[cfg(test)]
mod tests {
    use fogfall_games::{ConnectFour, KuhnPoker, LeducPoker, LiarsDice, Othello, PhantomTtt, TicTacToe};

    use super::*;

    /// A record of OpenSpiel.
    macro_rules! playthroughs {
        ($game:literal) => {
            include_str!(concat!("../../common/games/playthroughs/", $game, ".jsonl"))
        };
    }

    const KUHN: &str = playthroughs!("kuhn_poker");

    fn agrees(game: &impl Game, record: &str, games: usize) {
        let agreement = replay(game, record.as_bytes()).unwrap();
        assert_eq!((agreement.games, agreement.steps), (games, record.matches("\"player\"").count()));
    }

    #[test]
    fn all_recorded_games_of_open_spiel_agree() {
        agrees(&ConnectFour::new(), playthroughs!("connect_four"), 100);
        agrees(&KuhnPoker::new(), KUHN, 100);
        agrees(&LeducPoker::new(), playthroughs!("leduc_poker"), 100);
        agrees(&LiarsDice::new(), playthroughs!("liars_dice"), 100);
        agrees(&Othello::new(), playthroughs!("othello"), 25);
        agrees(&PhantomTtt::new(), playthroughs!("phantom_ttt"), 100);
        agrees(&TicTacToe::new(), playthroughs!("tic_tac_toe"), 100);
    }

    /// The first recorded game of Kuhn poker (cards 2 and 0: pass, bet, pass), with one part replaced.
    fn difference(from: &str, to: &str) -> (usize, &'static str, String, String) {
        let line = KUHN.lines().next().unwrap();
        assert!(line.contains(from), "{line}");
        let record = format!("\n{}\n", line.replacen(from, to, 1));
        match replay(&KuhnPoker::new(), record.as_bytes()).unwrap_err() {
            ReplayError::Difference { line: 2, step, what, recorded, ours, .. } => (step, what, recorded, ours),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn another_mover_is_a_difference() {
        let found = difference(r#""player":1,"#, r#""player":0,"#);
        assert_eq!(found, (3, "mover", "0".to_owned(), "1".to_owned()));
    }

    #[test]
    fn another_chance_outcome_is_a_difference() {
        let found = difference(r#""legal":[0,1],"action":0}"#, r#""legal":[0,2],"action":0}"#);
        assert_eq!(found, (1, "legal actions or outcomes", "[0, 2]".to_owned(), "[0, 1]".to_owned()));
    }

    #[test]
    fn an_illegal_action_is_a_difference() {
        let found = difference(r#""action":1}"#, r#""action":7}"#);
        assert_eq!(found, (3, "action", "7".to_owned(), "one of [0, 1]".to_owned()));
    }

    #[test]
    fn other_returns_are_a_difference() {
        let found = difference("[-1.0,1.0]", "[-2.0,2.0]");
        assert_eq!(found, (5, "returns", "[-2.0, 2.0]".to_owned(), "[-1.0, 1.0]".to_owned()));
    }

    #[test]
    fn a_game_that_stops_early_is_a_difference() {
        let found = difference(r#",{"player":0,"legal":[0,1],"action":0}],"#, "],");
        assert_eq!(found, (4, "mover", "over".to_owned(), "0".to_owned()));
    }

    #[test]
    fn a_record_without_games_or_with_something_else_is_an_error() {
        let game = KuhnPoker::new();
        assert!(matches!(replay(&game, "\n\n".as_bytes()), Err(ReplayError::Empty)));
        assert!(matches!(replay(&game, "{}".as_bytes()), Err(ReplayError::Format { line: 1, .. })));
    }
}
