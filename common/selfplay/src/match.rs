//! Matches between two agents: pairs of games with seats swapped and the same set-up and chance seeds, so that luck of
//! the deal cancels within a pair. Searches of many games share batches, as in self-play.

use std::sync::Arc;

use fogfall_game::{Action, Actions, Game, Seat, mix, stream};
use fogfall_search::{Budget, Choice, Decision, EvalBatch, Evaluator, Gathered, Search, SearchSettings};
use rand::RngExt;

use crate::table::Table;

/// Streams below a game's seed; the table takes 0 and 1.
const SEARCH: u64 = 2;
const MOVE: u64 = 3;

/// A player that searches.
pub struct Searcher {
    /// Who answers its questions.
    pub evaluator: Box<dyn Evaluator>,
    /// Its search.
    pub search: SearchSettings,
    /// Its budget a move.
    pub budget: Budget,
    /// How it chooses its move.
    pub choice: Choice,
}

/// A player.
pub enum Agent {
    /// Uniformly random legal actions.
    Random,
    /// One of the game's rule-based players.
    Expert(String),
    /// Search.
    Search(Box<Searcher>),
}

/// How a match is played.
#[derive(Clone, Copy, Debug)]
pub struct MatchSettings {
    /// Pairs of games.
    pub pairs: u32,
    /// Number of the first pair: a match may be played in parts.
    pub first_pair: u32,
    /// Games in progress at a time.
    pub slots: usize,
    /// Root seed.
    pub seed: u64,
}

/// One finished game of a match.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MatchGame {
    /// The first agent's payoff in the game's own units; 0 if the game was cut at the length limit.
    pub payoff: f32,
    /// Decisions of both.
    pub decisions: u32,
    /// A hash of all actions and chance outcomes.
    pub history: u64,
    /// The game was cut at the length limit.
    pub truncated: bool,
}

/// Both games of a pair: the first agent in seat 0, then in seat 1.
pub type PairResult = [MatchGame; 2];

/// What a spectator sees of a match: each decision before it is played, and each game once it has ended. Games of a
/// match are interleaved.
pub struct Watched<'a, G: Game> {
    /// The pair of the game, from 0 on.
    pub pair: u32,
    /// The seat of the first agent.
    pub first: Seat,
    /// The true game.
    pub state: &'a G::State,
    /// Who decides and what; none once the game has ended.
    pub decision: Option<(Seat, Action)>,
}

/// A game of a match in progress.
struct Board<G: Game> {
    pair: u32,
    /// The seat of the first agent.
    first: Seat,
    seed: u64,
    table: Table<G>,
    /// The search of each agent that searches. An agent holds one seat, so it needs one tree.
    searches: [Option<Search<G>>; 2],
    searching: bool,
}

/// Plays a match. Each call with the same agents, settings and seed plays the same games. `stop` is asked between
/// rounds; a match that was stopped returns the pairs that were finished.
pub fn play_match<G: Game>(
    game: &Arc<G>,
    agents: &mut [Agent; 2],
    settings: MatchSettings,
    stop: &dyn Fn() -> bool,
) -> Vec<PairResult> {
    watch_match(game, agents, settings, stop, &mut |_| ())
}

/// [`play_match`] with a spectator, who changes nothing.
pub fn watch_match<G: Game>(
    game: &Arc<G>,
    agents: &mut [Agent; 2],
    settings: MatchSettings,
    stop: &dyn Fn() -> bool,
    watch: &mut dyn FnMut(Watched<'_, G>),
) -> Vec<PairResult> {
    let mut hall = Hall::new(game, agents, settings, watch);
    while !stop() && hall.round() {}
    hall.results()
}

struct Hall<'a, G: Game> {
    game: &'a Arc<G>,
    agents: &'a mut [Agent; 2],
    settings: MatchSettings,
    watch: &'a mut dyn FnMut(Watched<'_, G>),
    batches: [EvalBatch; 2],
    boards: Vec<Option<Board<G>>>,
    started: u32,
    games: Vec<[Option<MatchGame>; 2]>,
    legal: Actions,
    decision: Decision,
}

impl<'a, G: Game> Hall<'a, G> {
    fn new(
        game: &'a Arc<G>,
        agents: &'a mut [Agent; 2],
        settings: MatchSettings,
        watch: &'a mut dyn FnMut(Watched<'_, G>),
    ) -> Self {
        let batches = [0, 1].map(|i| {
            let mut batch = EvalBatch::new(game.info().observation_len());
            if let Agent::Search(searcher) = &agents[i] {
                batch.want_rollouts = searcher.evaluator.wants_rollouts();
            }
            batch
        });
        Self {
            game,
            agents,
            settings,
            watch,
            batches,
            boards: (0..settings.slots.max(1)).map(|_| None).collect(),
            started: 0,
            games: vec![[None; 2]; settings.pairs as usize],
            legal: Actions::new(),
            decision: Decision::default(),
        }
    }

    fn results(&self) -> Vec<PairResult> {
        self.games.iter().filter_map(|[a, b]| Some([(*a)?, (*b)?])).collect()
    }

    /// One question a board; false once all games are finished.
    fn round(&mut self) -> bool {
        let mut busy = false;
        for lane in 0..self.boards.len() {
            let mut board = self.boards[lane].take();
            loop {
                let Some(mut current) = board.take().or_else(|| self.next_board()) else { break };
                busy = true;
                if self.move_on(&mut current, lane as u32) {
                    self.boards[lane] = Some(current);
                    break;
                }
            }
        }
        for (agent, batch) in self.agents.iter_mut().zip(&mut self.batches) {
            let Agent::Search(searcher) = agent else { continue };
            if batch.is_empty() {
                continue;
            }
            searcher.evaluator.evaluate(batch);
            for row in 0..batch.len() {
                let (prior, value) = batch.answer(row);
                let board = self.boards[batch.lane[row] as usize].as_mut().expect("it asked");
                board.search().apply(prior, value);
            }
            batch.clear();
        }
        busy
    }

    fn next_board(&mut self) -> Option<Board<G>> {
        let index = self.started;
        if index / 2 >= self.settings.pairs {
            return None;
        }
        self.started += 1;
        let (pair, first) = (index / 2, (index % 2) as Seat);
        let seed = mix(self.settings.seed, u64::from(self.settings.first_pair) + u64::from(pair));
        let searches = [0, 1].map(|i| match &self.agents[i] {
            Agent::Search(searcher) => Some(Search::new(Arc::clone(self.game), searcher.search)),
            _ => None,
        });
        let table = Table::start(Arc::clone(self.game), seed);
        Some(Board { pair, first, seed, table, searches, searching: false })
    }

    /// Plays a board until it has asked a question (true) or is finished (false).
    fn move_on(&mut self, board: &mut Board<G>, lane: u32) -> bool {
        loop {
            let over = board.table.mover().is_none();
            if over || board.table.decisions() as usize >= self.game.info().max_decisions {
                self.finish(board, over);
                return false;
            }
            match self.choose(board, lane) {
                None => return true,
                Some(action) => {
                    (self.watch)(board.watched(Some((board.mover(), action))));
                    board.table.play(action);
                    for search in board.searches.iter_mut().flatten() {
                        search.played(action);
                    }
                }
            }
        }
    }

    fn finish(&mut self, board: &Board<G>, over: bool) {
        (self.watch)(board.watched(None));
        let payoff = if over { board.table.payoff() } else { 0.0 };
        self.games[board.pair as usize][usize::from(board.first)] = Some(MatchGame {
            payoff: if board.first == 0 { payoff } else { -payoff },
            decisions: board.table.decisions(),
            history: board.table.history(),
            truncated: !over,
        });
    }

    /// The mover's action, or none while its search waits.
    fn choose(&mut self, board: &mut Board<G>, lane: u32) -> Option<Action> {
        let mover = board.mover();
        let ply = u64::from(board.table.decisions());
        let seed = mix(board.seed, u64::from(board.first));
        let mut rng = stream(seed, &[MOVE, ply]);
        let agent = board.agent();
        match &self.agents[agent] {
            Agent::Random => {
                board.table.legal(&mut self.legal);
                Some(self.legal[rng.random_range(0..self.legal.len())])
            }
            Agent::Expert(name) => {
                board.table.legal(&mut self.legal);
                Some(self.game.expert_move(name, &board.table.view(mover), &self.legal, &mut rng))
            }
            Agent::Search(searcher) => {
                if !board.searching {
                    let view = board.table.view(mover);
                    board.search().begin(view, searcher.budget, None, mix(mix(seed, SEARCH), ply));
                    board.searching = true;
                }
                match board.search().gather(lane, &mut self.batches[agent]) {
                    Gathered::Asked | Gathered::Busy => None,
                    Gathered::Done => {
                        board.searching = false;
                        board.search().decide(searcher.choice, &mut rng, &mut self.decision);
                        Some(self.decision.action)
                    }
                }
            }
        }
    }
}

impl<G: Game> Board<G> {
    fn mover(&self) -> Seat {
        self.table.mover().expect("the game is not over")
    }

    fn watched(&self, decision: Option<(Seat, Action)>) -> Watched<'_, G> {
        Watched { pair: self.pair, first: self.first, state: self.table.state(), decision }
    }

    /// The index of the agent to move.
    fn agent(&self) -> usize {
        usize::from(self.mover() != self.first)
    }

    fn search(&mut self) -> &mut Search<G> {
        let agent = self.agent();
        self.searches[agent].as_mut().expect("the agent searches")
    }
}
