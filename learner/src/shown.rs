//! What the board shows of train steps: means over the last of them, and where the thread's time went.

use std::time::{Duration, Instant};

use fogfall_service::metrics::{Histogram, Name, histogram, names};

use crate::{
    status::{Losses, TrainSeconds},
    train::StepReport,
};

/// Means over steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    /// Loss terms.
    pub loss: Losses,
    /// Divergence of the network's policy from the label, in nats.
    pub policy_divergence: f64,
    /// Share of rows where both have the same best action.
    pub policy_agreement: f64,
    /// Train steps between the weights that made a row and the step that drew it.
    pub staleness: f64,
}

/// The steps since the board was last brought up to date.
#[derive(Debug, Default)]
pub struct Shown {
    /// How many.
    pub steps: u64,
    /// Steps skipped since the last that was not.
    pub skipped_in_a_row: u64,
    /// Those among them whose loss was finite, and their sums.
    finite: u64,
    loss: Losses,
    policy_divergence: f64,
    policy_agreement: f64,
    staleness: f64,
}

impl Shown {
    /// Takes a step in, whose rows were so stale on average.
    pub fn add(&mut self, report: &StepReport, staleness: f64) {
        self.steps += 1;
        if report.skipped {
            self.skipped_in_a_row += 1;
            return;
        }
        self.skipped_in_a_row = 0;
        self.finite += 1;
        self.loss.total += report.loss.total;
        self.loss.policy += report.loss.policy;
        self.loss.value += report.loss.value;
        self.loss.weights += report.loss.weights;
        self.policy_divergence += report.policy_divergence;
        self.policy_agreement += report.policy_agreement;
        self.staleness += staleness;
    }

    /// Means since this was last taken, if there are any.
    pub fn take(&mut self) -> Option<Means> {
        let sums = std::mem::take(self);
        self.skipped_in_a_row = sums.skipped_in_a_row;
        let mean = |sum: f64| sum / sums.finite as f64;
        let Losses { total, policy, value, weights } = sums.loss;
        (sums.finite > 0).then(|| Means {
            loss: Losses { total: mean(total), policy: mean(policy), value: mean(value), weights: mean(weights) },
            policy_divergence: mean(sums.policy_divergence),
            policy_agreement: mean(sums.policy_agreement),
            staleness: mean(sums.staleness),
        })
    }
}

/// How long steps and checkpoints took, and how old what steps drew was.
#[derive(Clone, Debug)]
pub struct StepTimes {
    /// Seconds of a step.
    pub step: Histogram,
    /// Seconds of a checkpoint.
    pub checkpoint: Histogram,
    /// Train steps since the weights that made a row, for each row drawn.
    pub staleness: Histogram,
}

impl Default for StepTimes {
    fn default() -> Self {
        let made = |name: Name| histogram(name).expect("the list of names has it as a histogram");
        let [step, checkpoint, staleness] =
            [names::STEP_SECONDS, names::CHECKPOINT_SECONDS, names::STALENESS].map(made);
        Self { step, checkpoint, staleness }
    }
}

/// Tells the time of a thread that does one thing after another.
#[derive(Debug)]
pub struct PhaseClock {
    since: Instant,
    /// What was told so far.
    pub seconds: TrainSeconds,
}

impl PhaseClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { since: Instant::now(), seconds: TrainSeconds::default() }
    }

    /// All since the last call was this phase; returns how long that was.
    pub fn was(&mut self, phase: impl FnOnce(&mut TrainSeconds) -> &mut f64) -> Duration {
        let now = Instant::now();
        let lasted = now - std::mem::replace(&mut self.since, now);
        *phase(&mut self.seconds) += lasted.as_secs_f64();
        lasted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::LossTerms;

    fn report(policy: f64, skipped: bool) -> StepReport {
        StepReport {
            step: 1,
            learning_rate: 0.5,
            loss: LossTerms { value: 1.0, policy, weights: 4.0, total: 2.0 },
            policy_entropy: 0.5,
            policy_divergence: policy - 1.0,
            policy_agreement: 0.5,
            gradient_norm: 1.0,
            clipped: false,
            skipped,
        }
    }

    #[test]
    fn means_are_over_steps_that_were_finite_and_begin_anew_once_taken() {
        let mut shown = Shown::default();
        assert_eq!(shown.take(), None);
        shown.add(&report(1.0, false), 10.0);
        shown.add(&report(3.0, false), 20.0);
        shown.add(&report(f64::NAN, true), 5.0);
        assert_eq!((shown.steps, shown.skipped_in_a_row), (3, 1));
        let means = shown.take().unwrap();
        assert_eq!((means.loss.policy, means.loss.value, means.policy_divergence), (2.0, 1.0, 1.0));
        assert_eq!((means.policy_agreement, means.staleness), (0.5, 15.0));
        assert_eq!((shown.steps, shown.skipped_in_a_row, shown.take()), (0, 1, None));
    }

    #[test]
    fn every_moment_is_some_phase() {
        let began = Instant::now();
        let mut clock = PhaseClock::start();
        let lasted = clock.was(|s| &mut s.wait) + clock.was(|s| &mut s.step) + clock.was(|s| &mut s.wait);
        assert!(lasted <= began.elapsed());
        let TrainSeconds { wait, step, .. } = clock.seconds;
        assert!((wait + step - lasted.as_secs_f64()).abs() < 1e-9);
    }
}
