//! Root noise: a view on the priors of one search, never stored in the tree.

use fogfall_game::{Action, Rng};
use rand_distr::{Distribution, Gamma};

use crate::settings::RootNoise;
use crate::tree::Edge;

/// Writes `[edges]` priors of the legal actions, normalised, with a share of uniform play and Dirichlet noise mixed in; 0
/// for other edges.
pub(crate) fn noised_prior(
    edges: &[Edge],
    legal: &[Action],
    uniform_share: f32,
    noise: Option<RootNoise>,
    rng: &mut Rng,
    out: &mut Vec<f32>,
) {
    out.clear();
    let mut wanted = legal.iter().peekable();
    let is_legal: Vec<bool> = edges.iter().map(|e| wanted.next_if_eq(&&e.action).is_some()).collect();
    let total: f32 = edges.iter().zip(&is_legal).filter(|(_, l)| **l).map(|(e, _)| e.prior).sum();
    let uniform = 1.0 / legal.len() as f32;
    out.extend(edges.iter().zip(&is_legal).map(|(edge, &legal)| match legal {
        true if total > 0.0 => (1.0 - uniform_share) * (edge.prior / total) + uniform_share * uniform,
        true => uniform,
        false => 0.0,
    }));
    let Some(noise) = noise else { return };
    let draws = dirichlet(noise.concentration / legal.len() as f32, legal.len(), rng);
    let mut draws = draws.into_iter();
    for (p, _) in out.iter_mut().zip(&is_legal).filter(|(_, legal)| **legal) {
        let draw = draws.next().expect("one draw a legal action");
        *p = (1.0 - noise.fraction) * *p + noise.fraction * draw;
    }
}

/// `n` shares from the symmetric Dirichlet distribution with parameter `alpha`; they sum to 1.
fn dirichlet(alpha: f32, n: usize, rng: &mut Rng) -> Vec<f32> {
    let gamma = Gamma::new(f64::from(alpha.max(1e-3)), 1.0).expect("both parameters are positive");
    let draws: Vec<f64> = (0..n).map(|_| gamma.sample(rng)).collect();
    let total: f64 = draws.iter().sum();
    if total > 0.0 {
        draws.into_iter().map(|d| (d / total) as f32).collect()
    } else {
        // Every draw was smaller than the smallest number: all mass on one action, as for a vanishing alpha.
        let winner = rand::RngExt::random_range(rng, 0..n);
        (0..n).map(|i| if i == winner { 1.0 } else { 0.0 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use fogfall_game::stream;

    use super::*;

    #[test]
    fn a_share_of_uniform_play_leaves_no_action_untried() {
        let mut tree = crate::tree::Tree::new(false);
        let root = tree.start(0, 0);
        tree.add_edges(root, &[1, 2, 3], &[0.2, 0.8, 0.0]);
        let mut out = Vec::new();
        noised_prior(tree.edges(root), &[1, 3], 0.5, None, &mut stream(0, &[]), &mut out);
        assert_eq!(out, [0.75, 0.0, 0.25]); // 0.5 * 1 + 0.5 / 2; not legal; 0.5 * 0 + 0.5 / 2
    }

    #[test]
    fn noise_is_mixed_with_a_normalised_prior_over_the_legal_actions_alone() {
        let mut tree = crate::tree::Tree::new(false);
        let root = tree.start(0, 0);
        tree.add_edges(root, &[1, 2, 3], &[0.1, 0.5, 0.3]);
        let (mut plain, mut noised) = (Vec::new(), Vec::new());
        let noise = RootNoise { concentration: 10.0, fraction: 0.25 };
        noised_prior(tree.edges(root), &[1, 3], 0.0, None, &mut stream(0, &[]), &mut plain);
        for seed in 0..100 {
            noised_prior(tree.edges(root), &[1, 3], 0.0, Some(noise), &mut stream(seed, &[]), &mut noised);
            assert!((noised.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{noised:?}");
            assert_eq!(noised[1], 0.0, "not legal here");
            // 0.1 / 0.4 = 0.25, of which 3/4 stay.
            assert!(noised[0] >= 0.1875 && plain == [0.25, 0.0, 0.75], "{noised:?}");
        }
    }

    #[test]
    fn dirichlet_draws_sum_to_one_with_the_mean_and_variance_of_the_distribution() {
        let (alpha, n, draws) = (0.5, 4, 20_000);
        let mut rng = stream(1, &[]);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..draws {
            let shares = dirichlet(alpha, n, &mut rng);
            assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            sum += f64::from(shares[0]);
            squares += f64::from(shares[0] * shares[0]);
        }
        let mean = sum / f64::from(draws);
        let variance = squares / f64::from(draws) - mean * mean;
        assert!((mean - 0.25).abs() < 0.01, "{mean}"); // 1 / n
        assert!((variance - 0.0625).abs() < 0.004, "{variance}"); // (1/4 * 3/4) / (4 * 0.5 + 1)
    }

    #[test]
    fn a_vanishing_alpha_still_gives_a_distribution() {
        let mut rng = stream(2, &[]);
        for _ in 0..100 {
            let shares = dirichlet(1e-9, 3, &mut rng);
            assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{shares:?}");
        }
    }
}
