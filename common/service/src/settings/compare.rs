//! What changed between two sets of settings, by what a resumed run may do about it.

use std::collections::BTreeMap;
use std::fmt;

use crate::settings::{Class, Key};

/// One setting that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub key: &'static str,
    /// Its value before; the default if it was not stored.
    pub old: String,
    /// Its value now.
    pub new: String,
}

/// What changed, by class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Refused: it would be another run.
    pub identity: Vec<Change>,
    /// To be asked for.
    pub learning: Vec<Change>,
    /// Free.
    pub operational: Vec<Change>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: \"{}\" before, \"{}\" now", self.key, self.old, self.new)
    }
}

impl Difference {
    /// True if nothing changed.
    pub fn is_empty(&self) -> bool {
        self.identity.is_empty() && self.learning.is_empty() && self.operational.is_empty()
    }
}

/// Compares the settings of `keys`. One that was not stored counts as its default: it came later than the checkpoint.
pub fn diff<'a>(
    old: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
    keys: impl IntoIterator<Item = &'a Key>,
) -> Difference {
    let mut difference = Difference::default();
    for key in keys {
        let of = |texts: &BTreeMap<String, String>| texts.get(key.key).unwrap_or(&key.default).clone();
        let change = Change { key: key.key, old: of(old), new: of(new) };
        if change.old != change.new {
            match key.class {
                Class::Identity => difference.identity.push(change),
                Class::Learning => difference.learning.push(change),
                Class::Operational => difference.operational.push(change),
            }
        }
    }
    difference
}
