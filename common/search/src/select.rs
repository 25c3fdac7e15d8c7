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
    let among = || {
        let mut legal = legal.iter().peekable();
        move |edge: &Edge| legal.next_if_eq(&&edge.action).is_some()
    };
    let prior_of = |index: usize, edge: &Edge| prior.map_or(edge.prior, |p| p[index]);
    let (mut total, mut is_legal) = (0.0, among());
    for (index, edge) in edges.iter_mut().enumerate() {
        if is_legal(edge) {
            edge.available += 1;
            total += prior_of(index, edge);
        }
    }
    let score = Score::new(node, total, legal.len(), c_puct, fpu_reduction);
    let (mut best, mut is_legal) = (Best::default(), among());
    for (index, edge) in edges.iter().enumerate() {
        if is_legal(edge) {
            best.offer(index, score.of(edge, prior_of(index, edge), (edge.available as f32).sqrt()));
        }
    }
    best.index()
}

/// The same where each edge is legal in every world: then `avail(a)` is the node's visits, of which one was its own.
#[inline]
pub(crate) fn select_any(node: &Node, edges: &[Edge], prior: Option<&[f32]>, c_puct: f32, fpu_reduction: f32) -> usize {
    let total = prior.map_or_else(|| edges.iter().map(|e| e.prior).sum(), |p| p.iter().sum());
    let (score, available) = (Score::new(node, total, edges.len(), c_puct, fpu_reduction), (node.n as f32).sqrt());
    let mut best = Best::default();
    for (index, edge) in edges.iter().enumerate() {
        best.offer(index, score.of(edge, prior.map_or(edge.prior, |p| p[index]), available));
    }
    best.index()
}

/// What the scores of one node's edges share.
struct Score {
    sign: f32,
    /// The value of an unvisited action.
    unvisited: f32,
    /// `1 / Z`, or 0 where all priors are 0: then all are even.
    scale: f32,
    even: f32,
    c_puct: f32,
}

impl Score {
    #[inline]
    fn new(node: &Node, total: f32, legal: usize, c_puct: f32, fpu_reduction: f32) -> Self {
        let sign = sign(node.mover);
        let unvisited = if node.n == 0 { 0.0 } else { sign * mean(node.sum, node.n) } - fpu_reduction;
        let (scale, even) = if total > 0.0 { (1.0 / total, 0.0) } else { (0.0, 1.0 / legal as f32) };
        Self { sign, unvisited, scale, even, c_puct }
    }

    #[inline]
    fn of(&self, edge: &Edge, prior: f32, root_of_available: f32) -> f32 {
        let q = if edge.n == 0 { self.unvisited } else { self.sign * mean(edge.sum, edge.n) };
        let p = prior * self.scale + self.even;
        q + self.c_puct * p * root_of_available / (1 + edge.n) as f32
    }
}

/// The first of the best.
struct Best {
    index: usize,
    score: f32,
}

impl Default for Best {
    fn default() -> Self {
        Self { index: usize::MAX, score: f32::NEG_INFINITY }
    }
}

impl Best {
    #[inline]
    fn offer(&mut self, index: usize, score: f32) {
        if score > self.score {
            *self = Self { index, score };
        }
    }

    fn index(self) -> usize {
        debug_assert!(self.index != usize::MAX, "at least one action is legal");
        self.index
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
        let mut tree = Tree::new(false);
        let root = tree.start(0, mover);
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
    fn where_every_action_is_legal_nothing_needs_to_be_counted() {
        for seed in 0..200_u32 {
            let visited: Vec<_> =
                (0..5).map(|i| ((seed * 7 + i * 13) % 11, ((seed + i) % 9) as f32 / 9.0 - 0.5)).collect();
            let (mut tree, root) = tree((seed % 2) as u8, &[0.1, 0.4, 0.2, 0.3, 0.0], &visited);
            let through: u32 = visited.iter().map(|&(n, _)| n).sum();
            tree.edges_mut(root).iter_mut().for_each(|edge| edge.available = through);
            let any = select_any(tree.node(root), tree.edges(root), None, 1.25, 0.2);
            assert_eq!(pick(&mut tree, root, &[0, 1, 2, 3, 4], 1.25, 0.2), any);
        }
    }

    #[test]
    fn covers_asks_for_every_legal_action() {
        let (tree, root) = tree(0, &[0.5, 0.3, 0.2], &[]);
        assert!(covers(tree.edges(root), &[0, 2]));
        assert!(!covers(tree.edges(root), &[0, 3]));
    }
}
