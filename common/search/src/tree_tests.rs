//! Tests of the arena: growth, starts, finding roots, and falling leaves against a naive model.

use fogfall_game::stream;
use rand::RngExt;

use super::*;

#[test]
fn missing_edges_are_added_in_order_and_present_ones_keep_their_statistics() {
    let mut tree = Tree::new(false);
    let root = tree.start(0, 0);
    tree.add_edges(root, &[2, 5], &[0.4, 0.6]);
    let edge = tree.edge_id(root, 1);
    let (child, new) = tree.child(root, edge, 9, 1);
    assert!(new);
    tree.edge_mut(edge).n = 3;
    tree.add_edges(root, &[1, 5, 7], &[0.1, 0.2, 0.3]);
    let edges: Vec<_> = tree.edges(root).iter().map(|e| (e.action, e.prior, e.n)).collect();
    assert_eq!(edges, [(1, 0.1, 0), (2, 0.4, 0), (5, 0.6, 3), (7, 0.3, 0)]);
    assert_eq!(tree.child(root, tree.edge_id(root, 2), 9, 1), (child, false));
    assert_ne!(tree.child(root, tree.edge_id(root, 2), 9, 0), (child, false), "another mover is another node");
}

/// A simulation along `path` from a start, which ends with `value` at the first new node, or at the path's end if that is
/// over or the start.
fn visit(tree: &mut Tree, start: NodeId, path: &[Step], value: i64) -> NodeId {
    let mut at = start;
    let mut way = Vec::new();
    for &(action, key, mover) in path {
        tree.add_edges(at, &[0, 1, 2, 3], &[0.25; 4]);
        let index = tree.edges(at).binary_search_by_key(&action, |e| e.action).unwrap();
        way.push((at, action));
        let (child, new) = tree.child(at, tree.edge_id(at, index), key, mover);
        at = child;
        if new {
            break;
        }
    }
    for &(node, action) in &way {
        for edge in tree.edges_mut(node) {
            edge.available += 1; // all actions are legal in every world
            if edge.action == action {
                (edge.n, edge.sum) = (edge.n + 1, edge.sum + value);
            }
        }
        let node = tree.node_mut(node);
        (node.n, node.sum) = (node.n + 1, node.sum + value);
    }
    let leaf = tree.node_mut(at);
    (leaf.n, leaf.sum) = (leaf.n + 1, leaf.sum + value);
    at
}

/// Simulations along `path` until one has ended at its end.
fn grow(tree: &mut Tree, start: NodeId, path: &[Step], value: i64) -> NodeId {
    (0..=path.len()).for_each(|len| {
        visit(tree, start, &path[..len], value);
    });
    visit(tree, start, path, value)
}

type Step = (Action, u64, Seat);
type Path = Vec<Step>;

/// The same tree, naively: what ended where, and the leaves in their order. Statistics are sums over it.
#[derive(Default)]
struct Model {
    own: std::collections::BTreeMap<Path, (u32, i64)>,
    leaves: Vec<Path>,
}

impl Model {
    fn children(&self, path: &Path) -> usize {
        self.own.keys().filter(|p| p.len() == path.len() + 1 && p.starts_with(path)).count()
    }

    fn visit(&mut self, path: &Path, value: i64, least_recent: bool) {
        let end = (1..=path.len()).find(|&len| !self.own.contains_key(&path[..len])).unwrap_or(path.len());
        let path = path[..end].to_vec();
        if !self.own.contains_key(&path) {
            self.own.insert(path.clone(), (0, 0));
            self.leaves.retain(|leaf| leaf[..] != path[..end - 1]);
            self.leaves.push(path.clone());
        }
        let own = self.own.get_mut(&path).unwrap();
        *own = (own.0 + 1, own.1 + value);
        if least_recent && self.leaves.contains(&path) {
            self.leaves.retain(|leaf| *leaf != path);
            self.leaves.push(path);
        }
    }

    fn statistics(&self, path: &Path) -> (u32, i64) {
        let below = self.own.iter().filter(|(p, _)| p.starts_with(path));
        below.fold((0, 0), |(n, sum), (_, own)| (n + own.0, sum + own.1))
    }

    fn shed(&mut self, up: usize, down: usize, root: &Path) {
        if self.own.len() <= up {
            return;
        }
        for _ in 0..self.own.len().saturating_sub(down) {
            if self.leaves.first() == Some(root) {
                self.leaves.rotate_left(1);
            }
            if self.leaves.first().is_none_or(|leaf| leaf == root) {
                return;
            }
            let leaf = self.leaves.remove(0);
            self.own.remove(&leaf);
            let parent = leaf[..leaf.len() - 1].to_vec();
            if !parent.is_empty() && self.children(&parent) == 0 {
                self.leaves.push(parent);
            }
        }
    }
}

/// The nodes of a tree by their paths; a path begins with its start.
fn nodes(tree: &Tree) -> Vec<(Path, NodeId)> {
    let start = |(&(key, mover), &id): (&(u64, Seat), &NodeId)| (vec![(0, key, mover)], id);
    let mut all: Vec<(Path, NodeId)> = tree.starts.iter().map(start).collect();
    let mut next = 0;
    while next < all.len() {
        let (path, id) = all[next].clone();
        for edge in tree.edges(id) {
            for child in tree.children(edge.first_child) {
                let node = tree.node(child);
                all.push(([path.clone(), vec![(edge.action, node.key, node.mover)]].concat(), child));
            }
        }
        next += 1;
    }
    all
}

fn assert_same(tree: &Tree, model: &Model) {
    tree.check(None).unwrap();
    let nodes: std::collections::BTreeMap<_, _> = nodes(tree).into_iter().collect();
    assert_eq!(nodes.keys().collect::<Vec<_>>(), model.own.keys().collect::<Vec<_>>());
    for (path, &id) in &nodes {
        assert_eq!((tree.node(id).n, tree.node(id).sum), model.statistics(path), "{path:?}");
    }
    let path_of = |id: NodeId| nodes.iter().find(|(_, held)| **held == id).unwrap().0.clone();
    let order: Vec<Path> = tree.fall_order().map(path_of).collect();
    assert_eq!(order, model.leaves);
}

/// A random way from a start: two starts, three actions, two keys, so that it meets what is there.
fn random_path(rng: &mut fogfall_game::Rng) -> Path {
    let mut path = vec![(0, rng.random_range(0..2), 0)];
    for _ in 0..rng.random_range(0..5) {
        let over = rng.random_range(0..4) == 0;
        let mover = if over { Node::OVER } else { rng.random_range(0..2) };
        path.push((rng.random_range(0..3), rng.random_range(0..2), mover));
        if over {
            break;
        }
    }
    path
}

#[test]
fn long_random_runs_of_visits_falls_and_resets_are_those_of_a_naive_model() {
    let (mut falls, mut re_expansions) = (0, 0);
    for seed in 0..30 {
        let (mut tree, mut model, mut rng) = (Tree::new(true), Model::default(), stream(seed, &[]));
        let least_recent = seed % 2 == 1;
        for _ in 0..200 {
            match rng.random_range(0..40) {
                0 => {
                    tree.clear();
                    model = Model::default();
                }
                1..4 => {
                    let (up, down) = (rng.random_range(1..40), rng.random_range(0..20));
                    let all = nodes(&tree);
                    let root = all.get(rng.random_range(0..all.len().max(1)));
                    let root = root.cloned().unwrap_or((Path::new(), NodeId::NONE));
                    tree.shed(up, down.min(up), root.1);
                    model.shed(up as usize, down.min(up) as usize, &root.0);
                    assert!(root.1 == NodeId::NONE || nodes(&tree).contains(&root), "the root and its ancestors stay");
                }
                _ => {
                    let (path, value) = (random_path(&mut rng), rng.random_range(-9..=9));
                    let (_, key, mover) = path[0];
                    let new = !tree.starts.contains_key(&(key, mover));
                    let start = tree.start(key, mover);
                    let end = visit(&mut tree, start, if new { &[] } else { &path[1..] }, value);
                    if least_recent {
                        tree.touch(end);
                    }
                    model.visit(&path, value, least_recent);
                }
            }
            assert_same(&tree, &model);
        }
        (falls, re_expansions) = (falls + tree.falls(), re_expansions + tree.re_expansions());
    }
    assert!(falls > 1000 && re_expansions > 100, "{falls} falls, {re_expansions} re-expansions");
}

/// Statistics of all nodes and edges by path.
fn statistics(tree: &Tree) -> Vec<(Path, u32, i64, Vec<Edge>)> {
    let all = nodes(tree).into_iter().map(|(path, id)| {
        let plain = |edge: &Edge| Edge { first_child: NodeId::NONE, lost_child: false, ..edge.clone() };
        (path, tree.node(id).n, tree.node(id).sum, tree.edges(id).iter().map(plain).collect())
    });
    all.collect()
}

#[test]
fn what_grew_and_fell_again_leaves_every_statistic_as_it_was_in_any_order() {
    for seed in 0..40 {
        let (mut tree, mut rng) = (Tree::new(true), stream(seed, &[]));
        let start = tree.start(7, 0);
        visit(&mut tree, start, &[], 1);
        for _ in 0..50 {
            let path = random_path(&mut rng);
            visit(&mut tree, start, &path[1..], rng.random_range(-9..=9));
        }
        nodes(&tree).into_iter().for_each(|(_, id)| tree.add_edges(id, &[0, 1, 2, 3], &[0.25; 4]));
        let before = statistics(&tree);
        let mut grown = Vec::new();
        for (_, id) in nodes(&tree) {
            // A new leaf, visited one to three times: a game that is over there.
            for _ in 0..rng.random_range(0..3) {
                let key = rng.random_range(100..1_000_000);
                let (way, at) = way(&tree, id);
                for _ in 0..rng.random_range(1..4) {
                    let path = [way.clone(), vec![(3, key, Node::OVER)]].concat();
                    grown.push(visit(&mut tree, at, &path, rng.random_range(-9..=9)));
                }
            }
        }
        grown.sort();
        grown.dedup();
        while !grown.is_empty() {
            tree.fall(grown.swap_remove(rng.random_range(0..grown.len())));
            tree.check(None).unwrap();
        }
        assert!(statistics(&tree) == before, "seed {seed}");
    }
}

/// The steps from a node's start to it, and the start.
fn way(tree: &Tree, id: NodeId) -> (Path, NodeId) {
    let (mut path, mut at) = (Path::new(), id);
    while tree.node(at).parent != NodeId::NONE {
        let node = tree.node(at);
        path.insert(0, (node.action, node.key, node.mover));
        at = node.parent;
    }
    (path, at)
}

#[test]
fn a_leaf_that_was_visited_often_takes_all_its_visits_with_it() {
    let mut tree = Tree::new(true);
    let start = tree.start(0, 0);
    visit(&mut tree, start, &[], 5);
    for value in [3, 4, 5] {
        visit(&mut tree, start, &[(1, 0, Node::OVER)], value);
    }
    assert_eq!((tree.node(start).n, tree.node(start).sum), (4, 17)); // 5 + 3 + 4 + 5
    tree.shed(1, 1, start);
    assert_eq!((tree.len(), tree.node(start).n, tree.node(start).sum), (1, 1, 5));
    let edge = &tree.edges(start)[1];
    assert_eq!((edge.n, edge.available, edge.prior, edge.lost_child), (0, 0, 0.25, true), "the prior stays");
    tree.shed(1, 1, start);
    assert_eq!((tree.len(), tree.falls()), (1, 1), "a second time nothing falls");
}

#[test]
fn places_of_fallen_nodes_and_their_edges_are_used_again() {
    let mut tree = Tree::new(true);
    let start = tree.start(0, 0);
    visit(&mut tree, start, &[], 1);
    for round in 0..100 {
        for key in 0..10 {
            let child = visit(&mut tree, start, &[(0, round * 10 + key, 1)], 1);
            tree.add_edges(child, &[0, 1, 2], &[0.3; 3]);
        }
        tree.shed(5, 1, start);
    }
    assert_eq!((tree.nodes.len(), tree.edges.len()), (11, 34)); // a start with 4 edges, 10 children with 3
}

#[test]
fn a_game_goes_on_below_its_last_root_or_where_another_began() {
    let mut tree = Tree::new(true);
    let start = tree.start(1, 0);
    visit(&mut tree, start, &[], 1);
    // Seat 1 answers by one of two actions that seat 0 cannot tell apart, then seat 0 moves at key 5.
    let rarely = grow(&mut tree, start, &[(0, 2, 1), (1, 5, 0)], 1);
    let deeper = grow(&mut tree, start, &[(0, 2, 1), (0, 5, 0), (0, 6, 0)], 1);
    let often = grow(&mut tree, start, &[(0, 2, 1), (0, 5, 0)], 1);
    assert_eq!((tree.find(start, 5, 0), rarely != often), (often, true));
    let lost = tree.find(start, 6, 0);
    assert_ne!(lost, deeper, "another decision of the seat lies between");
    assert_eq!((tree.find(start, 6, 0), tree.starts.len()), (lost, 2), "a start is found again");
    assert_eq!(tree.find(often, 6, 0), deeper);
    assert_eq!(tree.find_child(start, 1), NodeId::NONE);
    tree.check(None).unwrap();
}
