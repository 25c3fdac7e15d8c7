//! What an ingester did and how full bus and log are: the one record behind the log line, `/status` and `/metrics`.
//!
//! Counts are of this process's life. Every delivery is one of stored, duplicate, stale, refused and handed back.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use fogfall_bus::Fill;
use fogfall_pipeline::Stages;
use fogfall_proto::{Heartbeat, Manifest, PartCounts};
use fogfall_replay::Bounds;
use fogfall_service::metrics::{IntGauge, Metrics, MetricsError, Total, names};
use serde::Serialize;

use crate::cluster::Report;

/// A log line this often; before it, the servers are asked how full they are.
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
    /// stored, duplicate, stale, refused, retried
    parts: [Total; 5],
    rows: Total,
    bus_bytes: IntGauge,
    log_bytes: IntGauge,
    began: Instant,
    /// When the last line was said, with the rows then.
    line: (Instant, u64),
    status: Status,
}

impl Meter {
    /// A meter that has seen nothing yet.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new() -> Result<Self, MetricsError> {
        let metrics = Metrics::new()?;
        let outcomes = ["stored", "duplicate", "stale", "refused", "retried"];
        Ok(Self {
            parts: metrics.counters(names::PARTS_SETTLED, outcomes)?.map(Total::from),
            rows: metrics.counter(names::ROWS_STORED)?.into(),
            bus_bytes: metrics.whole_gauge(names::BUS_BYTES)?,
            log_bytes: metrics.whole_gauge(names::LOG_BYTES)?,
            began: Instant::now(),
            line: (Instant::now(), 0),
            status: Status::default(),
            metrics,
        })
    }

    /// The registry.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Ingesting begins.
    pub fn begin(&mut self, manifest: &Manifest) {
        (self.status.run, self.status.game) = (manifest.run.clone(), manifest.game.clone());
        self.began = Instant::now();
        self.line = (self.began, 0);
    }

    /// True if a line is due.
    pub fn is_time_to_ask(&self) -> bool {
        self.line.0.elapsed() >= LINE_EVERY
    }

    /// Notes how full the servers are; what did not answer stays as it was.
    pub fn fill(&mut self, bus: Option<Fill>, log: Option<Bounds>) {
        let gauge = |gauge: &IntGauge, bytes: u64| gauge.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        if let Some(fill) = bus {
            (self.status.waiting_parts, self.status.waiting_bytes) = (fill.parts, fill.bytes);
            gauge(&self.bus_bytes, fill.bytes);
        }
        if let Some(bounds) = log {
            self.status.log_rows = bounds.rows();
            gauge(&self.log_bytes, bounds.bytes);
        }
    }

    /// Brings everything up to date, says a line if it is time, and returns the record.
    pub fn look(&mut self, stages: &Stages) -> &Status {
        let counts = &stages.counts;
        let all = [&counts.stored, &counts.store_duplicates, &counts.stale, &counts.refused, &counts.store_retries];
        let [stored, duplicates, stale, refused, retries] = all.map(|count: &AtomicU64| count.load(Relaxed));
        let rows = counts.stored_rows.load(Relaxed);
        for (counter, total) in self.parts.iter_mut().zip([stored, duplicates, stale, refused, retries]) {
            counter.set(total);
        }
        self.rows.set(rows);
        let (since, before) = self.line;
        self.status = Status {
            elapsed_s: self.began.elapsed().as_secs_f64(),
            stored,
            rows,
            rows_per_s: (rows - before) as f64 / since.elapsed().as_secs_f64().max(1e-3),
            duplicates,
            stale,
            refused,
            retries,
            troubles: stages.troubles.now().iter().map(|t| format!("{}: {}", t.what, t.reason)).collect(),
            ..std::mem::take(&mut self.status)
        };
        if self.is_time_to_ask() {
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
