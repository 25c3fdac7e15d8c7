//! The board: what threads of a run leave for whoever shows it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use fogfall_proto::Version;

use crate::{
    beginning::Beginning,
    status::{CalibrationBin, Figure, Losses, TrainSeconds, WinRate},
};

/// Most notices that are kept; older ones are in the log.
const NOTICES: usize = 20;

/// What the train thread and the evaluation thread know of the run.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Train steps, counted over all starts.
    pub step: u64,
    /// Mean losses since the last look.
    pub loss: Option<Losses>,
    /// Norm of the gradient before clipping.
    pub gradient_norm: f64,
    /// Learning rate of the last step.
    pub learning_rate: f64,
    /// Entropy of the policy over legal actions, in nats.
    pub policy_entropy: f64,
    /// Mean divergence of the network's policy from the label, since the last look.
    pub policy_divergence: Option<f64>,
    /// Mean share of rows where both have the same best action.
    pub policy_agreement: Option<f64>,
    /// Mean train steps between the weights that made a row and the step that drew it.
    pub staleness: Option<f64>,
    /// Predicted values and outcomes of recent batches.
    pub calibration: Vec<CalibrationBin>,
    /// Steps whose gradient was scaled down.
    pub clipped_steps: u64,
    /// What the train thread did with its time.
    pub train_seconds: TrainSeconds,
    /// Steps skipped because loss or gradient was not finite.
    pub skipped_steps: u64,
    /// The newest weights published.
    pub weights: Option<Version>,
    /// Publications so far.
    pub weights_published: u64,
    /// Bytes of the newest.
    pub weights_bytes: u64,
    /// The last checkpoint, and when it was written.
    pub checkpoint: Option<(Version, Instant)>,
    /// Checkpoints written.
    pub checkpoints: u64,
    /// Checkpoints that could not be written.
    pub failed_checkpoints: u64,
    /// Newest result against each opponent.
    pub win_rates: Vec<WinRate>,
    /// Newest other figures.
    pub figures: Vec<Figure>,
    /// What a person should know, newest last.
    pub notices: Vec<String>,
}

/// The facts, shared.
#[derive(Clone, Default)]
pub struct Board(Arc<Mutex<Facts>>);

impl Board {
    /// The facts, locked.
    pub fn lock(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known at the beginning of a run.
    pub fn begin(&self, beginning: &Beginning) {
        let trainer = &beginning.trainer;
        let mut facts = self.lock();
        (facts.step, facts.skipped_steps) = (trainer.steps(), trainer.skipped());
        facts.weights_published = beginning.ordinal;
        drop(facts);
        beginning.notices.iter().for_each(|notice| self.notice(notice.clone()));
    }

    /// Leaves a notice and logs it.
    pub fn notice(&self, text: String) {
        tracing::warn!("{text}");
        let notices = &mut self.lock().notices;
        notices.push(text);
        let surplus = notices.len().saturating_sub(NOTICES);
        notices.drain(..surplus);
    }

    /// Replaces the result against an opponent.
    pub fn win_rate(&self, rate: WinRate) {
        let rates = &mut self.lock().win_rates;
        match rates.iter_mut().find(|r| r.opponent == rate.opponent) {
            Some(old) => *old = rate,
            None => rates.push(rate),
        }
    }

    /// Replaces a figure.
    pub fn figure(&self, figure: Figure) {
        let figures = &mut self.lock().figures;
        match figures.iter_mut().find(|f| f.name == figure.name) {
            Some(old) => *old = figure,
            None => figures.push(figure),
        }
    }
}
