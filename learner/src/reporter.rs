//! The reporter: looks at all stages and says how the run stands. It measures rates over the last seconds and owns no
//! stage.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use fogfall_pipeline::{
    FillWatch, HungGames, IngestFigures, Intake, IntakeStatus, PlayFigures, PublishFigures, RecentPlay, STUCK_AFTER,
    SelfPlayStats, Stages, Trouble, Waiting,
};
use fogfall_proto::Manifest;
use fogfall_service::admin::{Condition, Heartbeat, Vitals};

use crate::{
    beginning::Beginning,
    board::Board,
    calibration,
    cli::{Flags, Order},
    pipeline::{PlayMeter, Shared, play_threads},
    resume::Totals,
    status::{PLAY, Phase, Status, TRAIN, Wait},
};

/// Rates are taken over this time.
const RATE_TIME: Duration = Duration::from_secs(5);
/// Shorter waits are part of normal running.
const SHOWN_WAIT: Duration = Duration::from_millis(500);

/// Where the figures come from.
pub struct Sources {
    /// The run.
    pub manifest: Manifest,
    /// What earlier starts of the run did.
    pub totals: Totals,
    /// Settings.
    pub flags: Flags,
    /// What there is to say of the run as such.
    pub remark: String,
    /// Self-play threads; 0 where actors play.
    pub threads: usize,
    /// Train steps asked for.
    pub steps_wanted: Option<u64>,
    /// Time asked for.
    pub lasts: Option<Duration>,
    /// Window and limiter.
    pub intake: Arc<Intake>,
    /// Stages.
    pub stages: Stages,
    /// Self-play.
    pub play: PlayMeter,
    /// Train and evaluation thread.
    pub board: Board,
    /// How full bus and log are, if rows are stored here.
    pub fill: Option<FillWatch>,
}

impl Sources {
    /// Those of a run.
    ///
    /// # Errors
    /// If the system does not say how many cores there are.
    pub fn of(
        order: &Order,
        beginning: &Beginning,
        shared: &Shared,
        play: PlayMeter,
        board: &Board,
        fill: Option<FillWatch>,
    ) -> std::io::Result<Self> {
        Ok(Self {
            manifest: beginning.manifest.clone(),
            totals: beginning.totals,
            flags: order.flags.clone(),
            remark: order.remark(),
            threads: if order.place.cluster().is_some() { 0 } else { play_threads(&order.flags)? },
            steps_wanted: order.end.steps,
            lasts: order.end.after,
            intake: Arc::clone(&shared.intake),
            stages: shared.stages.clone(),
            play,
            board: board.clone(),
            fill,
        })
    }

    /// In lockstep nothing is published: the train loop stores what was played.
    fn publish_figures(&self, stats: &SelfPlayStats) -> PublishFigures {
        match self.flags.lockstep.lockstep {
            true => PublishFigures::default(),
            false => PublishFigures::of(stats, &self.stages.counts),
        }
    }

    /// In lockstep the ratio follows from games and steps.
    fn replay_ratio_wanted(&self) -> f64 {
        if self.flags.lockstep.lockstep { f64::NAN } else { self.flags.replay.replay_ratio }
    }
}

/// Counters at one time.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    stats: SelfPlayStats,
    rows: u64,
    step: u64,
}

/// Looks at a run.
pub struct Reporter {
    sources: Sources,
    began: Instant,
    samples: VecDeque<Sample>,
    phase: Phase,
    /// Where it plays itself.
    play: Option<PlaySigns>,
    window_filled: Condition,
}

/// Whether playing goes on.
struct PlaySigns {
    beat: Heartbeat,
    hung: HungGames,
}

impl Reporter {
    /// What must be met before the process is of use.
    pub fn window_filled(vitals: &Vitals) -> Condition {
        let window_filled = vitals.condition("window");
        window_filled.unmet("too few rows to train on yet");
        window_filled
    }

    /// A reporter of a run that begins now.
    pub fn new(sources: Sources, vitals: &Vitals, window_filled: Condition) -> Self {
        // Playing that does nothing for so long, and waits for nobody, is stuck.
        let signs = || PlaySigns { beat: vitals.heartbeat(PLAY, STUCK_AFTER), hung: HungGames::none(vitals) };
        Self {
            play: (sources.threads > 0).then(signs),
            sources,
            began: Instant::now(),
            samples: VecDeque::new(),
            phase: Phase::Starting,
            window_filled,
        }
    }

    /// Time of this start.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// What all starts of the run did, whenever it is called.
    pub fn totals(&self) -> impl Fn() -> Totals + Send + use<> {
        let (before, began) = (self.sources.totals, self.began);
        let now = Arc::clone(&self.sources.play.totals);
        move || {
            let now = now();
            Totals {
                games: before.games + now.games,
                truncated: before.truncated + now.truncated,
                rows: before.rows + now.rows,
                evaluations: before.evaluations + now.evaluations,
                elapsed_s: before.elapsed_s + began.elapsed().as_secs_f64(),
            }
        }
    }

    /// The run is being ended.
    pub fn stopping(&mut self) {
        self.phase = Phase::Stopping;
    }

    /// The last status of the run.
    pub fn finished(mut self) -> Status {
        self.phase = Phase::Finished;
        self.look()
    }

    /// How the run stands.
    pub fn look(&mut self) -> Status {
        let sources = &self.sources;
        let (stats, intake) = ((sources.play.stats)(), sources.intake.status());
        let mut facts = sources.board.lock().clone();
        let troubles = sources.stages.troubles.now();
        facts.notices.extend(troubles.iter().map(|t| format!("{} fails and is tried again: {}", t.what, t.reason)));
        let log_losses = sources.stages.counts.log_losses.load(Relaxed);
        if log_losses > 0 {
            facts.notices.push(format!(
                "the replay log has lost rows, {log_losses} times in this start: training goes on with those in the window"
            ));
        }
        let elapsed = self.began.elapsed();
        let totals = self.totals()();
        let oldest = self.sample(stats, totals.rows, facts.step);
        let hung_games = self.play.as_mut().map_or(0, |play| play.hung.look(&(self.sources.play.hung)(STUCK_AFTER)));
        let sources = &self.sources;
        let seconds = oldest.at.elapsed().as_secs_f64().max(1e-3);
        let rate = |new: u64, old: u64| (new - old) as f64 / seconds;
        let (new, old) = (stats.counts, oldest.stats.counts);
        let recent = RecentPlay::between(&old, &new);
        let counts = &sources.stages.counts;
        if intake.rows as u64 >= intake.needed {
            self.window_filled.met();
        }
        if matches!(self.phase, Phase::Starting | Phase::Filling) {
            self.phase = if facts.step > 0 && facts.loss.is_some() { Phase::Training } else { Phase::Filling };
        }
        Status {
            run: sources.manifest.run.clone(),
            game: sources.manifest.game.clone(),
            phase: self.phase,
            elapsed_s: elapsed.as_secs_f64(),
            left_s: self.left(elapsed, facts.step, rate(facts.step, oldest.step)),
            step: facts.step,
            steps_wanted: sources.steps_wanted,
            steps_per_s: rate(facts.step, oldest.step),
            games: totals.games,
            truncated: totals.truncated,
            games_per_s: rate(new.games, old.games),
            decisions_per_game: ratio(new.rows - old.rows, new.games - old.games),
            rows: totals.rows,
            rows_per_s: rate(totals.rows, oldest.rows),
            evaluations_per_s: rate(new.evaluations, old.evaluations),
            // Hits are counted at once, questions when their search ends.
            cache_hits: ratio(new.cache_hits - old.cache_hits, new.evaluations - old.evaluations).min(1.0),
            // A reach belief asks more than one question a slot at once.
            batch_fill: (ratio(new.evaluations - old.evaluations, new.batches - old.batches)
                / sources.flags.run.slots as f64)
                .min(1.0),
            play: PlayFigures::of(&stats),
            hung_games,
            publish: sources.publish_figures(&stats),
            ingest: IngestFigures::of(counts, intake.inserting),
            fill: sources.fill.as_ref().map(FillWatch::now).unwrap_or_default(),
            effective_worlds: (sources.flags.search.belief == "reach")
                .then_some(recent.effective_worlds.unwrap_or(f64::NAN)),
            pool_worlds: sources.flags.search.belief_pool.into(),
            refilled_pools: recent.refilled_pools.unwrap_or(f64::NAN),
            world_disagreement: recent.world_disagreement,
            rows_followed: counts.followed_rows.load(Relaxed),
            rows_skipped: counts.skipped_rows.load(Relaxed),
            rows_sampled: intake.counts.samples,
            window_rows: intake.rows as u64,
            window_capacity: intake.capacity as u64,
            window_needed: intake.needed,
            replay_ratio: ratio(intake.counts.samples, totals.rows),
            replay_ratio_wanted: sources.replay_ratio_wanted(),
            loss: facts.loss,
            gradient_norm: facts.gradient_norm,
            learning_rate: facts.learning_rate,
            policy_entropy: facts.policy_entropy,
            policy_divergence: facts.policy_divergence,
            policy_agreement: facts.policy_agreement,
            staleness: facts.staleness,
            calibration_error: calibration::error(&facts.calibration),
            calibration: facts.calibration,
            skipped_steps: facts.skipped_steps,
            clipped_steps: facts.clipped_steps,
            train_seconds: facts.train_seconds,
            weights_version: facts.weights.map_or_else(String::new, |version| version.to_string()),
            weights_published: facts.weights_published,
            weights_refused: counts.weights_refused.load(Relaxed),
            weights_bytes: facts.weights_bytes,
            checkpoint_step: facts.checkpoint.map(|(version, _)| version.step),
            checkpoint_age_s: facts.checkpoint.map(|(_, written)| written.elapsed().as_secs_f64()),
            checkpoints: facts.checkpoints,
            failed_checkpoints: facts.failed_checkpoints,
            refused_parts: [&counts.refused, &counts.store_duplicates, &counts.stale]
                .map(|n| n.load(Relaxed))
                .iter()
                .sum(),
            log_losses,
            win_rates: facts.win_rates,
            figures: facts.figures,
            waits: waits(&stats, sources.threads, &intake, &troubles, elapsed),
            memory_bytes: resident_bytes(),
            remark: sources.remark.clone(),
            notices: facts.notices,
        }
    }

    /// Notes the counters and returns those of [`RATE_TIME`] ago.
    fn sample(&mut self, stats: SelfPlayStats, rows: u64, step: u64) -> Sample {
        let now = Instant::now();
        let idle = self.samples.back().is_some_and(|s| s.stats.counts == stats.counts);
        if let Some(play) = self.play.as_ref().filter(|_| !idle || stats.waiting > 0) {
            play.beat.beat();
        }
        self.samples.push_back(Sample { at: now, stats, rows, step });
        while self.samples.len() > 2 && now - self.samples[1].at >= RATE_TIME {
            self.samples.pop_front();
        }
        self.samples[0]
    }

    fn left(&self, elapsed: Duration, step: u64, steps_per_s: f64) -> Option<f64> {
        let by_time = self.sources.lasts.map(|lasts| lasts.saturating_sub(elapsed).as_secs_f64());
        let wanted = self.sources.steps_wanted.filter(|_| steps_per_s > 0.0);
        let by_steps = wanted.map(|wanted| wanted.saturating_sub(step) as f64 / steps_per_s);
        match (by_time, by_steps) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

fn waits(
    stats: &SelfPlayStats,
    threads: usize,
    intake: &IntakeStatus,
    troubles: &[Trouble],
    elapsed: Duration,
) -> Vec<Wait> {
    let wait = |stage: &str, waits_for: &str, lasts: Option<Duration>, waited: Duration| Wait {
        stage: stage.to_owned(),
        waits_for: waits_for.to_owned(),
        since_s: lasts.filter(|&lasts| lasts >= SHOWN_WAIT).map(|lasts| lasts.as_secs_f64()),
        share: (waited.as_secs_f64() / elapsed.as_secs_f64().max(1e-3)).min(1.0),
        waited_s: waited.as_secs_f64(),
    };
    let now = |waiting: Waiting| waiting.since.map(|since| since.elapsed());
    let (room, lasts) = match troubles.first() {
        Some(trouble) => (trouble.what, Some(trouble.lasts)),
        None => ("training to catch up", now(intake.inserting)),
    };
    let blocked = stats.blocked.div_f64(threads.max(1) as f64);
    vec![
        wait(PLAY, room, lasts.filter(|_| stats.waiting > 0), blocked),
        wait(TRAIN, "rows from self-play", now(intake.sampling), intake.sampling.elapsed()),
    ]
}

/// Resident memory; 0 where the system does not say.
fn resident_bytes() -> u64 {
    const PAGE: u64 = 4096;
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok()).unwrap_or(0) * PAGE
}

#[cfg(test)]
#[path = "reporter_tests.rs"]
mod tests;
