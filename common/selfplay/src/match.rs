//! Matches between two agents: pairs of games with seats swapped and the same set-up and chance seeds, so that luck of
//! the deal cancels within a pair. Searches of many games share batches, as in self-play.
//!
//! A round has a half for each agent, in which it thinks in all games where it is to move: what an agent costs is
//! measured by two looks at the clock a half, and the clock is passed in.

use std::{ops::AddAssign, sync::Arc, time::Duration};

use fogfall_game::{Action, Actions, Game, Seat, mix, stream};
use fogfall_search::{Budget, Choice, Decision, EvalBatch, Evaluator, Gathered, SearchSettings};
use rand::RngExt;

use crate::{seeker::Seeker, table::Table};

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
    /// Search of the true game, all that is hidden open to it and only chance to come unknown. No player: the ceiling of
    /// determinized search, to compare players with. It takes its foe to see everything too, so it plays less well than
    /// the best answer of who alone sees everything.
    Cheat(Box<Searcher>),
}

impl Agent {
    fn searcher(&self) -> Option<&Searcher> {
        match self {
            Self::Search(searcher) | Self::Cheat(searcher) => Some(searcher),
            Self::Random | Self::Expert(_) => None,
        }
    }

    fn evaluator(&mut self) -> Option<&mut dyn Evaluator> {
        match self {
            Self::Search(searcher) | Self::Cheat(searcher) => Some(&mut *searcher.evaluator),
            Self::Random | Self::Expert(_) => None,
        }
    }
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

/// What an agent's moves in a match took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Moves.
    pub moves: u64,
    /// Simulations of all its searches.
    pub simulations: u64,
    /// Questions to its evaluator.
    pub evaluations: u64,
    /// What the clock says that its search, its evaluations and the playing of its moves took, in all.
    pub time: Duration,
}

impl AddAssign for Effort {
    fn add_assign(&mut self, more: Self) {
        self.moves += more.moves;
        self.simulations += more.simulations;
        self.evaluations += more.evaluations;
        self.time += more.time;
    }
}

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
    searches: [Option<Seeker<G>>; 2],
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
    let mut hall = Hall::new(game, agents, settings, watch, &|| Duration::ZERO);
    while !stop() && hall.round() {}
    hall.results()
}

/// [`play_match`] to its end, and what it took each agent by `clock`, which tells the time that this thread has used.
pub fn measure_match<G: Game>(
    game: &Arc<G>,
    agents: &mut [Agent; 2],
    settings: MatchSettings,
    clock: &dyn Fn() -> Duration,
) -> (Vec<PairResult>, [Effort; 2]) {
    let mut watch = |_: Watched<'_, G>| ();
    let mut hall = Hall::new(game, agents, settings, &mut watch, clock);
    while hall.round() {}
    (hall.results(), hall.efforts)
}

struct Hall<'a, G: Game> {
    game: &'a Arc<G>,
    agents: &'a mut [Agent; 2],
    settings: MatchSettings,
    watch: &'a mut dyn FnMut(Watched<'_, G>),
    clock: &'a dyn Fn() -> Duration,
    efforts: [Effort; 2],
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
        clock: &'a dyn Fn() -> Duration,
    ) -> Self {
        let batches = [0, 1].map(|i| {
            let mut batch = EvalBatch::new(game.info().observation_len());
            if let Some(searcher) = agents[i].searcher() {
                batch.want_rollouts = searcher.evaluator.wants_rollouts();
            }
            batch
        });
        Self {
            game,
            agents,
            settings,
            watch,
            clock,
            efforts: [Effort::default(); 2],
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

    /// One question a board and agent; false once all games are finished.
    fn round(&mut self) -> bool {
        for agent in 0..2 {
            let before = (self.clock)();
            self.think(agent);
            self.answer(agent);
            self.efforts[agent].time += (self.clock)().saturating_sub(before);
        }
        self.boards.iter().any(Option::is_some)
    }

    /// Plays all boards on until the agent has asked a question or the other one is to move.
    fn think(&mut self, agent: usize) {
        for lane in 0..self.boards.len() {
            let mut board = self.boards[lane].take();
            while let Some(mut current) = board.take().or_else(|| self.next_board()) {
                if self.move_on(&mut current, agent, lane as u32) {
                    self.boards[lane] = Some(current);
                    break;
                }
            }
        }
    }

    /// Answers the agent's questions.
    fn answer(&mut self, agent: usize) {
        let batch = &mut self.batches[agent];
        if batch.is_empty() {
            return;
        }
        self.agents[agent].evaluator().expect("it searches").evaluate(batch);
        for row in 0..batch.len() {
            let (prior, value) = batch.answer(row);
            let board = self.boards[batch.lane[row] as usize].as_mut().expect("it asked");
            board.searches[agent].as_mut().expect("it asked").apply(prior, value);
        }
        batch.clear();
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
            Agent::Search(searcher) => Some(Seeker::honest(self.game, searcher.search)),
            Agent::Cheat(searcher) => Some(Seeker::cheat(self.game, searcher.search)),
            Agent::Random | Agent::Expert(_) => None,
        });
        let table = Table::start(Arc::clone(self.game), seed);
        Some(Board { pair, first, seed, table, searches, searching: false })
    }

    /// Plays a board until `agent` has asked a question or the other one is to move (true), or it is finished (false).
    fn move_on(&mut self, board: &mut Board<G>, agent: usize, lane: u32) -> bool {
        loop {
            let over = board.table.mover().is_none();
            if over || board.table.decisions() as usize >= self.game.info().max_decisions {
                self.finish(board, over);
                return false;
            }
            if board.agent() != agent {
                return true;
            }
            let Some(action) = self.choose(board, agent, lane) else { return true };
            self.efforts[agent].moves += 1;
            (self.watch)(board.watched(Some((board.mover(), action))));
            board.table.play(action);
            for search in board.searches.iter_mut().flatten() {
                search.played(action);
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
    fn choose(&mut self, board: &mut Board<G>, agent: usize, lane: u32) -> Option<Action> {
        let mover = board.mover();
        let ply = u64::from(board.table.ply(mover));
        let seed = mix(board.seed, u64::from(board.first));
        let mut rng = stream(seed, &[MOVE, ply]);
        match &self.agents[agent] {
            Agent::Random => {
                board.table.legal(&mut self.legal);
                Some(self.legal[rng.random_range(0..self.legal.len())])
            }
            Agent::Expert(name) => {
                board.table.legal(&mut self.legal);
                Some(self.game.expert_move(name, &board.table.view(mover), &self.legal, &mut rng))
            }
            Agent::Search(searcher) | Agent::Cheat(searcher) => {
                let search = board.searches[agent].as_mut().expect("the agent searches");
                if !board.searching {
                    search.begin(self.game, &board.table, mover, searcher.budget, mix(mix(seed, SEARCH), ply));
                    board.searching = true;
                }
                if search.gather(lane, &mut self.batches[agent]) != Gathered::Done {
                    return None;
                }
                board.searching = false;
                search.decide(searcher.choice, &mut rng, &mut self.decision);
                self.efforts[agent].simulations += u64::from(self.decision.simulations);
                self.efforts[agent].evaluations += u64::from(self.decision.evaluations);
                Some(self.decision.action)
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
}
