//! From a searched root to a move and its labels: the three choice rules and the two policy labels.

use fogfall_game::{Action, Rng, Seat};
use rand::RngExt;

use crate::settings::{Choice, Label};
use crate::tree::{Edge, Node, mean, sign};

/// What a search found out about one move. Values are the mover's, in units of the game's scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The chosen action.
    pub action: Action,
    /// Who moves.
    pub mover: Seat,
    /// `[legal]` legal actions, ascending.
    pub legal: Vec<Action>,
    /// `[legal]` visits, inherited ones included.
    pub visits: Vec<u32>,
    /// `[legal]` the network's probabilities, without noise.
    pub prior: Vec<f32>,
    /// `[legal]` mean values; the network's root value for unvisited actions.
    pub q: Vec<f32>,
    /// `[legal]` policy label, sums to 1.
    pub policy: Vec<f32>,
    /// Mean value of the root.
    pub root_value: f32,
    /// The network's value of the root.
    pub network_value: f32,
    /// Simulations of this search.
    pub simulations: u32,
    /// Questions to the evaluator.
    pub evaluations: u32,
    /// Questions that it was spared: nodes on its way, the root not counted, that an earlier search of the same tree had
    /// evaluated, each once.
    pub tree_hits: u32,
    /// Nodes added by this search.
    pub new_nodes: u32,
    /// Visits that the root's actions had before this search.
    pub inherited: u32,
    /// Nodes in the tree.
    pub tree_nodes: u32,
    /// Effective sample size of the worlds of a reach belief; 0 for a uniform one.
    pub effective_worlds: f32,
    /// The pool of a reach belief was refilled: few of its worlds explained what the opponent did.
    pub refilled: bool,
    /// Mean depth at which simulations ended.
    pub depth: f32,
    /// Standard deviation of the values that the simulations of this search, each in a world of its own, brought to the root;
    /// none for fewer than two.
    pub disagreement: Option<f32>,
}

/// What the simulations of one search brought an edge of the root: how far their values spread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Gained {
    pub(crate) n: u32,
    /// Sum of seat 0's values.
    pub(crate) sum: f32,
    /// Sum of their squares.
    pub(crate) squares: f32,
}

impl Gained {
    #[inline]
    pub(crate) fn add(&mut self, value: f32) {
        (self.n, self.sum, self.squares) = (self.n + 1, self.sum + value, self.squares + value * value);
    }

    /// What two edges were brought together.
    fn and(self, other: &Self) -> Self {
        Self { n: self.n + other.n, sum: self.sum + other.sum, squares: self.squares + other.squares }
    }

    /// Variance of the values, estimated from at least two.
    fn variance(&self) -> f32 {
        let n = self.n as f32;
        (self.squares / n - (self.sum / n).powi(2)).max(0.0) * n / (n - 1.0)
    }
}

/// A searched root.
pub(crate) struct Root<'a> {
    pub(crate) node: &'a Node,
    /// The network's value, the mover's.
    pub(crate) network_value: f32,
    pub(crate) edges: &'a [Edge],
    /// `[edges]` what this search's simulations brought.
    pub(crate) gained: &'a [Gained],
    /// `[edges]` visits when the search began.
    pub(crate) inherited: &'a [u32],
    /// What the search was asked for; inherited visits weigh no more than this in all.
    pub(crate) budget: u32,
    pub(crate) legal: &'a [Action],
    /// Values may be rescaled by their minimum and maximum.
    pub(crate) rescale: bool,
}

/// Fills in label and choice.
pub(crate) fn decide(root: &Root<'_>, label: &Label, choice: Choice, rng: &mut Rng, out: &mut Decision) {
    let sign = sign(root.node.mover);
    out.network_value = root.network_value;
    out.root_value = sign * mean(root.node.sum, root.node.n.max(1));
    let gained = root.gained.iter().fold(Gained::default(), Gained::and);
    out.disagreement = (gained.n >= 2).then(|| gained.variance().sqrt());
    out.legal.clear();
    out.legal.extend_from_slice(root.legal);
    for list in [&mut out.prior, &mut out.q, &mut out.policy] {
        list.clear();
    }
    out.visits.clear();
    let mut weights = Vec::with_capacity(root.legal.len());
    let inherited: u32 = root.inherited.iter().sum();
    let cap = (root.budget as f32 / inherited.max(1) as f32).min(1.0);
    for (edge, old, _) in legal_edges(root) {
        out.visits.push(edge.n);
        out.prior.push(edge.prior);
        out.q.push(if edge.n == 0 { out.network_value } else { sign * mean(edge.sum, edge.n) });
        weights.push((edge.n - old) as f32 + cap * old as f32);
    }
    normalise(&mut out.prior);
    match *label {
        Label::Visits => {
            out.policy.clone_from(&weights);
            if weights.iter().all(|&w| w == 0.0) {
                out.policy.clone_from(&out.prior);
            }
            normalise(&mut out.policy);
        }
        Label::CompletedQ { scale, offset } => {
            let most = weights.iter().copied().fold(0.0, f32::max);
            completed_q((offset + most) * scale, root.rescale, out);
        }
        Label::Response { precision } => {
            out.policy.extend(completed_values(out).iter().map(|q| precision * q));
            softmax(&mut out.policy);
        }
    }
    let index = match choice {
        Choice::Visits => most_visited(&weights, &out.prior),
        Choice::Sample { temperature } => sample(&weights, &out.prior, temperature, rng),
        Choice::Label => sample(&out.policy, &out.prior, 1.0, rng),
        Choice::Confidence { deviations, visit_floor } => {
            confident(root, &weights, &out.prior, deviations, visit_floor)
        }
    };
    out.action = root.legal[index];
}

/// The edges of legal actions, with the visits that each had before and what this search brought it.
fn legal_edges<'a>(root: &'a Root<'_>) -> impl Iterator<Item = (&'a Edge, u32, &'a Gained)> {
    let mut legal = root.legal.iter().peekable();
    let edges = root.edges.iter().zip(root.inherited).zip(root.gained);
    edges.filter_map(move |((edge, &old), gained)| legal.next_if_eq(&&edge.action).map(|_| (edge, old, gained)))
}

/// Scales to a sum of 1; all zeros become uniform.
fn normalise(weights: &mut [f32]) {
    let total: f32 = weights.iter().sum();
    let uniform = 1.0 / weights.len() as f32;
    for w in weights {
        *w = if total > 0.0 { *w / total } else { uniform };
    }
}

/// `[legal]` mean values, where unvisited actions are worth the mixed value (Danihelka et al. 2022, appendix D).
fn completed_values(out: &Decision) -> Vec<f32> {
    let visited = || out.visits.iter().zip(&out.prior).zip(&out.q).filter(|((n, _), _)| **n > 0);
    let total: u32 = out.visits.iter().sum();
    let mut mixed = out.network_value;
    let prior_mass: f32 = visited().map(|((_, p), _)| p).sum();
    if total > 0 && prior_mass > 0.0 {
        let q: f32 = visited().map(|((_, p), q)| p * q).sum::<f32>() / prior_mass;
        mixed = (out.network_value + total as f32 * q) / (1 + total) as f32;
    }
    out.q.iter().zip(&out.visits).map(|(&q, &n)| if n > 0 { q } else { mixed }).collect()
}

/// `softmax(logit + strength * q)` over completed values, `strength = (offset + max N) * scale` (Danihelka et al. 2022,
/// equations 10 and 11). Inherited visits count in N as far as they weigh: labels must not get sharper with a tree's age.
fn completed_q(strength: f32, rescale: bool, out: &mut Decision) {
    let q = completed_values(out);
    let (mut low, mut range) = (-1.0, 2.0);
    if rescale {
        let (min, max) = q.iter().fold((f32::MAX, f32::MIN), |(a, b), &q| (a.min(q), b.max(q)));
        (low, range) = (min, (max - min).max(1e-6));
    }
    let logits = q.iter().zip(&out.prior).map(|(q, p)| p.max(1e-12).ln() + strength * (q - low) / range);
    out.policy.extend(logits);
    softmax(&mut out.policy);
}

fn softmax(logits: &mut [f32]) {
    let max = logits.iter().copied().fold(f32::MIN, f32::max);
    for l in logits.iter_mut() {
        *l = (*l - max).exp();
    }
    normalise(logits);
}

fn most_visited(weights: &[f32], prior: &[f32]) -> usize {
    argmax(weights.len(), |i| (weights[i], prior[i]))
}

/// The first index with the largest key.
fn argmax(len: usize, key: impl Fn(usize) -> (f32, f32)) -> usize {
    (1..len).fold(0, |best, i| if key(i) > key(best) { i } else { best })
}

/// `N^(1/temperature)` in log space: nothing underflows at small temperatures.
fn sample(weights: &[f32], prior: &[f32], temperature: f32, rng: &mut Rng) -> usize {
    let none = weights.iter().all(|&w| w == 0.0);
    let base = if none { prior } else { weights };
    let mut shares: Vec<f32> =
        base.iter().map(|&w| if w > 0.0 { w.ln() / temperature.max(1e-3) } else { f32::MIN }).collect();
    softmax(&mut shares);
    let mut rest: f32 = rng.random();
    for (i, &share) in shares.iter().enumerate() {
        rest -= share;
        if rest < 0.0 && share > 0.0 {
            return i;
        }
    }
    most_visited(base, prior)
}

/// The largest `q - deviations * standard error` among actions with at least `visit_floor` of the most visits.
fn confident(root: &Root<'_>, weights: &[f32], prior: &[f32], deviations: f32, visit_floor: f32) -> usize {
    let sign = sign(root.node.mover);
    let most = weights.iter().copied().fold(0.0, f32::max);
    let bounds: Vec<f32> = legal_edges(root)
        .zip(weights)
        .map(|((edge, _, gained), &weight)| {
            if gained.n < 2 || weight < visit_floor * most {
                return f32::MIN;
            }
            sign * mean(edge.sum, edge.n) - deviations * (gained.variance() / edge.n as f32).sqrt()
        })
        .collect();
    if bounds.iter().all(|&b| b == f32::MIN) {
        return most_visited(weights, prior);
    }
    argmax(bounds.len(), |i| (bounds[i], weights[i]))
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
