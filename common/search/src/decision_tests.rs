//! Tests of labels and choice rules, on roots made by hand.

use fogfall_game::stream;

use super::*;
use crate::tree::{NodeId, Tree, to_fixed};

/// A root, and what its search brought.
struct Roots {
    tree: Tree,
    root: NodeId,
    network_value: f32,
    gained: Vec<Gained>,
}

/// A root of seat `mover` with (prior, visits, value for seat 0) an action.
fn tree(mover: u8, network_value: f32, actions: &[(f32, u32, f32)]) -> Roots {
    let mut tree = Tree::new(false);
    let root = tree.start(0, mover);
    let names: Vec<Action> = (0..actions.len() as Action).collect();
    let priors: Vec<f32> = actions.iter().map(|a| a.0).collect();
    tree.add_edges(root, &names, &priors);
    let (mut n, mut sum) = (1, to_fixed(sign(mover) * network_value));
    let mut gained = Vec::new();
    for (edge, &(_, visits, q)) in tree.edges_mut(root).iter_mut().zip(actions) {
        (edge.n, edge.sum) = (visits, to_fixed(q) * i64::from(visits));
        gained.push(Gained { n: visits, sum: q * visits as f32, squares: q * q * visits as f32 });
        n += visits;
        sum += edge.sum;
    }
    let node = tree.node_mut(root);
    (node.n, node.sum, node.evaluated) = (n, sum, true);
    Roots { tree, root, network_value, gained }
}

struct Case<'a> {
    inherited: &'a [u32],
    budget: u32,
    rescale: bool,
    label: Label,
    choice: Choice,
}

const PLAIN: Case<'static> =
    Case { inherited: &[0; 8], budget: 64, rescale: false, label: Label::Visits, choice: Choice::Visits };

fn run(roots: &Roots, case: &Case<'_>, seed: u64) -> Decision {
    let edges = roots.tree.edges(roots.root);
    let legal: Vec<Action> = edges.iter().map(|e| e.action).collect();
    let root = Root {
        node: roots.tree.node(roots.root),
        network_value: roots.network_value,
        edges,
        gained: &roots.gained,
        inherited: &case.inherited[..edges.len()],
        budget: case.budget,
        legal: &legal,
        rescale: case.rescale,
    };
    let mut out = Decision::default();
    decide(&root, &case.label, case.choice, &mut stream(seed, &[]), &mut out);
    out
}

fn close(a: &[f32], b: &[f32]) {
    assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4), "{a:?} is not {b:?}");
}

#[test]
fn the_response_label_weighs_values_and_forgets_the_prior() {
    // Seat 1 moves: its values are 0.1 and -0.1; the third action was not tried and is worth the mixed value
    // (0 + 8 * (0.9 * 0.1 + 0.1 * -0.1) / 1.0) / 9 = 0.0711.
    let root = tree(1, 0.0, &[(0.9, 6, -0.1), (0.1, 2, 0.1), (0.0, 0, 0.0)]);
    let case = Case { label: Label::Response { precision: 10.0 }, ..PLAIN };
    // exp(1), exp(-1), exp(0.711) = 2.7183, 0.3679, 2.0363: they sum to 5.1225.
    close(&run(&root, &case, 0).policy, &[0.530_66, 0.071_82, 0.397_52]);
}

#[test]
fn a_move_drawn_from_the_label_follows_its_odds_and_not_the_visits() {
    let root = tree(0, 0.0, &[(0.5, 60, 0.0), (0.5, 4, 0.1)]);
    let case = Case { label: Label::Response { precision: 10.0 }, choice: Choice::Label, ..PLAIN };
    let seconds = (0..4000).filter(|&seed| run(&root, &case, seed).action == 1).count() as f32 / 4000.0;
    assert!((seconds - 0.731).abs() < 0.03, "{seconds}"); // e / (1 + e), four standard errors
}

#[test]
fn the_visits_label_is_the_share_of_visits() {
    let decision = run(&tree(0, 0.0, &[(0.5, 6, 0.1), (0.3, 3, 0.0), (0.2, 1, 0.0)]), &PLAIN, 0);
    close(&decision.policy, &[0.6, 0.3, 0.1]);
    assert_eq!(decision.action, 0);
    close(&[decision.root_value], &[0.6 / 11.0]); // (0 + 6 * 0.1) / 11
}

#[test]
fn without_visits_label_and_choice_follow_the_prior() {
    let decision = run(&tree(0, 0.0, &[(0.1, 0, 0.0), (0.6, 0, 0.0), (0.3, 0, 0.0)]), &PLAIN, 0);
    close(&decision.policy, &[0.1, 0.6, 0.3]);
    assert_eq!(decision.action, 1);
}

#[test]
fn inherited_visits_weigh_at_most_the_budget() {
    // 1000 inherited visits on action 0, 10 gained by action 1: with a budget of 10 the inherited ones count 10 in all.
    let roots = tree(0, 0.0, &[(0.5, 1000, 0.0), (0.5, 10, 0.5)]);
    let decision = run(&roots, &Case { inherited: &[1000, 0], budget: 10, ..PLAIN }, 0);
    close(&decision.policy, &[0.5, 0.5]); // 1000 * 10 / 1000 = 10 against 10
}

#[test]
fn labels_do_not_get_sharper_with_a_trees_age() {
    let label = Label::CompletedQ { scale: 0.1, offset: 50.0 };
    let sharp = |visits| {
        let roots = tree(0, 0.0, &[(0.5, visits, 0.1), (0.5, visits, 0.0)]);
        let case = Case { inherited: &[visits, visits], budget: 64, label, ..PLAIN };
        run(&roots, &case, 0).policy[0]
    };
    // 64 inherited visits at most weigh, 32 an action: strength (50 + 32) * 0.1, and half a tenth of it between the two
    let odds = (8.2_f32 * 0.05).exp();
    assert!((sharp(100_000) - odds / (1.0 + odds)).abs() < 1e-4, "{}", sharp(100_000));
    assert!((sharp(100_000) - sharp(1000)).abs() < 1e-4);
}

#[test]
fn completed_q_is_the_formula_of_the_paper_in_value_units() {
    let label = Label::CompletedQ { scale: 0.1, offset: 50.0 };
    let roots = tree(0, 0.2, &[(0.5, 2, 0.5), (0.25, 1, -0.5), (0.25, 0, 0.0)]);
    let decision = run(&roots, &Case { label, ..PLAIN }, 0);
    // q of visited by prior: (0.5 * 0.5 + 0.25 * -0.5) / 0.75 = 1/6; mixed = (0.2 + 3 * 1/6) / 4 = 0.175
    // strength = (50 + 2) * 0.1 = 5.2; logits = ln p + 5.2 * (q + 1) / 2
    let logits = [0.5_f32.ln() + 5.2 * 0.75, 0.25_f32.ln() + 5.2 * 0.25, 0.25_f32.ln() + 5.2 * 0.5875];
    let total: f32 = logits.iter().map(|l| l.exp()).sum();
    close(&decision.policy, &logits.map(|l| l.exp() / total));
}

#[test]
fn completed_q_of_a_deterministic_game_is_rescaled_to_its_extremes() {
    let label = Label::CompletedQ { scale: 0.1, offset: 50.0 };
    let roots = tree(0, 0.0, &[(0.5, 2, 0.02), (0.5, 2, 0.01)]);
    let sharp = run(&roots, &Case { label, rescale: true, ..PLAIN }, 0);
    let odds = (5.2_f32).exp(); // q becomes 1 and 0
    close(&sharp.policy, &[odds / (1.0 + odds), 1.0 / (1.0 + odds)]);
    let flat = run(&roots, &Case { label, ..PLAIN }, 0);
    assert!(flat.policy[0] < 0.51);
}

#[test]
fn labels_of_seat_one_favour_what_is_bad_for_seat_zero() {
    for label in [Label::Visits, Label::CompletedQ { scale: 0.1, offset: 50.0 }] {
        let decision = run(&tree(1, 0.3, &[(0.5, 2, 0.9), (0.5, 8, -0.9)]), &Case { label, ..PLAIN }, 0);
        assert!(decision.policy[1] > 0.7, "{label:?}: {:?}", decision.policy);
        close(&decision.q, &[-0.9, 0.9]);
        close(&[decision.root_value], &[(0.3 - 2.0 * 0.9 + 8.0 * 0.9) / 11.0]);
    }
}

#[test]
fn sampling_follows_the_visit_shares_at_temperature_one() {
    let roots = tree(0, 0.0, &[(0.5, 75, 0.0), (0.5, 25, 0.0)]);
    let case = Case { choice: Choice::Sample { temperature: 1.0 }, ..PLAIN };
    let first = (0..4000).filter(|&seed| run(&roots, &case, seed).action == 0).count();
    assert!((2880..3120).contains(&first), "{first} of 4000"); // 3000, four standard errors of 27
}

#[test]
fn no_temperature_underflows_with_a_million_visits() {
    for temperature in [0.01, 0.1, 1.0, 10.0] {
        let roots = tree(0, 0.0, &[(0.2, 0, 0.0), (0.4, 999_000, 0.0), (0.4, 1_000_000, 0.0)]);
        let case = Case { choice: Choice::Sample { temperature }, ..PLAIN };
        let actions: Vec<_> = (0..200).map(|seed| run(&roots, &case, seed).action).collect();
        assert!(actions.iter().all(|&a| a != 0), "an unvisited action is never sampled");
        assert!(actions.contains(&2));
    }
}

#[test]
fn confidence_prefers_the_surer_action_and_needs_visits() {
    let mut roots = tree(0, 0.0, &[(0.4, 40, 0.30), (0.3, 50, 0.25), (0.3, 1, 0.9)]);
    // Action 0 has the better mean but values of +1 and -1; action 1 is always near its mean.
    roots.gained[0].squares = 40.0;
    let choice = Choice::Confidence { deviations: 2.0, visit_floor: 0.15 };
    assert_eq!(run(&roots, &Case { choice, ..PLAIN }, 0).action, 1);
    let few = tree(0, 0.0, &[(0.4, 1, 0.1), (0.6, 1, 0.5)]);
    assert_eq!(run(&few, &Case { choice, ..PLAIN }, 0).action, 1, "without enough visits anywhere: the most visited");
}

#[test]
fn simulations_disagree_by_how_far_their_values_spread_whatever_action_they_took() {
    let spread = |actions: &[(f32, u32, f32)]| run(&tree(0, 0.0, actions), &PLAIN, 0).disagreement;
    // Mean (3 * 1 - 1) / 4 = 0.5, squares 4 / 4 = 1: (1 - 0.25) * 4 / 3 = 1.
    assert_eq!(spread(&[(0.5, 3, 1.0), (0.5, 1, -1.0)]), Some(1.0));
    assert_eq!(spread(&[(0.5, 3, 0.5), (0.5, 1, 0.5)]), Some(0.0));
    assert_eq!(spread(&[(0.5, 1, 0.5), (0.5, 0, 0.0)]), None, "one value says nothing of the others");
}
