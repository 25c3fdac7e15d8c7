//! [`Trainer`]: one owner of a network, its optimizer and its averaged weights, moved by one batch a step.
//!
//! **Invariant:** a batch whose loss or gradient is not finite changes nothing but a counter.

use anyhow::{Context, ensure};
use fogfall_net::{NetError, Weights};
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use super::{
    batch::Batch,
    device::Device,
    loss::{Labels, Terms},
    model::{Model, numbers},
    optimizer::Descent,
    settings::TrainSettings,
    state::{self, TrainerState},
};

/// The terms of the loss: `total = alpha * value + beta * policy + eta * weights`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossTerms {
    /// `MSE(v, z)`, in squared units of the game's scale.
    pub value: f64,
    /// `CE(p, pi)` in nats.
    pub policy: f64,
    /// `||w||^2` over the weight matrices.
    pub weights: f64,
    /// The weighted sum.
    pub total: f64,
}

/// What one step did and saw. Figures are those before the weights moved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Steps taken so far, this one included.
    pub step: u64,
    /// Learning rate of this step.
    pub learning_rate: f64,
    /// The loss.
    pub loss: LossTerms,
    /// Entropy of the network's policy in nats.
    pub policy_entropy: f64,
    /// Kullback-Leibler divergence of the network's policy from the label in nats: the policy term less what it cannot
    /// fall below.
    pub policy_divergence: f64,
    /// Share of rows where network and label have the same best action.
    pub policy_agreement: f64,
    /// Norm of the whole gradient before it was clipped.
    pub gradient_norm: f64,
    /// True if the gradient was scaled down.
    pub clipped: bool,
    /// True if something was not finite, and the batch was left out.
    pub skipped: bool,
}

/// Trains a network.
#[derive(Debug)]
pub struct Trainer {
    settings: TrainSettings,
    device: Device,
    model: Model,
    descent: Descent,
    /// `[parameters]` the averaged weights.
    average: Tensor,
    step: u64,
    skipped: u64,
}

const WEIGHTS: &str = "weights";
const AVERAGE: &str = "average";

fn moment(index: usize) -> String {
    format!("moment.{index}")
}

impl Trainer {
    /// A trainer that has taken no step.
    pub fn new(weights: &Weights, settings: &TrainSettings, device: Device) -> Self {
        let model = Model::new(weights, device);
        let descent = Descent::new(settings, model.decays());
        let average = model.flat().copy();
        Self { settings: settings.clone(), device, model, descent, average, step: 0, skipped: 0 }
    }

    /// A trainer that goes on where another one was saved, on the CPU to the last bit. Changed settings apply from now
    /// on. Adam and AdamW go on from each other's moments; else a changed optimizer starts with none.
    ///
    /// # Errors
    /// If the bytes are damaged or not of this state.
    pub fn resume(
        state: &TrainerState,
        tensors: &[u8],
        settings: &TrainSettings,
        device: Device,
    ) -> anyhow::Result<Self> {
        state.shape.check()?;
        let mut tensors = state::read(tensors, state.shape.num_parameters(), device)?;
        let mut take = |name: &str| tensors.remove(name).with_context(|| format!("the training state has no '{name}'"));
        let (flat, average) = (take(WEIGHTS)?, take(AVERAGE)?);
        let moments: Vec<Tensor> = (0..).map_while(|index| tensors.remove(&moment(index))).collect();
        ensure!(!moments.is_empty(), "the training state has no '{}'", moment(0));
        ensure!(tensors.is_empty(), "the training state has unknown tensors: {:?}", tensors.keys());

        let untrained = Weights::random(state.shape.clone(), 0)?;
        let mut trainer = Self::new(&untrained, settings, device);
        trainer.model.flat_mut().copy_(&flat);
        trainer.average = average;
        if moments.len() == Descent::num_moments(settings.optimizer) {
            trainer.descent.restore(moments, state.optimizer_steps);
        } else {
            tracing::warn!(optimizer = ?settings.optimizer, "the optimizer starts without the state of the one before");
        }
        (trainer.step, trainer.skipped) = (state.step, state.skipped);
        Ok(trainer)
    }

    /// All that [`Trainer::resume`] needs.
    pub fn save(&self) -> (TrainerState, Vec<u8>) {
        let state = TrainerState {
            shape: self.model.shape().clone(),
            step: self.step,
            skipped: self.skipped,
            optimizer_steps: self.descent.steps(),
        };
        let mut tensors = vec![(WEIGHTS.to_owned(), self.model.flat()), (AVERAGE.to_owned(), &self.average)];
        tensors.extend(self.descent.moments().iter().enumerate().map(|(index, tensor)| (moment(index), tensor)));
        (state, state::write(&tensors))
    }

    /// Steps taken.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Batches left out because something was not finite.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The weights that are trained.
    ///
    /// # Errors
    /// [`NetError`] if a number is not finite, as with a far too large learning rate.
    pub fn weights(&self) -> Result<Weights, NetError> {
        self.model.weights(self.model.flat())
    }

    /// The averaged weights: what plays.
    ///
    /// # Errors
    /// As [`Trainer::weights`].
    pub fn averaged(&self) -> Result<Weights, NetError> {
        self.model.weights(&self.average)
    }

    /// Learns from one batch.
    ///
    /// # Panics
    /// If the batch is empty or not of the network's sizes.
    pub fn step(&mut self, batch: &Batch) -> StepReport {
        self.learn(batch, false).0
    }

    /// The same, and `[rows]` what the network predicted before it learnt: the mover's value, in units of the game's scale.
    /// They are copied from the device, so this takes longer.
    ///
    /// # Panics
    /// As [`Trainer::step`].
    pub fn step_and_predict(&mut self, batch: &Batch) -> (StepReport, Vec<f32>) {
        self.learn(batch, true)
    }

    fn learn(&mut self, batch: &Batch, predict: bool) -> (StepReport, Vec<f32>) {
        batch.assert_fits(self.model.shape());
        let labels = Labels::new(batch, self.device);
        let heads = self.model.forward(&labels.observation);
        let terms = Terms::new(&heads, &labels);
        let loss = &terms.value * self.settings.value_weight + &terms.policy * self.settings.policy_weight;
        let mut gradient = self.model.gradient(&loss);
        self.descent.add_weight_gradient(&mut gradient, self.model.flat());
        let mut report = self.report(&terms, &gradient);
        let predicted = if predict { numbers(&heads.value.detach()) } else { Vec::new() };

        if report.skipped {
            self.skipped += 1;
            return (report, predicted);
        }
        if report.clipped {
            let _ = gradient.g_mul_scalar_(self.settings.clip_norm / report.gradient_norm);
        }
        self.descent.step(self.model.flat_mut(), &gradient, report.learning_rate);
        self.step += 1;
        report.step = self.step;
        let _ = self.average.lerp_(self.model.flat(), 1.0 - self.settings.average_decay_at(self.step));
        (report, predicted)
    }

    /// All figures of a step, in one copy from the device.
    fn report(&self, terms: &Terms, gradient: &Tensor) -> StepReport {
        let squared = self.descent.squared_weights(self.model.flat());
        let norm = gradient.square().sum(Kind::Float).sqrt();
        let Terms { value, policy, entropy, label_entropy, agreement } = terms;
        let scalars = [value, policy, &squared, entropy, label_entropy, agreement, &norm].map(Tensor::detach);
        let figures = numbers(&Tensor::stack(&scalars, 0));
        let skipped = figures.iter().any(|figure| !figure.is_finite());
        let figure = |index: usize| f64::from(figures[index]);

        let [value, policy, weights] = [figure(0), figure(1), figure(2)];
        let TrainSettings { value_weight, policy_weight, weight_decay, .. } = self.settings;
        let total = value_weight * value + policy_weight * policy + weight_decay * weights;
        StepReport {
            step: self.step,
            learning_rate: self.settings.rate_after(self.step),
            loss: LossTerms { value, policy, weights, total },
            policy_entropy: figure(3),
            policy_divergence: policy - figure(4),
            policy_agreement: figure(5),
            gradient_norm: figure(6),
            clipped: figure(6) > self.settings.clip_norm,
            skipped,
        }
    }
}
