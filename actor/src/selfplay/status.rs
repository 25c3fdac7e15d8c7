//! What self-play did and waits for: the one record behind the log line, `/status` and `/metrics`.
//!
//! Counts are of this process's life, and balance: `parts = published + duplicates + lost + waiting to be published`.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use fogfall_pipeline::{
    Hung, HungGames, PlayFigures, PlayMetrics, PlayWindow, PublishFigures, PublishMetrics, STUCK_AFTER, SelfPlayStats,
    StageCounts, Stages, Trouble, WaitMetrics, WeightsCell, WeightsMetrics,
};
use fogfall_proto::{Failing, Heartbeat, Manifest, PartCounts, ROOM_ON_THE_BUS, Version, Wait};
use fogfall_service::{
    admin,
    metrics::{Metrics, MetricsError, Role},
};
use serde::{Serialize, Serializer};

use crate::cluster::Report;

/// A log line this often.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Figures of all stages at one time.
pub struct Seen {
    stats: SelfPlayStats,
    publish: PublishFigures,
    weights_refused: u64,
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
            publish: PublishFigures::of(&stats, counts),
            weights_refused: counts.weights_refused.load(Relaxed),
            stats,
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
    /// Mean effective sample size of the pools of worlds of recent searches; none if they have none.
    pub effective_worlds: Option<f64>,
    /// Share of these pools that were refilled, 0 to 1.
    pub refilled_pools: Option<f64>,
    /// Mean standard deviation of the values that the simulations of a recent search brought to the root.
    pub world_disagreement: Option<f64>,
    /// Trajectories that the bus stored.
    pub published: u64,
    /// Trajectories that the bus had already: it was asked twice.
    pub duplicates: u64,
    /// Trajectories given up.
    pub lost: u64,
    /// Publications that the bus did not take and that were made again.
    pub retries: u64,
    /// Trajectories that wait to be published.
    pub outbox: u64,
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
    counts: Arc<StageCounts>,
    play: PlayMetrics,
    publish: PublishMetrics,
    weights: WeightsMetrics,
    waits: WaitMetrics,
    window: PlayWindow,
    /// Of playing, once it has begun.
    signs: Option<Signs>,
    began: Instant,
    /// When the last line was said, with games and rows then.
    line: (Instant, u64, u64),
    status: Status,
}

/// Whether playing goes on.
struct Signs {
    beat: admin::Heartbeat,
    hung: HungGames,
}

impl Meter {
    /// A meter of a process of this run that has seen nothing yet.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new(run: &str) -> Result<Self, MetricsError> {
        let (metrics, counts) = (Metrics::of(Role::Actor, run)?, Arc::new(StageCounts::default()));
        let [waits] = WaitMetrics::of(&metrics, ["self-play"])?;
        Ok(Self {
            play: PlayMetrics::new(&metrics)?,
            publish: PublishMetrics::new(&metrics, &counts)?,
            weights: WeightsMetrics::new(&metrics, &counts)?,
            waits,
            window: PlayWindow::default(),
            signs: None,
            began: Instant::now(),
            line: (Instant::now(), 0, 0),
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

    /// Playing begins, or begins anew by other settings. A thread may take so long for what it does in one go.
    pub fn begin(&mut self, vitals: &admin::Vitals, manifest: &Manifest, threads: usize, hung_after: Duration) {
        (self.status.run, self.status.game) = (manifest.run.clone(), manifest.game.clone());
        self.status.threads = threads;
        if self.signs.is_none() {
            let beat = vitals.heartbeat("self-play", hung_after.max(STUCK_AFTER));
            self.signs = Some(Signs { beat, hung: HungGames::none(vitals) });
            self.began = Instant::now();
            self.line = (self.began, 0, 0);
        }
    }

    /// Brings everything up to date, says a line if it is time, and returns the record.
    pub fn look(&mut self, seen: &Seen) -> &Status {
        let (counts, play) = (&seen.stats.counts, PlayFigures::of(&seen.stats));
        let (recent, went_on) = self.window.look(counts);
        let mut hung_so_far = 0;
        if let Some(Signs { beat, hung }) = &mut self.signs {
            hung_so_far = hung.look(&seen.hung);
            // Threads that wait for room have nothing to do.
            if went_on || seen.stats.waiting > 0 {
                beat.beat();
            }
        }
        self.play.set(&play, &recent, hung_so_far);
        self.publish.set(&seen.publish);
        self.weights.set(seen.weights, seen.weights_refused);
        let waits = (seen.stats.waiting > 0).then_some(seen.stats.longest_wait.as_secs_f64());
        self.waits.set(waits, seen.stats.blocked.as_secs_f64() / seen.stats.threads.max(1) as f64);
        let (since, games, rows) = self.line;
        let seconds = since.elapsed().as_secs_f64().max(1e-3);
        let PublishFigures { stored: published, duplicates, lost, retries, outbox } = seen.publish;
        self.status = Status {
            elapsed_s: self.began.elapsed().as_secs_f64(),
            weights: seen.weights,
            games: counts.games,
            parts: counts.parts,
            truncated: counts.truncated,
            rows: counts.rows,
            games_per_s: (counts.games - games) as f64 / seconds,
            rows_per_s: (counts.rows - rows) as f64 / seconds,
            play,
            effective_worlds: recent.effective_worlds,
            refilled_pools: recent.refilled_pools,
            world_disagreement: recent.world_disagreement,
            published,
            duplicates,
            lost,
            retries,
            outbox,
            blocked_s: seen.stats.blocked.as_secs_f64(),
            waits_for: seen.waits_for(),
            waits_s: seen.stats.longest_wait.as_secs_f64(),
            hung: seen.hung.iter().map(Hung::to_string).collect(),
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
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
