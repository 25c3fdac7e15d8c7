//! The stages between self-play and window, and the weights' way back: what they work on, what they count, and the last
//! of them; the others have a file each. Each is a plain thread with one job and one loop; `tokio` drives what they ask of
//! bus and log.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use fogfall_bus::{Bus, BusError};
use fogfall_net::{Net, Shape, Weights};
use fogfall_proto::Version;
use fogfall_service::{
    admin::{Heartbeat, Vitals},
    metrics::{Histogram, Name, histogram, names},
    shutdown::Stop,
};
use tokio::runtime::Handle;

use crate::{Troubles, VersionedNet, Waiting, WeightsCell};

/// How long a stage waits before it looks again whether it shall stop.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);
/// How long a stage waits before it tries again what bus or log refused.
pub(crate) const RETRY: Duration = Duration::from_millis(50);
/// How long the weights' stage listens for newer ones before it looks whether the bus still answers.
const LISTEN: Duration = Duration::from_secs(5);
/// A stage whose loop has not gone round for so long is stuck: a server that does not answer is given up long before.
pub const STUCK_AFTER: Duration = Duration::from_secs(120);
/// Most bytes that a stage takes in hand at once.
pub(crate) const PORTION_BYTES: usize = 4 << 20;

/// What may not work, as [`Troubles`] names it.
const FETCHING: &str = "fetching weights";

/// What the stages did. Produced, published, stored and followed must balance, with duplicates and refusals.
#[derive(Debug, Default)]
pub struct StageCounts {
    /// Trajectories taken from self-play.
    pub produced: AtomicU64,
    /// Trajectories that the bus stored.
    pub published: AtomicU64,
    /// Publications that the bus knew already.
    pub publish_duplicates: AtomicU64,
    /// Publications that the bus refused for now, each tried again.
    pub publish_retries: AtomicU64,
    /// Trajectories lost because the process had to end before the bus took them.
    pub publish_lost: AtomicU64,
    /// Trajectories stored in the log.
    pub stored: AtomicU64,
    /// Rows stored in the log.
    pub stored_rows: AtomicU64,
    /// Deliveries that the log knew already.
    pub store_duplicates: AtomicU64,
    /// Trajectories that came too late: their weights were too old, or nobody can tell any more whether they are stored.
    pub stale: AtomicU64,
    /// Trajectories that can never be taken, put aside on the bus.
    pub refused: AtomicU64,
    /// Times that the log refused a part for now.
    pub store_retries: AtomicU64,
    /// Rows that came into the window.
    pub followed_rows: AtomicU64,
    /// Rows that left the log before the window read them.
    pub skipped_rows: AtomicU64,
    /// Times that the log was found to have lost rows that the window had read.
    pub log_losses: AtomicU64,
    /// Weights that came back.
    pub weights: AtomicU64,
    /// Weights that could not be used.
    pub weights_refused: AtomicU64,
    /// Deliveries that were not the first of their trajectory.
    pub redeliveries: AtomicU64,
    /// How long servers took.
    pub times: StageTimes,
    /// The ingest stage, for games.
    ingesting: Mutex<Waiting>,
}

/// How long servers took to do what they were asked for.
#[derive(Debug)]
pub struct StageTimes {
    /// To take a trajectory.
    pub publish: Histogram,
    /// To store one.
    pub append: Histogram,
    /// To hand out weights.
    pub fetch: Histogram,
}

impl Default for StageTimes {
    fn default() -> Self {
        let made = |name: Name| histogram(name).expect("the list of names has it as a histogram");
        let [publish, append, fetch] =
            [names::PUBLISH_SECONDS, names::APPEND_SECONDS, names::WEIGHTS_FETCH_SECONDS].map(made);
        Self { publish, append, fetch }
    }
}

impl StageCounts {
    pub(crate) fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }

    /// Whether the ingest stage waits for games, and how long it has.
    pub fn ingesting(&self) -> Waiting {
        *self.lock_ingesting()
    }

    /// Notes that the ingest stage has waited for games since then, or that it has some.
    pub(crate) fn note_ingesting(&self, waits_since: Option<Instant>) {
        let mut ingesting = self.lock_ingesting();
        match waits_since {
            Some(since) => ingesting.begin(since),
            None => ingesting.end(),
        }
    }

    fn lock_ingesting(&self) -> MutexGuard<'_, Waiting> {
        self.ingesting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the stages work on.
#[derive(Clone)]
pub struct Stages {
    /// Drives futures.
    pub runtime: Handle,
    /// The bus.
    pub bus: Arc<dyn Bus>,
    /// What was done.
    pub counts: Arc<StageCounts>,
    /// What does not work now.
    pub troubles: Arc<Troubles>,
    /// Where each stage says that its loop goes round.
    pub vitals: Vitals,
}

impl Stages {
    /// Stages that have done nothing, on a bus of their own.
    pub fn new(runtime: Handle, bus: Arc<dyn Bus>) -> Self {
        let (counts, troubles, vitals) = (Arc::default(), Arc::default(), Vitals::new());
        Self { runtime, bus, counts, troubles, vitals }
    }

    /// The heartbeat of a stage, for as long as it is kept.
    pub(crate) fn heartbeat(&self, stage: &'static str) -> Heartbeat {
        self.vitals.heartbeat(stage, STUCK_AFTER)
    }

    /// Fetches each newer weights version into the cell, until `stop` is set.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn watch_weights(&self, shape: Shape, cell: Arc<WeightsCell>, stop: Stop) -> std::io::Result<JoinHandle<()>> {
        let stages = self.clone();
        spawn("weights", move || {
            let (mut known, heartbeat) = (cell.newest().version, stages.heartbeat("weights"));
            while !stop.is_requested() {
                heartbeat.beat();
                if let Some(weights) = stages.newer_weights(Some(known), &shape, &stop) {
                    known = weights.version;
                    if cell.offer(weights) {
                        StageCounts::add(&stages.counts.weights, 1);
                    }
                }
            }
        })
    }

    /// Weights newer than `known`, any without, as soon as there are some; none after a while, once `stop` is set, or if
    /// they cannot be used, which is counted and a trouble.
    pub fn newer_weights(&self, known: Option<Version>, shape: &Shape, stop: &Stop) -> Option<VersionedNet> {
        let fetched = self.runtime.block_on(async {
            tokio::select! {
                fetched = self.fetch_newer(known, shape) => fetched,
                () = stop.requested() => Ok(None),
            }
        });
        match fetched {
            Ok(weights) => {
                self.troubles.works(FETCHING);
                weights
            }
            Err(error) => {
                StageCounts::add(&self.counts.weights_refused, 1);
                self.troubles.failed(FETCHING, &format!("{error:#}"));
                stop.wait(RETRY);
                None
            }
        }
    }

    async fn fetch_newer(&self, known: Option<Version>, shape: &Shape) -> anyhow::Result<Option<VersionedNet>> {
        let Some(head) = self.bus.newer_than(known, LISTEN).await? else { return Ok(None) };
        let asked = Instant::now();
        let blob = match self.bus.fetch(&head).await {
            Ok(blob) => blob,
            // Newer ones have come meanwhile.
            Err(BusError::Gone { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        self.counts.times.fetch.observe(asked.elapsed().as_secs_f64());
        let weights = Weights::from_bytes(&blob)?;
        weights.fits(shape)?;
        Ok(Some(VersionedNet { version: head.version, net: Arc::new(Net::new(&weights)) }))
    }
}

pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}
