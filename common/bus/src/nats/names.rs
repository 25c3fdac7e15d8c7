//! The names that a run has on the server. Each carries the run's id, so that several runs share a server and never meet.
//!
//! **Invariant:** an id is one word of a subject and one part of a file name: letters, digits, `-` and `_`.

use fogfall_proto::{Manifest, PartId, Version};

use crate::BusError;

/// Longest id of a run.
const MAX_RUN_LEN: usize = 64;

/// The durable consumer that all ingesters share.
pub(crate) const CONSUMER: &str = "ingest";
/// Key of the record that says who leads the run and which weights are newest.
pub(crate) const LEAD: &str = "lead";
/// Key of the record that says what the run is.
pub(crate) const MANIFEST: &str = "manifest";

/// A run's names.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    run: String,
}

impl Names {
    pub(crate) fn new(run: &str) -> Result<Self, BusError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if run.is_empty() || run.len() > MAX_RUN_LEN || !run.chars().all(plain) {
            return Err(BusError::BadRun { run: run.to_owned() });
        }
        Ok(Self { run: run.to_owned() })
    }

    /// Fails if a manifest is of another run.
    pub(crate) fn check(&self, manifest: &Manifest) -> Result<(), BusError> {
        if self.run == manifest.run {
            return Ok(());
        }
        let (run, found, expected) = (self.run.clone(), self.run.clone(), manifest.run.clone());
        Err(BusError::OtherRun { run, found, field: "run", expected })
    }

    /// Stream of trajectories.
    pub(crate) fn trajectories(&self) -> String {
        format!("fogfall-trajectories-{}", self.run)
    }

    /// Its one subject.
    pub(crate) fn trajectory_subject(&self) -> String {
        format!("fogfall.{}.trajectory", self.run)
    }

    /// Stream of parts put aside.
    pub(crate) fn dead(&self) -> String {
        format!("fogfall-dead-{}", self.run)
    }

    /// Its one subject.
    pub(crate) fn dead_subject(&self) -> String {
        format!("fogfall.{}.dead", self.run)
    }

    /// Stream of weights.
    pub(crate) fn weights(&self) -> String {
        format!("fogfall-weights-{}", self.run)
    }

    /// All its subjects.
    pub(crate) fn weights_subjects(&self) -> String {
        format!("fogfall.{}.weights.>", self.run)
    }

    /// The subject of one chunk of one version.
    pub(crate) fn chunk_subject(&self, version: Version, chunk: u64) -> String {
        format!("{}.{chunk}", self.version_subject(version))
    }

    /// The subjects of all chunks of one version.
    pub(crate) fn version_subjects(&self, version: Version) -> String {
        format!("{}.>", self.version_subject(version))
    }

    /// The subjects of the first chunks of all versions.
    pub(crate) fn first_chunks(&self) -> String {
        format!("fogfall.{}.weights.*.*.0", self.run)
    }

    /// The version that the subject of a chunk names.
    pub(crate) fn version_of(&self, chunk_subject: &str) -> Option<Version> {
        let mut words = chunk_subject.strip_prefix(&format!("fogfall.{}.weights.", self.run))?.split('.');
        Some(Version { epoch: words.next()?.parse().ok()?, step: words.next()?.parse().ok()? })
    }

    fn version_subject(&self, Version { epoch, step }: Version) -> String {
        format!("fogfall.{}.weights.{epoch}.{step}", self.run)
    }

    /// Stream of heartbeats.
    pub(crate) fn members(&self) -> String {
        format!("fogfall-alive-{}", self.run)
    }

    /// All its subjects.
    pub(crate) fn members_subjects(&self) -> String {
        format!("fogfall.{}.alive.*", self.run)
    }

    /// The subject of one process.
    pub(crate) fn member_subject(&self, life: u64) -> String {
        format!("fogfall.{}.alive.{life:016x}", self.run)
    }

    /// Bucket of manifest and lead.
    pub(crate) fn bucket(&self) -> String {
        format!("fogfall-{}", self.run)
    }

    /// The stream behind the bucket.
    pub(crate) fn bucket_stream(&self) -> String {
        format!("KV_{}", self.bucket())
    }

    /// Its subjects.
    pub(crate) fn bucket_subjects(&self) -> String {
        format!("$KV.{}.>", self.bucket())
    }

    /// Says, to whoever listens, that there are newer weights. Nothing stores it: who misses it asks later.
    pub(crate) fn news_subject(&self) -> String {
        format!("fogfall.{}.news", self.run)
    }
}

/// The part that a message id names, as [`PartId`]'s `Display` writes it.
pub(crate) fn part_of(message_id: &str) -> Option<PartId> {
    let (publisher, sequence) = message_id.split_once('-')?;
    Some(PartId { publisher: u64::from_str_radix(publisher, 16).ok()?, sequence: sequence.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_is_one_plain_word() {
        let longest = "x".repeat(64);
        for good in ["r", "battle-2026_a", longest.as_str()] {
            assert!(Names::new(good).is_ok(), "{good}");
        }
        let too_long = "x".repeat(65);
        for bad in ["", "a.b", "a b", "*", ">", "a/b", "é", too_long.as_str()] {
            assert_eq!(Names::new(bad).unwrap_err(), BusError::BadRun { run: bad.into() });
        }
    }

    #[test]
    fn names_of_parts_and_versions_are_read_back() {
        let part = PartId { publisher: u64::MAX - 5, sequence: 12 };
        assert_eq!(part_of(&part.to_string()), Some(part));
        assert_eq!(part_of("someone-else"), None);
        let names = Names::new("r").unwrap();
        let version = Version { epoch: 3, step: 1_000 };
        assert_eq!(names.chunk_subject(version, 7), "fogfall.r.weights.3.1000.7");
        assert_eq!(names.version_of("fogfall.r.weights.3.1000.7"), Some(version));
        assert_eq!(names.version_of("fogfall.s.weights.3.1000.7"), None);
    }
}
