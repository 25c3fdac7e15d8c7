//! A slot: one self-play game in progress, its searches and the rows recorded so far.

use std::sync::Arc;

use fogfall_game::{Game, Seat, mix, stream};
use fogfall_proto::{GameResult, Row, RowLayout, Version};
use fogfall_search::{Budget, Decision, EvalBatch, Gathered, Search, Seats, TreeStats};
use rand::RngExt;

use crate::settings::PlaySettings;
use crate::table::Table;

/// Streams below a game's seed; the table takes 0 and 1.
const SEARCH: u64 = 2;
const CHOICE: u64 = 3;
const PLAYOUT_CAP: u64 = 4;
const OPENING: u64 = 5;

/// A finished game.
pub(crate) struct Finished {
    pub(crate) seed: u64,
    pub(crate) result: GameResult,
    /// Searched decisions: as many as rows.
    pub(crate) decisions: u32,
    pub(crate) evaluations: u64,
    pub(crate) rows: Vec<u8>,
}

/// One self-play game in progress.
pub(crate) struct Slot<G: Game> {
    game: Arc<G>,
    table: Table<G>,
    /// One search, or one a seat.
    searches: Vec<Search<G>>,
    seed: u64,
    full: bool,
    decision: Decision,
    row: Row,
    layout: RowLayout,
    rows: Vec<u8>,
    /// Who moved in each recorded row.
    movers: Vec<Seat>,
    evaluations: u64,
    /// Weights version of all searches of this game.
    pub(crate) version: Version,
}

impl<G: Game> Slot<G> {
    /// A slot that starts its first game.
    pub(crate) fn new(game: Arc<G>, settings: &PlaySettings, seed: u64, version: Version) -> Self {
        let info = game.info();
        let layout = RowLayout::new(info.observation_len(), info.num_actions(), info.hidden.len());
        let trees = if settings.search.seats == Seats::Shared { 1 } else { 2 };
        let mut slot = Self {
            table: Table::start(Arc::clone(&game), seed),
            searches: (0..trees).map(|_| Search::new(Arc::clone(&game), settings.search)).collect(),
            game,
            seed,
            full: true,
            decision: Decision::default(),
            row: Row::default(),
            layout,
            rows: Vec::new(),
            movers: Vec::new(),
            evaluations: 0,
            version,
        };
        slot.start(settings, seed, version);
        slot
    }

    /// The game's seed.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Starts a game and its first search; true if it begins with empty trees.
    ///
    /// # Panics
    /// If the game is over before anybody moved.
    pub(crate) fn start(&mut self, settings: &PlaySettings, seed: u64, version: Version) -> bool {
        let same = self.version == version;
        (self.seed, self.version, self.evaluations) = (seed, version, 0);
        self.rows.clear();
        self.movers.clear();
        for search in &mut self.searches {
            // A tree holds the values of the network that it was grown with.
            if same { search.next_game() } else { search.reset() }
        }
        self.open(settings, seed);
        let empty = self.trees().nodes == 0;
        self.begin(settings);
        empty
    }

    /// Sets the table and plays random moves, so few that the game goes on.
    fn open(&mut self, settings: &PlaySettings, seed: u64) {
        let most = (settings.random_opening as usize).min(settings.max_decisions.saturating_sub(1));
        let mut rng = stream(seed, &[OPENING]);
        let mut moves = Vec::new();
        let mut wanted = if most == 0 { 0 } else { rng.random_range(0..=most) };
        loop {
            self.table = Table::start(Arc::clone(&self.game), seed);
            moves.clear();
            while moves.len() < wanted && self.table.mover().is_some() {
                self.table.legal(&mut self.row.legal);
                moves.push(self.row.legal[rng.random_range(0..self.row.legal.len())]);
                self.table.play(moves[moves.len() - 1]);
            }
            if self.table.mover().is_some() {
                break;
            }
            wanted = moves.len() / 2;
        }
        for search in &mut self.searches {
            moves.iter().for_each(|&action| search.played(action));
        }
    }

    /// Begins the search of the next move.
    fn begin(&mut self, settings: &PlaySettings) {
        let mover = self.table.mover().expect("a game starts with a decision");
        let ply = u64::from(self.table.ply(mover));
        let full = stream(self.seed, &[PLAYOUT_CAP, ply]).random::<f32>() < settings.full_share;
        self.table.legal(&mut self.row.legal);
        let forced = self.row.legal.len() == 1;
        self.full = full && !forced;
        let budget = match (forced, full) {
            (true, _) => Budget::Simulations(1),
            (false, full) => settings.budget(full, self.version.step),
        };
        let noise = settings.noise.filter(|_| self.full);
        let seed = mix(mix(self.seed, SEARCH), ply);
        let view = self.table.view(mover);
        self.search(mover).begin(view, budget, noise, seed);
    }

    fn search(&mut self, mover: Seat) -> &mut Search<G> {
        let index = usize::from(mover).min(self.searches.len() - 1);
        &mut self.searches[index]
    }

    /// How large its trees are, and what fell, over all of them.
    pub(crate) fn trees(&self) -> TreeStats {
        self.searches.iter().map(Search::tree).fold(TreeStats::default(), |all, tree| all + tree)
    }

    fn mover(&self) -> Seat {
        self.table.mover().expect("a slot's game is never over between calls")
    }

    pub(crate) fn gather(&mut self, lane: u32, batch: &mut EvalBatch) -> Gathered {
        let mover = self.mover();
        self.search(mover).gather(lane, batch)
    }

    pub(crate) fn apply(&mut self, prior: &[f32], value: f32) {
        let mover = self.mover();
        self.search(mover).apply(prior, value);
    }

    /// Plays the searched move and records it. A game that ended is returned; the slot then waits for
    /// [`start`](Self::start).
    pub(crate) fn finish_move(&mut self, settings: &PlaySettings) -> (&Decision, Option<Finished>) {
        let mover = self.mover();
        let ply = self.table.ply(mover);
        let mut decision = std::mem::take(&mut self.decision);
        let mut rng = stream(self.seed, &[CHOICE, u64::from(ply)]);
        self.search(mover).decide(settings.choice(ply), &mut rng, &mut decision);
        self.decision = decision;
        self.evaluations += u64::from(self.decision.evaluations);
        self.record(mover);
        self.table.play(self.decision.action);
        for search in &mut self.searches {
            search.played(self.decision.action);
        }
        let finished = if self.table.mover().is_none() {
            let payoff = self.table.payoff() / self.game.info().value_scale;
            Some(self.finish(GameResult::Finished(payoff), payoff))
        } else if self.table.decisions() as usize >= settings.max_decisions {
            let value = self.decision.root_value;
            Some(self.finish(GameResult::Truncated, if mover == 0 { value } else { -value }))
        } else {
            self.begin(settings);
            None
        };
        (&self.decision, finished)
    }

    fn record(&mut self, mover: Seat) {
        let decision = &self.decision;
        let row = &mut self.row;
        row.version = self.version;
        row.simulations = decision.simulations;
        row.action = decision.action;
        row.seat = mover;
        row.root_value = decision.root_value;
        row.network_value = decision.network_value;
        row.policy_weight = if self.full { 1.0 } else { 0.0 };
        row.value_weight = 1.0;
        row.legal.clone_from(&decision.legal);
        row.policy.clone_from(&decision.policy);
        row.prior.clone_from(&decision.prior);
        row.visits.clone_from(&decision.visits);
        self.table.observe(mover, &mut row.observation);
        self.table.hidden(mover, &mut row.hidden);
        self.layout.write(row, &mut self.rows);
        self.movers.push(mover);
    }

    /// Labels the rows with seat 0's `value`, each from its mover's side.
    fn finish(&mut self, result: GameResult, value: f32) -> Finished {
        let mut rows = std::mem::take(&mut self.rows);
        for (row, &mover) in rows.chunks_exact_mut(self.layout.row_bytes()).zip(&self.movers) {
            RowLayout::set_value(row, if mover == 0 { value } else { -value });
        }
        let decisions = self.movers.len() as u32;
        Finished { seed: self.seed, result, decisions, evaluations: self.evaluations, rows }
    }
}
