//! Signs of life as metrics. They are looked up at each scrape: a loop that hangs exports nothing any more.

use std::time::Instant;

use prometheus::{
    core::{Collector, Desc},
    proto::MetricFamily,
};

use crate::{
    admin::Vitals,
    metrics::{Gauge, GaugeVec, Metrics, MetricsError, names},
};

struct Export {
    vitals: Vitals,
    ready: Gauge,
    ages: GaugeVec,
}

impl Vitals {
    /// Exports whether the process is ready, and how long ago its loops went round.
    ///
    /// # Errors
    /// [`MetricsError::Refused`] if that is exported already.
    pub fn export(&self, metrics: &Metrics) -> Result<(), MetricsError> {
        let apart = Metrics::new()?;
        let (ready, ages) = (apart.gauge(names::READY)?, apart.gauge_family(names::HEARTBEAT_AGE)?);
        metrics.register(names::READY, Box::new(Export { vitals: self.clone(), ready, ages }))
    }
}

impl Collector for Export {
    fn desc(&self) -> Vec<&Desc> {
        let Self { ready, ages, .. } = self;
        ready.desc().into_iter().chain(ages.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.ready.set(if self.vitals.missing().is_empty() { 1.0 } else { 0.0 });
        self.ages.reset();
        for (name, age) in self.vitals.ages(Instant::now()) {
            self.ages.with_label_values(&[name]).set(age.as_secs_f64());
        }
        self.ready.collect().into_iter().chain(self.ages.collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn readiness_and_ages_are_those_of_the_scrape() {
        let (vitals, metrics) = (Vitals::new(), Metrics::new().unwrap());
        vitals.export(&metrics).unwrap();
        assert!(metrics.encode().unwrap().contains("\nfogfall_ready 1\n"));
        let weights = vitals.condition("weights");
        let beat = vitals.heartbeat("train loop", Duration::from_secs(60));
        let text = metrics.encode().unwrap();
        assert!(text.contains("\nfogfall_ready 0\n"), "{text}");
        assert!(text.contains("\nfogfall_heartbeat_age_seconds{loop=\"train loop\"} "), "{text}");
        weights.met();
        drop(beat);
        let text = metrics.encode().unwrap();
        assert!(text.contains("\nfogfall_ready 1\n") && !text.contains("train loop"), "{text}");
    }
}
