//! [`Referee`]: small games of perfect information solved by looking at every position, to count where a player gives
//! value away.

use std::collections::HashMap;

use fogfall_game::{Action, Game, Turn};
use thiserror::Error;

use crate::Interval;

/// Why a game cannot be refereed.
#[derive(Debug, Error, PartialEq)]
pub enum RefereeError {
    /// Only games without chance and hidden facts have positions with one value.
    #[error("{game} has chance or hidden information")]
    NotDeterministic {
        /// The game's name.
        game: String,
    },
    /// More positions than allowed.
    #[error("more than {max_positions} positions are reachable")]
    TooLarge {
        /// The limit.
        max_positions: usize,
    },
}

/// A position in which a player decides, with the exact worth of each action.
#[derive(Clone, Debug)]
pub struct SolvedPosition<V> {
    /// What the mover sees.
    pub view: V,
    /// Legal actions.
    pub legal: Vec<Action>,
    /// `[legal]` the mover's payoff after each action when both seats play on perfectly.
    pub values: Vec<f32>,
    /// The position as text.
    pub text: String,
}

impl<V> SolvedPosition<V> {
    /// The mover's payoff under perfect play.
    pub fn value(&self) -> f32 {
        self.values.iter().copied().fold(f32::NEG_INFINITY, f32::max)
    }

    /// What the mover gives away by an action; an illegal one gives away everything.
    pub fn loss(&self, action: Action) -> f32 {
        self.legal
            .iter()
            .position(|&legal| legal == action)
            .map_or(f32::INFINITY, |place| self.value() - self.values[place])
    }
}

/// What a player does in all positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Positions in which a player decides.
    pub decisions: usize,
    /// Those in which the player gave value away.
    pub mistakes: usize,
    /// The first few of them: position and action.
    pub examples: Vec<(String, Action)>,
}

impl Verdict {
    /// The share of positions in which the player kept the value; none if there are no positions.
    pub fn kept(&self) -> Option<Interval> {
        Interval::of_share(self.decisions - self.mistakes, self.decisions)
    }
}

/// A solved game: every position that can be reached from its start, or some that were solved elsewhere.
#[derive(Debug)]
pub struct Referee<V> {
    positions: usize,
    decisions: Vec<SolvedPosition<V>>,
}

impl<V: Clone> Referee<V> {
    /// Solves a game from `root` on by minimax over all reachable positions. Positions are told apart by their mover's
    /// view.
    ///
    /// # Errors
    /// [`RefereeError`] if the game has chance or hidden facts, or too many positions.
    pub fn solve<G: Game<View = V>>(game: &G, root: &G::State, max_positions: usize) -> Result<Self, RefereeError> {
        if !game.info().is_deterministic() {
            return Err(RefereeError::NotDeterministic { game: game.info().name.clone() });
        }
        let mut solver = Solver { game, max_positions, values: HashMap::new(), decisions: Vec::new() };
        solver.value(root)?;
        Ok(Self { positions: solver.values.len(), decisions: solver.decisions })
    }

    /// A referee that knows these positions alone.
    pub fn of(decisions: Vec<SolvedPosition<V>>) -> Self {
        Self { positions: decisions.len(), decisions }
    }

    /// How many positions it knows: all that can be reached, finished ones included, or those it was given.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// The positions in which a player decides.
    pub fn decisions(&self) -> &[SolvedPosition<V>] {
        &self.decisions
    }

    /// Asks a player for its action in every position.
    pub fn judge(&self, mut player: impl FnMut(&V, &[Action]) -> Action) -> Verdict {
        self.verdict(self.decisions.iter().map(|position| player(&position.view, &position.legal)))
    }

    /// The verdict on actions given for [`decisions`](Self::decisions) in their order, for players that answer many
    /// positions at a time.
    pub fn verdict(&self, actions: impl IntoIterator<Item = Action>) -> Verdict {
        const EXAMPLES: usize = 5;
        let mut verdict = Verdict { decisions: 0, mistakes: 0, examples: Vec::new() };
        for (position, action) in self.decisions.iter().zip(actions) {
            verdict.decisions += 1;
            if position.loss(action) > 0.0 {
                verdict.mistakes += 1;
                if verdict.examples.len() < EXAMPLES {
                    verdict.examples.push((position.text.clone(), action));
                }
            }
        }
        verdict
    }
}

struct Solver<'a, G: Game> {
    game: &'a G,
    max_positions: usize,
    /// Seat 0's payoff under perfect play, by turn and view.
    values: HashMap<(u8, Vec<u8>), f32>,
    decisions: Vec<SolvedPosition<G::View>>,
}

impl<G: Game> Solver<'_, G> {
    /// Seat 0's payoff from `state` on under perfect play.
    fn value(&mut self, state: &G::State) -> Result<f32, RefereeError> {
        const OVER: u8 = 2;
        let turn = match self.game.turn(state) {
            Turn::Player(seat) => seat,
            Turn::Over => OVER,
            Turn::Chance => return Err(RefereeError::NotDeterministic { game: self.game.info().name.clone() }),
        };
        let view = self.game.view(state, turn % 2);
        let key = (turn, rmp_serde::to_vec(&view).expect("a view is plain data"));
        if let Some(&value) = self.values.get(&key) {
            return Ok(value);
        }
        let value = if turn == OVER {
            self.game.payoff(state)
        } else {
            let sign = if turn == 0 { 1.0 } else { -1.0 };
            let mut legal = Vec::new();
            self.game.legal(state, &mut legal);
            let mut values = Vec::with_capacity(legal.len());
            for &action in &legal {
                let mut next = state.clone();
                self.game.apply(&mut next, action);
                values.push(sign * self.value(&next)?);
            }
            let position = SolvedPosition { view, legal, values, text: self.game.describe(state) };
            let value = sign * position.value();
            self.decisions.push(position);
            value
        };
        self.values.insert(key, value);
        if self.values.len() > self.max_positions {
            return Err(RefereeError::TooLarge { max_positions: self.max_positions });
        }
        Ok(value)
    }
}
