//! The train stage: one thread that waits for rows, samples batches, steps, publishes and writes checkpoints. It owns
//! the trainer; nobody else touches a tensor.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use fogfall_bus::Bus;
use fogfall_game::{Symmetry, stream};
use fogfall_pipeline::Intake;
use fogfall_proto::{Version, WeightsHead, digest};
use fogfall_service::{admin::Heartbeat, shutdown::Stop};
use rand::RngExt;
use tokio::runtime::Handle;

use crate::{
    batch::fill,
    board::Board,
    checkpoint::CheckpointStore,
    resume::RunState,
    run_dir,
    status::Losses,
    train::{Batch, StepReport, Trainer, TrainerState},
};

/// How long the stage waits for rows before it looks around.
const PATIENCE: Duration = Duration::from_millis(100);
/// Steps whose mean the board shows.
const SHOWN_STEPS: u64 = 20;
/// Stream of the batches, below the run's seed.
const BATCH_STREAM: u64 = 11;

/// The trainer's tensors in a checkpoint: weights, averages, moments.
pub const TRAINER_FILE: &str = "trainer.safetensors";
/// The averaged weights in a checkpoint: what plays.
pub const WEIGHTS_FILE: &str = "averaged.safetensors";

/// How the stage works.
#[derive(Clone, Debug)]
pub struct TrainLoopSettings {
    /// Rows in a batch.
    pub batch_rows: usize,
    /// Share of the search's root value in the value label.
    pub root_value_share: f32,
    /// Symmetries besides the identity; rows are used in a random one.
    pub symmetries: Vec<Symmetry>,
    /// Steps between publications.
    pub publish_steps: u64,
    /// Time between checkpoints.
    pub checkpoint_every: Duration,
    /// The step after which the run ends.
    pub last_step: Option<u64>,
    /// Root seed of the run.
    pub seed: u64,
}

/// The stage's parts.
pub struct TrainLoop {
    /// How it works.
    pub settings: TrainLoopSettings,
    /// The model and its optimizer.
    pub trainer: Trainer,
    /// The epoch of this start.
    pub epoch: u32,
    /// Train step so far.
    pub step: u64,
    /// Publications so far.
    pub ordinal: u64,
    /// Where rows come from.
    pub intake: Arc<Intake>,
    /// Where weights go.
    pub bus: Arc<dyn Bus>,
    /// Drives the bus.
    pub runtime: Handle,
    /// Where checkpoints go.
    pub checkpoints: CheckpointStore,
    /// Where the newest averaged weights lie as a file.
    pub weights_file: std::path::PathBuf,
    /// Fills in what a checkpoint says besides the trainer's part.
    pub describe: Box<dyn Fn(Version, u64, TrainerState) -> RunState + Send>,
    /// Where facts go.
    pub board: Board,
    /// Beats while the loop goes round, waiting or not.
    pub heartbeat: Heartbeat,
}

/// How the stage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was told to stop.
    Stopped,
    /// The last step was made.
    Complete,
}

impl TrainLoop {
    /// Trains until told to stop or the last step is made; then publishes and writes a checkpoint.
    ///
    /// # Errors
    /// If this learner was fenced off by a newer one, or the last checkpoint could not be written.
    pub fn run(mut self, stop: &Stop) -> anyhow::Result<Ended> {
        let mut batch = Batch::default();
        let mut slots = Vec::new();
        let mut shown = Shown::default();
        let mut saved = (self.step, Instant::now());
        let mut published = None;
        let ended = loop {
            self.heartbeat.beat();
            if self.settings.last_step.is_some_and(|last| self.step >= last) {
                break Ended::Complete;
            }
            if stop.is_requested() {
                break Ended::Stopped;
            }
            if published.is_none_or(|at| self.step >= at + self.settings.publish_steps) {
                self.publish()?;
                published = Some(self.step);
            }
            if saved.0 < self.step && saved.1.elapsed() >= self.settings.checkpoint_every {
                saved = (self.step, Instant::now());
                if let Err(error) = self.save() {
                    self.board.notice(format!("{error:#}; training goes on, the last good checkpoint is untouched"));
                }
            }
            if !self.intake.wait_to_sample(self.settings.batch_rows as u64, PATIENCE) {
                continue;
            }
            self.sample(&mut slots, &mut batch)?;
            let report = self.trainer.step(&batch);
            self.step += 1;
            if shown.add(&report) {
                self.show(&mut shown, &report);
            }
        };
        if published != Some(self.step) {
            self.publish()?;
        }
        if saved.0 < self.step || self.checkpoints.latest()?.is_none() {
            self.save()?;
        }
        Ok(ended)
    }

    /// Draws the batch of this step; which rows follows from the seed and the step.
    fn sample(&self, slots: &mut Vec<u32>, batch: &mut Batch) -> anyhow::Result<()> {
        let mut rng = stream(self.settings.seed, &[BATCH_STREAM, self.step]);
        let rows = self.settings.batch_rows;
        let mut state = self.intake.lock();
        state.window.sample(&mut rng, rows, slots).context("a window that may be sampled is not empty")?;
        let symmetries = &self.settings.symmetries;
        let pick = slots.iter().map(|&slot| {
            let symmetry = rng.random_range(0..=symmetries.len()).checked_sub(1).map(|i| &symmetries[i]);
            (state.window.row(slot), symmetry)
        });
        fill(batch, state.window.layout(), self.settings.root_value_share, pick);
        drop(state);
        self.intake.sampled(rows as u64);
        Ok(())
    }

    fn version(&self) -> Version {
        Version { epoch: self.epoch, step: self.step }
    }

    fn publish(&mut self) -> anyhow::Result<()> {
        let bytes: Arc<[u8]> = self.trainer.averaged().context("the averaged weights are unusable")?.to_bytes().into();
        let (version, ordinal) = (self.version(), self.ordinal + 1);
        let head = WeightsHead { version, ordinal, bytes: bytes.len() as u64, digest: digest(&bytes) };
        match self.runtime.block_on(self.bus.announce(self.epoch, head, bytes)) {
            Ok(()) => {
                self.ordinal = ordinal;
                let mut facts = self.board.lock();
                (facts.weights_version, facts.weights_published) = (version.to_string(), ordinal);
                Ok(())
            }
            Err(error @ fogfall_bus::BusError::Fenced { .. }) => {
                Err(error).context("another learner has taken over this run")
            }
            Err(error) => {
                self.board.notice(format!("weights {version} were not published: {error}"));
                Ok(())
            }
        }
    }

    fn save(&mut self) -> anyhow::Result<()> {
        let (trainer, tensors) = self.trainer.save();
        let averaged = self.trainer.averaged().context("the averaged weights are unusable")?.to_bytes();
        let state = (self.describe)(self.version(), self.ordinal, trainer);
        let files: BTreeMap<_, _> =
            [(TRAINER_FILE.to_owned(), tensors), (WEIGHTS_FILE.to_owned(), averaged.clone())].into();
        self.checkpoints.save(self.version(), &files, &state)?;
        run_dir::replace(&self.weights_file, &averaged)?;
        self.board.lock().checkpoint_step = Some(self.step);
        Ok(())
    }

    fn show(&self, shown: &mut Shown, report: &StepReport) {
        let mut facts = self.board.lock();
        facts.step = self.step;
        facts.loss = shown.mean().or(facts.loss);
        facts.gradient_norm = report.gradient_norm;
        facts.learning_rate = report.learning_rate;
        facts.policy_entropy = report.policy_entropy;
        facts.skipped_steps = self.trainer.skipped();
        *shown = Shown::default();
    }
}

/// Sums over the steps since the board was last brought up to date.
#[derive(Default)]
struct Shown {
    steps: u64,
    finite: u64,
    sum: Losses,
}

impl Shown {
    /// Adds a step; true when enough are there to be shown.
    fn add(&mut self, report: &StepReport) -> bool {
        self.steps += 1;
        if !report.skipped {
            self.finite += 1;
            self.sum.total += report.loss.total;
            self.sum.policy += report.loss.policy;
            self.sum.value += report.loss.value;
            self.sum.weights += report.loss.weights;
        }
        self.steps >= SHOWN_STEPS
    }

    fn mean(&self) -> Option<Losses> {
        let n = self.finite as f64;
        (self.finite > 0).then(|| Losses {
            total: self.sum.total / n,
            policy: self.sum.policy / n,
            value: self.sum.value / n,
            weights: self.sum.weights / n,
        })
    }
}
