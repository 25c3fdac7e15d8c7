//! A counter that follows a total counted elsewhere.

use super::IntCounter;

/// Goes up by what is new since the last look.
pub struct Total {
    metric: IntCounter,
    seen: u64,
}

impl From<IntCounter> for Total {
    fn from(metric: IntCounter) -> Self {
        Self { metric, seen: 0 }
    }
}

impl Total {
    /// Brings it up to `total`; one that is less than before changes nothing.
    pub fn set(&mut self, total: u64) {
        self.metric.inc_by(total.saturating_sub(self.seen));
        self.seen = total.max(self.seen);
    }
}
