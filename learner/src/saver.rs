//! The saver: writes what a run is at a moment as a checkpoint.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Instant};

use anyhow::Context;
use fogfall_pipeline::Intake;
use fogfall_proto::{Manifest, Version};

use crate::{
    beginning::Beginning,
    checkpoint::{CheckpointStore, KeepPolicy},
    cli::Flags,
    resume::{RoundState, RunState, Totals},
    run_dir::{self, RunDir},
    train::Trainer,
};

/// The trainer's tensors in a checkpoint: weights, averages, moments.
pub const TRAINER_FILE: &str = "trainer.safetensors";
/// The averaged weights in a checkpoint: what plays.
pub const WEIGHTS_FILE: &str = "averaged.safetensors";

/// Tells what was done so far, over all starts of the run.
pub type CountTotals = Box<dyn Fn() -> Totals + Send>;

/// Writes checkpoints of one run.
pub struct Saver {
    store: CheckpointStore,
    /// Where the newest averaged weights lie as a file.
    weights_file: PathBuf,
    manifest: Manifest,
    settings: BTreeMap<String, String>,
    intake: Arc<Intake>,
    totals: CountTotals,
}

impl Saver {
    /// A saver for a run at its beginning.
    ///
    /// # Errors
    /// If the checkpoints' directory cannot be used.
    pub fn open(dir: &RunDir, beginning: &Beginning, flags: &Flags, intake: &Arc<Intake>) -> anyhow::Result<Self> {
        let keep = KeepPolicy { last: flags.run.keep_last, spread: flags.run.keep_spread };
        let totals = beginning.totals;
        Ok(Self {
            store: CheckpointStore::open(&dir.checkpoints(), keep)?,
            weights_file: dir.weights(),
            manifest: beginning.manifest.clone(),
            settings: flags.texts(),
            intake: Arc::clone(intake),
            totals: Box::new(move || totals),
        })
    }

    /// From now on, checkpoints carry these totals.
    pub fn count(&mut self, totals: CountTotals) {
        self.totals = totals;
    }

    /// Writes a checkpoint, makes it the latest, and returns its version.
    ///
    /// # Errors
    /// If it cannot be written or the averaged weights are not finite; then the earlier ones are as before.
    pub fn save(&self, trainer: &Trainer, epoch: u32, ordinal: u64, rounds: RoundState) -> anyhow::Result<Version> {
        let version = Version { epoch, step: trainer.steps() };
        let averaged = trainer.averaged().context("the averaged weights cannot be saved")?.to_bytes();
        let (trainer, tensors) = trainer.save();
        let (limiter, log_position) = {
            let intake = self.intake.lock();
            (intake.limiter.counts(), intake.window.next())
        };
        let state = RunState {
            manifest: self.manifest.clone(),
            settings: self.settings.clone(),
            version,
            ordinal,
            limiter,
            log_position,
            rounds,
            totals: (self.totals)(),
            trainer,
        };
        let files = [(TRAINER_FILE.to_owned(), tensors), (WEIGHTS_FILE.to_owned(), averaged.clone())].into();
        // First what can be written again: a checkpoint never changes.
        run_dir::replace(&self.weights_file, &averaged)?;
        self.store.save(version, &files, &state).map(|_| version)
    }

    /// Makes the checkpoint that is gone on from the latest, if it lies here: a learner that is killed before its next
    /// one shall not be followed by one on the branch that was left.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn go_on_from(&self, version: Version) -> anyhow::Result<()> {
        self.store.make_latest(version)
    }

    /// When a checkpoint was written; just now if the system does not say.
    pub fn written(&self, version: Version) -> Instant {
        let age = self.store.age(version).unwrap_or_default();
        Instant::now().checked_sub(age).unwrap_or_else(Instant::now)
    }

    /// The newest checkpoint's directory.
    pub fn latest(&self) -> Option<PathBuf> {
        self.store.latest().ok().flatten()
    }
}
