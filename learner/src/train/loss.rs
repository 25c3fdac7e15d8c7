//! The loss over a batch: the value and the policy term of `alpha * MSE(v, z) + beta * CE(p, pi) + eta * ||w||^2`, and
//! what is worth knowing about the policy. The third term needs no batch: see `optimizer`.
//!
//! **Invariant:** an illegal action's logit, whatever it is, changes nothing and gets a gradient of exactly 0.

use tch::{Kind, Tensor};

use super::{batch::Batch, device::Device, model::Heads};

/// Stands for minus infinity where the difference to a logit must not become a NaN.
const LOWEST: f64 = f32::MIN as f64;

/// A batch as tensors.
pub(super) struct Labels {
    /// `[rows, observation]`.
    pub(super) observation: Tensor,
    /// `[rows, actions]` true for illegal actions.
    pub(super) illegal: Tensor,
    /// `[rows, actions]` policy label.
    pub(super) policy: Tensor,
    /// `[rows]` value label.
    pub(super) value: Tensor,
    /// `[rows]` share of the row in the policy term: all 0, or summing to 1.
    pub(super) policy_share: Tensor,
    /// `[rows]` share of the row in the value term: all 0, or summing to 1.
    pub(super) value_share: Tensor,
}

impl Labels {
    pub(super) fn new(batch: &Batch, device: Device) -> Self {
        let rows = batch.rows as i64;
        let flat = |numbers: &[f32]| Tensor::from_slice(numbers).to_device(device.torch());
        let matrix = |numbers: &[f32]| flat(numbers).view([rows, -1]);
        Self {
            observation: matrix(&batch.observation),
            illegal: Tensor::from_slice(&batch.legal).to_device(device.torch()).logical_not().view([rows, -1]),
            policy: matrix(&batch.policy),
            value: flat(&batch.value),
            policy_share: flat(&shares(&batch.policy_weight)),
            value_share: flat(&shares(&batch.value_weight)),
        }
    }
}

/// Weights as shares of their sum; all 0 if that is 0.
fn shares(weights: &[f32]) -> Vec<f32> {
    let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    if sum == 0.0 {
        return vec![0.0; weights.len()];
    }
    weights.iter().map(|&weight| (f64::from(weight) / sum) as f32).collect()
}

/// Means over the rows of a batch, each a scalar.
pub(super) struct Terms {
    /// `MSE(v, z)`, with gradient.
    pub(super) value: Tensor,
    /// `CE(p, pi)` in nats, with gradient.
    pub(super) policy: Tensor,
    /// Entropy of `p` in nats.
    pub(super) entropy: Tensor,
    /// Entropy of `pi` in nats: what `CE` cannot fall below.
    pub(super) label_entropy: Tensor,
    /// Share of rows where `p` and `pi` have the same largest action.
    pub(super) agreement: Tensor,
}

impl Terms {
    pub(super) fn new(heads: &Heads, labels: &Labels) -> Self {
        let Labels { illegal, policy: label, policy_share, value_share, .. } = labels;
        let value = ((&heads.value - &labels.value).square() * value_share).sum(Kind::Float);

        let masked = heads.logits.masked_fill(illegal, LOWEST);
        // An illegal action's log-probability is finite or minus infinity; 0 times it must be 0.
        let log_policy = masked.log_softmax(-1, Kind::Float).masked_fill(illegal, 0.0);
        let mean = |rows: Tensor| (rows * policy_share).sum(Kind::Float);
        let over_actions = |x: Tensor| x.sum_dim_intlist(-1, false, Kind::Float);
        let policy = mean(-over_actions(label * &log_policy));

        let log_policy = log_policy.detach();
        // An illegal action adds exp(0) * 0 = 0.
        let entropy = mean(-over_actions(log_policy.exp() * &log_policy));
        let label_entropy = mean(-over_actions(label.xlogy(label)));
        let same = masked.detach().argmax(-1, false).eq_tensor(&label.argmax(-1, false));
        let agreement = mean(same.to_kind(Kind::Float));
        Self { value, policy, entropy, label_entropy, agreement }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::model::numbers;

    /// Two rows of three actions; the last action of the first row is illegal.
    fn batch() -> Batch {
        Batch {
            rows: 2,
            observation: vec![0.0; 2],
            legal: vec![true, true, false, true, true, true],
            policy: vec![0.75, 0.25, 0.0, 0.0, 1.0, 0.0],
            value: vec![1.0, -0.5],
            policy_weight: vec![1.0, 3.0],
            value_weight: vec![2.0, 2.0],
        }
    }

    struct Found {
        terms: [f32; 5],
        logit_gradient: Vec<f32>,
        value_gradient: Vec<f32>,
    }

    fn compute(batch: &Batch, logits: &[f32], value: &[f32]) -> Found {
        let logits = Tensor::from_slice(logits).view([batch.rows as i64, -1]).set_requires_grad(true);
        let value = Tensor::from_slice(value).set_requires_grad(true);
        let heads = Heads { logits: logits.shallow_clone(), value: value.shallow_clone() };
        let terms = Terms::new(&heads, &Labels::new(batch, Device::CPU));
        (&terms.value + &terms.policy).backward();
        let all = [terms.value, terms.policy, terms.entropy, terms.label_entropy, terms.agreement];
        Found {
            terms: all.map(|term| numbers(&term)[0]),
            logit_gradient: numbers(&logits.grad()),
            value_gradient: numbers(&value.grad()),
        }
    }

    fn assert_close(found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found}, wanted {expected}");
        }
    }

    #[test]
    fn terms_are_weighted_means_over_rows() {
        // Policies: row 0 (1/2, 1/2, -), row 1 (1/4, 1/4, 1/2): logits ln 1, ln 1, ln 2.
        let ln2 = 2f32.ln();
        let found = compute(&batch(), &[0.0, 0.0, 9.0, 0.0, 0.0, ln2], &[0.5, 0.5]);
        let value = 0.5 * 0.25 + 0.5 * 1.0; // errors 0.5 and 1, equal weights
        let policy = 0.25 * ln2 + 0.75 * 2.0 * ln2; // weights 1 and 3: -ln 1/2, -ln 1/4
        let entropy = 0.25 * ln2 + 0.75 * 1.5 * ln2; // row 1: 2/4 * 2 ln 2 + 1/2 * ln 2
        let label_entropy = 0.25 * (0.75 * (4f32 / 3.0).ln() + 0.25 * 4f32.ln());
        let agreement = 0.25; // row 0: both at action 0; row 1: action 2, labelled 1
        assert_close(&found.terms, &[value, policy, entropy, label_entropy, agreement]);
        assert_close(&found.value_gradient, &[-0.5, 1.0]); // share * 2 * error = 0.5 * 2 * (-0.5), 0.5 * 2 * 1
        // share * (p - pi): 0.25 * (1/2 - 3/4, 1/2 - 1/4), 0.75 * (1/4, 1/4 - 1, 1/2)
        assert_close(&found.logit_gradient, &[-0.0625, 0.0625, 0.0, 0.1875, -0.5625, 0.375]);
    }

    #[test]
    fn illegal_logits_change_nothing_and_get_no_gradient() {
        let with = |illegal: f32| compute(&batch(), &[0.3, -0.2, illegal, 0.1, 0.2, 0.3], &[0.0, 0.0]);
        let plain = with(0.0);
        for illegal in [1.0, -1e30, 1e30, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY] {
            let found = with(illegal);
            assert_eq!(found.terms, plain.terms, "illegal logit {illegal}");
            assert_eq!(found.logit_gradient, plain.logit_gradient, "illegal logit {illegal}");
            assert_eq!(found.logit_gradient[2].to_bits() << 1, 0, "0, of either sign");
        }
    }

    #[test]
    fn extreme_legal_logits_stay_finite() {
        for [a, b] in [[1e30, -1e30], [-1e30, 1e30], [1e30, 1e30], [-1e30, -1e30], [1e4, -1e4]] {
            let found = compute(&batch(), &[a, b, 7.0, a, b, a], &[0.0, 0.0]);
            assert!(found.terms.iter().all(|term| term.is_finite()), "{a} {b}: {:?}", found.terms);
            assert!(found.logit_gradient.iter().all(|x| x.is_finite()), "{a} {b}: {:?}", found.logit_gradient);
            assert_eq!(found.logit_gradient[2], 0.0);
        }
    }

    #[test]
    fn a_row_with_one_legal_action_teaches_the_policy_nothing() {
        let batch = Batch {
            legal: vec![false, true, false, false, true, false],
            policy: vec![0.0, 1.0, 0.0, 0.0, 1.0, 0.0],
            ..batch()
        };
        let found = compute(&batch, &[5.0, -3.0, 2.0, 1e30, -1e30, 0.0], &[0.0, 0.0]);
        assert_eq!(found.terms[1], 0.0);
        assert_eq!(found.logit_gradient, [0.0; 6]);
        assert_eq!(found.terms[4], 1.0); // both choose the only action
    }

    #[test]
    fn rows_without_weight_are_left_out() {
        let half = Batch { policy_weight: vec![1.0, 0.0], value_weight: vec![0.0, 0.5], ..batch() };
        let found = compute(&half, &[0.0, 0.0, 0.0, 3.0, 4.0, 5.0], &[7.0, 0.5]);
        assert_close(&found.terms[..2], &[1.0, 2f32.ln()]); // error 1 of row 1; -ln 1/2 of row 0
        assert_eq!(found.logit_gradient[3..], [0.0; 3]);
        assert_eq!(found.value_gradient[0], 0.0);

        let none = Batch { policy_weight: vec![0.0; 2], value_weight: vec![0.0; 2], ..batch() };
        let found = compute(&none, &[0.0, 1.0, 0.0, 3.0, 4.0, 5.0], &[7.0, 0.5]);
        assert_eq!(found.terms, [0.0; 5]);
        assert_eq!(found.logit_gradient, [0.0; 6]);
        assert_eq!(found.value_gradient, [0.0; 2]);
    }
}
