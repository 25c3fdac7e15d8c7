//! Metrics: a private registry with figures of the process, and every name of the product in one place.
//!
//! A metric is made once and its handle kept where it is counted: no look-up by name or label on a hot path. Labels
//! take their values from a short list known when the metric is made, so the number of series is bounded.

pub mod names;

mod total;

use prometheus::{Encoder, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry, TextEncoder};
use thiserror::Error;

pub use prometheus::{Gauge, GaugeVec, Histogram, IntCounter, IntGauge, exponential_buckets, linear_buckets};
pub use total::Total;

/// The content type of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A metric's name, what it counts and, if it has one, its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// `fogfall_<what>_<unit>`; counters end in `_total`.
    pub name: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// The label that tells its series apart.
    pub label: Option<&'static str>,
}

/// Why a metric could not be made.
#[derive(Debug, Error)]
pub enum MetricsError {
    /// There is one of this name, or the name is none.
    #[error("metric {name}: {reason}")]
    Refused {
        /// Its name.
        name: &'static str,
        /// What the registry said.
        reason: String,
    },
    /// The figures could not be written.
    #[error("metrics could not be encoded: {reason}")]
    Encode {
        /// What the encoder said.
        reason: String,
    },
}

/// The metrics of one process.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
}

impl Metrics {
    /// An empty registry, with figures of the process where the system has them.
    ///
    /// # Errors
    /// [`MetricsError::Refused`] if the process's own figures cannot be had.
    pub fn new() -> Result<Self, MetricsError> {
        let registry = Registry::new();
        #[cfg(target_os = "linux")]
        {
            let process = prometheus::process_collector::ProcessCollector::for_self();
            registry.register(Box::new(process)).map_err(refused("process"))?;
        }
        Ok(Self { registry })
    }

    /// A counter.
    ///
    /// # Errors
    /// [`MetricsError::Refused`] if there is one of this name.
    pub fn counter(&self, name: Name) -> Result<IntCounter, MetricsError> {
        self.add(name, IntCounter::with_opts(opts(name)))
    }

    /// A counter for each value of its label, in their order.
    ///
    /// # Errors
    /// [`MetricsError::Refused`].
    pub fn counters<const N: usize>(&self, name: Name, values: [&str; N]) -> Result<[IntCounter; N], MetricsError> {
        let all = self.add(name, IntCounterVec::new(opts(name), &labels(name)))?;
        Ok(values.map(|value| all.with_label_values(&[value])))
    }

    /// A gauge of whole numbers.
    ///
    /// # Errors
    /// [`MetricsError::Refused`].
    pub fn whole_gauge(&self, name: Name) -> Result<IntGauge, MetricsError> {
        self.add(name, IntGauge::with_opts(opts(name)))
    }

    /// A gauge.
    ///
    /// # Errors
    /// [`MetricsError::Refused`].
    pub fn gauge(&self, name: Name) -> Result<Gauge, MetricsError> {
        self.add(name, Gauge::with_opts(opts(name)))
    }

    /// A gauge for each value of its label, in their order.
    ///
    /// # Errors
    /// [`MetricsError::Refused`].
    pub fn gauges<const N: usize>(&self, name: Name, values: [&str; N]) -> Result<[Gauge; N], MetricsError> {
        let all = self.add(name, GaugeVec::new(opts(name), &labels(name)))?;
        Ok(values.map(|value| all.with_label_values(&[value])))
    }

    /// A gauge for each value of its label, where the few values are known only when the process runs.
    ///
    /// # Errors
    /// [`MetricsError::Refused`].
    pub fn gauge_family(&self, name: Name) -> Result<GaugeVec, MetricsError> {
        self.add(name, GaugeVec::new(opts(name), &labels(name)))
    }

    /// A histogram with these upper bounds.
    ///
    /// # Errors
    /// [`MetricsError::Refused`].
    pub fn histogram(&self, name: Name, buckets: Vec<f64>) -> Result<Histogram, MetricsError> {
        self.add(name, Histogram::with_opts(HistogramOpts::from(opts(name)).buckets(buckets)))
    }

    /// A histogram for each value of its label, in their order.
    ///
    /// # Errors
    /// [`MetricsError::Refused`].
    pub fn histograms<const N: usize>(
        &self,
        name: Name,
        values: [&str; N],
        buckets: Vec<f64>,
    ) -> Result<[Histogram; N], MetricsError> {
        let opts = HistogramOpts::from(opts(name)).buckets(buckets);
        let all = self.add(name, HistogramVec::new(opts, &labels(name)))?;
        Ok(values.map(|value| all.with_label_values(&[value])))
    }

    /// All figures in Prometheus's text format.
    ///
    /// # Errors
    /// [`MetricsError::Encode`].
    pub fn encode(&self) -> Result<String, MetricsError> {
        let mut text = Vec::new();
        let encoded = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        encoded.map_err(|e| MetricsError::Encode { reason: e.to_string() })?;
        String::from_utf8(text).map_err(|e| MetricsError::Encode { reason: e.to_string() })
    }

    fn add<C: prometheus::core::Collector + Clone + 'static>(
        &self,
        name: Name,
        metric: prometheus::Result<C>,
    ) -> Result<C, MetricsError> {
        let metric = metric.map_err(refused(name.name))?;
        self.registry.register(Box::new(metric.clone())).map_err(refused(name.name))?;
        Ok(metric)
    }
}

fn opts(name: Name) -> Opts {
    Opts::new(name.name, name.help)
}

fn labels(name: Name) -> Vec<&'static str> {
    name.label.into_iter().collect()
}

fn refused(name: &'static str) -> impl FnOnce(prometheus::Error) -> MetricsError {
    move |e| MetricsError::Refused { name, reason: e.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_out_as_text_with_all_series_from_the_start() {
        let metrics = Metrics::new().unwrap();
        let games = metrics.counter(names::GAMES).unwrap();
        let [_, truncated] = metrics.counters(names::RESULTS, ["finished", "truncated"]).unwrap();
        let steps = metrics.histogram(names::STEP_SECONDS, vec![0.5, 1.0]).unwrap();
        let rate = metrics.gauge(names::LEARNING_RATE).unwrap();
        games.inc_by(3);
        truncated.inc();
        steps.observe(0.75);
        rate.set(0.001);
        let text = metrics.encode().unwrap();
        for line in [
            "# HELP fogfall_games_total Games played to their end or cut.",
            "# TYPE fogfall_games_total counter",
            "fogfall_games_total 3",
            "fogfall_game_results_total{result=\"finished\"} 0",
            "fogfall_game_results_total{result=\"truncated\"} 1",
            "fogfall_step_seconds_bucket{le=\"0.5\"} 0",
            "fogfall_step_seconds_bucket{le=\"1\"} 1",
            "fogfall_step_seconds_sum 0.75",
            "fogfall_learning_rate 0.001",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
        #[cfg(target_os = "linux")]
        assert!(text.contains("\nprocess_resident_memory_bytes "), "{text}");
    }

    #[test]
    fn a_name_is_taken_once_a_registry_and_registries_are_apart() {
        let metrics = Metrics::new().unwrap();
        metrics.counter(names::GAMES).unwrap();
        let refused = metrics.counter(names::GAMES).expect_err("refused").to_string();
        assert!(refused.starts_with("metric fogfall_games_total: "), "{refused}");
        Metrics::new().unwrap().counter(names::GAMES).unwrap();
    }

    #[test]
    fn every_name_has_the_prefix_is_unique_and_says_what_it_counts() {
        let mut seen = std::collections::BTreeSet::new();
        for name in names::ALL {
            assert!(name.name.starts_with("fogfall_"), "{}", name.name);
            assert!(name.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{}", name.name);
            assert!(seen.insert(name.name), "{} twice", name.name);
            assert!(name.help.ends_with('.') && name.help.len() > 10, "{}", name.name);
        }
    }
}
