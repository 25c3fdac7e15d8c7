//! Trajectories on their way: published, and stored.

use fogfall_service::metrics::{IntGauge, LastChange, Metrics, MetricsError, Total, names};

use super::{play::set_all, weights::whole};
use crate::{FillFigures, IngestFigures, PublishFigures, StageCounts};

/// The metrics of [`names::PUBLISHING`].
pub struct PublishMetrics {
    /// stored, duplicate, lost, retried
    parts: [Total; 4],
    outbox: IntGauge,
}

impl PublishMetrics {
    /// Metrics that have seen nothing yet, of the stage that counts in `counts`.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new(metrics: &Metrics, counts: &StageCounts) -> Result<Self, MetricsError> {
        metrics.adopt(names::PUBLISH_SECONDS, &counts.times.publish)?;
        let outcomes = ["stored", "duplicate", "lost", "retried"];
        Ok(Self {
            parts: metrics.counters(names::PARTS_PUBLISHED, outcomes)?.map(Total::from),
            outbox: metrics.whole_gauge(names::OUTBOX_PARTS)?,
        })
    }

    /// Brings them up to date.
    pub fn set(&mut self, figures: &PublishFigures) {
        let PublishFigures { stored, duplicates, lost, retries, outbox } = *figures;
        set_all(&mut self.parts, [stored, duplicates, lost, retries]);
        whole(&self.outbox, outbox);
    }
}

/// The metrics of [`names::INGESTING`].
pub struct IngestMetrics {
    /// stored, duplicate, stale, refused, retried
    parts: [Total; 5],
    redeliveries: Total,
    rows: Total,
    last: LastChange<u64>,
    /// parts, unsettled, bytes, capacity
    bus: [IntGauge; 4],
    /// rows, capacity, bytes, capacity
    log: [IntGauge; 4],
}

impl IngestMetrics {
    /// Metrics that have seen nothing yet, of the stage that counts in `counts`.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new(metrics: &Metrics, counts: &StageCounts) -> Result<Self, MetricsError> {
        metrics.adopt(names::APPEND_SECONDS, &counts.times.append)?;
        let outcomes = ["stored", "duplicate", "stale", "refused", "retried"];
        Ok(Self {
            parts: metrics.counters(names::PARTS_SETTLED, outcomes)?.map(Total::from),
            redeliveries: metrics.counter(names::REDELIVERIES)?.into(),
            rows: metrics.counter(names::ROWS_STORED)?.into(),
            last: LastChange::of(metrics.gauge(names::LAST_STORED)?, 0),
            bus: [
                metrics.whole_gauge(names::BUS_PARTS)?,
                metrics.whole_gauge(names::BUS_UNSETTLED)?,
                metrics.whole_gauge(names::BUS_BYTES)?,
                metrics.whole_gauge(names::BUS_CAPACITY)?,
            ],
            log: [
                metrics.whole_gauge(names::LOG_ROWS)?,
                metrics.whole_gauge(names::LOG_CAPACITY_ROWS)?,
                metrics.whole_gauge(names::LOG_BYTES)?,
                metrics.whole_gauge(names::LOG_CAPACITY_BYTES)?,
            ],
        })
    }

    /// Brings them up to date.
    pub fn set(&mut self, figures: &IngestFigures) {
        let IngestFigures { stored, duplicates, stale, refused, retries, redeliveries, rows, .. } = *figures;
        set_all(&mut self.parts, [stored, duplicates, stale, refused, retries]);
        self.redeliveries.set(redeliveries);
        self.rows.set(rows);
        self.last.look(stored);
    }

    /// Says how full bus and log are.
    pub fn fill(&self, fill: &FillFigures) {
        let bus = [fill.bus_parts, fill.bus_unsettled, fill.bus_bytes, fill.bus_capacity_bytes];
        self.bus.iter().zip(bus).for_each(|(gauge, count)| whole(gauge, count));
        let log = [fill.log_rows, fill.log_capacity_rows, fill.log_bytes, fill.log_capacity_bytes];
        self.log.iter().zip(log).for_each(|(gauge, count)| whole(gauge, count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_its_series_and_what_is_full_its_size() {
        let (metrics, counts) = (Metrics::new().unwrap(), StageCounts::default());
        let mut publish = PublishMetrics::new(&metrics, &counts).unwrap();
        let mut ingest = IngestMetrics::new(&metrics, &counts).unwrap();
        publish.set(&PublishFigures { stored: 1, duplicates: 2, lost: 3, retries: 4, outbox: 5 });
        let parts =
            IngestFigures { stored: 1, duplicates: 2, stale: 3, refused: 4, retries: 5, ..IngestFigures::default() };
        ingest.set(&IngestFigures { redeliveries: 6, rows: 70, ..parts });
        ingest.fill(&FillFigures {
            bus_parts: 8,
            bus_unsettled: 9,
            bus_bytes: 10,
            bus_capacity_bytes: 11,
            log_rows: 12,
            log_capacity_rows: 13,
            log_bytes: 14,
            log_capacity_bytes: 15,
        });
        counts.times.append.observe(0.0015);
        let text = metrics.encode().unwrap();
        for line in [
            "fogfall_parts_published_total{outcome=\"stored\"} 1",
            "fogfall_parts_published_total{outcome=\"duplicate\"} 2",
            "fogfall_parts_published_total{outcome=\"lost\"} 3",
            "fogfall_parts_published_total{outcome=\"retried\"} 4",
            "fogfall_outbox_parts 5",
            "fogfall_parts_settled_total{outcome=\"stored\"} 1",
            "fogfall_parts_settled_total{outcome=\"duplicate\"} 2",
            "fogfall_parts_settled_total{outcome=\"stale\"} 3",
            "fogfall_parts_settled_total{outcome=\"refused\"} 4",
            "fogfall_parts_settled_total{outcome=\"retried\"} 5",
            "fogfall_redeliveries_total 6",
            "fogfall_rows_stored_total 70",
            "fogfall_bus_parts 8",
            "fogfall_bus_unsettled_parts 9",
            "fogfall_bus_bytes 10",
            "fogfall_bus_capacity_bytes 11",
            "fogfall_replay_log_rows 12",
            "fogfall_replay_log_capacity_rows 13",
            "fogfall_replay_log_bytes 14",
            "fogfall_replay_log_capacity_bytes 15",
            "fogfall_append_seconds_bucket{le=\"0.002\"} 1",
            "fogfall_publish_seconds_count 0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in {text}");
        }
    }
}
