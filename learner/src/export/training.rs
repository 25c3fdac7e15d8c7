//! The window, the train thread, and what it publishes.

use std::time::{Duration, SystemTime};

use fogfall_service::metrics::{
    Gauge, IntGauge, LastChange, Metrics, MetricsError, Seconds, Total, names, unix_seconds,
};

use super::Before;
use crate::{
    calibration::BINS,
    shown::StepTimes,
    status::{Losses, Status, TrainSeconds},
};

/// The metrics of [`names::WINDOW`] and [`names::TRAINING`].
pub struct TrainingMetrics {
    window: WindowMetrics,
    steps: Total,
    skipped: Total,
    clipped: Total,
    last_step: LastChange<u64>,
    /// wait, sample, step, publish, checkpoint
    seconds: [Seconds; 5],
    /// total, policy, value, weights
    loss: [Gauge; 4],
    gradient_norm: Gauge,
    learning_rate: Gauge,
    policy_entropy: Gauge,
    policy_divergence: Gauge,
    policy_agreement: Gauge,
    /// By bin: predicted, outcome.
    values: [[Gauge; BINS]; 2],
    calibration_error: Gauge,
    /// written, failed
    checkpoints: [Total; 2],
    last_checkpoint: Gauge,
    /// The checkpoint that this is the time of.
    seen_checkpoint: Option<(Option<u64>, u64)>,
    weights_ordinal: IntGauge,
    weights_bytes: IntGauge,
}

struct WindowMetrics {
    /// now, capacity, needed
    rows: [IntGauge; 3],
    followed: Total,
    skipped: Total,
    sampled: Total,
    ratio: Gauge,
    ratio_wanted: Gauge,
    losses: Total,
}

impl TrainingMetrics {
    /// Nothing has been trained since `before`.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new(metrics: &Metrics, before: Before, times: &StepTimes) -> Result<Self, MetricsError> {
        let phases = ["wait", "sample", "step", "publish", "checkpoint"];
        let bins = ["-0.9", "-0.7", "-0.5", "-0.3", "-0.1", "0.1", "0.3", "0.5", "0.7", "0.9"];
        metrics.adopt(names::STEP_SECONDS, &times.step)?;
        metrics.adopt(names::CHECKPOINT_SECONDS, &times.checkpoint)?;
        metrics.adopt(names::STALENESS, &times.staleness)?;
        Ok(Self {
            window: WindowMetrics::new(metrics, before)?,
            steps: Total::since(metrics.counter(names::STEPS)?, before.steps),
            skipped: Total::since(metrics.counter(names::STEPS_SKIPPED)?, before.skipped),
            clipped: metrics.counter(names::STEPS_CLIPPED)?.into(),
            last_step: LastChange::of(metrics.gauge(names::LAST_STEP)?, before.steps),
            seconds: metrics.seconds(names::TRAIN_SECONDS, phases)?.map(Seconds::from),
            loss: metrics.gauges(names::LOSS, ["total", "policy", "value", "weights"])?,
            gradient_norm: metrics.gauge(names::GRADIENT_NORM)?,
            learning_rate: metrics.gauge(names::LEARNING_RATE)?,
            policy_entropy: metrics.gauge(names::POLICY_ENTROPY)?,
            policy_divergence: metrics.gauge(names::POLICY_DIVERGENCE)?,
            policy_agreement: metrics.gauge(names::POLICY_AGREEMENT)?,
            values: [metrics.gauges(names::VALUE_PREDICTED, bins)?, metrics.gauges(names::VALUE_OUTCOME, bins)?],
            calibration_error: metrics.gauge(names::VALUE_CALIBRATION_ERROR)?,
            checkpoints: metrics.counters(names::CHECKPOINTS, ["written", "failed"])?.map(Total::from),
            last_checkpoint: metrics.gauge(names::LAST_CHECKPOINT)?,
            seen_checkpoint: None,
            weights_ordinal: metrics.whole_gauge(names::WEIGHTS_ORDINAL)?,
            weights_bytes: metrics.whole_gauge(names::WEIGHTS_BYTES)?,
        })
    }

    /// Brings them up to date.
    pub fn set(&mut self, status: &Status) {
        self.window.set(status);
        self.steps.set(status.step);
        self.skipped.set(status.skipped_steps);
        self.clipped.set(status.clipped_steps);
        self.last_step.look(status.step);
        let TrainSeconds { wait, sample, step, publish, checkpoint } = status.train_seconds;
        let seconds = [wait, sample, step, publish, checkpoint];
        self.seconds.iter_mut().zip(seconds).for_each(|(counter, total)| counter.set(total));
        let none = Losses { total: f64::NAN, policy: f64::NAN, value: f64::NAN, weights: f64::NAN };
        let Losses { total, policy, value, weights } = status.loss.unwrap_or(none);
        self.loss.iter().zip([total, policy, value, weights]).for_each(|(gauge, term)| gauge.set(term));
        self.gradient_norm.set(status.gradient_norm);
        self.learning_rate.set(status.learning_rate);
        self.policy_entropy.set(status.policy_entropy);
        self.policy_divergence.set(status.policy_divergence.unwrap_or(f64::NAN));
        self.policy_agreement.set(status.policy_agreement.unwrap_or(f64::NAN));
        for i in 0..BINS {
            let (predicted, outcome) =
                status.calibration.get(i).map_or((f64::NAN, f64::NAN), |bin| (bin.predicted, bin.outcome));
            self.values[0][i].set(predicted);
            self.values[1][i].set(outcome);
        }
        self.calibration_error.set(status.calibration_error.unwrap_or(f64::NAN));
        self.checkpoints[0].set(status.checkpoints);
        self.checkpoints[1].set(status.failed_checkpoints);
        self.note_checkpoint(status);
        whole(&self.weights_ordinal, status.weights_published);
        whole(&self.weights_bytes, status.weights_bytes);
    }

    /// The time of a checkpoint is worked out once: it does not change.
    fn note_checkpoint(&mut self, status: &Status) {
        let newest = Some((status.checkpoint_step, status.checkpoints));
        if let (true, Some(age_s)) = (newest != self.seen_checkpoint, status.checkpoint_age_s) {
            self.seen_checkpoint = newest;
            let age = Duration::try_from_secs_f64(age_s).unwrap_or_default();
            self.last_checkpoint.set(unix_seconds(SystemTime::now()) - age.as_secs_f64());
        }
    }
}

impl WindowMetrics {
    fn new(metrics: &Metrics, before: Before) -> Result<Self, MetricsError> {
        Ok(Self {
            rows: [
                metrics.whole_gauge(names::WINDOW_ROWS)?,
                metrics.whole_gauge(names::WINDOW_CAPACITY)?,
                metrics.whole_gauge(names::WINDOW_NEEDED)?,
            ],
            followed: metrics.counter(names::ROWS_FOLLOWED)?.into(),
            skipped: metrics.counter(names::ROWS_SKIPPED)?.into(),
            sampled: Total::since(metrics.counter(names::ROWS_SAMPLED)?, before.sampled),
            ratio: metrics.gauge(names::REPLAY_RATIO)?,
            ratio_wanted: metrics.gauge(names::REPLAY_RATIO_WANTED)?,
            losses: metrics.counter(names::LOG_LOSSES)?.into(),
        })
    }

    fn set(&mut self, status: &Status) {
        let rows = [status.window_rows, status.window_capacity, status.window_needed];
        self.rows.iter().zip(rows).for_each(|(gauge, count)| whole(gauge, count));
        self.followed.set(status.rows_followed);
        self.skipped.set(status.rows_skipped);
        self.sampled.set(status.rows_sampled);
        self.ratio.set(status.replay_ratio);
        self.ratio_wanted.set(status.replay_ratio_wanted);
        self.losses.set(status.log_losses);
    }
}

fn whole(gauge: &IntGauge, count: u64) {
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
}
