//! From the bus into the replay log: each game is stored, then settled; what one pull brings, all at once.
//!
//! **Invariant:** a game is settled as done after the log has stored or noted it, never before.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use fogfall_bus::{Delivery, Settle};
use fogfall_proto::{Manifest, Trajectory, Version};
use fogfall_replay::{Appended, ReplayError, ReplayLog};
use fogfall_service::shutdown::Stop;
use futures_util::future::join_all;
use tracing::warn;

use crate::{
    Intake, StageCounts, Stages,
    stages::{PATIENCE, PORTION_BYTES, RETRY, spawn},
};

/// What may not work, as [`Troubles`](crate::Troubles) names it.
const PULLING: &str = "taking games from the bus";
const STORING: &str = "storing rows in the replay log";
const SETTLING: &str = "settling games on the bus";
const ASKING: &str = "asking for the newest weights";
/// Longest pause before games that the log refused for now are pulled again.
const RETRY_MOST: Duration = Duration::from_secs(1);
/// How often the bus is asked for the newest weights, which tell the games that are stale.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// What an ingest stage stores, and where.
#[derive(Clone)]
pub struct Storing {
    /// What belongs to the run.
    pub manifest: Manifest,
    /// Its log.
    pub log: Arc<dyn ReplayLog>,
    /// A game is stale, and not stored, whose weights are more train steps behind the newest than this; 0 if none ever is.
    pub stale_after_steps: u64,
}

impl Stages {
    /// Moves games from the bus into the log: stores, then settles. With an `intake` it takes no more than the limiter
    /// allows, so that self-play comes to wait. Once `stop` is set, which is when nobody publishes any more, it empties the
    /// bus and ends; what the log refuses then stays on the bus.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn ingest(&self, storing: Storing, intake: Option<Arc<Intake>>, stop: Stop) -> std::io::Result<JoinHandle<()>> {
        Ingester::new(self, storing, intake, stop, false).start()
    }

    /// The same where others publish and ingest too, and go on: once `stop` is set, what is in hand is stored and settled,
    /// and the rest left to them.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn ingest_beside_others(&self, storing: Storing, stop: Stop) -> std::io::Result<JoinHandle<()>> {
        Ingester::new(self, storing, None, stop, true).start()
    }

    /// Stores a trajectory's rows in the log and counts what came of it.
    ///
    /// # Errors
    /// [`ReplayError`]: with a part that does not fit, for ever; else it is a trouble, and to be tried again.
    pub async fn append(&self, log: &dyn ReplayLog, trajectory: &Trajectory) -> Result<Appended, ReplayError> {
        let asked = Instant::now();
        let appended = log.append(trajectory.part, &trajectory.rows).await;
        if let Ok(Appended::Stored) = appended {
            self.counts.times.append.observe(asked.elapsed().as_secs_f64());
            StageCounts::add(&self.counts.stored, 1);
            StageCounts::add(&self.counts.stored_rows, u64::from(trajectory.row_count));
        }
        self.tell(appended)
    }

    /// Counts what was not stored, and says whether the log works.
    fn tell(&self, appended: Result<Appended, ReplayError>) -> Result<Appended, ReplayError> {
        match &appended {
            Ok(Appended::Stored) => {}
            Ok(Appended::Duplicate) => StageCounts::add(&self.counts.store_duplicates, 1),
            Ok(Appended::TooOld) => StageCounts::add(&self.counts.stale, 1),
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
}

/// One ingest stage.
struct Ingester {
    stages: Stages,
    storing: Storing,
    intake: Option<Arc<Intake>>,
    stop: Stop,
    beside_others: bool,
    /// The newest weights, and when the bus was asked for them.
    newest: Option<Version>,
    asked: Option<Instant>,
}

impl Ingester {
    fn new(stages: &Stages, storing: Storing, intake: Option<Arc<Intake>>, stop: Stop, beside_others: bool) -> Self {
        Self { stages: stages.clone(), storing, intake, stop, beside_others, newest: None, asked: None }
    }

    fn start(self) -> std::io::Result<JoinHandle<()>> {
        spawn("ingest", move || self.run())
    }

    fn run(mut self) {
        let (mut pause, heartbeat) = (RETRY, self.stages.heartbeat("ingest"));
        loop {
            heartbeat.beat();
            let last = self.stop.is_requested();
            if last && self.beside_others {
                return;
            }
            if let Some(intake) = self.intake.as_ref().filter(|_| !last)
                && !intake.wait_to_insert(PATIENCE)
            {
                continue;
            }
            self.ask_for_newest();
            self.stages.counts.note_ingesting(Some(Instant::now()));
            let parts = self.pull(last);
            if !parts.is_empty() {
                self.stages.counts.note_ingesting(None);
            }
            let mut done = parts.is_empty() && !(last && self.more_to_come());
            let taken = self.stages.runtime.block_on(join_all(parts.iter().map(|part| self.take(part))));
            if taken.contains(&false) {
                done = true;
                self.stop.wait(pause);
                pause = (pause * 2).min(RETRY_MOST);
            } else if !parts.is_empty() {
                pause = RETRY;
            }
            if last && done {
                return;
            }
        }
    }

    fn pull(&self, last: bool) -> Vec<Delivery> {
        let wait = if last { RETRY } else { PATIENCE };
        // One at a time while the limiter watches, or it is overshot by a portion.
        let portion = if self.intake.is_some() && !last { 1 } else { PORTION_BYTES };
        match self.stages.runtime.block_on(self.stages.bus.pull(portion, wait)) {
            Ok(parts) => {
                self.stages.troubles.works(PULLING);
                parts
            }
            Err(error) => {
                self.stages.troubles.failed(PULLING, &error);
                self.stop.wait(RETRY);
                Vec::new()
            }
        }
    }

    /// True if the bus holds games that nobody has in hand: they come late.
    fn more_to_come(&self) -> bool {
        self.stages.runtime.block_on(self.stages.bus.fill()).is_ok_and(|fill| fill.parts > fill.unsettled)
    }

    /// Stores one game and settles it; false if the log does not take it now.
    async fn take(&self, part: &Delivery) -> bool {
        StageCounts::add(&self.stages.counts.redeliveries, u64::from(part.attempt > 1));
        let outcome = self.store(&part.bytes).await;
        let taken = outcome != Settle::Retry;
        match self.stages.bus.settle(part.receipt, outcome).await {
            Ok(()) => self.stages.troubles.works(SETTLING),
            // It comes again, and the log knows it.
            Err(error) => self.stages.troubles.failed(SETTLING, &error),
        }
        taken
    }

    async fn store(&self, bytes: &[u8]) -> Settle {
        let Storing { manifest, log, .. } = &self.storing;
        let game = match Trajectory::decode(bytes).and_then(|game| game.check(manifest).map(|()| game)) {
            Ok(game) => game,
            Err(error) => return self.refuse(&error),
        };
        let appended = if self.is_stale(&game) { self.note(&game).await } else { self.append(&**log, &game).await };
        match appended {
            Ok(_) => Settle::Done,
            Err(error) if error.refuses_part() => self.refuse(&error),
            Err(_) => Settle::Retry,
        }
    }

    /// Stores a game's rows; the intake expects them.
    async fn append(&self, log: &dyn ReplayLog, game: &Trajectory) -> Result<Appended, ReplayError> {
        let rows = u64::from(game.row_count);
        if let Some(intake) = &self.intake {
            intake.expect(rows);
        }
        let appended = self.stages.append(log, game).await;
        if let Some(intake) = self.intake.as_ref().filter(|_| !matches!(appended, Ok(Appended::Stored))) {
            intake.unexpect(rows);
        }
        appended
    }

    /// Lets the log know a game that is not stored: it comes once, and leaves no gap among its publisher's.
    async fn note(&self, game: &Trajectory) -> Result<Appended, ReplayError> {
        let noted = self.storing.log.note(game.part).await;
        if let Ok(Appended::Stored) = noted {
            StageCounts::add(&self.stages.counts.stale, 1);
        }
        self.stages.tell(noted)
    }

    /// Puts a game aside that can never be taken.
    fn refuse(&self, error: &dyn std::error::Error) -> Settle {
        StageCounts::add(&self.stages.counts.refused, 1);
        warn!(%error, "a trajectory was refused");
        Settle::Poison(error.to_string())
    }

    /// True if a game's weights are too old. All its rows are by the same.
    fn is_stale(&self, game: &Trajectory) -> bool {
        let limit = self.storing.stale_after_steps;
        let row = self.storing.manifest.row_layout().rows(&game.rows).next();
        let behind = row.zip(self.newest).map_or(0, |(row, newest)| newest.step.saturating_sub(row.version().step));
        limit > 0 && behind > limit
    }

    /// Asks now and then which weights are the newest. Until the bus has said so, no game is stale.
    fn ask_for_newest(&mut self) {
        if self.storing.stale_after_steps == 0 || self.asked.is_some_and(|at| at.elapsed() < ASK_EVERY) {
            return;
        }
        self.asked = Some(Instant::now());
        match self.stages.runtime.block_on(self.stages.bus.newest()) {
            Ok(newest) => {
                self.stages.troubles.works(ASKING);
                self.newest = newest.map(|head| head.version).or(self.newest);
            }
            Err(error) => self.stages.troubles.failed(ASKING, &error),
        }
    }
}
