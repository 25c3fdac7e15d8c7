//! A worker: many slots on one thread, whose searches share batches. It plays without end, or games that it is given by
//! number.
//!
//! **Invariant:** a game follows from its seed, the settings and its weights alone: not from the slot or worker that
//! plays it, nor from the games beside it. Where a tree lives for a generation, it follows from the games before it in its
//! slot, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fogfall_game::{Game, mix};
use fogfall_proto::{GameResult, MAX_PART_ROW_BYTES, PartId, PartOfGame, Trajectory, Version};
use fogfall_search::{Cached, EvalBatch, Evaluator, Gathered, TreeStats};

use crate::counts::WorkerCounts;
use crate::settings::PlaySettings;
use crate::slot::{Finished, Slot};

/// Where a worker's trajectories come from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Wire version of the run's manifest: what all its readers know.
    pub wire: u16,
    /// The run.
    pub run: String,
    /// [`fogfall_proto::Manifest::rules_hash`].
    pub rules_hash: u64,
    /// [`fogfall_proto::Manifest::settings_hash`].
    pub settings_hash: u64,
    /// This worker's life: no other worker ever has the same.
    pub publisher: u64,
    /// Root seed of the worker's games.
    pub seed: u64,
}

/// One weights version in use.
struct Brain<E> {
    version: Version,
    evaluator: Cached<E>,
    batch: EvalBatch,
    /// Hits of the cache already counted.
    hits: u64,
}

/// Which games a worker plays.
enum Games {
    /// One after the other. Their parts are numbered as they end.
    Endless { started: u64, parts: u64 },
    /// Those that it is given, until there are no more. A game is one part, however long, and has its game's number.
    Given(Box<dyn FnMut() -> Option<u64> + Send>),
}

impl Games {
    /// The number of the next game.
    fn next(&mut self) -> Option<u64> {
        match self {
            Self::Endless { started, .. } => {
                *started += 1;
                Some(*started)
            }
            Self::Given(next) => next(),
        }
    }

    /// Cuts a game that has ended into parts and numbers them.
    fn parts(&mut self, number: u64, mut game: Trajectory) -> Vec<Trajectory> {
        match self {
            Self::Endless { parts: next, .. } => {
                game.part.sequence = *next;
                let parts = game.split(MAX_PART_ROW_BYTES);
                *next += parts.len() as u64;
                parts
            }
            Self::Given(_) => {
                game.part.sequence = number;
                vec![game]
            }
        }
    }
}

/// A game in progress and its number.
struct Lane<G: Game> {
    number: u64,
    slot: Slot<G>,
    /// Its trees when they were last looked at.
    trees: TreeStats,
}

impl<G: Game> Lane<G> {
    /// Counts what has come to its trees since the last look.
    fn count_trees(&mut self, counts: &mut WorkerCounts) {
        let before = std::mem::replace(&mut self.trees, self.slot.trees());
        counts.falls += self.trees.falls - before.falls;
        counts.re_expansions += self.trees.re_expansions - before.re_expansions;
    }
}

/// Many slots on one thread. All games of a worker follow from its origin's seed, its settings and the weights it is
/// given.
pub struct Worker<G: Game, E: Evaluator> {
    game: Arc<G>,
    settings: PlaySettings,
    origin: Origin,
    games: Games,
    /// None where there was no game left to play.
    lanes: Vec<Option<Lane<G>>>,
    /// Ascending by version; the last one starts games, older ones finish theirs.
    brains: Vec<Brain<E>>,
    counts: WorkerCounts,
    /// Seed of the game that is being moved on. Written here, read by whoever watches.
    in_hand: Arc<AtomicU64>,
}

impl<G: Game, E: Evaluator> Worker<G, E> {
    /// A worker of `slots` games, all started with `evaluator`, that plays without end.
    ///
    /// # Panics
    /// If there are no slots.
    pub fn new(
        game: Arc<G>,
        settings: PlaySettings,
        origin: Origin,
        slots: usize,
        version: Version,
        evaluator: Cached<E>,
    ) -> Self {
        let games = Games::Endless { started: 0, parts: 0 };
        Self::of(game, settings, origin, games, slots, version, evaluator)
    }

    /// A worker that plays the games whose numbers `next` gives, then is [idle](Self::is_idle). A game's number decides
    /// its seed, below the origin's, and is the sequence number of its part.
    ///
    /// # Panics
    /// If there are no slots.
    pub fn of_games(
        game: Arc<G>,
        settings: PlaySettings,
        origin: Origin,
        next: impl FnMut() -> Option<u64> + Send + 'static,
        slots: usize,
        version: Version,
        evaluator: Cached<E>,
    ) -> Self {
        Self::of(game, settings, origin, Games::Given(Box::new(next)), slots, version, evaluator)
    }

    fn of(
        game: Arc<G>,
        settings: PlaySettings,
        origin: Origin,
        games: Games,
        slots: usize,
        version: Version,
        evaluator: Cached<E>,
    ) -> Self {
        assert!(slots > 0, "a worker has at least one slot");
        let (lanes, brains, counts) = (Vec::with_capacity(slots), Vec::new(), WorkerCounts::default());
        let in_hand = Arc::default();
        let mut worker = Self { game, settings, origin, games, lanes, brains, counts, in_hand };
        worker.renew(version, evaluator);
        for _ in 0..slots {
            let Some(number) = worker.games.next() else { break };
            let seed = mix(worker.origin.seed, number);
            let slot = Slot::new(Arc::clone(&worker.game), &worker.settings, seed, version);
            worker.lanes.push(Some(Lane { number, slot, trees: TreeStats::default() }));
            worker.counts.started += 1;
            worker.counts.empty_trees += 1;
        }
        worker
    }

    /// True once all games that it was given have ended.
    pub fn is_idle(&self) -> bool {
        self.lanes.iter().all(Option::is_none)
    }

    /// Gives the worker new weights. Games in progress finish with the weights they began with. Weights that are not
    /// newer are ignored.
    pub fn renew(&mut self, version: Version, evaluator: Cached<E>) {
        if self.brains.last().is_some_and(|b| b.version >= version) {
            return;
        }
        let mut batch = EvalBatch::new(self.game.info().observation_len());
        batch.want_rollouts = evaluator.wants_rollouts();
        self.brains.push(Brain { version, evaluator, batch, hits: 0 });
    }

    /// The newest weights version it has.
    pub fn version(&self) -> Version {
        self.brains.last().map_or(Version::default(), |b| b.version)
    }

    /// The seed of the game that it is moving on. Another thread may look at it: if the worker does not come back, this
    /// is the game that does not go on.
    pub fn in_hand(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.in_hand)
    }

    /// What it did so far.
    pub fn counts(&self) -> WorkerCounts {
        self.counts
    }

    /// How large the trees of all slots are, and what fell.
    pub fn trees(&self) -> TreeStats {
        let lanes = self.lanes.iter().flatten();
        lanes.map(|lane| lane.slot.trees()).fold(TreeStats::default(), |all, trees| all + trees)
    }

    /// Asks one question a slot, evaluates the batch and brings the answers. Games that ended are appended to `out`,
    /// long ones in several parts of at most [`MAX_PART_ROW_BYTES`] of rows.
    pub fn round(&mut self, out: &mut Vec<Trajectory>) {
        for lane in 0..self.lanes.len() {
            self.gather(lane, out);
        }
        for brain in &mut self.brains {
            if brain.batch.is_empty() {
                continue;
            }
            brain.evaluator.evaluate(&mut brain.batch);
            for row in 0..brain.batch.len() {
                let (prior, value) = brain.batch.answer(row);
                let lane = self.lanes[brain.batch.lane[row] as usize].as_mut();
                lane.expect("a game that has asked goes on").slot.apply(prior, value);
            }
            self.counts.batches += 1;
            let hits = brain.evaluator.counts().hits;
            self.counts.cache_hits += hits - brain.hits;
            brain.hits = hits;
            brain.batch.clear();
        }
        let newest = self.version();
        let lanes = &self.lanes;
        self.brains.retain(|b| b.version == newest || lanes.iter().flatten().any(|l| l.slot.version == b.version));
    }

    /// Moves one slot on until it has asked a question or has no game left.
    fn gather(&mut self, lane: usize, out: &mut Vec<Trajectory>) {
        while let Some(Lane { number, slot, .. }) = &mut self.lanes[lane] {
            self.in_hand.store(slot.seed(), Ordering::Relaxed);
            let version = slot.version;
            let brain =
                self.brains.iter_mut().find(|b| b.version == version).expect("a brain lives while it is played");
            match slot.gather(lane as u32, &mut brain.batch) {
                Gathered::Asked | Gathered::Busy => return,
                Gathered::Done => {
                    let (decision, finished) = slot.finish_move(&self.settings);
                    self.counts.decisions += 1;
                    self.counts.simulations += u64::from(decision.simulations);
                    self.counts.evaluations += u64::from(decision.evaluations);
                    self.counts.tree_hits += u64::from(decision.tree_hits);
                    self.counts.nodes += u64::from(decision.new_nodes);
                    self.counts.inherited += u64::from(decision.inherited);
                    self.counts.pools += u64::from(decision.effective_worlds > 0.0);
                    self.counts.effective_worlds += f64::from(decision.effective_worlds);
                    self.counts.refills += u64::from(decision.refilled);
                    self.counts.disagreements += u64::from(decision.disagreement.is_some());
                    self.counts.disagreement += f64::from(decision.disagreement.unwrap_or(0.0));
                    if let Some(finished) = finished {
                        let number = *number;
                        let game = self.trajectory(lane, finished);
                        let parts = self.games.parts(number, game);
                        self.counts.parts += parts.len() as u64;
                        out.extend(parts);
                        self.start_next(lane);
                    }
                }
            }
        }
    }

    fn start_next(&mut self, index: usize) {
        let (version, next) = (self.version(), self.games.next());
        match (&mut self.lanes[index], next) {
            (Some(lane), Some(number)) => {
                let seed = mix(self.origin.seed, number);
                self.in_hand.store(seed, Ordering::Relaxed);
                lane.number = number;
                let empty = lane.slot.start(&self.settings, seed, version);
                self.counts.started += 1;
                self.counts.empty_trees += u64::from(empty);
                lane.count_trees(&mut self.counts);
            }
            (lane, _) => {
                if let Some(mut lane) = lane.take() {
                    lane.count_trees(&mut self.counts);
                }
            }
        }
    }

    /// A whole game, not numbered yet.
    fn trajectory(&mut self, lane: usize, finished: Finished) -> Trajectory {
        self.counts.games += 1;
        *match finished.result {
            GameResult::Truncated => &mut self.counts.truncated,
            GameResult::Finished(payoff) if payoff > 0.0 => &mut self.counts.first_wins,
            GameResult::Finished(payoff) if payoff < 0.0 => &mut self.counts.second_wins,
            GameResult::Finished(_) => &mut self.counts.draws,
        } += 1;
        self.counts.rows += u64::from(finished.decisions);
        Trajectory {
            wire: self.origin.wire,
            run: self.origin.run.clone(),
            rules_hash: self.origin.rules_hash,
            settings_hash: self.origin.settings_hash,
            part: PartId { publisher: self.origin.publisher, sequence: 0 },
            part_of_game: PartOfGame::WHOLE,
            slot: lane as u32,
            seed: finished.seed,
            result: finished.result,
            decisions: finished.decisions,
            evaluations: finished.evaluations,
            row_count: finished.decisions,
            rows: finished.rows,
        }
    }
}
