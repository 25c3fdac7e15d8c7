//! The figures of a status that are worth a curve over train steps, each under a tag of the form `group/name`.

use crate::status::Status;

/// A point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// Which curve.
    pub tag: String,
    /// The train step it belongs to.
    pub step: u64,
    /// Its value; not finite if there is none.
    pub value: f64,
}

/// All of them. Results of matches and exact figures belong to the step of the weights that were measured, which may be an
/// earlier one.
pub fn scalars(status: &Status) -> Vec<Scalar> {
    let mut all = Vec::new();
    let mut add = |tag: String, step, value| all.push(Scalar { tag, step, value });
    for result in &status.win_rates {
        add(format!("match/{}", result.opponent), result.step, result.score);
        add(format!("match/{}, low", result.opponent), result.step, result.low);
        add(format!("match/{}, high", result.opponent), result.step, result.high);
    }
    for figure in &status.figures {
        add(format!("exact/{}", figure.name), figure.step, figure.value);
    }
    let mut now = |tag: &str, value| add(tag.to_owned(), status.step, value);
    if let Some(loss) = status.loss {
        now("loss/total", loss.total);
        now("loss/policy", loss.policy);
        now("loss/value", loss.value);
        now("loss/weights", loss.weights);
        now("train/gradient_norm", status.gradient_norm);
        now("train/learning_rate", status.learning_rate);
        now("train/policy_entropy_nats", status.policy_entropy);
    }
    let measured = [
        ("train/policy_divergence_nats", status.policy_divergence),
        ("train/policy_agreement", status.policy_agreement),
        ("train/value_calibration_error", status.calibration_error),
        ("train/staleness_steps", status.staleness),
        ("play/effective_worlds", status.effective_worlds),
        ("play/world_disagreement", status.world_disagreement),
    ];
    measured.iter().filter_map(|&(tag, value)| Some((tag, value?))).for_each(|(tag, value)| now(tag, value));
    now("train/steps_per_s", status.steps_per_s);
    now("train/skipped_steps", status.skipped_steps as f64);
    now("play/games_per_s", status.games_per_s);
    now("play/rows_per_s", status.rows_per_s);
    now("play/evaluations_per_s", status.evaluations_per_s);
    now("play/decisions_per_game", status.decisions_per_game);
    now("play/cache_hits", status.cache_hits);
    now("play/batch_fill", status.batch_fill);
    now("play/refilled_pools", status.refilled_pools);
    now("replay/window_rows", status.window_rows as f64);
    now("replay/ratio", status.replay_ratio);
    for wait in &status.waits {
        now(&format!("wait/{}", wait.stage), wait.share);
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::show::samples;

    #[test]
    fn every_curve_has_one_point_and_results_that_of_the_weights_that_played() {
        let status = samples::run(5).remove(4);
        let all = scalars(&status);
        let tags: BTreeSet<_> = all.iter().map(|scalar| &scalar.tag).collect();
        assert_eq!(tags.len(), all.len());
        let result = &status.win_rates[0];
        let point = all.iter().find(|scalar| scalar.tag == format!("match/{}", result.opponent)).unwrap();
        assert_eq!((point.step, point.value), (result.step, result.score));
        let loss = all.iter().find(|scalar| scalar.tag == "loss/policy").unwrap();
        assert_eq!((loss.step, loss.value), (status.step, status.loss.unwrap().policy));
    }
}
