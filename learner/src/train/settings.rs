//! [`TrainSettings`]: how weights are changed by batches, and the learning rate that follows from it. Plain data; the
//! command-line names of these settings live elsewhere.

use std::{f64::consts::PI, str::FromStr};

use serde::{Deserialize, Serialize};

/// How a gradient becomes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Optimizer {
    /// Stochastic gradient descent with momentum.
    Sgd,
    /// Kingma, Ba 2015, algorithm 1.
    Adam,
    /// Adam with decoupled weight decay: Loshchilov, Hutter 2019, algorithm 2.
    AdamW,
}

impl FromStr for Optimizer {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "sgd" => Ok(Self::Sgd),
            "adam" => Ok(Self::Adam),
            "adamw" => Ok(Self::AdamW),
            _ => anyhow::bail!("optimizer '{text}' is not sgd, adam or adamw"),
        }
    }
}

/// How the learning rate falls after warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Schedule {
    /// Not at all.
    Constant,
    /// Along half a cosine from the full rate after warm-up to `schedule_factor` of it at step `schedule_steps`.
    Cosine,
    /// By `schedule_factor` every `schedule_steps` steps.
    Step,
}

impl FromStr for Schedule {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "constant" => Ok(Self::Constant),
            "cosine" => Ok(Self::Cosine),
            "step" => Ok(Self::Step),
            _ => anyhow::bail!("schedule '{text}' is not constant, cosine or step"),
        }
    }
}

/// The loss `alpha * MSE(v, z) + beta * CE(p, pi) + eta * ||w||^2` and how it is made small.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainSettings {
    /// `alpha`, the weight of the value term; at least 0, 1 by default.
    pub value_weight: f64,
    /// `beta`, the weight of the policy term; at least 0, 1 by default.
    pub policy_weight: f64,
    /// `eta`, the weight of the squared weight matrices (not of biases and norms); at least 0, 1e-4 by default. With
    /// `AdamW` no part of the gradient: the coefficient of its decoupled decay, each step takes `rate * eta` of a weight.
    pub weight_decay: f64,
    /// How a gradient becomes a step.
    pub optimizer: Optimizer,
    /// Share of the last step that SGD keeps, 0 to 1; 0.9 by default.
    pub momentum: f64,
    /// Share of the past in Adam's mean of gradients, 0 to 1; 0.9 by default.
    pub beta1: f64,
    /// Share of the past in Adam's mean of squared gradients, 0 to 1; 0.999 by default.
    pub beta2: f64,
    /// Added to the root of Adam's mean of squares; 1e-8 by default.
    pub epsilon: f64,
    /// Learning rate after warm-up; 1e-3 by default.
    pub learning_rate: f64,
    /// Steps in which the learning rate rises linearly to its value; 0 for none, 200 by default.
    pub warmup_steps: u64,
    /// How it falls then.
    pub schedule: Schedule,
    /// See [`Schedule`]; at least 1.
    pub schedule_steps: u64,
    /// See [`Schedule`]; 0 to 1, 0.1 by default.
    pub schedule_factor: f64,
    /// A longer gradient is scaled down to this norm; `f64::INFINITY` for never, 5 by default.
    pub clip_norm: f64,
    /// `d`, the largest share of the past in the averaged weights, 0 to 1; 0.999 by default. Raising it averages longer.
    pub average_decay: f64,
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self {
            value_weight: 1.0,
            policy_weight: 1.0,
            weight_decay: 1e-4,
            optimizer: Optimizer::AdamW,
            momentum: 0.9,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            learning_rate: 1e-3,
            warmup_steps: 200,
            schedule: Schedule::Constant,
            schedule_steps: 100_000,
            schedule_factor: 0.1,
            clip_norm: 5.0,
            average_decay: 0.999,
        }
    }
}

impl TrainSettings {
    /// The learning rate of the step that comes after `steps` others.
    pub fn rate_after(&self, steps: u64) -> f64 {
        if steps < self.warmup_steps {
            return self.learning_rate * (steps + 1) as f64 / self.warmup_steps as f64;
        }
        let factor = match self.schedule {
            Schedule::Constant => 1.0,
            Schedule::Cosine => {
                let length = self.schedule_steps.saturating_sub(self.warmup_steps).max(1);
                let progress = ((steps - self.warmup_steps) as f64 / length as f64).min(1.0);
                self.schedule_factor + (1.0 - self.schedule_factor) * 0.5 * (1.0 + (PI * progress).cos())
            }
            Schedule::Step => self.schedule_factor.powf((steps / self.schedule_steps.max(1)) as f64),
        };
        self.learning_rate * factor
    }

    /// Share of the past in the averaged weights at step number `step`, counted from 1: `min(d, (1 + t) / (10 + t))`,
    /// so that the average leaves the untrained weights behind quickly.
    pub fn average_decay_at(&self, step: u64) -> f64 {
        let step = step as f64;
        self.average_decay.min((1.0 + step) / (10.0 + step))
    }

    /// True if the third term of the loss is part of the gradient.
    pub(super) fn decay_in_loss(&self) -> bool {
        self.optimizer != Optimizer::AdamW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_rates(settings: &TrainSettings, expected: &[(u64, f64)]) {
        for &(steps, rate) in expected {
            let found = settings.rate_after(steps);
            assert!((found - rate).abs() < 1e-12, "after {steps} steps: {found}, wanted {rate}");
        }
    }

    fn settings(schedule: Schedule, warmup_steps: u64, schedule_steps: u64, schedule_factor: f64) -> TrainSettings {
        TrainSettings {
            learning_rate: 0.8,
            schedule,
            warmup_steps,
            schedule_steps,
            schedule_factor,
            ..TrainSettings::default()
        }
    }

    #[test]
    fn warm_up_rises_in_equal_parts_and_never_starts_at_zero() {
        let settings = settings(Schedule::Constant, 4, 1, 0.0);
        assert_rates(&settings, &[(0, 0.2), (1, 0.4), (2, 0.6), (3, 0.8), (4, 0.8), (1_000_000, 0.8)]);
        assert_rates(&TrainSettings { warmup_steps: 0, ..settings }, &[(0, 0.8)]);
    }

    #[test]
    fn cosine_falls_from_the_end_of_warm_up_to_its_floor_and_stays() {
        let settings = settings(Schedule::Cosine, 10, 110, 0.25);
        let expected = [
            (9, 0.8),   // the last step of warm-up: 10 / 10
            (10, 0.8),  // cos 0 = 1
            (60, 0.5),  // half way: 0.8 * (0.25 + 0.75 * 0.5)
            (110, 0.2), // 0.8 * 0.25
            (500, 0.2),
        ];
        assert_rates(&settings, &expected);
        // A third of the way, cos 60 degrees = 0.5: 0.8 * (0.25 + 0.75 * 0.75) = 0.65
        let thirds = TrainSettings { schedule_steps: 310, ..settings };
        assert_rates(&thirds, &[(110, 0.65)]);
    }

    #[test]
    fn a_cosine_no_longer_than_warm_up_ends_at_once() {
        let settings = settings(Schedule::Cosine, 10, 5, 0.5);
        assert_rates(&settings, &[(10, 0.8), (11, 0.4)]);
    }

    #[test]
    fn steps_multiply_the_rate() {
        let settings = settings(Schedule::Step, 0, 100, 0.5);
        assert_rates(&settings, &[(0, 0.8), (99, 0.8), (100, 0.4), (199, 0.4), (200, 0.2), (305, 0.1)]);
    }

    #[test]
    fn the_average_forgets_its_start_quickly() {
        let settings = TrainSettings { average_decay: 0.9, ..TrainSettings::default() };
        assert_eq!(settings.average_decay_at(1), 2.0 / 11.0);
        assert_eq!(settings.average_decay_at(8), 0.5); // 9 / 18
        assert_eq!(settings.average_decay_at(80), 0.9); // 81 / 90
        assert_eq!(settings.average_decay_at(81), 0.9);
    }

    #[test]
    fn names_are_read_back() {
        assert_eq!("adamw".parse::<Optimizer>().ok(), Some(Optimizer::AdamW));
        assert_eq!("adam".parse::<Optimizer>().ok(), Some(Optimizer::Adam));
        assert_eq!("sgd".parse::<Optimizer>().ok(), Some(Optimizer::Sgd));
        assert_eq!("step".parse::<Schedule>().ok(), Some(Schedule::Step));
        assert_eq!("constant".parse::<Schedule>().ok(), Some(Schedule::Constant));
        assert_eq!("cosine".parse::<Schedule>().ok(), Some(Schedule::Cosine));
        assert!("Adam".parse::<Optimizer>().is_err());
        assert!("linear".parse::<Schedule>().is_err());
    }
}
