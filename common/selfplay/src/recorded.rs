//! One game to look at: a player against itself, each move with what either seat knew and what the search made of it.
//!
//! It is played as a game of a match is, by the same table and the same searches, and changes nothing outside itself.
//!
//! **Invariant:** what a seat knew is made from its view (`Game::describe_view`); the true position is recorded apart.

use std::sync::Arc;

use fogfall_game::{Game, GameInfo, Seat, mix, stream};
use fogfall_search::{Decision, EvalBatch, Search};
use serde::{Deserialize, Serialize};

use crate::{r#match::Searcher, table::Table};

/// Streams below the game's seed, as in a match; the table takes 0 and 1.
const SEARCH: u64 = 2;
const MOVE: u64 = 3;

/// A game from its first decision to its end. A record of another version reads with defaults for what it lacks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedGame {
    /// The game's name.
    pub game: String,
    /// All randomness followed from it.
    pub seed: u64,
    /// `[seat]` the kind of character, for games that have several.
    pub characters: [Option<String>; 2],
    /// Decisions in order.
    pub moves: Vec<RecordedMove>,
    /// The position at the end.
    pub end: String,
    /// Seat 0's payoff in the game's own units; none if the game was cut at the length limit.
    pub payoff: Option<f32>,
    /// A typical payoff: values of moves are payoffs divided by it.
    pub value_scale: f32,
}

/// One decision. Values are the mover's, in units of the game's scale.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedMove {
    /// Who decides.
    pub mover: Seat,
    /// The true position, hidden facts too.
    pub position: String,
    /// `[seat]` what each seat knew of it.
    pub knew: [String; 2],
    /// What it could do, in the order of the game's actions.
    pub options: Vec<RecordedOption>,
    /// The option chosen, by its place among them.
    pub chosen: usize,
    /// Mean value of the search's root.
    pub root_value: f32,
    /// The network's value of the root.
    pub network_value: f32,
    /// Simulations of the search.
    pub simulations: u32,
    /// Questions that it asked the network.
    pub evaluations: u32,
    /// Mean depth at which simulations ended.
    pub depth: f32,
    /// Effective sample size of its worlds; none for a uniform belief.
    pub effective_worlds: Option<f32>,
}

/// What could have been done instead.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedOption {
    /// The action's name.
    pub action: String,
    /// Visits of the search, inherited ones included.
    pub visits: u32,
    /// The network's probability.
    pub prior: f32,
    /// The search's policy label.
    pub policy: f32,
    /// Mean value; none if it was not tried.
    pub value: Option<f32>,
}

/// Plays a game of `player` against itself and records it. `stop` is asked before each decision; none if it says so.
pub fn record_game<G: Game>(
    game: &Arc<G>,
    player: &mut Searcher,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Option<RecordedGame> {
    let info = game.info();
    let mut table = Table::start(Arc::clone(game), seed);
    // A seat searches in a tree of its own: it shall not find there what the other one thought of.
    let mut searches = [0, 1].map(|_| Search::new(Arc::clone(game), player.search));
    let (mut batch, mut decision) = (EvalBatch::new(info.observation_len()), Decision::default());
    let mut moves = Vec::new();
    while let Some(mover) = table.mover().filter(|_| moves.len() < info.max_decisions) {
        if stop() {
            return None;
        }
        let (search, ply) = (&mut searches[usize::from(mover)], u64::from(table.ply(mover)));
        search.begin(table.view(mover), player.budget, None, mix(mix(seed, SEARCH), ply));
        search.run(&mut *player.evaluator, &mut batch);
        search.decide(player.choice, &mut stream(seed, &[MOVE, ply]), &mut decision);
        let knew = [0, 1].map(|seat| game.describe_view(&table.view(seat), seat));
        moves.push(RecordedMove::of(info, &decision, game.describe(table.state()), knew));
        table.play(decision.action);
        searches.iter_mut().for_each(|search| search.played(decision.action));
    }
    Some(RecordedGame {
        game: info.name.clone(),
        seed,
        characters: [0, 1].map(|seat| game.character(table.state(), seat).map(str::to_owned)),
        moves,
        end: game.describe(table.state()),
        payoff: table.mover().is_none().then(|| table.payoff()),
        value_scale: info.value_scale,
    })
}

impl RecordedMove {
    fn of(info: &GameInfo, decision: &Decision, position: String, knew: [String; 2]) -> Self {
        let option = |i: usize| RecordedOption {
            action: info.actions[usize::from(decision.legal[i])].clone(),
            visits: decision.visits[i],
            prior: decision.prior[i],
            policy: decision.policy[i],
            value: (decision.visits[i] > 0).then_some(decision.q[i]),
        };
        let chosen = decision.legal.iter().position(|&action| action == decision.action);
        Self {
            mover: decision.mover,
            position,
            knew,
            options: (0..decision.legal.len()).map(option).collect(),
            chosen: chosen.expect("a search chooses among the legal actions"),
            root_value: decision.root_value,
            network_value: decision.network_value,
            simulations: decision.simulations,
            evaluations: decision.evaluations,
            depth: decision.depth,
            effective_worlds: (decision.effective_worlds > 0.0).then_some(decision.effective_worlds),
        }
    }
}
