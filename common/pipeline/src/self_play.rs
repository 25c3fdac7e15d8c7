//! The self-play stage: plain threads, each with a worker of many slots, whose finished games go into a bounded
//! channel. A full channel makes the threads wait, and the waiting is counted. A stage that is stopped passes on what it
//! has finished before it ends.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::{SendTimeoutError, Sender};
use fogfall_game::{Game, mix};
use fogfall_proto::Trajectory;
use fogfall_search::{Cached, TreeStats};
use fogfall_selfplay::{Origin, PlaySettings, Worker, WorkerCounts};
use fogfall_service::shutdown::Stop;

use crate::{
    Hung, PlayTimes, VersionedNet, WeightsCell,
    stopwatch::{Stopwatch, TimedNet},
};

/// How often a thread that waits for room looks whether it shall give up.
const GIVE_UP_CHECK: Duration = Duration::from_millis(50);

/// How the stage is sized.
#[derive(Clone, Debug)]
pub struct SelfPlaySettings {
    /// How each game is played.
    pub play: PlaySettings,
    /// Threads.
    pub threads: usize,
    /// Games in progress a thread.
    pub slots: usize,
    /// Answers that each thread's evaluation cache holds; 0 for none.
    pub cache_entries: usize,
}

/// Where finished games go.
#[derive(Clone, Debug)]
pub struct Outlet {
    /// A bounded channel.
    pub games: Sender<Trajectory>,
    /// Set when no thread may wait for room any longer.
    pub give_up: Stop,
}

/// What the stage did and how long it waited, over all threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct SelfPlayStats {
    /// Threads that play.
    pub threads: usize,
    /// Games in progress at once, of all threads.
    pub slots: usize,
    /// What the workers did.
    pub counts: WorkerCounts,
    /// What they did with their time.
    pub times: PlayTimes,
    /// Nodes in the workers' trees when they were last seen.
    pub tree_nodes: u64,
    /// Bytes that these trees took.
    pub tree_bytes: u64,
    /// Games finished but given up, because there was no room for them when the process had to end.
    pub lost: u64,
    /// Time that threads waited for room in the channel, present waits included.
    pub blocked: Duration,
    /// Threads that wait for room now.
    pub waiting: usize,
    /// How long the longest of these waits has lasted.
    pub longest_wait: Duration,
}

impl std::ops::AddAssign for SelfPlayStats {
    /// Joins what two stages did, one after the other: the second waits now, and its threads and trees are those that there
    /// are.
    fn add_assign(&mut self, later: Self) {
        (self.threads, self.slots) = (later.threads, later.slots);
        self.counts += later.counts;
        self.times += later.times;
        (self.tree_nodes, self.tree_bytes) = (later.tree_nodes, later.tree_bytes);
        self.lost += later.lost;
        self.blocked += later.blocked;
        (self.waiting, self.longest_wait) = (later.waiting, later.longest_wait);
    }
}

struct ThreadStats {
    counts: WorkerCounts,
    times: PlayTimes,
    trees: TreeStats,
    lost: u64,
    blocked: Duration,
    /// Since when it waits for room, if it does.
    waiting: Option<Instant>,
    /// When it last came back from a round, or from waiting.
    went_on: Instant,
    /// Seed of the game that it is moving on.
    in_hand: Arc<AtomicU64>,
}

impl ThreadStats {
    fn new() -> Self {
        let (counts, trees) = (WorkerCounts::default(), TreeStats::default());
        let (lost, blocked, waiting) = (0, Duration::ZERO, None);
        let (times, went_on, in_hand) = (PlayTimes::default(), Instant::now(), Arc::default());
        Self { counts, times, trees, lost, blocked, waiting, went_on, in_hand }
    }
}

/// The running stage.
pub struct SelfPlay {
    /// Empty once joined.
    threads: Mutex<Vec<JoinHandle<()>>>,
    stats: Vec<Arc<Mutex<ThreadStats>>>,
    /// Of all threads.
    slots: usize,
}

impl SelfPlay {
    /// Starts the threads. Each plays by a seed of its own below `origin.seed`, and is a publisher of its own below
    /// `origin.publisher`. They play until `stop` is set.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start<G: Game>(
        game: &Arc<G>,
        settings: &SelfPlaySettings,
        origin: &Origin,
        weights: &Arc<WeightsCell>,
        outlet: &Outlet,
        stop: &Stop,
    ) -> std::io::Result<Self> {
        let (mut threads, mut all_stats) = (Vec::new(), Vec::new());
        for index in 0..settings.threads {
            let stats = Arc::new(Mutex::new(ThreadStats::new()));
            let thread = Thread {
                game: Arc::clone(game),
                settings: settings.clone(),
                origin: Origin {
                    publisher: mix(origin.publisher, index as u64),
                    seed: mix(origin.seed, index as u64),
                    ..origin.clone()
                },
                weights: Arc::clone(weights),
                outlet: outlet.clone(),
                stop: stop.clone(),
                stats: Arc::clone(&stats),
            };
            let name = format!("selfplay-{index}");
            threads.push(std::thread::Builder::new().name(name).spawn(move || thread.run())?);
            all_stats.push(stats);
        }
        let slots = settings.threads * settings.slots;
        Ok(Self { threads: Mutex::new(threads), stats: all_stats, slots })
    }

    /// What was done so far.
    pub fn stats(&self) -> SelfPlayStats {
        let mut all = SelfPlayStats { threads: self.stats.len(), slots: self.slots, ..SelfPlayStats::default() };
        for thread in &self.stats {
            let thread = thread.lock().unwrap_or_else(PoisonError::into_inner);
            all.counts += thread.counts;
            all.times += thread.times;
            all.tree_nodes += thread.trees.nodes;
            all.tree_bytes += thread.trees.bytes;
            all.lost += thread.lost;
            let wait = thread.waiting.map_or(Duration::ZERO, |since| since.elapsed());
            all.blocked += thread.blocked + wait;
            all.waiting += usize::from(thread.waiting.is_some());
            all.longest_wait = all.longest_wait.max(wait);
        }
        all
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if a thread ended before it was told to: it panicked.
    pub fn has_died(&self, stop: &Stop) -> bool {
        !stop.is_requested() && self.threads().iter().any(JoinHandle::is_finished)
    }

    /// The threads that have not gone on for `after`. One that waits for room does not hang.
    pub fn hung(&self, after: Duration) -> Vec<Hung> {
        let hung = |(thread, stats): (usize, &Arc<Mutex<ThreadStats>>)| {
            let stats = stats.lock().unwrap_or_else(PoisonError::into_inner);
            let lasts = stats.went_on.elapsed();
            let seed = stats.in_hand.load(Ordering::Relaxed);
            (stats.waiting.is_none() && lasts >= after).then_some(Hung { thread, seed, lasts })
        };
        self.stats.iter().enumerate().filter_map(hung).collect()
    }

    /// Waits for the threads, which must have been told to stop; false if one panicked.
    pub fn join(&self) -> bool {
        let threads = std::mem::take(&mut *self.threads());
        threads.into_iter().map(JoinHandle::join).fold(true, |all, thread| all & thread.is_ok())
    }
}

struct Thread<G: Game> {
    game: Arc<G>,
    settings: SelfPlaySettings,
    origin: Origin,
    weights: Arc<WeightsCell>,
    outlet: Outlet,
    stop: Stop,
    stats: Arc<Mutex<ThreadStats>>,
}

impl<G: Game> Thread<G> {
    fn evaluator(&self, stopwatch: &Stopwatch, weights: &VersionedNet) -> Cached<TimedNet> {
        stopwatch.evaluator(weights, self.settings.cache_entries, self.game.info().num_actions())
    }

    fn run(self) {
        let (mut seen, mut stopwatch) = (0, Stopwatch::default());
        let first = self.weights.changed(&mut seen).unwrap_or_else(|| self.weights.newest());
        let mut worker = Worker::new(
            Arc::clone(&self.game),
            self.settings.play.clone(),
            self.origin.clone(),
            self.settings.slots,
            first.version,
            self.evaluator(&stopwatch, &first),
        );
        self.with_stats(|s| s.in_hand = worker.in_hand());
        let mut finished = Vec::new();
        while !self.stop.is_requested() {
            if let Some(weights) = self.weights.changed(&mut seen) {
                worker.renew(weights.version, self.evaluator(&stopwatch, &weights));
            }
            stopwatch.round(&mut worker, &mut finished);
            self.with_stats(|s| {
                (s.counts, s.times, s.trees) = (worker.counts(), stopwatch.times(), worker.trees());
                s.went_on = Instant::now();
            });
            for trajectory in finished.drain(..) {
                if !self.send(trajectory) {
                    self.with_stats(|s| s.lost += 1);
                }
            }
        }
    }

    /// Waits for room; false if it shall not be waited for any longer.
    fn send(&self, mut trajectory: Trajectory) -> bool {
        match self.outlet.games.try_send(trajectory) {
            Ok(()) => return true,
            Err(full) => trajectory = full.into_inner(),
        }
        let since = Instant::now();
        self.with_stats(|s| s.waiting = Some(since));
        let sent = loop {
            if self.outlet.give_up.is_requested() {
                break false;
            }
            match self.outlet.games.send_timeout(trajectory, GIVE_UP_CHECK) {
                Ok(()) => break true,
                Err(SendTimeoutError::Timeout(back)) => trajectory = back,
                Err(SendTimeoutError::Disconnected(_)) => break false,
            }
        };
        self.with_stats(|s| {
            (s.waiting, s.went_on) = (None, Instant::now());
            s.blocked += since.elapsed();
        });
        sent
    }

    fn with_stats(&self, change: impl FnOnce(&mut ThreadStats)) {
        change(&mut self.stats.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
