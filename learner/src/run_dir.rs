//! The run directory: all that a run leaves, in one place.
//!
//! ```text
//! runs/battle-1/
//!   rules.toml       the rules it was started with, for games whose rules are data
//!   checkpoints/     numbered checkpoints, and `latest`
//!   replay/          the replay log
//!   metrics.jsonl    the run's status every few seconds
//!   tensorboard/     with `--tensorboard`, the same for TensorBoard
//!   steps.jsonl      with `--step-log`, what each train step saw; one made again after a kill is there again
//!   plots/           learning curves
//!   games/           the latest games that were recorded to look at
//!   weights.safetensors     the newest averaged weights, for matches and for shipping
//!   untrained.safetensors   the weights that training began with
//!   average-policy.msgpack  the average of the run's policies, for games small enough to measure NashConv
//!   epoch            the epoch of the last start
//!   lock             held by the learner of the run
//!   learner.log      what is logged while the live view has the terminal
//! ```

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use crate::checkpoint;

/// The directory of one run, held by this process alone.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// Keeps other learners out while it lives.
    _lock: fs::File,
}

impl RunDir {
    /// Opens the directory of a run that is new or goes on.
    ///
    /// # Errors
    /// If another process holds it, if a new run finds another run there, or a run that goes on finds none.
    pub fn open(path: &Path, goes_on: bool) -> anyhow::Result<Self> {
        if goes_on && !path.is_dir() {
            bail!("there is no run to resume in {}", path.display());
        }
        fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))?;
        let lock_path = path.join("lock");
        let lock = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path);
        let lock = lock.with_context(|| format!("cannot write to {}", path.display()))?;
        if lock.try_lock().is_err() {
            bail!("{} is in use by another learner", path.display());
        }
        let dir = Self { path: path.to_owned(), _lock: lock };
        // A learner that ended before its first checkpoint has played nothing: the directory is as good as new.
        if !goes_on && checkpoint::exist(&dir.checkpoints()) {
            bail!(
                "{} holds a run already: go on with it by --resume latest, or choose another --run-dir",
                path.display()
            );
        }
        Ok(dir)
    }

    /// The first free `runs/NAME-N`.
    pub fn fresh(name: &str) -> PathBuf {
        let mut candidates = (1..).map(|n| PathBuf::from(format!("runs/{name}-{n}")));
        candidates.find(|path| !path.exists()).expect("some number is free")
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its last name: the run's id.
    pub fn run_id(&self) -> String {
        let absolute = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let name = absolute.file_name().map_or_else(|| "run".into(), |n| n.to_string_lossy().into_owned());
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' }).collect()
    }

    /// Where the checkpoints of the run in `dir` lie.
    pub fn checkpoints_in(dir: &Path) -> PathBuf {
        dir.join("checkpoints")
    }

    /// Where checkpoints lie.
    pub fn checkpoints(&self) -> PathBuf {
        Self::checkpoints_in(&self.path)
    }

    /// Where the replay log lies.
    pub fn replay(&self) -> PathBuf {
        self.path.join("replay")
    }

    /// The file of statuses.
    pub fn metrics(&self) -> PathBuf {
        self.path.join("metrics.jsonl")
    }

    /// Where event files for TensorBoard lie.
    pub fn tensorboard(&self) -> PathBuf {
        self.path.join("tensorboard")
    }

    /// The file of train steps.
    pub fn steps(&self) -> PathBuf {
        self.path.join("steps.jsonl")
    }

    /// Where plots lie.
    pub fn plots(&self) -> PathBuf {
        self.path.join("plots")
    }

    /// The latest games that were recorded to look at.
    pub fn games(&self) -> PathBuf {
        self.path.join("games")
    }

    /// The newest averaged weights.
    pub fn weights(&self) -> PathBuf {
        self.path.join("weights.safetensors")
    }

    /// The average of the run's policies, for games small enough to measure it.
    pub fn average_policy(&self) -> PathBuf {
        self.path.join("average-policy.msgpack")
    }

    /// The weights that training began with.
    pub fn untrained(&self) -> PathBuf {
        self.path.join("untrained.safetensors")
    }

    /// The rules the run was started with.
    pub fn rules(&self) -> PathBuf {
        self.path.join("rules.toml")
    }

    fn epoch_file(&self) -> PathBuf {
        self.path.join("epoch")
    }

    /// The epoch of the last start; 0 before the first.
    ///
    /// # Errors
    /// If the file cannot be read or holds no number.
    pub fn last_epoch(&self) -> anyhow::Result<u32> {
        let file = self.epoch_file();
        match fs::read_to_string(&file) {
            Ok(text) => text.trim().parse().with_context(|| format!("{} holds no epoch", file.display())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(e) => Err(e).with_context(|| format!("cannot read {}", file.display())),
        }
    }

    /// Notes the epoch of this start, before anything is played in it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn note_epoch(&self, epoch: u32) -> anyhow::Result<()> {
        replace(&self.epoch_file(), format!("{epoch}\n").as_bytes())
    }
}

/// Writes a file that appears whole or stays as it was.
///
/// # Errors
/// If it cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let unfinished = path.with_extension("unfinished");
    let write = || -> io::Result<()> {
        let mut file = fs::File::create(&unfinished)?;
        io::Write::write_all(&mut file, bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().with_context(|| format!("cannot write {}", path.display())).inspect_err(|_| {
        // What is half written is of no use; the error to report is the first.
        let _ = fs::remove_file(&unfinished);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_run_refuses_a_directory_in_use_or_with_another_run_and_a_resumed_one_refuses_an_empty_place() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("battle-1");
        let reason = |goes_on| RunDir::open(&path, goes_on).unwrap_err().to_string();
        assert!(reason(true).starts_with("there is no run to resume"));
        let dir = RunDir::open(&path, false).unwrap();
        assert!(reason(false).ends_with("is in use by another learner"));
        assert_eq!((dir.last_epoch().unwrap(), dir.run_id().as_str()), (0, "battle-1"));
        dir.note_epoch(3).unwrap();
        drop(dir);
        RunDir::open(&path, false).unwrap(); // killed before its first checkpoint: it may begin again
        fs::create_dir_all(path.join("checkpoints/0003.000000000000")).unwrap();
        assert!(reason(false).contains("holds a run already: go on with it by --resume latest"));
        assert_eq!(RunDir::open(&path, true).unwrap().last_epoch().unwrap(), 3);
    }
}
