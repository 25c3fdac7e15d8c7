//! The run's status as Prometheus metrics. Counters go up by what is new since the last look.

use fogfall_pipeline::PlayMetrics;
use fogfall_service::metrics::{Gauge, GaugeVec, IntGauge, Metrics, MetricsError, Total, names};

use crate::status::Status;

/// The metrics of a learner.
pub struct Export {
    metrics: Metrics,
    games: Total,
    rows: Total,
    steps: Total,
    skipped: Total,
    log_losses: Total,
    play: PlayMetrics,
    window_rows: IntGauge,
    replay_ratio: Gauge,
    /// total, policy, value, weights
    loss: [Gauge; 4],
    gradient_norm: Gauge,
    learning_rate: Gauge,
    effective_worlds: Gauge,
    refilled_pools: Gauge,
    weights_ordinal: IntGauge,
    weights_epoch: IntGauge,
    weights_step: IntGauge,
    scores: GaugeVec,
}

impl Export {
    /// Metrics that have seen nothing yet.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new() -> Result<Self, MetricsError> {
        let metrics = Metrics::new()?;
        Ok(Self {
            games: metrics.counter(names::GAMES)?.into(),
            rows: metrics.counter(names::ROWS_STORED)?.into(),
            steps: metrics.counter(names::STEPS)?.into(),
            skipped: metrics.counter(names::STEPS_SKIPPED)?.into(),
            log_losses: metrics.counter(names::LOG_LOSSES)?.into(),
            play: PlayMetrics::new(&metrics)?,
            window_rows: metrics.whole_gauge(names::WINDOW_ROWS)?,
            replay_ratio: metrics.gauge(names::REPLAY_RATIO)?,
            loss: metrics.gauges(names::LOSS, ["total", "policy", "value", "weights"])?,
            gradient_norm: metrics.gauge(names::GRADIENT_NORM)?,
            learning_rate: metrics.gauge(names::LEARNING_RATE)?,
            effective_worlds: metrics.gauge(names::EFFECTIVE_WORLDS)?,
            refilled_pools: metrics.gauge(names::REFILLED_POOLS)?,
            weights_ordinal: metrics.whole_gauge(names::WEIGHTS_ORDINAL)?,
            weights_epoch: metrics.whole_gauge(names::WEIGHTS_EPOCH)?,
            weights_step: metrics.whole_gauge(names::WEIGHTS_STEP)?,
            scores: metrics.gauge_family(names::SCORE)?,
            metrics,
        })
    }

    /// The registry.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Brings the metrics up to date.
    pub fn set(&mut self, status: &Status) {
        self.games.set(status.games);
        self.rows.set(status.rows);
        self.steps.set(status.step);
        self.skipped.set(status.skipped_steps);
        self.log_losses.set(status.log_losses);
        self.play.set(&status.play);
        self.window_rows.set(i64::try_from(status.window_rows).unwrap_or(i64::MAX));
        self.replay_ratio.set(status.replay_ratio);
        if let Some(loss) = status.loss {
            for (gauge, value) in self.loss.iter().zip([loss.total, loss.policy, loss.value, loss.weights]) {
                gauge.set(value);
            }
        }
        if let Some(worlds) = status.effective_worlds {
            self.effective_worlds.set(worlds);
            self.refilled_pools.set(status.refilled_pools);
        }
        self.gradient_norm.set(status.gradient_norm);
        self.learning_rate.set(status.learning_rate);
        self.weights_ordinal.set(i64::try_from(status.weights_published).unwrap_or(i64::MAX));
        if let Some((epoch, step)) = status.weights_version.split_once('.') {
            self.weights_epoch.set(epoch.parse().unwrap_or(0));
            self.weights_step.set(step.parse().unwrap_or(0));
        }
        for rate in &status.win_rates {
            self.scores.with_label_values(&[&rate.opponent]).set(rate.score);
        }
    }
}

#[cfg(test)]
mod tests {
    use fogfall_pipeline::PlayFigures;

    use super::*;
    use crate::status::WinRate;

    #[test]
    fn counters_grow_by_what_is_new_and_gauges_show_the_last_value() {
        let mut export = Export::new().unwrap();
        let rate = WinRate { opponent: "random".into(), score: 0.75, ..WinRate::default() };
        export.set(&Status { games: 3, rows: 30, win_rates: vec![rate], ..Status::default() });
        let weights_version = "2.300".to_owned();
        let (effective_worlds, refilled_pools) = (Some(12.5), 0.25);
        let status = Status { games: 5, rows: 50, step: 350, window_rows: 40, log_losses: 1, ..Status::default() };
        let play = PlayFigures { tree_nodes: 600, tree_falls: 70, ..PlayFigures::default() };
        let status = Status { weights_version, play, ..status };
        export.set(&Status { effective_worlds, refilled_pools, ..status });
        let text = export.metrics().encode().unwrap();
        for line in [
            "fogfall_games_total 5",
            "fogfall_rows_stored_total 50",
            "fogfall_steps_total 350",
            "fogfall_window_rows 40",
            "fogfall_replay_log_losses_total 1",
            "fogfall_search_tree_nodes 600",
            "fogfall_search_tree_falls_total 70",
            "fogfall_effective_worlds 12.5",
            "fogfall_refilled_pools_ratio 0.25",
            "fogfall_weights_epoch 2",
            "fogfall_weights_step 300",
            "fogfall_match_score{opponent=\"random\"} 0.75",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in {text}");
        }
    }
}
