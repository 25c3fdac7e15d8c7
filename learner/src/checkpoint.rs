//! Checkpoints: numbered directories that appear whole or not at all, and the name of the newest one.
//!
//! ```text
//! checkpoints/
//!   0001.000000001200/   state.json and the files it lists with their digests
//!   latest               the name of the newest directory
//! ```
//!
//! **Invariant:** a directory named by a version is complete; what is being written has another name. `latest` is
//! replaced in one rename, after the directory it names is on disk.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use fogfall_proto::{Version, digest};
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};

/// The layout of a checkpoint directory that this program writes and reads.
const FORMAT: u32 = 1;
const STATE_FILE: &str = "state.json";
const LATEST_FILE: &str = "latest";
const UNFINISHED: &str = "unfinished-";

/// Which checkpoints are kept.
#[derive(Clone, Copy, Debug)]
pub struct KeepPolicy {
    /// The newest ones; at least 1.
    pub last: usize,
    /// Besides these, at most about so many spread evenly over the run, for ladders and for going back; 0 for none.
    pub spread: u64,
}

/// The content of a checkpoint: files by name, and what `state.json` says besides.
#[derive(Debug)]
pub struct Checkpoint<S> {
    /// What the run was.
    pub state: S,
    /// Files by name.
    pub files: BTreeMap<String, Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
struct StateFile<S> {
    format: u32,
    /// Digest of each file, hexadecimal.
    files: BTreeMap<String, String>,
    state: S,
}

/// The checkpoints of one run.
#[derive(Debug)]
pub struct CheckpointStore {
    dir: PathBuf,
    keep: KeepPolicy,
}

impl CheckpointStore {
    /// Opens or creates the directory and removes what an earlier process left unfinished.
    ///
    /// # Errors
    /// If the directory cannot be used.
    pub fn open(dir: &Path, keep: KeepPolicy) -> anyhow::Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                remove(&entry.path())?;
            }
        }
        Ok(Self { dir: dir.to_owned(), keep })
    }

    /// Writes a checkpoint, makes it the latest, and removes those that the policy does not keep.
    ///
    /// # Errors
    /// If it cannot be written, as on a full disk, or is there already: then the earlier checkpoints and `latest` are
    /// as before. That old ones could not be removed is only logged.
    pub fn save<S: Serialize>(
        &self,
        version: Version,
        files: &BTreeMap<String, Vec<u8>>,
        state: &S,
    ) -> anyhow::Result<PathBuf> {
        let path = self.dir.join(name(version));
        ensure!(!path.exists(), "checkpoint {} exists already", path.display());
        let unfinished = self.dir.join(format!("{UNFINISHED}{}", name(version)));
        let placed = self.write(&unfinished, files, state).and_then(|()| {
            fs::rename(&unfinished, &path)?;
            sync_dir(&self.dir)?;
            self.point_at(version)
        });
        if let Err(error) = placed {
            // The first error is the one to report; what is left of an unfinished directory is removed at the next
            // start. A whole one that is not the latest goes too, so that it can be written again.
            let _ = remove(&unfinished);
            let named = fs::read_to_string(self.dir.join(LATEST_FILE)).is_ok_and(|n| n.trim() == name(version));
            if !named {
                let _ = remove(&path);
            }
            return Err(error).with_context(|| format!("cannot write checkpoint {}", path.display()));
        }
        if let Err(error) = self.prune() {
            tracing::warn!(error = %format!("{error:#}"), "old checkpoints could not be removed");
        }
        Ok(path)
    }

    /// How long ago a checkpoint was written, if it is there and the system says so.
    pub fn age(&self, version: Version) -> Option<Duration> {
        fs::metadata(self.dir.join(name(version))).ok()?.modified().ok()?.elapsed().ok()
    }

    fn write<S: Serialize>(&self, dir: &Path, files: &BTreeMap<String, Vec<u8>>, state: &S) -> io::Result<()> {
        if dir.exists() {
            remove(dir)?;
        }
        fs::create_dir(dir)?;
        for (name, bytes) in files {
            write_synced(&dir.join(name), bytes)?;
        }
        let files = files.iter().map(|(name, bytes)| (name.clone(), format!("{:032x}", digest(bytes)))).collect();
        let state = serde_json::to_vec_pretty(&StateFile { format: FORMAT, files, state })?;
        write_synced(&dir.join(STATE_FILE), &state)?;
        sync_dir(dir)
    }

    /// Makes an earlier checkpoint the latest; nothing happens if it is that already or does not lie here.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn make_latest(&self, version: Version) -> anyhow::Result<()> {
        let path = self.dir.join(name(version));
        if path.is_dir() && !self.latest().is_ok_and(|latest| latest == Some(path.clone())) {
            self.point_at(version).with_context(|| format!("cannot make {} the latest", path.display()))?;
        }
        Ok(())
    }

    fn point_at(&self, version: Version) -> io::Result<()> {
        let unfinished = self.dir.join(format!("{UNFINISHED}{LATEST_FILE}"));
        write_synced(&unfinished, format!("{}\n", name(version)).as_bytes())?;
        fs::rename(&unfinished, self.dir.join(LATEST_FILE))?;
        sync_dir(&self.dir)
    }

    /// Removes what the policy does not keep; the newest always stays.
    fn prune(&self) -> anyhow::Result<()> {
        let versions = self.versions()?;
        let recent = versions.len().saturating_sub(self.keep.last.max(1));
        let mut marks = std::collections::BTreeSet::new();
        // Marks lie apart by a power of two that grows with the run: what stays now stayed before.
        let newest = versions.iter().map(|version| version.step).max().unwrap_or(0);
        let apart = newest.div_ceil(self.keep.spread.max(1)).next_power_of_two();
        for (i, &version) in versions.iter().enumerate() {
            // The first checkpoint at or after each mark stays.
            let marked = self.keep.spread > 0 && marks.insert(version.step / apart);
            if i < recent && !marked {
                remove(&self.dir.join(name(version)))?;
            }
        }
        Ok(())
    }

    /// Versions of the complete checkpoints, ascending.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn versions(&self) -> anyhow::Result<Vec<Version>> {
        versions(&self.dir)
    }

    /// The newest checkpoint's directory; none if there is none yet.
    ///
    /// # Errors
    /// If `latest` names no checkpoint.
    pub fn latest(&self) -> anyhow::Result<Option<PathBuf>> {
        latest(&self.dir)
    }
}

fn versions(dir: &Path) -> anyhow::Result<Vec<Version>> {
    let mut versions = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        versions.extend(parse_name(&entry?.file_name().to_string_lossy()));
    }
    versions.sort_unstable();
    Ok(versions)
}

/// True if there are checkpoints in `dir`.
pub fn exist(dir: &Path) -> bool {
    dir.join(LATEST_FILE).exists() || versions(dir).is_ok_and(|versions| !versions.is_empty())
}

/// The newest checkpoint below `dir`; none if there is none yet. Changes nothing.
///
/// # Errors
/// If `latest` names no checkpoint or `dir` cannot be read.
pub fn latest(dir: &Path) -> anyhow::Result<Option<PathBuf>> {
    let file = dir.join(LATEST_FILE);
    let name = match fs::read_to_string(&file) {
        Ok(name) => name,
        // Ended before the first one was named: it is complete all the same.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let newest = if dir.is_dir() { versions(dir)?.pop() } else { None };
            return Ok(newest.map(|newest| dir.join(self::name(newest))));
        }
        Err(e) => return Err(e).with_context(|| format!("cannot read {}", file.display())),
    };
    let path = dir.join(name.trim());
    ensure!(
        parse_name(name.trim()).is_some() && path.is_dir(),
        "{} names '{}', which is no checkpoint; intact ones: {}",
        file.display(),
        name.trim(),
        intact_names(dir)
    );
    Ok(Some(path))
}

/// Those that can be read, for a person who has to choose one.
fn intact_names(dir: &Path) -> String {
    let mut intact = versions(dir).unwrap_or_default();
    intact.retain(|&version| load::<IgnoredAny>(&dir.join(name(version))).is_ok());
    let names: Vec<_> = intact.into_iter().map(name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Reads a checkpoint of the run whose checkpoints lie in `dir`. An error names those that can be read.
///
/// # Errors
/// If it is missing, incomplete or damaged.
pub fn load_of<S: DeserializeOwned>(dir: &Path, path: &Path) -> anyhow::Result<Checkpoint<S>> {
    load(path).with_context(|| {
        format!("cannot resume from {}; intact checkpoints in {}: {}", path.display(), dir.display(), intact_names(dir))
    })
}

/// Reads a checkpoint directory and checks every file.
fn load<S: DeserializeOwned>(path: &Path) -> anyhow::Result<Checkpoint<S>> {
    let state_path = path.join(STATE_FILE);
    let text = fs::read(&state_path).with_context(|| format!("cannot read {}", state_path.display()))?;
    let format: Format = serde_json::from_slice(&text)
        .with_context(|| format!("{} is cut off or no checkpoint state", state_path.display()))?;
    ensure!(format.format == FORMAT, "checkpoint format {}; this program reads format {FORMAT}", format.format);
    let state: StateFile<S> =
        serde_json::from_slice(&text).with_context(|| format!("{} is damaged", state_path.display()))?;
    let mut files = BTreeMap::new();
    for (name, expected) in state.files {
        let file = path.join(&name);
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        if format!("{:032x}", digest(&bytes)) != expected {
            bail!("{} is damaged or cut off ({} bytes)", file.display(), bytes.len());
        }
        files.insert(name, bytes);
    }
    Ok(Checkpoint { state: state.state, files })
}

/// The directory name of a version; names sort as versions do.
fn name(version: Version) -> String {
    format!("{:04}.{:012}", version.epoch, version.step)
}

fn parse_name(name: &str) -> Option<Version> {
    let (epoch, step) = name.split_once('.')?;
    Some(Version { epoch: epoch.parse().ok()?, step: step.parse().ok()? })
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    io::Write::write_all(&mut file, bytes)?;
    file.sync_all()
}

fn sync_dir(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(byte: u8) -> BTreeMap<String, Vec<u8>> {
        [("weights".to_owned(), vec![byte; 1000])].into()
    }

    fn store(dir: &Path, last: usize, spread: u64) -> CheckpointStore {
        CheckpointStore::open(dir, KeepPolicy { last, spread }).unwrap()
    }

    fn at(step: u64) -> Version {
        Version { epoch: 1, step }
    }

    #[test]
    fn a_checkpoint_comes_back_and_is_the_latest() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path(), 2, 0);
        assert_eq!(store.latest().unwrap(), None);
        store.save(at(5), &files(1), &"five").unwrap();
        store.save(at(10), &files(2), &"ten").unwrap();
        let latest = store.latest().unwrap().unwrap();
        let back: Checkpoint<String> = load_of(dir.path(), &latest).unwrap();
        assert_eq!((back.state.as_str(), back.files), ("ten", files(2)));
        assert!(store.save(at(10), &files(3), &"again").is_err(), "a checkpoint never changes");
        store.save(Version { epoch: 2, step: 7 }, &files(4), &"rolled back").unwrap();
        assert!(store.latest().unwrap().unwrap().ends_with("0002.000000000007"), "a later start is newer");
        store.make_latest(at(10)).unwrap();
        store.make_latest(at(11)).unwrap(); // there is none
        assert!(store.latest().unwrap().unwrap().ends_with("0001.000000000010"), "the branch before is gone on with");
    }

    #[test]
    fn the_newest_ones_and_some_spread_over_the_run_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path(), 2, 4);
        let kept = |step| {
            store.save(at(step), &files(0), &()).unwrap();
            store.versions().unwrap().iter().map(|v| v.step).collect::<Vec<_>>()
        };
        for step in [30, 60, 110, 140] {
            kept(step);
        }
        // Marks are 64 apart: 30 is the first from 0 on, 110 from 64, 140 from 128, 210 from 192; and the last two.
        assert_eq!(kept(210), [30, 110, 140, 210]);
        assert_eq!(kept(240), [30, 110, 140, 210, 240]);
        // 128 apart: 30, 140, 270; and the last two.
        assert_eq!(kept(270), [30, 140, 240, 270]);
    }

    #[test]
    fn damage_is_named_and_other_checkpoints_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path(), 5, 0);
        let old = store.save(at(1), &files(1), &()).unwrap();
        let new = store.save(at(2), &files(2), &()).unwrap();
        let reason = |path: &Path| format!("{:#}", load_of::<()>(dir.path(), path).unwrap_err());

        fs::write(new.join("weights"), [2; 999]).unwrap();
        let text = reason(&new);
        assert!(
            text.contains("weights is damaged or cut off (999 bytes)") && text.contains("0001.000000000001"),
            "{text}"
        );
        fs::remove_file(new.join("weights")).unwrap();
        assert!(reason(&new).contains("cannot read"));
        let state = fs::read(new.join(STATE_FILE)).unwrap();
        fs::write(new.join(STATE_FILE), &state[..20]).unwrap();
        assert!(reason(&new).contains("is cut off or no checkpoint state"));
        fs::write(new.join(STATE_FILE), br#"{"format":9}"#).unwrap();
        assert!(reason(&new).contains("checkpoint format 9; this program reads format 1"));
        load_of::<()>(dir.path(), &old).unwrap();
        fs::write(dir.path().join(LATEST_FILE), "nonsense").unwrap();
        assert!(format!("{:#}", store.latest().unwrap_err()).contains("names 'nonsense', which is no checkpoint"));
    }

    #[test]
    fn a_failed_write_leaves_the_earlier_checkpoint_the_latest() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path(), 5, 0);
        store.save(at(1), &files(1), &()).unwrap();
        let bad = [("no-such-directory/weights".to_owned(), vec![0])].into();
        assert!(store.save(at(2), &bad, &()).is_err());
        assert_eq!(store.versions().unwrap(), [at(1)]);
        assert!(store.latest().unwrap().unwrap().ends_with("0001.000000000001"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing unfinished is left");
    }

    #[test]
    fn what_a_killed_process_left_unfinished_is_removed_at_the_next_start() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("unfinished-7")).unwrap();
        fs::write(dir.path().join("unfinished-7/weights"), "x").unwrap();
        fs::write(dir.path().join("unfinished-latest"), "x").unwrap();
        let store = store(dir.path(), 1, 0);
        assert_eq!(store.versions().unwrap(), []);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
