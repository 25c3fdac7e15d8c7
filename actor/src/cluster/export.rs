//! A metric that follows a total counted elsewhere.

use fogfall_service::metrics::IntCounter;

/// Goes up by what is new since the last look.
pub struct Counter {
    metric: IntCounter,
    seen: u64,
}

impl From<IntCounter> for Counter {
    fn from(metric: IntCounter) -> Self {
        Self { metric, seen: 0 }
    }
}

impl Counter {
    /// Brings it up to `total`.
    pub fn set(&mut self, total: u64) {
        self.metric.inc_by(total.saturating_sub(self.seen));
        self.seen = total.max(self.seen);
    }
}
