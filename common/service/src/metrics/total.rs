//! Metrics that follow figures which are kept elsewhere: whoever counts knows no metric, and whoever exports looks now and
//! then.

use std::time::{SystemTime, UNIX_EPOCH};

use super::{Counter, Gauge, IntCounter};

/// Goes up by what is new since the last look.
pub struct Total {
    metric: IntCounter,
    seen: u64,
}

impl From<IntCounter> for Total {
    fn from(metric: IntCounter) -> Self {
        Self::since(metric, 0)
    }
}

impl Total {
    /// Of a total that was `before` when the process started: a counter counts what its process did.
    pub fn since(metric: IntCounter, before: u64) -> Self {
        Self { metric, seen: before }
    }

    /// Brings it up to `total`; one that is less than before changes nothing.
    pub fn set(&mut self, total: u64) {
        self.metric.inc_by(total.saturating_sub(self.seen));
        self.seen = total.max(self.seen);
    }
}

/// The same of seconds.
pub struct Seconds {
    metric: Counter,
    seen: f64,
}

impl From<Counter> for Seconds {
    fn from(metric: Counter) -> Self {
        Self { metric, seen: 0.0 }
    }
}

impl Seconds {
    /// Brings it up to `total` seconds; less than before, or no number, changes nothing.
    pub fn set(&mut self, total: f64) {
        if total > self.seen {
            self.metric.inc_by(total - self.seen);
            self.seen = total;
        }
    }
}

/// When a figure last changed, in Unix time; 0 until it has.
pub struct LastChange<T> {
    metric: Gauge,
    seen: T,
}

impl<T: PartialEq> LastChange<T> {
    /// Of a figure that is `now`.
    pub fn of(metric: Gauge, now: T) -> Self {
        Self { metric, seen: now }
    }

    /// Looks at the figure.
    pub fn look(&mut self, now: T) {
        if now != self.seen {
            self.seen = now;
            self.metric.set(unix_seconds(SystemTime::now()));
        }
    }
}

/// Seconds since 1970.
pub fn unix_seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Metrics, names};

    #[test]
    fn totals_count_from_where_the_process_began_and_never_back() {
        let metrics = Metrics::new().unwrap();
        let mut steps = Total::since(metrics.counter(names::STEPS).unwrap(), 1_000);
        steps.set(1_005);
        steps.set(1_003);
        steps.set(1_006);
        let [waited, ..] = metrics.seconds(names::TRAIN_SECONDS, ["wait", "sample"]).unwrap();
        let mut waited = Seconds::from(waited);
        waited.set(2.5);
        waited.set(2.0);
        waited.set(f64::NAN);
        let text = metrics.encode().unwrap();
        assert!(text.contains("\nfogfall_steps_total 6\n"), "{text}");
        assert!(text.contains("\nfogfall_train_seconds_total{phase=\"wait\"} 2.5\n"), "{text}");
    }

    #[test]
    fn a_change_has_its_time_and_what_was_there_before_has_none() {
        let gauge = Metrics::new().unwrap().gauge(names::LAST_GAME).unwrap();
        let mut last = LastChange::of(gauge.clone(), 7);
        last.look(7);
        assert_eq!(gauge.get(), 0.0);
        let before = unix_seconds(SystemTime::now());
        last.look(8);
        let at = gauge.get();
        assert!(at >= before);
        last.look(8);
        assert_eq!(gauge.get(), at);
    }
}
