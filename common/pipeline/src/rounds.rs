//! Rounds of self-play: games of given numbers, played to their end by several threads with one weights version, and
//! handed over in the order of their numbers.
//!
//! **Invariant:** what a round gives follows from seed, settings, weights and numbers: not from how many threads and
//! slots there are, nor from which of them plays what.

use std::{
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crossbeam_channel::{RecvTimeoutError, Sender, unbounded};
use fogfall_game::Game;
use fogfall_proto::Trajectory;
use fogfall_search::TreeStats;
use fogfall_selfplay::{Origin, Worker, WorkerCounts};
use fogfall_service::shutdown::Stop;

use crate::{PlayTimes, SelfPlaySettings, SelfPlayStats, VersionedNet, stopwatch::Stopwatch};

/// How often whoever waits for a round says that it goes on.
const ALIVE_EVERY: Duration = Duration::from_millis(100);

/// Plays rounds of games.
pub struct Rounds<G: Game> {
    game: Arc<G>,
    settings: SelfPlaySettings,
    origin: Origin,
    meter: Mutex<Meter>,
}

/// What was done, and since when nothing is.
struct Meter {
    threads: Vec<WorkerCounts>,
    times: Vec<PlayTimes>,
    /// Of each thread, when it last moved its games on.
    trees: Vec<TreeStats>,
    blocked: Duration,
    idle_since: Option<Instant>,
}

impl<G: Game> Rounds<G> {
    /// Nothing is played yet.
    ///
    /// # Panics
    /// If there are no threads.
    pub fn new(game: &Arc<G>, settings: SelfPlaySettings, origin: Origin) -> Self {
        assert!(settings.threads > 0, "somebody has to play");
        let threads = vec![WorkerCounts::default(); settings.threads];
        let trees = vec![TreeStats::default(); settings.threads];
        let times = vec![PlayTimes::default(); settings.threads];
        let (blocked, idle_since) = (Duration::ZERO, Some(Instant::now()));
        let meter = Mutex::new(Meter { threads, times, trees, blocked, idle_since });
        Self { game: Arc::clone(game), settings, origin, meter }
    }

    fn meter(&self) -> MutexGuard<'_, Meter> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was done so far, games of a round in progress included. Between rounds the threads count as waiting.
    pub fn stats(&self) -> SelfPlayStats {
        let meter = self.meter();
        let SelfPlaySettings { threads, slots, .. } = self.settings;
        let mut stats = SelfPlayStats { threads, slots: threads * slots, ..SelfPlayStats::default() };
        meter.threads.iter().for_each(|&counts| stats.counts += counts);
        meter.times.iter().for_each(|&times| stats.times += times);
        stats.tree_nodes = meter.trees.iter().map(|trees| trees.nodes).sum();
        stats.tree_bytes = meter.trees.iter().map(|trees| trees.bytes).sum();
        let idle = meter.idle_since.map_or(Duration::ZERO, |since| since.elapsed());
        stats.blocked = (meter.blocked + idle) * self.settings.threads as u32;
        stats.waiting = if meter.idle_since.is_some() { self.settings.threads } else { 0 };
        stats
    }

    /// Plays the games of these numbers; none if `stop` is set before all have ended. Calls `alive` now and then.
    ///
    /// # Panics
    /// If a thread panics.
    pub fn play(
        &self,
        weights: &VersionedNet,
        numbers: Range<u64>,
        stop: &Stop,
        alive: &dyn Fn(),
    ) -> Option<Vec<Trajectory>> {
        let wanted = numbers.end.saturating_sub(numbers.start) as usize;
        self.begin();
        let next = Arc::new(AtomicU64::new(numbers.start));
        let (games, ended) = unbounded();
        let mut played = Vec::with_capacity(wanted);
        std::thread::scope(|scope| {
            for index in 0..self.settings.threads {
                let (next, games) = (Arc::clone(&next), games.clone());
                let end = numbers.end;
                let take = move || Some(next.fetch_add(1, Relaxed)).filter(|&number| number < end);
                scope.spawn(move || self.run(index, weights, take, &games, stop));
            }
            drop(games);
            loop {
                match ended.recv_timeout(ALIVE_EVERY) {
                    Ok(trajectory) => played.push(trajectory),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                alive();
            }
        });
        self.meter().idle_since = Some(Instant::now());
        played.sort_unstable_by_key(|trajectory: &Trajectory| trajectory.part.sequence);
        (played.len() == wanted).then_some(played)
    }

    fn begin(&self) {
        let mut meter = self.meter();
        if let Some(since) = meter.idle_since.take() {
            meter.blocked += since.elapsed();
        }
    }

    fn run(
        &self,
        index: usize,
        weights: &VersionedNet,
        next: impl FnMut() -> Option<u64> + Send + 'static,
        games: &Sender<Trajectory>,
        stop: &Stop,
    ) {
        let mut stopwatch = Stopwatch::default();
        let evaluator = stopwatch.evaluator(weights, self.settings.cache_entries, self.game.info().num_actions());
        let (game, play, origin) = (Arc::clone(&self.game), self.settings.play.clone(), self.origin.clone());
        let mut worker = Worker::of_games(game, play, origin, next, self.settings.slots, weights.version, evaluator);
        let (before, before_times) = {
            let meter = self.meter();
            (meter.threads[index], meter.times[index])
        };
        let mut finished = Vec::new();
        while !worker.is_idle() && !stop.is_requested() {
            stopwatch.round(&mut worker, &mut finished);
            let (mut counts, mut times) = (before, before_times);
            counts += worker.counts();
            times += stopwatch.times();
            let mut meter = self.meter();
            (meter.threads[index], meter.times[index], meter.trees[index]) = (counts, times, worker.trees());
            drop(meter);
            for trajectory in finished.drain(..) {
                games.send(trajectory).expect("the round waits for all of its games");
            }
        }
    }
}
