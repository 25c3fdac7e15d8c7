//! From the replay log into the window.

use std::{sync::Arc, thread::JoinHandle, time::Duration};

use fogfall_replay::{ReplayError, ReplayLog};
use fogfall_service::shutdown::Stop;
use tracing::warn;

use crate::{
    Intake, StageCounts, Stages,
    stages::{PORTION_BYTES, RETRY, spawn},
};

/// What may not work, as [`Troubles`](crate::Troubles) names it.
const READING: &str = "reading rows from the replay log";
/// How often the log's end is looked at when nothing new was there and nothing is expected.
const FOLLOW_EVERY: Duration = Duration::from_millis(10);
/// The same when rows are just being stored.
const ARRIVAL: Duration = Duration::from_micros(100);

impl Stages {
    /// Brings the log's new rows into the window. Once `stop` is set it reads to the log's end and ends.
    ///
    /// A log that has lost rows does not stop it: the window keeps what it holds, and goes on with what the log has that is
    /// new. From then on a position in the log is not the window's.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn follow(&self, log: Arc<dyn ReplayLog>, intake: Arc<Intake>, stop: Stop) -> std::io::Result<JoinHandle<()>> {
        let at = intake.lock().window.next();
        let mut follower = Follower { stages: self.clone(), log, intake, stop, at };
        spawn("follow", move || {
            let heartbeat = follower.stages.heartbeat("follow");
            while follower.go_on() {
                heartbeat.beat();
            }
        })
    }
}

struct Follower {
    stages: Stages,
    log: Arc<dyn ReplayLog>,
    intake: Arc<Intake>,
    stop: Stop,
    /// Position in the log of the next row.
    at: u64,
}

impl Follower {
    /// One look at the log; false at the end.
    fn go_on(&mut self) -> bool {
        let last = self.stop.is_requested();
        match self.stages.runtime.block_on(self.log.read(self.at, PORTION_BYTES)) {
            Ok(rows) => {
                self.stages.troubles.works(READING);
                if !rows.is_empty() {
                    return self.take(&rows);
                }
                if last {
                    return false;
                }
                if self.intake.wait_for_rows(FOLLOW_EVERY) {
                    // They are not in the log yet.
                    self.stop.wait(ARRIVAL);
                }
                true
            }
            Err(ReplayError::Evicted { first }) => {
                let skipped = first - self.at;
                StageCounts::add(&self.stages.counts.skipped_rows, skipped);
                let next = self.intake.lock().window.next();
                self.intake.skip_to(next + skipped);
                self.at = first;
                true
            }
            // What lies before the end that it has now was read before.
            Err(error @ ReplayError::Ahead { end, .. }) => self.go_to(end, &error),
            Err(error @ ReplayError::Replaced { first, .. }) => self.go_to(first, &error),
            Err(error) => self.wait(&error),
        }
    }

    fn take(&mut self, rows: &[u8]) -> bool {
        match self.intake.insert(rows) {
            Ok(inserted) => {
                StageCounts::add(&self.stages.counts.followed_rows, inserted);
                self.at += inserted;
                true
            }
            Err(error) => self.wait(&error),
        }
    }

    /// Goes on elsewhere in a log that has lost rows.
    fn go_to(&mut self, position: u64, error: &ReplayError) -> bool {
        self.stages.troubles.works(READING);
        // A log that is gone is found to be another one when that has begun, and nothing of it was missed.
        if position != self.at {
            StageCounts::add(&self.stages.counts.log_losses, 1);
            warn!(%error, from = self.at, to = position, "the window keeps its rows and goes on with the log as it is now");
        }
        self.at = position;
        true
    }

    fn wait(&self, error: &dyn std::fmt::Display) -> bool {
        self.stages.troubles.failed(READING, error);
        !self.stop.wait(RETRY)
    }
}
