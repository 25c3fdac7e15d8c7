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
    calibration::Calibration,
    cli::Order,
    saver::Saver,
    show::MetricsFile,
    shown::{PhaseClock, Shown, StepTimes},
    supply::Supply,
    train::{Batch, StepReport, Trainer},
};

/// Steps whose mean the board shows.
const SHOWN_STEPS: u64 = 20;
/// Every so many batches predictions are set beside outcomes: rarely, since they are copied from the device.
const CALIBRATE_EVERY: u64 = 20;
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
    /// Where times are counted.
    pub times: StepTimes,
    /// Where each step is written down, if anywhere.
    pub step_log: Option<MetricsFile>,
    /// Beats while the loop goes round, waiting or not.
    pub heartbeat: Heartbeat,
}

/// What was drawn for a step.
#[derive(Default)]
struct Draw {
    slots: Vec<u32>,
    batch: Batch,
    /// `[rows]` train steps since the weights that made them.
    staleness: Vec<u64>,
    /// `[rows]` outcomes of their games, if predictions shall be set beside them; else empty.
    outcomes: Vec<f32>,
}

impl Draw {
    fn mean_staleness(&self) -> f64 {
        self.staleness.iter().sum::<u64>() as f64 / self.staleness.len().max(1) as f64
    }
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
        let (mut draw, mut shown, mut calibration) = (Draw::default(), Shown::default(), Calibration::default());
        let mut clock = PhaseClock::start();
        let begun = self.trainer.steps();
        let mut done =
            Done { published_step: None, saved_step: begun, tried_step: begun, tried_to_save: Instant::now() };
        while !stop.is_requested() && self.settings.last_step.is_none_or(|last| self.trainer.steps() < last) {
            self.heartbeat.beat();
            let step = self.trainer.steps();
            if self.supply.wants_weights(done.published_step.map(|at| step - at)) {
                self.publish(&mut done)?;
                clock.was(|seconds| &mut seconds.publish);
            }
            if self.is_checkpoint_due(&done) {
                self.try_to_save(&mut done);
                clock.was(|seconds| &mut seconds.checkpoint);
            }
            let ready = self.supply.ready(&self.trainer, stop, &|| self.heartbeat.beat())?;
            clock.was(|seconds| &mut seconds.wait);
            self.board.lock().train_seconds = clock.seconds;
            if !ready {
                continue;
            }
            self.sample(&mut draw)?;
            clock.was(|seconds| &mut seconds.sample);
            let report = self.step(&draw, &mut calibration);
            self.times.step.observe(clock.was(|seconds| &mut seconds.step).as_secs_f64());
            self.supply.used_batch();
            self.write_down(&report);
            shown.add(&report, draw.mean_staleness());
            self.note(&mut shown, &report)?;
        }
        self.show_means(&mut shown);
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
    fn sample(&self, draw: &mut Draw) -> anyhow::Result<()> {
        let (step, batches) = (self.trainer.steps(), self.trainer.steps() + self.trainer.skipped());
        let mut rng = stream(self.settings.seed, &[BATCH_STREAM, batches]);
        let Draw { slots, batch, staleness, outcomes } = draw;
        let stale = self.times.staleness.local();
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
        let drawn = || slots.iter().map(|&slot| state.window.row(slot));
        staleness.clear();
        staleness.extend(drawn().map(|row| step.saturating_sub(row.version().step)));
        outcomes.clear();
        if batches.is_multiple_of(CALIBRATE_EVERY) {
            outcomes.extend(drawn().map(|row| row.value()));
        }
        drop(state);
        // It joins the others when it is dropped: once for all rows.
        staleness.iter().for_each(|&steps| stale.observe(steps as f64));
        self.intake.sampled(rows as u64);
        Ok(())
    }

    /// Learns from what was drawn.
    fn step(&mut self, draw: &Draw, calibration: &mut Calibration) -> StepReport {
        if draw.outcomes.is_empty() {
            return self.trainer.step(&draw.batch);
        }
        let (report, predicted) = self.trainer.step_and_predict(&draw.batch);
        calibration.add(&predicted, &draw.outcomes);
        self.board.lock().calibration = calibration.bins();
        report
    }

    /// Brings the board up to date after a step.
    fn note(&self, shown: &mut Shown, report: &StepReport) -> anyhow::Result<()> {
        if shown.steps >= SHOWN_STEPS {
            self.show_means(shown);
        }
        let mut facts = self.board.lock();
        facts.step = self.trainer.steps();
        facts.skipped_steps = self.trainer.skipped();
        if !report.skipped {
            facts.gradient_norm = report.gradient_norm;
            facts.learning_rate = report.learning_rate;
            facts.policy_entropy = report.policy_entropy;
            facts.clipped_steps += u64::from(report.clipped);
        }
        drop(facts);
        if shown.skipped_in_a_row >= MOST_SKIPPED {
            return self.diverged(&format!("the last {MOST_SKIPPED} batches gave no finite loss or gradient"));
        }
        Ok(())
    }

    /// Shows the means of the steps since this was last done, if there were any.
    fn show_means(&self, shown: &mut Shown) {
        let Some(means) = shown.take() else { return };
        let mut facts = self.board.lock();
        facts.loss = Some(means.loss);
        facts.policy_divergence = Some(means.policy_divergence);
        facts.policy_agreement = Some(means.policy_agreement);
        facts.staleness = Some(means.staleness);
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
        let length = bytes.len() as u64;
        let head = WeightsHead { version, ordinal, bytes: length, digest: digest(&bytes) };
        done.published_step = Some(version.step);
        match self.runtime.block_on(self.bus.announce(self.epoch, head, bytes)) {
            Ok(()) => {
                tracing::debug!(%version, ordinal, "published weights");
                self.ordinal = ordinal;
                let mut facts = self.board.lock();
                (facts.weights, facts.weights_published, facts.weights_bytes) = (Some(version), ordinal, length);
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
            self.board.lock().failed_checkpoints += 1;
            self.board.notice(format!("{error:#}; training goes on, the last good checkpoint is untouched"));
        }
    }

    fn save(&self, done: &mut Done) -> anyhow::Result<()> {
        let began = Instant::now();
        let version = self.saver.save(&self.trainer, self.epoch, self.ordinal, self.supply.for_checkpoint()?)?;
        self.times.checkpoint.observe(began.elapsed().as_secs_f64());
        done.saved_step = version.step;
        let mut facts = self.board.lock();
        facts.checkpoint = Some((version, Instant::now()));
        facts.checkpoints += 1;
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

#[cfg(test)]
#[path = "train_loop_tests.rs"]
mod tests;
