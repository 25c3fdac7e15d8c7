//! What an ingester did and how full bus and log are: the one record behind the log line, `/status` and `/metrics`.
//!
//! Counts are of this process's life. Every delivery is one of stored, duplicate, stale, refused and handed back.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use fogfall_pipeline::{FillFigures, IngestFigures, IngestMetrics, StageCounts, Stages, WaitMetrics, Waiting};
use fogfall_proto::{Heartbeat, Manifest, PartCounts};
use fogfall_service::metrics::{Metrics, MetricsError, Role};
use serde::Serialize;

use crate::cluster::Report;

/// A log line this often.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// An ingester at one moment. Rates are over the time since the last log line.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Status {
    /// The run's id.
    pub run: String,
    /// The game.
    pub game: String,
    /// Seconds of ingesting.
    pub elapsed_s: f64,
    /// Games stored.
    pub stored: u64,
    /// Rows stored.
    pub rows: u64,
    /// Rows a second.
    pub rows_per_s: f64,
    /// Games that had been stored before.
    pub duplicates: u64,
    /// Games that came too late: their weights were too old, or nobody can tell any more whether they are stored.
    pub stale: u64,
    /// Games put aside: they can never be taken.
    pub refused: u64,
    /// Times that the log did not take a game and it was handed back.
    pub retries: u64,
    /// Deliveries that were not the first of their game.
    pub redeliveries: u64,
    /// Games on the bus when it was last asked.
    pub waiting_parts: u64,
    /// Their bytes.
    pub waiting_bytes: u64,
    /// Rows in the replay log when it was last asked.
    pub log_rows: u64,
    /// What does not work now and is tried again.
    pub troubles: Vec<String>,
}

impl Report for Status {
    fn note(&self, beat: &mut Heartbeat) {
        let Self { stored, duplicates, stale, refused, retries, .. } = *self;
        (beat.games, beat.rows) = (stored, self.rows);
        beat.parts = PartCounts { stored, duplicates, stale, refused, retries, ..PartCounts::default() };
    }
}

/// Makes the record and shows it.
pub struct Meter {
    metrics: Metrics,
    counts: Arc<StageCounts>,
    ingest: IngestMetrics,
    waits: WaitMetrics,
    began: Instant,
    /// When the last line was said, with the rows then.
    line: (Instant, u64),
    status: Status,
}

impl Meter {
    /// A meter of a process of this run that has seen nothing yet.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new(run: &str) -> Result<Self, MetricsError> {
        let (metrics, counts) = (Metrics::of(Role::Ingester, run)?, Arc::new(StageCounts::default()));
        let [waits] = WaitMetrics::of(&metrics, ["ingest"])?;
        Ok(Self {
            ingest: IngestMetrics::new(&metrics, &counts)?,
            waits,
            began: Instant::now(),
            line: (Instant::now(), 0),
            status: Status::default(),
            metrics,
            counts,
        })
    }

    /// The registry.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What the process's stages count in.
    pub fn counts(&self) -> &Arc<StageCounts> {
        &self.counts
    }

    /// Ingesting begins.
    pub fn begin(&mut self, manifest: &Manifest) {
        (self.status.run, self.status.game) = (manifest.run.clone(), manifest.game.clone());
        self.began = Instant::now();
        self.line = (self.began, 0);
    }

    /// Brings everything up to date, says a line if it is time, and returns the record.
    pub fn look(&mut self, stages: &Stages, fill: FillFigures) -> &Status {
        let figures = IngestFigures::of(&self.counts, Waiting::default());
        self.ingest.set(&figures);
        self.ingest.fill(&fill);
        self.waits.set(figures.waits_s, figures.waited_s);
        let (since, before) = self.line;
        let IngestFigures { stored, duplicates, stale, refused, retries, redeliveries, rows, .. } = figures;
        self.status = Status {
            elapsed_s: self.began.elapsed().as_secs_f64(),
            stored,
            rows,
            rows_per_s: (rows - before) as f64 / since.elapsed().as_secs_f64().max(1e-3),
            duplicates,
            stale,
            refused,
            retries,
            redeliveries,
            waiting_parts: fill.bus_parts,
            waiting_bytes: fill.bus_bytes,
            log_rows: fill.log_rows,
            troubles: stages.troubles.now().iter().map(|t| format!("{}: {}", t.what, t.reason)).collect(),
            ..std::mem::take(&mut self.status)
        };
        if since.elapsed() >= LINE_EVERY {
            self.say("ingest");
            self.line = (Instant::now(), rows);
        }
        &self.status
    }

    /// Says how it stands.
    pub fn say(&self, what: &str) {
        let Status { stored, rows, duplicates, stale, refused, retries, waiting_parts, log_rows, .. } = self.status;
        let rows_per_s = self.status.rows_per_s.round();
        let trouble = self.status.troubles.first().map_or("none", String::as_str);
        tracing::info!(
            stored,
            rows,
            rows_per_s,
            duplicates,
            stale,
            refused,
            retries,
            waiting_parts,
            log_rows,
            trouble,
            "{what}"
        );
    }
}

#[cfg(test)]
mod tests {
    use fogfall_bus::{MemoryBus, MemoryBusSettings};
    use fogfall_service::{
        admin::Vitals,
        metrics::{exported, names},
    };

    use super::*;

    #[test]
    fn an_ingester_exports_what_the_list_says_and_nothing_else() {
        let mut meter = Meter::new("r").unwrap();
        let vitals = Vitals::new();
        vitals.export(meter.metrics()).unwrap();
        let _beat = vitals.heartbeat("ingest", Duration::from_secs(1));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let bus = Arc::new(MemoryBus::new(MemoryBusSettings::default()));
        meter.look(&Stages::new(runtime.handle().clone(), bus), FillFigures::default());
        let text = meter.metrics().encode().unwrap();
        assert_eq!(exported(&text), names::of(Role::Ingester).map(|name| name.name).collect());
    }
}
