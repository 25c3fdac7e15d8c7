//! The averaged weights of a run's checkpoints, as the learner leaves them:
//!
//! ```text
//! RUN/untrained.safetensors                                   what training began with
//! RUN/checkpoints/0001.000000001200/state.json                files with their digests; the run's manifest
//! RUN/checkpoints/0001.000000001200/averaged.safetensors      the weights that play
//! ```
//!
//! **Invariant:** only reads. A checkpoint that is damaged is left out with a warning, and so are weights that are there
//! already under another name.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use fogfall_proto::{Manifest, Version, digest};
use serde::Deserialize;

/// The layout of a checkpoint that this program reads.
const FORMAT: u32 = 1;
const STATE_FILE: &str = "state.json";
const WEIGHTS_FILE: &str = "averaged.safetensors";

/// What a ladder needs of a run.
pub struct RunWeights {
    /// The run's directory.
    pub dir: PathBuf,
    /// What the run is, by its newest checkpoint.
    pub manifest: Manifest,
    /// What training began with; none if it is not there.
    pub untrained: Option<Vec<u8>>,
    /// Averaged weights by version, oldest first.
    pub checkpoints: Vec<(Version, Vec<u8>)>,
}

#[derive(Deserialize)]
struct StateFile {
    format: u32,
    files: BTreeMap<String, String>,
    state: State,
}

#[derive(Deserialize)]
struct State {
    manifest: Manifest,
}

impl RunWeights {
    /// Reads the run in `dir`, with no more than `most` checkpoints: the first, the last, and others evenly between.
    ///
    /// # Errors
    /// If there is no run or none of its checkpoints can be read.
    pub fn read(dir: &Path, most: usize) -> Result<Self> {
        let checkpoints_dir = dir.join("checkpoints");
        let entries = fs::read_dir(&checkpoints_dir)
            .with_context(|| format!("{} holds no run: cannot list {}", dir.display(), checkpoints_dir.display()))?;
        let mut paths = BTreeMap::new();
        for entry in entries {
            let path = entry?.path();
            if let Some(version) = path.file_name().and_then(|name| parse_version(&name.to_string_lossy())) {
                paths.insert(version, path);
            }
        }
        let untrained = fs::read(dir.join("untrained.safetensors")).ok();
        let mut seen: Vec<u128> = untrained.iter().map(|bytes| digest(bytes)).collect();
        let mut manifest = None;
        let mut checkpoints = Vec::new();
        for (version, path) in paths {
            match read_checkpoint(&path) {
                Ok((of_run, weights)) => {
                    manifest = Some(of_run);
                    let hash = digest(&weights);
                    if !seen.contains(&hash) {
                        seen.push(hash);
                        checkpoints.push((version, weights));
                    }
                }
                Err(error) => tracing::warn!(error = %format!("{error:#}"), "a checkpoint is left out"),
            }
        }
        let manifest =
            manifest.with_context(|| format!("{} holds no checkpoint that can be read", checkpoints_dir.display()))?;
        let chosen = evenly(checkpoints.len(), most);
        let checkpoints = checkpoints.into_iter().enumerate().filter(|(i, _)| chosen.contains(i));
        let checkpoints = checkpoints.map(|(_, checkpoint)| checkpoint).collect();
        Ok(Self { dir: dir.to_owned(), manifest, untrained, checkpoints })
    }
}

fn read_checkpoint(path: &Path) -> Result<(Manifest, Vec<u8>)> {
    let state = path.join(STATE_FILE);
    let text = fs::read(&state).with_context(|| format!("cannot read {}", state.display()))?;
    let StateFile { format, files, state: State { manifest } } =
        serde_json::from_slice(&text).with_context(|| format!("{} is damaged", state.display()))?;
    ensure!(format == FORMAT, "{} has format {format}; this program reads format {FORMAT}", path.display());
    let file = path.join(WEIGHTS_FILE);
    let weights = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let expected = files.get(WEIGHTS_FILE).map(String::as_str);
    ensure!(expected == Some(format!("{:032x}", digest(&weights)).as_str()), "{} is damaged", file.display());
    Ok((manifest, weights))
}

/// `EPOCH.STEP`, as the directories are called.
fn parse_version(name: &str) -> Option<Version> {
    let (epoch, step) = name.split_once('.')?;
    Some(Version { epoch: epoch.parse().ok()?, step: step.parse().ok()? })
}

/// `most` numbers below `count`, the first and the last among them; all if there are no more.
fn evenly(count: usize, most: usize) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    match most {
        0 => Vec::new(),
        1 => vec![count - 1],
        most => (0..most).map(|i| (i * (count - 1) + (most - 1) / 2) / (most - 1)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::tests::{manifest, write_checkpoint};

    #[test]
    fn checkpoints_are_chosen_evenly_with_both_ends() {
        assert_eq!(evenly(3, 5), [0, 1, 2]);
        assert_eq!(evenly(9, 3), [0, 4, 8]);
        assert_eq!(evenly(10, 4), [0, 3, 6, 9]);
        assert_eq!(evenly(4, 1), [3]);
        assert!(evenly(4, 0).is_empty());
    }

    #[test]
    fn damage_is_left_out_and_equal_weights_count_once() {
        let dir = tempfile::tempdir().unwrap();
        assert!(RunWeights::read(dir.path(), 9).is_err(), "no run");
        fs::write(dir.path().join("untrained.safetensors"), "zero").unwrap();
        for (version, weights) in
            [("0001.000000000000", "zero"), ("0001.000000000010", "ten"), ("0001.000000000020", "bad")]
        {
            write_checkpoint(dir.path(), version, weights.as_bytes(), &manifest("kuhn_poker"));
        }
        fs::write(dir.path().join("checkpoints/0001.000000000020/averaged.safetensors"), "cut").unwrap();
        fs::write(dir.path().join("checkpoints/latest"), "0001.000000000020\n").unwrap();
        write_checkpoint(dir.path(), "0002.000000000030", b"thirty", &manifest("kuhn_poker"));
        let run = RunWeights::read(dir.path(), 9).unwrap();
        let found: Vec<_> = run.checkpoints.iter().map(|(v, w)| (v.epoch, v.step, w.as_slice())).collect();
        assert_eq!(found, [(1, 10, &b"ten"[..]), (2, 30, b"thirty")]);
        assert_eq!((run.manifest.game.as_str(), run.untrained.as_deref()), ("kuhn_poker", Some(&b"zero"[..])));
        assert_eq!(RunWeights::read(dir.path(), 1).unwrap().checkpoints.len(), 1);
    }
}
