//! Who waits, and for how long.

use fogfall_service::metrics::{Gauge, Metrics, MetricsError, Seconds, names};

/// A stage's part of the metrics of waiting.
pub struct WaitMetrics {
    lasts: Gauge,
    waited: Seconds,
}

impl WaitMetrics {
    /// Those of the stages of a process, which have not waited yet.
    ///
    /// # Errors
    /// [`MetricsError`] if one is no stage.
    pub fn of<const N: usize>(metrics: &Metrics, stages: [&str; N]) -> Result<[Self; N], MetricsError> {
        let mut waited = metrics.seconds(names::BLOCKED_SECONDS, stages)?.map(Seconds::from).into_iter();
        Ok(metrics.gauges(names::WAIT_SECONDS, stages)?.map(|lasts| {
            let waited = waited.next().expect("there are as many counters as gauges");
            Self { lasts, waited }
        }))
    }

    /// Brings them up to date: seconds that the present wait has lasted, if there is one, and of all waits so far, per thread.
    pub fn set(&mut self, lasts: Option<f64>, waited: f64) {
        self.lasts.set(lasts.unwrap_or(0.0));
        self.waited.set(waited);
    }
}
