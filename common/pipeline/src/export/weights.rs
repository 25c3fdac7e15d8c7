//! The weights that play.

use fogfall_proto::Version;
use fogfall_service::metrics::{IntGauge, LastChange, Metrics, MetricsError, Total, names};

use crate::StageCounts;

/// The metrics of [`names::WEIGHTS`].
pub struct WeightsMetrics {
    epoch: IntGauge,
    step: IntGauge,
    time: LastChange<Version>,
    refused: Total,
}

impl WeightsMetrics {
    /// Metrics that have seen nothing yet, of the stage that counts in `counts`.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new(metrics: &Metrics, counts: &StageCounts) -> Result<Self, MetricsError> {
        metrics.adopt(names::WEIGHTS_FETCH_SECONDS, &counts.times.fetch)?;
        Ok(Self {
            epoch: metrics.whole_gauge(names::WEIGHTS_EPOCH)?,
            step: metrics.whole_gauge(names::WEIGHTS_STEP)?,
            time: LastChange::of(metrics.gauge(names::WEIGHTS_TIME)?, Version::default()),
            refused: metrics.counter(names::WEIGHTS_REFUSED)?.into(),
        })
    }

    /// Brings them up to date.
    pub fn set(&mut self, version: Version, refused: u64) {
        self.epoch.set(version.epoch.into());
        whole(&self.step, version.step);
        self.time.look(version);
        self.refused.set(refused);
    }
}

/// Sets a gauge to a count.
pub(super) fn whole(gauge: &IntGauge, count: u64) {
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
}
