//! A game that goes on in the engine: its states so far, and the searches of both seats.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use fogfall_game::{Action, Actions, Game, Rng, Turn, stream};
use fogfall_search::{Budget, Choice, Decision, EvalBatch, Evaluator, Search, SearchSettings, Seats};
use serde_json::json;

use super::line::{Content, Decided, Named, Position, Shown, Weighed};

/// Streams below a game's seed.
const SETUP: u64 = 0;
const CHANCE: u64 = 1;
/// Stream of the choice, below a decision's seed.
const CHOICE: u64 = 1;

/// One game.
pub struct Session<G: Game> {
    game: Arc<G>,
    seed: u64,
    /// The state before each step, and the last one.
    states: Vec<G::State>,
    steps: Vec<Action>,
    settings: SearchSettings,
    searches: Vec<Search<G>>,
}

impl<G: Game> Session<G> {
    /// A new game.
    pub fn new(game: Arc<G>, settings: SearchSettings, seed: u64) -> Self {
        let start = game.start(&mut stream(seed, &[SETUP]));
        let mut session = Self { game, seed, states: vec![start], steps: Vec::new(), settings, searches: Vec::new() };
        session.renew_searches();
        session
    }

    /// The game's seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Steps so far, chance outcomes too.
    pub fn moves(&self) -> usize {
        self.steps.len()
    }

    fn renew_searches(&mut self) {
        let trees = if self.settings.seats == Seats::Shared { 1 } else { 2 };
        self.searches = (0..trees).map(|_| Search::new(Arc::clone(&self.game), self.settings)).collect();
    }

    fn state(&self) -> &G::State {
        self.states.last().expect("a game has begun")
    }

    fn legal(&self) -> Actions {
        let mut legal = Actions::new();
        self.game.legal(self.state(), &mut legal);
        legal
    }

    fn outcomes(&self) -> Vec<(Action, f32)> {
        let mut outcomes = Vec::new();
        self.game.chance(self.state(), &mut outcomes);
        outcomes
    }

    /// Where it stands.
    pub fn position(&self) -> Content {
        let turn = self.game.turn(self.state());
        let payoff = (turn == Turn::Over).then(|| self.game.payoff(self.state()));
        Content::Position(Position {
            turn: match turn {
                Turn::Player(seat) => json!(seat),
                Turn::Chance => json!("chance"),
                Turn::Over => json!("over"),
            },
            moves: self.moves(),
            legal: matches!(turn, Turn::Player(_)).then(|| self.legal()),
            outcomes: (turn == Turn::Chance).then(|| self.outcomes()),
            // Not -0.
            returns: payoff.map(|payoff| [payoff, 0.0 - payoff]),
        })
    }

    /// Applies a player's move or a chance outcome.
    ///
    /// # Errors
    /// If it is not possible now; nothing was done.
    pub fn apply(&mut self, action: &Named) -> Result<()> {
        let possible: Actions = match self.game.turn(self.state()) {
            Turn::Player(_) => self.legal(),
            Turn::Chance => self.outcomes().into_iter().map(|(outcome, _)| outcome).collect(),
            Turn::Over => bail!("the game is over"),
        };
        let number = match action {
            Named::Number(number) => *number,
            Named::Name(name) => {
                ensure!(
                    self.game.turn(self.state()) != Turn::Chance,
                    "chance outcomes are numbers: one of {possible:?}"
                );
                let number = self.game.info().actions.iter().position(|known| known == name);
                number.with_context(|| format!("there is no action {name:?}"))? as u64
            }
        };
        match possible.iter().find(|&&action| u64::from(action) == number) {
            Some(&action) => self.step(action),
            None => bail!("{number} is not possible now: one of {possible:?} is"),
        }
        Ok(())
    }

    /// Applies a chance outcome, drawn from the game's seed.
    ///
    /// # Errors
    /// If none is due.
    pub fn draw(&mut self) -> Result<()> {
        ensure!(self.game.turn(self.state()) == Turn::Chance, "no chance outcome is due");
        let mut rng: Rng = stream(self.seed, &[CHANCE, self.moves() as u64]);
        let outcome = self.game.sample(self.state(), &mut rng);
        self.step(outcome);
        Ok(())
    }

    fn step(&mut self, action: Action) {
        let mut state = self.state().clone();
        if matches!(self.game.turn(&state), Turn::Player(_)) {
            self.searches.iter_mut().for_each(|search| search.played(action));
        }
        self.game.apply(&mut state, action);
        self.states.push(state);
        self.steps.push(action);
    }

    /// Takes the last step back.
    ///
    /// # Errors
    /// If there was none.
    pub fn undo(&mut self) -> Result<()> {
        ensure!(self.steps.pop().is_some(), "the game has just begun: there is nothing to undo");
        self.states.pop();
        // A tree that has followed the game cannot go back.
        self.renew_searches();
        Ok(())
    }

    /// The position as text, and the steps that led to it.
    ///
    /// # Errors
    /// If a view cannot be written.
    pub fn show(&self) -> Result<Content> {
        let [first, second] = [0, 1].map(|seat| serde_json::to_value(self.game.view(self.state(), seat)));
        let text = self.game.describe(self.state());
        Ok(Content::Shown(Shown { text, steps: self.steps.clone(), views: [first?, second?] }))
    }

    /// Searches the mover's decision, from its view alone.
    ///
    /// # Errors
    /// If nobody, or not `seat`, is to move.
    pub fn decide(
        &mut self,
        seat: Option<u8>,
        budget: Budget,
        choice: Choice,
        seed: u64,
        evaluator: &mut dyn Evaluator,
    ) -> Result<Content> {
        let mover = match self.game.turn(self.state()) {
            Turn::Player(mover) => mover,
            Turn::Chance => bail!("a chance outcome is due before anybody decides"),
            Turn::Over => bail!("the game is over"),
        };
        ensure!(seat.is_none_or(|seat| seat == mover), "seat {mover} is to move");
        let view = self.game.view(self.state(), mover);
        let search = usize::from(mover).min(self.searches.len() - 1);
        let search = &mut self.searches[search];
        search.begin(view, budget, None, seed);
        search.run(evaluator, &mut EvalBatch::new(self.game.info().observation_len()));
        let mut decision = Decision::default();
        search.decide(choice, &mut stream(seed, &[CHOICE]), &mut decision);
        Ok(Content::Decided(self.decided(&decision)))
    }

    fn decided(&self, decision: &Decision) -> Decided {
        let info = self.game.info();
        let weighed = |(index, &action): (usize, &Action)| Weighed {
            action,
            visits: decision.visits[index],
            prior: decision.prior[index],
            value: decision.q[index] * info.value_scale,
            policy: decision.policy[index],
        };
        Decided {
            seat: decision.mover,
            action: decision.action,
            name: info.actions[usize::from(decision.action)].clone(),
            value: decision.root_value * info.value_scale,
            simulations: decision.simulations,
            evaluations: decision.evaluations,
            nodes: decision.tree_nodes,
            actions: decision.legal.iter().enumerate().map(weighed).collect(),
        }
    }
}
