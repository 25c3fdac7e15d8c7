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
}
