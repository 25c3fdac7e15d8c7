//! What there is to say of a metric before it is made: its name, kind, unit, labels, and who exports it.

use std::fmt;

/// A metric of the product. All of them are in [`names`](super::names).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Name {
    /// `fogfall_<what>_<unit>`; counters end in `_total`.
    pub name: &'static str,
    /// What kind of metric it is.
    pub kind: Kind,
    /// What is counted or measured; empty for a number without unit.
    pub unit: &'static str,
    /// The label that tells its series apart, besides those that all series of a process have.
    pub label: Option<Label>,
    /// What it says.
    pub help: &'static str,
}

/// A label with few values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub name: &'static str,
    /// All values that it can have, in order; empty where they are known only when the process runs.
    pub values: &'static [&'static str],
}

/// Kinds of metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Only grows, from 0 when the process starts.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts values by size.
    Histogram(Buckets),
}

/// The upper bounds of a histogram's buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buckets {
    /// `count` bounds, each `factor` times the one before.
    Exponential {
        /// The lowest.
        start: f64,
        /// From one to the next.
        factor: f64,
        /// How many.
        count: usize,
    },
    /// These, ascending.
    These(&'static [f64]),
}

/// What a process of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Plays.
    Actor,
    /// Moves games from the bus into the replay log.
    Ingester,
    /// Trains; a learner alone on its machine plays and ingests, too.
    Learner,
}

/// Metrics that are exported together.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// What they are about, and who exports them, in words.
    pub title: &'static str,
    /// Who exports all of them. Of learners, those to whom the title applies.
    pub roles: &'static [Role],
    /// The metrics.
    pub names: &'static [Name],
}

impl Kind {
    /// Its word in Prometheus's text format.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

impl Buckets {
    /// All bounds, ascending, without the infinite one.
    pub fn bounds(&self) -> Vec<f64> {
        match *self {
            Self::Exponential { start, factor, count } => {
                (0..count).map(|power| start * factor.powi(power as i32)).collect()
            }
            Self::These(bounds) => bounds.to_vec(),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Actor => "actor",
            Self::Ingester => "ingester",
            Self::Learner => "learner",
        })
    }
}
