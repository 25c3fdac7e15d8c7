//! [`Descent`]: SGD, Adam and AdamW over one flat tensor, with all state in plain sight so that it can be saved, and the
//! weight term of the loss. The algorithms are PyTorch's, so that settings mean what they mean there.

use tch::{Kind, Tensor};

use super::settings::{Optimizer, TrainSettings};

/// An optimizer and its state.
#[derive(Debug)]
pub(super) struct Descent {
    settings: TrainSettings,
    /// `[parameters]` 1 where the weight term applies, else 0.
    decays: Tensor,
    /// `[parameters]` each: SGD's momentum; or Adam's mean gradient and mean squared gradient.
    moments: Vec<Tensor>,
    /// Steps that made up `moments`.
    steps: u64,
}

impl Descent {
    pub(super) fn new(settings: &TrainSettings, decays: Tensor) -> Self {
        let moments = (0..Self::num_moments(settings.optimizer)).map(|_| decays.zeros_like()).collect();
        Self { settings: settings.clone(), decays, moments, steps: 0 }
    }

    /// How many moments an optimizer keeps. Those that keep as many can go on from each other's.
    pub(super) fn num_moments(optimizer: Optimizer) -> usize {
        match optimizer {
            Optimizer::Sgd => 1,
            Optimizer::Adam | Optimizer::AdamW => 2,
        }
    }

    pub(super) fn moments(&self) -> &[Tensor] {
        &self.moments
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Goes on from a saved state.
    pub(super) fn restore(&mut self, moments: Vec<Tensor>, steps: u64) {
        debug_assert_eq!(moments.len(), self.moments.len());
        self.moments = moments;
        self.steps = steps;
    }

    /// `||w||^2` over the weight matrices, a scalar.
    pub(super) fn squared_weights(&self, weights: &Tensor) -> Tensor {
        (weights.square() * &self.decays).sum(Kind::Float)
    }

    /// Adds the gradient of `eta * ||w||^2`, which is `2 * eta * w`, unless the optimizer decays weights on its own.
    pub(super) fn add_weight_gradient(&self, gradient: &mut Tensor, weights: &Tensor) {
        if self.settings.decay_in_loss() && self.settings.weight_decay != 0.0 {
            let mut term = weights * &self.decays;
            let _ = term.g_mul_scalar_(2.0 * self.settings.weight_decay);
            let _ = gradient.g_add_(&term);
        }
    }

    /// Moves the weights one step down a gradient.
    pub(super) fn step(&mut self, weights: &mut Tensor, gradient: &Tensor, rate: f64) {
        self.steps += 1;
        let settings = &self.settings;
        match &mut self.moments[..] {
            [velocity] => {
                let _ = velocity.g_mul_scalar_(settings.momentum).g_add_(gradient);
                let _ = weights.g_sub_(&(&*velocity * rate));
            }
            [mean, square] => {
                if !settings.decay_in_loss() {
                    let kept = self.decays.g_mul_scalar(-rate * settings.weight_decay).g_add_scalar_(1.0);
                    let _ = weights.g_mul_(&kept);
                }
                let _ = mean.lerp_(gradient, 1.0 - settings.beta1);
                let _ = square.g_mul_scalar_(settings.beta2).g_add_(&(gradient.square() * (1.0 - settings.beta2)));
                let t = self.steps as f64;
                let mean_bias = 1.0 - settings.beta1.powf(t);
                let square_bias = 1.0 - settings.beta2.powf(t);
                let mut root = square.sqrt();
                let _ = root.g_div_scalar_(square_bias.sqrt()).g_add_scalar_(settings.epsilon);
                let _ = weights.g_sub_(&(&*mean / root * (rate / mean_bias)));
            }
            other => unreachable!("no optimizer keeps {} moments", other.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tch::nn::{self, OptimizerConfig};

    use super::*;
    use crate::train::model::numbers;

    const START: [f32; 4] = [1.0, -2.0, 0.5, 3.0];
    const TARGET: [f32; 4] = [0.0, 1.0, 0.5, -1.0];
    const STEEPNESS: [f32; 4] = [0.1, 1.0, 3.0, 10.0];

    /// The gradient of `sum steepness * (w - target)^2`.
    fn gradient(weights: &Tensor) -> Tensor {
        2.0 * Tensor::from_slice(&STEEPNESS) * (weights - Tensor::from_slice(&TARGET))
    }

    /// Our weights after each of 100 steps, all of them decaying.
    fn ours(settings: &TrainSettings) -> Vec<Vec<f32>> {
        let mut weights = Tensor::from_slice(&START);
        let mut descent = Descent::new(settings, weights.ones_like());
        let step = |_| {
            let mut gradient = gradient(&weights);
            descent.add_weight_gradient(&mut gradient, &weights);
            descent.step(&mut weights, &gradient, settings.learning_rate);
            numbers(&weights)
        };
        (0..100).map(step).collect()
    }

    /// The same with an optimizer of libtorch.
    fn theirs(config: impl OptimizerConfig, rate: f64) -> Vec<Vec<f32>> {
        let store = nn::VarStore::new(tch::Device::Cpu);
        let weights = store.root().var_copy("w", &Tensor::from_slice(&START));
        let mut optimizer = config.build(&store, rate).unwrap();
        let step = |_| {
            let loss = (Tensor::from_slice(&STEEPNESS) * (&weights - Tensor::from_slice(&TARGET)).square()).sum(None);
            optimizer.backward_step(&loss);
            numbers(&weights)
        };
        (0..100).map(step).collect()
    }

    fn assert_same_path(ours: &[Vec<f32>], theirs: &[Vec<f32>]) {
        assert!(ours[99].iter().zip(START).any(|(end, start)| (end - start).abs() > 0.5), "the weights have moved");
        for (step, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            for (ours, theirs) in ours.iter().zip(theirs) {
                assert!((ours - theirs).abs() <= 1e-6, "step {step}: {ours}, libtorch {theirs}");
            }
        }
    }

    fn settings(optimizer: Optimizer, learning_rate: f64, weight_decay: f64) -> TrainSettings {
        TrainSettings { optimizer, learning_rate, weight_decay, ..TrainSettings::default() }
    }

    // PyTorch's weight decay of SGD and Adam is the gradient `d * w`: d = 2 * eta.

    #[test]
    fn sgd_goes_the_way_of_libtorch() {
        let ours = ours(&settings(Optimizer::Sgd, 1e-3, 0.05));
        assert_same_path(&ours, &theirs(nn::Sgd { momentum: 0.9, wd: 0.1, ..nn::Sgd::default() }, 1e-3));
    }

    #[test]
    fn adam_goes_the_way_of_libtorch() {
        let ours = ours(&settings(Optimizer::Adam, 1e-2, 0.05));
        assert_same_path(&ours, &theirs(nn::Adam { wd: 0.1, ..nn::Adam::default() }, 1e-2));
    }

    #[test]
    fn adamw_goes_the_way_of_libtorch() {
        let ours = ours(&settings(Optimizer::AdamW, 1e-2, 0.1));
        assert_same_path(&ours, &theirs(nn::AdamW { wd: 0.1, ..nn::AdamW::default() }, 1e-2));
    }

    /// Weights (2, 2) after one step without any gradient of a batch; only the first of them decays.
    fn decayed(optimizer: Optimizer) -> Vec<f32> {
        let settings = settings(optimizer, 0.5, 0.1);
        let mut weights = Tensor::from_slice(&[2f32, 2.0]);
        let mut descent = Descent::new(&settings, Tensor::from_slice(&[1f32, 0.0]));
        let mut gradient = weights.zeros_like();
        descent.add_weight_gradient(&mut gradient, &weights);
        descent.step(&mut weights, &gradient, settings.learning_rate);
        numbers(&weights)
    }

    #[test]
    fn the_weight_term_is_in_the_gradient_or_decoupled_and_never_both() {
        let [sgd, adam, adamw] = [Optimizer::Sgd, Optimizer::Adam, Optimizer::AdamW].map(decayed);
        assert!((sgd[0] - 1.8).abs() < 1e-6); // 2 - 0.5 * (2 * 0.1 * 2)
        assert!((adam[0] - 1.5).abs() < 1e-6); // Adam's first step has length rate: 2 - 0.5
        assert!((adamw[0] - 1.9).abs() < 1e-6); // 2 * (1 - 0.5 * 0.1)
        assert_eq!([sgd[1], adam[1], adamw[1]], [2.0; 3]);
    }

    #[test]
    fn squared_weights_are_those_that_decay() {
        let descent = Descent::new(&TrainSettings::default(), Tensor::from_slice(&[1f32, 0.0, 1.0]));
        assert_eq!(numbers(&descent.squared_weights(&Tensor::from_slice(&[3f32, 7.0, -2.0]))), [13.0]); // 9 + 4
    }
}
