//! Metrics: a private registry with figures of the process, and every name of the product in one place.
//!
//! A metric is made once and its handle kept where it is counted: no look-up by name or label on a hot path. Labels
//! take their values from a short list known when the metric is made, so the number of series is bounded.

pub mod names;

mod name;
mod page;
mod total;

use std::collections::{BTreeSet, HashMap};

use prometheus::{CounterVec, Encoder, HistogramOpts, IntCounterVec, Opts, Registry, TextEncoder};
use thiserror::Error;

pub use name::{Buckets, Kind, Label, Name, Role, Section};
pub use page::page;
pub use prometheus::{Counter, Gauge, GaugeVec, Histogram, IntCounter, IntGauge, local::LocalHistogram};
pub use total::{LastChange, Seconds, Total, unix_seconds};

/// The content type of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

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
    /// It is declared as another kind.
    #[error("metric {name} is a {declared}, not a {asked}")]
    Kind {
        /// Its name.
        name: &'static str,
        /// What it is.
        declared: &'static str,
        /// What was asked for.
        asked: &'static str,
    },
    /// Its label is declared without this value.
    #[error("metric {name}: its label has no value '{value}'")]
    Value {
        /// Its name.
        name: &'static str,
        /// The value.
        value: String,
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
    /// The metrics of a process of a run: each series is labelled with `role` and `run`, so that it says by itself what it is
    /// of. It has figures of the process, where the system has them, and of the build.
    ///
    /// # Errors
    /// [`MetricsError::Refused`] if the process's own figures cannot be had.
    pub fn of(role: Role, run: &str) -> Result<Self, MetricsError> {
        let labels = HashMap::from([("role".to_owned(), role.to_string()), ("run".to_owned(), run.to_owned())]);
        let registry = Registry::new_custom(None, Some(labels)).map_err(refused("run"))?;
        let metrics = Self { registry };
        #[cfg(target_os = "linux")]
        {
            let process = prometheus::process_collector::ProcessCollector::for_self();
            metrics.registry.register(Box::new(process)).map_err(refused("process"))?;
        }
        let [build] = metrics.gauges(names::BUILD, [env!("CARGO_PKG_VERSION")])?;
        build.set(1.0);
        Ok(metrics)
    }

    /// Metrics of nobody, and none yet.
    ///
    /// # Errors
    /// None that are known.
    pub fn new() -> Result<Self, MetricsError> {
        Ok(Self { registry: Registry::new() })
    }

    /// A counter.
    ///
    /// # Errors
    /// [`MetricsError`] if it is declared as something else, or there is one of this name.
    pub fn counter(&self, name: Name) -> Result<IntCounter, MetricsError> {
        check(name, Kind::Counter.word(), &[])?;
        self.add(name, IntCounter::with_opts(opts(name)))
    }

    /// A counter for each of these values of its label.
    ///
    /// # Errors
    /// As [`Metrics::counter`], or if the label has no such value.
    pub fn counters<const N: usize>(&self, name: Name, values: [&str; N]) -> Result<[IntCounter; N], MetricsError> {
        check(name, Kind::Counter.word(), &values)?;
        let all = self.add(name, IntCounterVec::new(opts(name), &labels(name)))?;
        Ok(values.map(|value| all.with_label_values(&[value])))
    }

    /// A counter of seconds, parts of them included, for each of these values of its label.
    ///
    /// # Errors
    /// As [`Metrics::counters`].
    pub fn seconds<const N: usize>(&self, name: Name, values: [&str; N]) -> Result<[Counter; N], MetricsError> {
        check(name, Kind::Counter.word(), &values)?;
        let all = self.add(name, CounterVec::new(opts(name), &labels(name)))?;
        Ok(values.map(|value| all.with_label_values(&[value])))
    }

    /// A gauge of whole numbers.
    ///
    /// # Errors
    /// As [`Metrics::counter`].
    pub fn whole_gauge(&self, name: Name) -> Result<IntGauge, MetricsError> {
        check(name, Kind::Gauge.word(), &[])?;
        self.add(name, IntGauge::with_opts(opts(name)))
    }

    /// A gauge.
    ///
    /// # Errors
    /// As [`Metrics::counter`].
    pub fn gauge(&self, name: Name) -> Result<Gauge, MetricsError> {
        check(name, Kind::Gauge.word(), &[])?;
        self.add(name, Gauge::with_opts(opts(name)))
    }

    /// A gauge for each of these values of its label.
    ///
    /// # Errors
    /// As [`Metrics::counters`].
    pub fn gauges<const N: usize>(&self, name: Name, values: [&str; N]) -> Result<[Gauge; N], MetricsError> {
        check(name, Kind::Gauge.word(), &values)?;
        let all = self.add(name, GaugeVec::new(opts(name), &labels(name)))?;
        Ok(values.map(|value| all.with_label_values(&[value])))
    }

    /// A gauge for each value of its label, where the few values are known only when the process runs.
    ///
    /// # Errors
    /// As [`Metrics::counter`].
    pub fn gauge_family(&self, name: Name) -> Result<GaugeVec, MetricsError> {
        check(name, Kind::Gauge.word(), &[])?;
        self.add(name, GaugeVec::new(opts(name), &labels(name)))
    }

    /// A histogram.
    ///
    /// # Errors
    /// As [`Metrics::counter`].
    pub fn histogram(&self, name: Name) -> Result<Histogram, MetricsError> {
        let made = histogram(name)?;
        self.adopt(name, &made).map(|()| made)
    }

    /// Exports a [histogram] that was made before there was a registry.
    ///
    /// # Errors
    /// [`MetricsError::Refused`] if there is one of this name.
    pub fn adopt(&self, name: Name, histogram: &Histogram) -> Result<(), MetricsError> {
        self.add(name, Ok(histogram.clone())).map(drop)
    }

    /// Exports what is asked at each scrape.
    pub(crate) fn register(
        &self,
        name: Name,
        collector: Box<dyn prometheus::core::Collector>,
    ) -> Result<(), MetricsError> {
        self.registry.register(collector).map_err(refused(name.name))
    }

    /// All figures in Prometheus's text format, each series with its labels in order.
    ///
    /// # Errors
    /// [`MetricsError::Encode`].
    pub fn encode(&self) -> Result<String, MetricsError> {
        let mut families = self.registry.gather();
        for series in families.iter_mut().flat_map(|family| family.mut_metric()) {
            series.mut_label().sort_unstable_by(|a, b| a.name().cmp(b.name()));
        }
        let mut text = Vec::new();
        let encoded = TextEncoder::new().encode(&families, &mut text);
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

/// The names of the product's metrics in a text that [`Metrics::encode`] gave.
pub fn exported(text: &str) -> BTreeSet<&str> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    types.filter(|name| name.starts_with("fogfall_")).collect()
}

/// A histogram that nobody exports yet: whoever counts need not know whether anybody does.
///
/// # Errors
/// [`MetricsError`] if it is declared as something else.
pub fn histogram(name: Name) -> Result<Histogram, MetricsError> {
    let Kind::Histogram(buckets) = name.kind else {
        return Err(MetricsError::Kind { name: name.name, declared: name.kind.word(), asked: "histogram" });
    };
    let opts = HistogramOpts::from(opts(name)).buckets(buckets.bounds());
    Histogram::with_opts(opts).map_err(refused(name.name))
}

/// True to what the list of names says.
fn check(name: Name, asked: &'static str, values: &[&str]) -> Result<(), MetricsError> {
    let declared = name.kind.word();
    if declared != asked {
        return Err(MetricsError::Kind { name: name.name, declared, asked });
    }
    let known = name.label.map_or(&[][..], |label| label.values);
    match values.iter().find(|value| !known.is_empty() && !known.contains(value)) {
        Some(&value) => Err(MetricsError::Value { name: name.name, value: value.to_owned() }),
        None => Ok(()),
    }
}

fn opts(name: Name) -> Opts {
    Opts::new(name.name, name.help)
}

fn labels(name: Name) -> Vec<&'static str> {
    name.label.iter().map(|label| label.name).collect()
}

fn refused(name: &'static str) -> impl FnOnce(prometheus::Error) -> MetricsError {
    move |e| MetricsError::Refused { name, reason: e.to_string() }
}

#[cfg(test)]
#[path = "metrics/tests.rs"]
mod tests;
