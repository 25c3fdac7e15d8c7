//! The train stage: one thread that waits for rows, samples batches, steps, publishes and writes checkpoints. It owns
//! the trainer; nobody else touches a tensor.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use fogfall_bus::{Bus, BusError};
use fogfall_game::{GameInfo, Symmetry, stream};
use fogfall_pipeline::Intake;
use fogfall_proto::{Version, WeightsHead, digest};
use fogfall_service::{admin::Heartbeat, shutdown::Stop};
use rand::RngExt;
use tokio::runtime::Handle;

use crate::{
    batch::{Picked, PositionWeight, fill},
    board::Board,
    cli::Order,
    saver::Saver,
    show::MetricsFile,
    status::Losses,
    supply::Supply,
    train::{Batch, StepReport, Trainer},
};

/// Steps whose mean the board shows.
const SHOWN_STEPS: u64 = 20;
/// So many batches in a row that cannot be learnt from are no accident.
const MOST_SKIPPED: u64 = 100;
/// Stream of the batches, below the run's seed.
const BATCH_STREAM: u64 = 11;

/// How the stage works.
#[derive(Clone, Debug)]
pub struct TrainLoopSettings {
    /// Rows in a batch.
    pub batch_rows: usize,
    /// How much an information state counts that the window holds in many rows.
    pub position_weight: PositionWeight,
    /// Share of the search's root value in the value label.
    pub root_value_share: f32,
    /// Symmetries besides the identity; rows are used in a random one.
    pub symmetries: Vec<Symmetry>,
    /// Time between checkpoints.
    pub checkpoint_every: Duration,
    /// Steps between checkpoints besides; none for no such ones.
    pub checkpoint_steps: Option<u64>,
    /// The step after which the run ends.
    pub last_step: Option<u64>,
    /// Root seed of the run.
    pub seed: u64,
}

impl TrainLoopSettings {
    /// Those that an order asks for.
    ///
    /// # Errors
    /// If a name in the settings is none of those allowed.
    pub fn of(order: &Order, info: &GameInfo) -> anyhow::Result<Self> {
        let flags = &order.flags;
        Ok(Self {
            batch_rows: flags.train.batch_rows,
            position_weight: flags.train.position_weight.parse()?,
            root_value_share: flags.train.root_value_share,
            symmetries: if flags.train.symmetries { info.symmetries.clone() } else { Vec::new() },
            checkpoint_every: Duration::from_secs(flags.run.checkpoint_s),
            checkpoint_steps: Some(flags.run.checkpoint_steps).filter(|&steps| steps > 0),
            last_step: order.end.steps,
            seed: flags.run.seed,
        })
    }
}

/// The stage's parts.
pub struct TrainLoop {
    /// How it works.
    pub settings: TrainLoopSettings,
    /// The model and its optimizer.
    pub trainer: Trainer,
    /// The epoch of this start.
    pub epoch: u32,
    /// Publications so far.
    pub ordinal: u64,
    /// Where rows come from, and when.
    pub supply: Box<dyn Supply>,
    /// Where they lie.
    pub intake: Arc<Intake>,
    /// Where weights go.
    pub bus: Arc<dyn Bus>,
    /// Drives the bus.
    pub runtime: Handle,
    /// Writes checkpoints.
    pub saver: Saver,
    /// Where facts go.
    pub board: Board,
    /// Where each step is written down, if anywhere.
    pub step_log: Option<MetricsFile>,
    /// Beats while the loop goes round, waiting or not.
    pub heartbeat: Heartbeat,
}

/// A train stage that has ended its loop.
pub struct Trained {
    stage: TrainLoop,
    /// Steps at the last publication and in the last checkpoint.
    done: Done,
}

/// What was done last, and when it was last tried.
struct Done {
    published_step: Option<u64>,
    saved_step: u64,
    tried_step: u64,
    tried_to_save: Instant,
}

impl TrainLoop {
    /// Trains on a thread of its own until told to stop or the last step is made.
    ///
    /// # Errors
    /// If the thread cannot be started. The thread's own: if training has diverged, or a newer learner has fenced this
    /// one off.
    pub fn start(self, stop: &Stop) -> std::io::Result<JoinHandle<anyhow::Result<Trained>>> {
        let stop = stop.clone();
        std::thread::Builder::new().name("train".to_owned()).spawn(move || self.run(&stop))
    }

    fn run(mut self, stop: &Stop) -> anyhow::Result<Trained> {
        let (mut batch, mut slots, mut shown) = (Batch::default(), Vec::new(), Shown::default());
        let begun = self.trainer.steps();
        let mut done =
            Done { published_step: None, saved_step: begun, tried_step: begun, tried_to_save: Instant::now() };
        while !stop.is_requested() && self.settings.last_step.is_none_or(|last| self.trainer.steps() < last) {
            self.heartbeat.beat();
            let step = self.trainer.steps();
            if self.supply.wants_weights(done.published_step.map(|at| step - at)) {
                self.publish(&mut done)?;
            }
            if self.is_checkpoint_due(&done) {
                self.try_to_save(&mut done);
            }
            if !self.supply.ready(&self.trainer, stop, &|| self.heartbeat.beat())? {
                continue;
            }
            self.sample(&mut slots, &mut batch)?;
            let report = self.trainer.step(&batch);
            self.supply.used_batch();
            self.write_down(&report);
            self.note(&mut shown, &report)?;
        }
        if let Some(mean) = shown.take_mean() {
            self.board.lock().loss = Some(mean);
        }
        Ok(Trained { stage: self, done })
    }

    fn is_checkpoint_due(&self, done: &Done) -> bool {
        let step = self.trainer.steps();
        // A step whose checkpoint could not be written is not tried again at once.
        let mark = self.settings.checkpoint_steps.is_some_and(|n| step / n > done.tried_step / n);
        done.saved_step < step && (mark || done.tried_to_save.elapsed() >= self.settings.checkpoint_every)
    }

    fn write_down(&mut self, report: &StepReport) {
        let Some(file) = &mut self.step_log else { return };
        let line = serde_json::to_string(report).expect("a report is plain data");
        if let Err(error) = file.append_line(line) {
            self.board.notice(format!("{error:#}; steps are not written down any more"));
            self.step_log = None;
        }
    }

    /// Draws the batch of this step; which rows follows from the seed and how many batches there were.
    fn sample(&self, slots: &mut Vec<u32>, batch: &mut Batch) -> anyhow::Result<()> {
        let batches = self.trainer.steps() + self.trainer.skipped();
        let mut rng = stream(self.settings.seed, &[BATCH_STREAM, batches]);
        let rows = self.settings.batch_rows;
        let mut state = self.intake.lock();
        state.window.sample(&mut rng, rows, slots).context("a window that may be sampled is not empty")?;
        let symmetries = &self.settings.symmetries;
        let pick = slots.iter().map(|&slot| {
            let symmetry = rng.random_range(0..=symmetries.len()).checked_sub(1).map(|i| &symmetries[i]);
            // A window that does not count need not: all rows weigh the same.
            let weight = state.window.rows_alike(slot).map_or(1.0, |n| self.settings.position_weight.of_row(n));
            Picked { row: state.window.row(slot), weight, symmetry }
        });
        fill(batch, state.window.layout(), self.settings.root_value_share, pick);
        drop(state);
        self.intake.sampled(rows as u64);
        Ok(())
    }

    /// Brings the board up to date after a step.
    fn note(&self, shown: &mut Shown, report: &StepReport) -> anyhow::Result<()> {
        shown.add(report);
        let mean = if shown.steps < SHOWN_STEPS { None } else { shown.take_mean() };
        let mut facts = self.board.lock();
        facts.step = self.trainer.steps();
        facts.skipped_steps = self.trainer.skipped();
        if !report.skipped {
            facts.gradient_norm = report.gradient_norm;
            facts.learning_rate = report.learning_rate;
            facts.policy_entropy = report.policy_entropy;
        }
        facts.loss = mean.or(facts.loss);
        drop(facts);
        if shown.skipped_in_a_row >= MOST_SKIPPED {
            return self.diverged(&format!("the last {MOST_SKIPPED} batches gave no finite loss or gradient"));
        }
        Ok(())
    }

    /// The end of a run whose weights are of no use any more.
    fn diverged<T>(&self, how: &str) -> anyhow::Result<T> {
        let step = self.trainer.steps();
        let last = self.saver.latest().map_or_else(String::new, |path| {
            format!(
                "; the last good checkpoint is {}: go on from it with --change and gentler settings",
                path.display()
            )
        });
        bail!("training has diverged at step {step}: {how} (a smaller --learning-rate or --clip-norm helps){last}")
    }

    fn publish(&mut self, done: &mut Done) -> anyhow::Result<()> {
        let Ok(averaged) = self.trainer.averaged() else {
            return self.diverged("the averaged weights are not finite");
        };
        let bytes: Arc<[u8]> = averaged.to_bytes().into();
        let (version, ordinal) = (Version { epoch: self.epoch, step: self.trainer.steps() }, self.ordinal + 1);
        let head = WeightsHead { version, ordinal, bytes: bytes.len() as u64, digest: digest(&bytes) };
        done.published_step = Some(version.step);
        match self.runtime.block_on(self.bus.announce(self.epoch, head, bytes)) {
            Ok(()) => {
                tracing::debug!(%version, ordinal, "published weights");
                self.ordinal = ordinal;
                let mut facts = self.board.lock();
                (facts.weights, facts.weights_published) = (Some(version), ordinal);
                Ok(())
            }
            Err(error @ BusError::Fenced { .. }) => Err(error).context("another learner has taken over this run"),
            Err(error) => {
                self.board.notice(format!("weights {version} were not published: {error}"));
                Ok(())
            }
        }
    }

    /// Writes a checkpoint; one that cannot be written is a notice.
    fn try_to_save(&self, done: &mut Done) {
        (done.tried_step, done.tried_to_save) = (self.trainer.steps(), Instant::now());
        if let Err(error) = self.save(done) {
            self.board.notice(format!("{error:#}; training goes on, the last good checkpoint is untouched"));
        }
    }

    fn save(&self, done: &mut Done) -> anyhow::Result<()> {
        let version = self.saver.save(&self.trainer, self.epoch, self.ordinal, self.supply.for_checkpoint()?)?;
        done.saved_step = version.step;
        self.board.lock().checkpoint = Some((version, Instant::now()));
        Ok(())
    }
}

impl Trained {
    /// Publishes and saves what was learnt since this was last done.
    ///
    /// # Errors
    /// If training has diverged, this learner was fenced off, or the checkpoint could not be written.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let step = self.stage.trainer.steps();
        if self.done.published_step != Some(step) {
            self.stage.publish(&mut self.done)?;
        }
        if self.done.saved_step < step {
            self.stage.save(&mut self.done)?;
        }
        Ok(())
    }
}

/// The steps since the board was last brought up to date.
#[derive(Default)]
struct Shown {
    steps: u64,
    /// Those among them whose loss was finite, and its sum.
    finite: u64,
    sum: Losses,
    /// Steps skipped since the last that was not.
    skipped_in_a_row: u64,
}

impl Shown {
    fn add(&mut self, report: &StepReport) {
        self.steps += 1;
        if report.skipped {
            self.skipped_in_a_row += 1;
            return;
        }
        self.skipped_in_a_row = 0;
        self.finite += 1;
        self.sum.total += report.loss.total;
        self.sum.policy += report.loss.policy;
        self.sum.value += report.loss.value;
        self.sum.weights += report.loss.weights;
    }

    /// Mean losses since this was last taken, if there are any.
    fn take_mean(&mut self) -> Option<Losses> {
        let Self { finite, sum, skipped_in_a_row, .. } = std::mem::take(self);
        self.skipped_in_a_row = skipped_in_a_row;
        let n = finite as f64;
        (finite > 0).then(|| Losses {
            total: sum.total / n,
            policy: sum.policy / n,
            value: sum.value / n,
            weights: sum.weights / n,
        })
    }
}
