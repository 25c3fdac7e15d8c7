//! What is wrong with the settings given: all of it in one error.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// Where a setting was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// On the command line.
    Flag(String),
    /// In the environment.
    Environment(String),
    /// In a file, at a line.
    File(PathBuf, usize),
    /// In a run or manifest that is gone on with.
    Stored(String),
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// There is no such setting.
    Unknown {
        /// The name given.
        key: String,
        /// Where.
        origin: Origin,
        /// Names that look alike, best first.
        nearest: Vec<&'static str>,
    },
    /// The value is not allowed.
    Value {
        /// The setting.
        key: &'static str,
        /// The value given.
        text: String,
        /// Where.
        origin: Origin,
        /// What is allowed.
        allowed: String,
    },
    /// The file cannot be read or understood.
    File {
        /// Where.
        origin: Origin,
        /// Why.
        reason: String,
    },
    /// Settings that are right one by one do not fit together.
    Together {
        /// What does not fit, with names and values.
        reason: String,
    },
}

/// All mistakes of the settings given; never empty. A program ends with exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Mistakes(pub Vec<Mistake>);

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "--{flag}"),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Stored(what) => write!(f, "{what}"),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { key, origin, nearest } => {
                write!(f, "{origin}: there is no setting {key}")?;
                if nearest.is_empty() { Ok(()) } else { write!(f, "; did you mean {}?", nearest.join(" or ")) }
            }
            Self::Value { key, text, origin, allowed } => {
                write!(f, "{origin}: {key} is \"{text}\"; allowed is {allowed}")
            }
            Self::File { origin, reason } => write!(f, "{origin}: {reason}"),
            Self::Together { reason } => write!(f, "{reason}"),
        }
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.0.len() == 1 { "" } else { "s" };
        write!(f, "{} mistake{s} in the settings:", self.0.len())?;
        self.0.iter().try_for_each(|mistake| write!(f, "\n  {mistake}"))
    }
}

/// The up to three names most like `key`, if they are like it at all.
pub(crate) fn nearest(key: &str, names: impl IntoIterator<Item = &'static str>) -> Vec<&'static str> {
    let most = (key.len() / 3).max(2);
    let mut near: Vec<(usize, &str)> = names.into_iter().map(|name| (edits(key, name), name)).collect();
    near.retain(|&(edits, _)| edits <= most);
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_are_found_nearest_first() {
        assert_eq!(edits("kitten", "sitting"), 3); // k>s, e>i, +g
        assert_eq!(edits("", "abc"), 3);
        let names = ["batch_rows", "batch_size", "learning_rate"];
        assert_eq!(nearest("batch_sise", names), ["batch_size"]);
        assert_eq!(nearest("batch_rose", names), ["batch_rows", "batch_size"]);
        assert!(nearest("colour", names).is_empty());
    }
}
