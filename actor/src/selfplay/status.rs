//! What self-play did and waits for: the one record behind the log line, `/status` and `/metrics`.
//!
//! Counts are of this process's life, and balance: `parts = published + duplicates + lost + waiting to be published`.

use std::{
    collections::BTreeSet,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use fogfall_pipeline::{Hung, PlayFigures, PlayMetrics, SelfPlayStats, Stages, Trouble, WeightsCell};
use fogfall_proto::{Failing, Heartbeat, Manifest, PartCounts, ROOM_ON_THE_BUS, Version, Wait};
use fogfall_service::{
    admin,
    metrics::{IntCounter, IntGauge, Metrics, MetricsError, Total, names},
};
use serde::{Serialize, Serializer};

use crate::cluster::{Process, Report};

/// A log line this often.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Nobody looks at self-play for so long unless the process is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(120);

/// Figures of all stages at one time.
pub struct Seen {
    stats: SelfPlayStats,
    published: u64,
    duplicates: u64,
    retries: u64,
    publish_lost: u64,
    /// The newest weights held.
    pub weights: Version,
    hung: Vec<Hung>,
    troubles: Vec<Trouble>,
}

impl Seen {
    /// Looks at the stages.
    pub fn of(stats: SelfPlayStats, hung: Vec<Hung>, stages: &Stages, weights: &WeightsCell) -> Self {
        let counts = &stages.counts;
        Self {
            stats,
            published: counts.published.load(Relaxed),
            duplicates: counts.publish_duplicates.load(Relaxed),
            retries: counts.publish_retries.load(Relaxed),
            publish_lost: counts.publish_lost.load(Relaxed),
            weights: weights.newest().version,
            hung,
            troubles: stages.troubles.now(),
        }
    }

    fn waits_for(&self) -> Option<String> {
        let trouble = |t: &Trouble| format!("{} to work: {}", t.what, t.reason);
        let room = || ROOM_ON_THE_BUS.to_owned();
        (self.stats.waiting > 0).then(|| self.troubles.first().map_or_else(room, trouble))
    }
}

/// Self-play at one moment. Rates are over the time since the last log line.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Status {
    /// The run's id.
    pub run: String,
    /// The game.
    pub game: String,
    /// Seconds of playing.
    pub elapsed_s: f64,
    /// Self-play threads.
    pub threads: usize,
    /// The newest weights held, as `epoch.step`.
    #[serde(serialize_with = "as_text")]
    pub weights: Version,
    /// Games finished.
    pub games: u64,
    /// Trajectories of these games: long ones have several.
    pub parts: u64,
    /// Games cut at the technical length limit.
    pub truncated: u64,
    /// Rows of finished games.
    pub rows: u64,
    /// Games a second.
    pub games_per_s: f64,
    /// Rows a second.
    pub rows_per_s: f64,
    /// What its searches did, and their trees.
    pub play: PlayFigures,
    /// Trajectories that the bus stored.
    pub published: u64,
    /// Trajectories that the bus had already: it was asked twice.
    pub duplicates: u64,
    /// Trajectories given up.
    pub lost: u64,
    /// Publications that the bus did not take and that were made again.
    pub retries: u64,
    /// Seconds that threads waited for room, of all threads together.
    pub blocked_s: f64,
    /// What threads wait for now.
    pub waits_for: Option<String>,
    /// Seconds that the longest of these waits has lasted.
    pub waits_s: f64,
    /// Threads that hang in a game.
    pub hung: Vec<String>,
    /// Seconds that the first of them has hung.
    pub hung_s: f64,
    /// What does not work now and is tried again.
    pub troubles: Vec<String>,
}

fn in_words(hung: &Hung) -> String {
    let Hung { thread, seed, lasts } = hung;
    format!("thread {thread} hangs in the game of seed {seed:016x} for {} s", lasts.as_secs())
}

fn as_text<S: Serializer>(version: &Version, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(version)
}

impl Report for Status {
    fn note(&self, beat: &mut Heartbeat) {
        (beat.weights, beat.games, beat.rows) = (self.weights, self.games, self.rows);
        let Self { published: stored, duplicates, lost, retries, .. } = *self;
        beat.parts = PartCounts { stored, duplicates, lost, retries, ..PartCounts::default() };
        beat.waited_s = self.blocked_s / self.threads.max(1) as f64;
        let room = |_: &String| Wait { what: ROOM_ON_THE_BUS.into(), since_s: self.waits_s };
        beat.waits = self.waits_for.iter().map(room).collect();
        let hung = |hung: &String| Failing { what: "playing".into(), reason: hung.clone(), since_s: self.hung_s };
        beat.troubles = self.hung.iter().map(hung).collect();
    }
}

/// Makes the record and shows it.
pub struct Meter {
    metrics: Metrics,
    games: Total,
    play: PlayMetrics,
    /// stored, duplicate, lost, retried
    parts: [Total; 4],
    weights_epoch: IntGauge,
    weights_step: IntGauge,
    hung_games: IntCounter,
    /// Those counted so far, by thread and seed.
    known_hung: BTreeSet<(usize, u64)>,
    beat: Option<admin::Heartbeat>,
    health: Option<admin::Condition>,
    began: Instant,
    /// When the last line was said, with games and rows then.
    line: (Instant, u64, u64),
    status: Status,
}

impl Meter {
    /// A meter that has seen nothing yet.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new() -> Result<Self, MetricsError> {
        let metrics = Metrics::new()?;
        let outcomes = ["stored", "duplicate", "lost", "retried"];
        Ok(Self {
            games: metrics.counter(names::GAMES)?.into(),
            play: PlayMetrics::new(&metrics)?,
            parts: metrics.counters(names::PARTS_PUBLISHED, outcomes)?.map(Total::from),
            weights_epoch: metrics.whole_gauge(names::WEIGHTS_EPOCH)?,
            weights_step: metrics.whole_gauge(names::WEIGHTS_STEP)?,
            hung_games: metrics.counter(names::HUNG_GAMES)?,
            known_hung: BTreeSet::new(),
            beat: None,
            health: None,
            began: Instant::now(),
            line: (Instant::now(), 0, 0),
            status: Status::default(),
            metrics,
        })
    }

    /// The registry.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Playing begins, or begins anew by other settings.
    pub fn begin(&mut self, process: &Process, manifest: &Manifest, threads: usize) {
        (self.status.run, self.status.game) = (manifest.run.clone(), manifest.game.clone());
        self.status.threads = threads;
        if self.beat.is_none() {
            self.beat = Some(process.vitals.heartbeat("self-play", STUCK_AFTER));
            self.health = Some(process.vitals.healthy("games"));
            self.began = Instant::now();
            self.line = (self.began, 0, 0);
        }
    }

    /// Brings everything up to date, says a line if it is time, and returns the record.
    pub fn look(&mut self, seen: &Seen) -> &Status {
        let counts = &seen.stats.counts;
        if let Some(beat) = &self.beat {
            beat.beat();
        }
        self.look_for_hung(&seen.hung);
        self.export(seen);
        let (since, games, rows) = self.line;
        let seconds = since.elapsed().as_secs_f64().max(1e-3);
        self.status = Status {
            elapsed_s: self.began.elapsed().as_secs_f64(),
            weights: seen.weights,
            games: counts.games,
            parts: counts.parts,
            truncated: counts.truncated,
            rows: counts.rows,
            games_per_s: (counts.games - games) as f64 / seconds,
            rows_per_s: (counts.rows - rows) as f64 / seconds,
            play: PlayFigures::of(&seen.stats),
            published: seen.published,
            duplicates: seen.duplicates,
            lost: seen.stats.lost + seen.publish_lost,
            retries: seen.retries,
            blocked_s: seen.stats.blocked.as_secs_f64(),
            waits_for: seen.waits_for(),
            waits_s: seen.stats.longest_wait.as_secs_f64(),
            hung: seen.hung.iter().map(in_words).collect(),
            hung_s: seen.hung.first().map_or(0.0, |hung| hung.lasts.as_secs_f64()),
            troubles: seen.troubles.iter().map(|t| format!("{}: {}", t.what, t.reason)).collect(),
            ..std::mem::take(&mut self.status)
        };
        if since.elapsed() >= LINE_EVERY {
            self.say("self-play");
            self.line = (Instant::now(), counts.games, counts.rows);
        }
        &self.status
    }

    /// A process with a thread that hangs is not healthy: nothing in it can free the thread.
    fn look_for_hung(&mut self, hung: &[Hung]) {
        for hung in hung.iter().filter(|hung| self.known_hung.insert((hung.thread, hung.seed))) {
            let (seed, lasts_s) = (format!("{:016x}", hung.seed), hung.lasts.as_secs_f64());
            tracing::error!(thread = hung.thread, seed, lasts_s, "a game does not go on");
            self.hung_games.inc();
        }
        match (&self.health, hung.first()) {
            (Some(health), Some(first)) => health.unmet(in_words(first)),
            (Some(health), None) => health.met(),
            (None, _) => {}
        }
    }

    /// Says how it ended.
    pub fn say_end(&mut self, seen: &Seen) {
        self.look(seen);
        self.say("stopped");
    }

    fn say(&self, what: &str) {
        let Status { games, parts, rows, published, duplicates, lost, retries, .. } = self.status;
        let (weights, waits_for) =
            (self.status.weights.to_string(), self.status.waits_for.as_deref().unwrap_or("nothing"));
        let (games_per_s, rows_per_s) = (self.status.games_per_s.round(), self.status.rows_per_s.round());
        tracing::info!(
            games,
            parts,
            rows,
            games_per_s,
            rows_per_s,
            weights,
            published,
            duplicates,
            lost,
            retries,
            waits_for,
            "{what}"
        );
    }

    fn export(&mut self, seen: &Seen) {
        self.games.set(seen.stats.counts.games);
        self.play.set(&PlayFigures::of(&seen.stats));
        let lost = seen.stats.lost + seen.publish_lost;
        for (counter, total) in self.parts.iter_mut().zip([seen.published, seen.duplicates, lost, seen.retries]) {
            counter.set(total);
        }
        self.weights_epoch.set(seen.weights.epoch.into());
        self.weights_step.set(i64::try_from(seen.weights.step).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use fogfall_selfplay::WorkerCounts;

    use super::*;

    fn seen(games: u64, waiting: usize) -> Seen {
        let counts = WorkerCounts { games, parts: 2 * games, rows: 3 * games, falls: 7, ..WorkerCounts::default() };
        Seen {
            stats: SelfPlayStats { counts, lost: 1, waiting, ..SelfPlayStats::default() },
            published: 2 * games - 4,
            duplicates: 1,
            retries: 5,
            publish_lost: 2,
            weights: Version { epoch: 2, step: 30 },
            hung: Vec::new(),
            troubles: Vec::new(),
        }
    }

    #[test]
    fn lost_games_are_those_of_all_stages_and_counts_balance() {
        let mut meter = Meter::new().unwrap();
        let status = meter.look(&seen(10, 0)).clone();
        assert_eq!((status.games, status.parts, status.rows, status.lost), (10, 20, 30, 3)); // 1 + 2
        assert_eq!(status.parts, status.published + status.duplicates + status.lost); // 16 + 1 + 3
        assert_eq!(status.waits_for, None);
        meter.look(&seen(12, 0));
        let text = meter.metrics().encode().unwrap();
        for line in [
            "fogfall_games_total 12",
            "fogfall_search_tree_falls_total 7",
            "fogfall_parts_published_total{outcome=\"stored\"} 20",
            "fogfall_parts_published_total{outcome=\"lost\"} 3",
            "fogfall_weights_epoch 2",
            "fogfall_weights_step 30",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in {text}");
        }
    }

    #[test]
    fn threads_that_wait_wait_for_room_or_for_what_does_not_work() {
        assert_eq!(seen(10, 1).waits_for().as_deref(), Some("room on the bus"));
        let (what, reason) = ("publishing games", "no answer".to_owned());
        let troubles = vec![Trouble { what, reason, lasts: Duration::ZERO }];
        let waits_for = Seen { troubles, ..seen(10, 1) }.waits_for();
        assert_eq!(waits_for.as_deref(), Some("publishing games to work: no answer"));
    }
}
