//! PUCT over the actions that are legal in one world, and the value that unvisited actions are taken to have.

use fogfall_game::Action;

use crate::tree::{Edge, Node, mean, sign};

/// Selects among `legal` (ascending, each with an edge) and counts their availability; returns the index of the edge.
///
/// `Q(a) + c * P(a)/Z * sqrt(avail(a)) / (1 + N(a))`, with `Z` the sum of `P` over the legal actions and `avail(a)` the
/// visits, this one included, in which `a` was legal here (Cowling et al. 2012, with a prior). `prior` replaces the
/// edges' priors at the root, where noise is a view on them.
pub(crate) fn select(
    node: &Node,
    edges: &mut [Edge],
    legal: &[Action],
    prior: Option<&[f32]>,
    c_puct: f32,
    fpu_reduction: f32,
) -> usize {
    let sign = sign(node.mover);
    let unvisited = if node.n == 0 { 0.0 } else { sign * mean(node.sum, node.n) } - fpu_reduction;
    let all_legal = edges.len() == legal.len();
    let prior_of = |index: usize, edges: &[Edge]| prior.map_or(edges[index].prior, |p| p[index]);
    let slots = Slots { legal, all_legal };
    let mut total = 0.0;
    slots.each(edges, |index, edges| {
        edges[index].available += 1;
        total += prior_of(index, edges);
    });
    let (scale, uniform) = if total > 0.0 { (1.0 / total, 0.0) } else { (0.0, 1.0 / legal.len() as f32) };
    let mut best = (usize::MAX, f32::NEG_INFINITY);
    slots.each(edges, |index, edges| {
        let edge = &edges[index];
        let q = if edge.n == 0 { unvisited } else { sign * mean(edge.sum, edge.n) };
        let p = prior_of(index, edges) * scale + uniform;
        let score = q + c_puct * p * (edge.available as f32).sqrt() / (1 + edge.n) as f32;
        if score > best.1 {
            best = (index, score);
        }
    });
    debug_assert!(best.0 != usize::MAX, "at least one action is legal");
    best.0
}

/// Walks the edges of the legal actions; both ascend by action.
struct Slots<'a> {
    legal: &'a [Action],
    all_legal: bool,
}

impl Slots<'_> {
    fn each(&self, edges: &mut [Edge], mut visit: impl FnMut(usize, &mut [Edge])) {
        if self.all_legal {
            for index in 0..edges.len() {
                visit(index, edges);
            }
            return;
        }
        let mut index = 0;
        for &action in self.legal {
            while edges[index].action != action {
                index += 1;
            }
            visit(index, edges);
        }
    }
}

/// True if each of `legal` has an edge; both ascend by action.
#[inline]
pub(crate) fn covers(edges: &[Edge], legal: &[Action]) -> bool {
    let mut edges = edges.iter();
    legal.iter().all(|&action| edges.any(|e| e.action == action))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Tree, to_fixed};

    /// A node of `mover` with actions 0.. of these priors, and value sums and visits of seat 0.
    fn tree(mover: u8, priors: &[f32], visited: &[(u32, f32)]) -> (Tree, crate::tree::NodeId) {
        let mut tree = Tree::default();
        let root = tree.add_root(0, mover);
        let actions: Vec<Action> = (0..priors.len() as Action).collect();
        tree.add_edges(root, &actions, priors);
        for (edge, &(n, q)) in tree.edges_mut(root).iter_mut().zip(visited) {
            (edge.n, edge.sum, edge.available) = (n, to_fixed(q) * n as i64, n);
        }
        let (n, sum) = tree.edges(root).iter().fold((1, 0), |(n, sum), e| (n + e.n, sum + e.sum));
        (tree.node_mut(root).n, tree.node_mut(root).sum) = (n, sum);
        (tree, root)
    }

    fn pick(tree: &mut Tree, root: crate::tree::NodeId, legal: &[Action], c: f32, fpu: f32) -> usize {
        let node = tree.node(root).clone();
        select(&node, tree.edges_mut(root), legal, None, c, fpu)
    }

    #[test]
    fn the_first_pick_is_the_largest_prior() {
        let (mut tree, root) = tree(0, &[0.2, 0.5, 0.3], &[]);
        assert_eq!(pick(&mut tree, root, &[0, 1, 2], 1.0, 0.0), 1);
    }

    #[test]
    fn seat_one_prefers_what_is_bad_for_seat_zero() {
        let visited = [(10, 0.5), (10, -0.5)];
        let (mut zero, root) = tree(0, &[0.5, 0.5], &visited);
        assert_eq!(pick(&mut zero, root, &[0, 1], 0.1, 0.0), 0);
        let (mut one, root) = tree(1, &[0.5, 0.5], &visited);
        assert_eq!(pick(&mut one, root, &[0, 1], 0.1, 0.0), 1);
    }

    #[test]
    fn an_unvisited_action_starts_at_the_nodes_mean_less_the_reduction() {
        // mean = 10 * 0.5 / 11 = 0.4545; without exploration the visited 0.5 wins, and 0 as start value would lose even
        // against a visited 0.4
        let (mut tree_, root) = tree(0, &[0.5, 0.5], &[(10, 0.5)]);
        assert_eq!(pick(&mut tree_, root, &[0, 1], 0.0, 0.0), 0);
        let (mut lower, root) = tree(0, &[0.4, 0.3, 0.3], &[(1, 0.4), (9, 0.9)]);
        // mean = (0.4 + 8.1) / 11 = 0.77: action 2 beats action 0 among those two, unless reduced by 0.5
        assert_eq!(pick(&mut lower, root, &[0, 2], 0.0, 0.0), 2);
        assert_eq!(pick(&mut lower, root, &[0, 2], 0.0, 0.5), 0);
    }

    #[test]
    fn a_rarely_legal_bad_action_is_not_chosen_each_time_it_is_legal() {
        // Action 2 is legal in 3 of 100 worlds and 0.3 worse. With sqrt of the node's visits it would be chosen
        // nearly always; with its availability it is chosen rarely.
        let (mut tree, root) = tree(0, &[1.0 / 3.0; 3], &[]);
        let (mut legal_count, mut chosen) = (0, 0);
        for i in 0..10_000_u32 {
            let rare = i % 100 < 3;
            let legal: &[Action] = if rare { &[0, 1, 2] } else { &[0, 1] };
            let index = pick(&mut tree, root, legal, 1.25, 0.2);
            let value = to_fixed(if index == 2 { -0.3 } else { 0.0 });
            let edge = &mut tree.edges_mut(root)[index];
            edge.n += 1;
            edge.sum += value;
            let node = tree.node_mut(root);
            node.n += 1;
            node.sum += value;
            legal_count += u32::from(rare);
            chosen += u32::from(rare && index == 2);
        }
        assert_eq!(legal_count, 300);
        assert!(chosen < 75, "chosen {chosen} of {legal_count} times"); // under 25 %
    }

    #[test]
    fn the_prior_is_normalised_over_this_worlds_actions_and_zero_priors_count_as_uniform() {
        let (mut tree_, root) = tree(0, &[0.0, 1.0, 0.0], &[]);
        assert_eq!(pick(&mut tree_, root, &[0, 2], 1.0, 0.0), 0); // equal scores: the first
        assert_eq!(tree_.edges(root).iter().map(|e| e.available).collect::<Vec<_>>(), [1, 0, 1]);
    }

    #[test]
    fn covers_asks_for_every_legal_action() {
        let (tree, root) = tree(0, &[0.5, 0.3, 0.2], &[]);
        assert!(covers(tree.edges(root), &[0, 2]));
        assert!(!covers(tree.edges(root), &[0, 3]));
    }
}
