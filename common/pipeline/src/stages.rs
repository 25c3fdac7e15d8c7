//! The stages between self-play and window, and the weights' way back. Each is a plain thread with one job and one
//! loop; `tokio` drives what they ask of bus and log.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use fogfall_bus::{Bus, BusError, Published, Settle};
use fogfall_net::{Net, Shape, Weights};
use fogfall_proto::{Manifest, Trajectory, Version};
use fogfall_replay::{Appended, ReplayError, ReplayLog};
use fogfall_service::shutdown::Stop;
use tokio::runtime::Handle;
use tracing::warn;

use crate::{Intake, Troubles, VersionedNet, WeightsCell};

/// How long a stage waits before it looks again whether it shall stop.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long a stage waits before it tries again what bus or log refused.
const RETRY: Duration = Duration::from_millis(50);
/// How often the log's end is looked at when nothing new was there and nothing is expected.
const FOLLOW_EVERY: Duration = Duration::from_millis(10);
/// The same when rows are just being stored.
const ARRIVAL: Duration = Duration::from_micros(100);
/// How long a stage waits before it tries again to publish on a bus that is full.
const FULL_RETRY: Duration = Duration::from_millis(2);
/// How long the weights' stage listens for newer ones before it looks whether the bus still answers.
const LISTEN: Duration = Duration::from_secs(5);
/// Most bytes that a stage takes in hand at once.
const PORTION_BYTES: usize = 4 << 20;

/// What may not work, as [`Troubles`] names it.
const PUBLISHING: &str = "publishing games";
const PULLING: &str = "taking games from the bus";
const STORING: &str = "storing rows in the replay log";
const READING: &str = "reading rows from the replay log";
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
    /// Trajectories that can never be taken, put aside on the bus.
    pub refused: AtomicU64,
    /// Times that the log refused a part for now.
    pub store_retries: AtomicU64,
    /// Rows that came into the window.
    pub followed_rows: AtomicU64,
    /// Rows that left the log before the window read them.
    pub skipped_rows: AtomicU64,
    /// Weights that came back.
    pub weights: AtomicU64,
    /// Weights that could not be used.
    pub weights_refused: AtomicU64,
}

impl StageCounts {
    fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
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
}

impl Stages {
    /// Publishes what self-play finishes until the channel closes. A bus that is full or silent is tried again, until
    /// `give_up` is set: then what is left is counted as lost, untried.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn publish(&self, games: Receiver<Trajectory>, give_up: Stop) -> std::io::Result<JoinHandle<()>> {
        let stages = self.clone();
        spawn("publish", move || {
            loop {
                match games.recv_timeout(PATIENCE) {
                    Ok(trajectory) => stages.publish_one(&trajectory, &give_up),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        })
    }

    fn publish_one(&self, trajectory: &Trajectory, give_up: &Stop) {
        StageCounts::add(&self.counts.produced, 1);
        let bytes: Arc<[u8]> = trajectory.encode().into();
        // A bus that does not answer takes its time for each game, and there is none.
        while !give_up.is_requested() {
            let patience = match self.runtime.block_on(self.bus.publish(trajectory.part, Arc::clone(&bytes))) {
                Ok(published) => {
                    self.troubles.works(PUBLISHING);
                    return match published {
                        Published::Stored => StageCounts::add(&self.counts.published, 1),
                        Published::Duplicate => StageCounts::add(&self.counts.publish_duplicates, 1),
                    };
                }
                Err(error @ BusError::TooLarge { .. }) => {
                    warn!(part = %trajectory.part, %error, "a game does not fit the bus");
                    return StageCounts::add(&self.counts.publish_lost, 1);
                }
                // A full bus is no trouble: its readers wait for training.
                Err(BusError::Full { .. }) => FULL_RETRY,
                Err(error) => {
                    self.troubles.failed(PUBLISHING, &error);
                    RETRY
                }
            };
            StageCounts::add(&self.counts.publish_retries, 1);
            give_up.wait(patience);
        }
        StageCounts::add(&self.counts.publish_lost, 1);
    }

    /// Moves trajectories from the bus into the log: stores, then settles. With an `intake` it takes no more than the
    /// limiter allows, so that self-play comes to wait. Once `stop` is set, which is when nobody publishes any more, it
    /// empties the bus and ends; what the log refuses then stays on the bus.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn ingest(
        &self,
        manifest: Manifest,
        log: Arc<dyn ReplayLog>,
        intake: Option<Arc<Intake>>,
        stop: Stop,
    ) -> std::io::Result<JoinHandle<()>> {
        self.start_ingest(manifest, log, intake, stop, false)
    }

    /// The same where others publish and ingest too, and go on: once `stop` is set, what is in hand is stored and
    /// settled, and the rest left to them.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn ingest_beside_others(
        &self,
        manifest: Manifest,
        log: Arc<dyn ReplayLog>,
        intake: Option<Arc<Intake>>,
        stop: Stop,
    ) -> std::io::Result<JoinHandle<()>> {
        self.start_ingest(manifest, log, intake, stop, true)
    }

    fn start_ingest(
        &self,
        manifest: Manifest,
        log: Arc<dyn ReplayLog>,
        intake: Option<Arc<Intake>>,
        stop: Stop,
        beside_others: bool,
    ) -> std::io::Result<JoinHandle<()>> {
        let stages = self.clone();
        spawn("ingest", move || {
            loop {
                let last = stop.is_requested();
                if last && beside_others {
                    return;
                }
                if let Some(intake) = intake.as_ref().filter(|_| !last)
                    && !intake.wait_to_insert(PATIENCE)
                {
                    continue;
                }
                let wait = if last { RETRY } else { PATIENCE };
                // One at a time while the limiter watches, or it is overshot by a portion.
                let portion = if intake.is_some() && !last { 1 } else { PORTION_BYTES };
                let parts = match stages.runtime.block_on(stages.bus.pull(portion, wait)) {
                    Ok(parts) => {
                        stages.troubles.works(PULLING);
                        parts
                    }
                    Err(error) => {
                        stages.troubles.failed(PULLING, &error);
                        stop.wait(RETRY);
                        Vec::new()
                    }
                };
                let mut done = parts.is_empty() && !(last && stages.more_to_come());
                let mut hand_back = false;
                for part in parts {
                    let outcome = match hand_back {
                        true => Settle::Retry,
                        false => stages.store(&manifest, &*log, intake.as_deref(), &part.bytes),
                    };
                    if outcome == Settle::Retry {
                        done = true;
                        // A log that does not answer takes its time for each part, and there is none.
                        hand_back = stop.wait(RETRY) && beside_others;
                    }
                    if let Err(error) = stages.runtime.block_on(stages.bus.settle(part.receipt, outcome)) {
                        warn!(%error, part = %part.part, "a trajectory could not be settled and will come again");
                        if beside_others && stop.is_requested() {
                            return; // all that is in hand comes again, too
                        }
                    }
                }
                if last && done {
                    return;
                }
            }
        })
    }

    /// True if the bus holds trajectories that nobody has in hand: they come late.
    fn more_to_come(&self) -> bool {
        self.runtime.block_on(self.bus.fill()).is_ok_and(|fill| fill.parts > fill.unsettled)
    }

    fn store(&self, manifest: &Manifest, log: &dyn ReplayLog, intake: Option<&Intake>, bytes: &[u8]) -> Settle {
        let trajectory = match Trajectory::decode(bytes).and_then(|t| t.check(manifest).map(|()| t)) {
            Ok(trajectory) => trajectory,
            Err(error) => return self.refuse(&error),
        };
        let rows = u64::from(trajectory.row_count);
        if let Some(intake) = intake {
            intake.expect(rows);
        }
        let appended = self.append(log, &trajectory);
        if let Some(intake) = intake.filter(|_| !matches!(appended, Ok(Appended::Stored))) {
            intake.unexpect(rows);
        }
        match appended {
            Ok(_) => Settle::Done,
            Err(error) if error.refuses_part() => self.refuse(&error),
            Err(_) => Settle::Retry,
        }
    }

    /// Stores a trajectory's rows in the log and counts what came of it.
    ///
    /// # Errors
    /// [`ReplayError`]: with a part that does not fit, for ever; else it is a trouble, and to be tried again.
    pub fn append(&self, log: &dyn ReplayLog, trajectory: &Trajectory) -> Result<Appended, ReplayError> {
        let appended = self.runtime.block_on(log.append(trajectory.part, &trajectory.rows));
        match &appended {
            Ok(Appended::Stored) => {
                StageCounts::add(&self.counts.stored, 1);
                StageCounts::add(&self.counts.stored_rows, u64::from(trajectory.row_count));
            }
            Ok(Appended::Duplicate) => StageCounts::add(&self.counts.store_duplicates, 1),
            Err(error) if error.refuses_part() => return appended,
            Err(error) => {
                StageCounts::add(&self.counts.store_retries, 1);
                self.troubles.failed(STORING, error);
                return appended;
            }
        }
        self.troubles.works(STORING);
        appended
    }

    /// Puts a trajectory aside that can never be taken.
    fn refuse(&self, error: &dyn std::error::Error) -> Settle {
        StageCounts::add(&self.counts.refused, 1);
        warn!(%error, "a trajectory was refused");
        Settle::Poison(error.to_string())
    }

    /// Brings the log's new rows into the window. Once `stop` is set it reads to the log's end and ends.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn follow(&self, log: Arc<dyn ReplayLog>, intake: Arc<Intake>, stop: Stop) -> std::io::Result<JoinHandle<()>> {
        let stages = self.clone();
        spawn("follow", move || {
            loop {
                let last = stop.is_requested();
                let from = intake.lock().window.next();
                match stages.runtime.block_on(log.read(from, PORTION_BYTES)) {
                    Ok(rows) if rows.is_empty() => {
                        stages.troubles.works(READING);
                        if last {
                            return;
                        }
                        if intake.wait_for_rows(FOLLOW_EVERY) {
                            // They are not in the log yet.
                            stop.wait(ARRIVAL);
                        }
                    }
                    Ok(rows) => {
                        stages.troubles.works(READING);
                        let before = intake.lock().window.next();
                        if let Err(error) = intake.insert(&rows) {
                            warn!(%error, "the log gave rows that the window cannot take");
                        }
                        StageCounts::add(&stages.counts.followed_rows, intake.lock().window.next() - before);
                    }
                    Err(ReplayError::Evicted { first, .. }) => {
                        StageCounts::add(&stages.counts.skipped_rows, first - from);
                        intake.skip_to(first);
                    }
                    Err(error) => {
                        stages.troubles.failed(READING, &error);
                        if stop.wait(RETRY) {
                            return;
                        }
                    }
                }
            }
        })
    }

    /// Fetches each newer weights version into the cell, until `stop` is set.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn watch_weights(&self, shape: Shape, cell: Arc<WeightsCell>, stop: Stop) -> std::io::Result<JoinHandle<()>> {
        let stages = self.clone();
        spawn("weights", move || {
            let mut known = cell.newest().version;
            while !stop.is_requested() {
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
        let blob = self.bus.fetch(&head).await?;
        let weights = Weights::from_bytes(&blob)?;
        weights.fits(shape)?;
        Ok(Some(VersionedNet { version: head.version, net: Arc::new(Net::new(&weights)) }))
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}
