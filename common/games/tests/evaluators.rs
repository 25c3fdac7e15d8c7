//! The evaluators without a network keep the promises of any evaluator.

use fogfall_games::{KuhnPoker, TicTacToe};
use fogfall_search::{Cached, EvalBatch, Evaluator, Hash, Rollout, Uniform};
use fogfall_testkit::evaluator::conformance;

fn evaluators() -> Vec<Box<dyn Evaluator>> {
    let cached = Cached::new(Hash { seed: 3 }, 16, 9);
    vec![Box::new(Uniform), Box::new(Rollout), Box::new(Hash { seed: 3 }), Box::new(cached)]
}

#[test]
fn every_evaluator_without_a_network_conforms() {
    for mut evaluator in evaluators() {
        conformance(&KuhnPoker::new(), &mut *evaluator);
        conformance(&TicTacToe::new(), &mut *evaluator);
    }
}

/// Answers that depend on the number of rows, like those of a library that picks its kernel by the batch.
struct ByBatch;

impl Evaluator for ByBatch {
    fn evaluate(&mut self, batch: &mut EvalBatch) {
        Uniform.evaluate(batch);
        let rows = batch.len() as f32;
        batch.value.fill(1.0 / rows);
    }
}

#[test]
#[should_panic(expected = "in a batch of 1")]
fn answers_that_depend_on_the_batch_do_not_conform() {
    conformance(&KuhnPoker::new(), &mut ByBatch);
}

/// Priors over all actions, legal or not.
struct Unmasked;

impl Evaluator for Unmasked {
    fn evaluate(&mut self, batch: &mut EvalBatch) {
        Uniform.evaluate(batch);
        batch.prior.iter_mut().for_each(|prior| *prior *= 0.5);
    }
}

#[test]
#[should_panic(expected = "priors sum to 0.5")]
fn priors_that_leave_some_for_illegal_actions_do_not_conform() {
    conformance(&KuhnPoker::new(), &mut Unmasked);
}
