//! What became of trajectories in a process, for people and for dashboards: published, stored, and what lies between.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fogfall_bus::Fill;
use fogfall_replay::Bounds;
use serde::{Deserialize, Serialize};

use crate::{SelfPlayStats, StageCounts, Waiting};

/// Trajectories on their way to the bus, since the process started. What was played balances: stored, duplicates, lost, and
/// those in the outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishFigures {
    /// That the bus stored.
    pub stored: u64,
    /// That the bus had already: it was asked twice.
    pub duplicates: u64,
    /// Given up.
    pub lost: u64,
    /// Publications that the bus did not take and that were made again.
    pub retries: u64,
    /// Of games that have ended, waiting to be published.
    pub outbox: u64,
}

impl PublishFigures {
    /// Of what was played and what the stage behind it counted.
    pub fn of(played: &SelfPlayStats, counts: &StageCounts) -> Self {
        let [stored, duplicates, retries, given_up] =
            read([&counts.published, &counts.publish_duplicates, &counts.publish_retries, &counts.publish_lost]);
        let lost = played.lost + given_up;
        // The counts are of slightly different times.
        let outbox = played.counts.parts.saturating_sub(stored + duplicates + lost);
        Self { stored, duplicates, lost, retries, outbox }
    }
}

/// Trajectories from the bus into the replay log, since the process started. Every delivery is one of the first five.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IngestFigures {
    /// Stored.
    pub stored: u64,
    /// Stored before.
    pub duplicates: u64,
    /// Too late: their weights were too old, or nobody can tell any more whether they are stored.
    pub stale: u64,
    /// Put aside: they can never be taken.
    pub refused: u64,
    /// Handed back, since the log did not take them.
    pub retries: u64,
    /// Deliveries that were not the first of their trajectory.
    pub redeliveries: u64,
    /// Rows stored.
    pub rows: u64,
    /// Seconds that the stage waited, for games or, where that is seen to, for training to catch up.
    pub waited_s: f64,
    /// Seconds that its present wait has lasted, if it waits.
    pub waits_s: Option<f64>,
}

impl IngestFigures {
    /// Of what the stage counted, and of its waits for training to catch up.
    pub fn of(counts: &StageCounts, for_training: Waiting) -> Self {
        let [stored, duplicates, stale, refused] =
            read([&counts.stored, &counts.store_duplicates, &counts.stale, &counts.refused]);
        let [retries, redeliveries, rows] = read([&counts.store_retries, &counts.redeliveries, &counts.stored_rows]);
        let for_games = counts.ingesting();
        Self {
            stored,
            duplicates,
            stale,
            refused,
            retries,
            redeliveries,
            rows,
            waited_s: (for_games.elapsed() + for_training.elapsed()).as_secs_f64(),
            waits_s: for_training.since.or(for_games.since).map(|since| since.elapsed().as_secs_f64()),
        }
    }
}

/// How full bus and replay log were when they were last asked; all 0 before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FillFigures {
    /// Trajectories on the bus.
    pub bus_parts: u64,
    /// Of them, those that an ingester has in hand.
    pub bus_unsettled: u64,
    /// Their bytes.
    pub bus_bytes: u64,
    /// Bytes that the bus may hold.
    pub bus_capacity_bytes: u64,
    /// Rows in the log.
    pub log_rows: u64,
    /// Rows that it may hold.
    pub log_capacity_rows: u64,
    /// Bytes that it takes.
    pub log_bytes: u64,
    /// Bytes that it may take.
    pub log_capacity_bytes: u64,
}

impl FillFigures {
    /// Notes what the bus said.
    pub fn bus(&mut self, fill: &Fill) {
        (self.bus_parts, self.bus_unsettled) = (fill.parts, fill.unsettled);
        (self.bus_bytes, self.bus_capacity_bytes) = (fill.bytes, fill.capacity_bytes);
    }

    /// Notes what the log said.
    pub fn log(&mut self, bounds: &Bounds) {
        (self.log_rows, self.log_bytes) = (bounds.rows(), bounds.bytes);
    }
}

fn read<const N: usize>(counts: [&AtomicU64; N]) -> [u64; N] {
    counts.map(|count| count.load(Relaxed))
}

#[cfg(test)]
mod tests {
    use fogfall_selfplay::WorkerCounts;

    use super::*;

    #[test]
    fn what_was_played_and_is_neither_published_nor_lost_is_in_the_outbox() {
        let counts = StageCounts::default();
        for (count, n) in [(&counts.published, 10), (&counts.publish_duplicates, 2), (&counts.publish_lost, 1)] {
            StageCounts::add(count, n);
        }
        let played = WorkerCounts { parts: 20, ..WorkerCounts::default() };
        let played = SelfPlayStats { counts: played, lost: 3, ..SelfPlayStats::default() };
        let figures = PublishFigures::of(&played, &counts);
        assert_eq!((figures.stored, figures.duplicates, figures.lost), (10, 2, 4)); // 3 + 1
        assert_eq!(figures.outbox, 4); // 20 - 10 - 2 - 4
    }
}
