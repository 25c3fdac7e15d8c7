//! Where the time of a playing thread goes: into the network, or into all that a search does besides. Clocks are read
//! around whole rounds and whole batches; what searches, games and networks do knows none.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use fogfall_game::Game;
use fogfall_net::NetEvaluator;
use fogfall_proto::Trajectory;
use fogfall_search::{Cached, EvalBatch, Evaluator};
use fogfall_selfplay::Worker;

use crate::VersionedNet;

/// What playing threads did with their time, added up over the threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlayTimes {
    /// Batches given to the network.
    pub batches: u64,
    /// Time in the network.
    pub evaluate: Duration,
    /// The rest of the time of rounds: trees, worlds, rules, the cache.
    pub search: Duration,
}

impl std::ops::AddAssign for PlayTimes {
    fn add_assign(&mut self, other: Self) {
        self.batches += other.batches;
        self.evaluate += other.evaluate;
        self.search += other.search;
    }
}

/// The clock of one playing thread, whatever weights it plays with.
#[derive(Default)]
pub(crate) struct Stopwatch {
    used: Arc<Used>,
    rounds: Duration,
}

/// Written by the playing thread alone.
#[derive(Default)]
struct Used {
    batches: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Stopwatch {
    /// An evaluator whose network is timed.
    pub(crate) fn evaluator(&self, net: &VersionedNet, entries: usize, max_legal: usize) -> Cached<TimedNet> {
        let timed = TimedNet { net: NetEvaluator::new(Arc::clone(&net.net)), used: Arc::clone(&self.used) };
        Cached::new(timed, entries, max_legal)
    }

    /// Has a worker play a round.
    pub(crate) fn round<G: Game>(&mut self, worker: &mut Worker<G, TimedNet>, finished: &mut Vec<Trajectory>) {
        let began = Instant::now();
        worker.round(finished);
        self.rounds += began.elapsed();
    }

    /// What the thread did so far.
    pub(crate) fn times(&self) -> PlayTimes {
        let evaluate = Duration::from_nanos(self.used.nanoseconds.load(Relaxed));
        let batches = self.used.batches.load(Relaxed);
        PlayTimes { batches, evaluate, search: self.rounds.saturating_sub(evaluate) }
    }
}

/// A network that says how long it took.
pub(crate) struct TimedNet {
    net: NetEvaluator,
    used: Arc<Used>,
}

impl Evaluator for TimedNet {
    fn evaluate(&mut self, batch: &mut EvalBatch) {
        let began = Instant::now();
        self.net.evaluate(batch);
        self.used.batches.fetch_add(1, Relaxed);
        self.used.nanoseconds.fetch_add(began.elapsed().as_nanos() as u64, Relaxed);
    }
}
