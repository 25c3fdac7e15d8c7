//! The arena that holds one tree: nodes, their edges and statistics. No rules, no policy.
//!
//! **Invariants**, after every finished simulation: a node's visits are its own (simulations that ended there) plus
//! those of its edges, an edge's those of its children; the same for value sums. A node's edges are contiguous and
//! ascend by action. Sums are seat 0's, as fixed point: adding and undoing is exact in any order.

use fogfall_game::{Action, Seat};

/// One unit of value is this many units of a sum.
const FIXED_ONE: f32 = (1 << 20) as f32;

/// A value of seat 0 as fixed point.
#[inline]
pub(crate) fn to_fixed(value: f32) -> i64 {
    (value * FIXED_ONE).round() as i64
}

/// The mean of `n` fixed-point values; `n` is at least 1.
#[inline]
pub(crate) fn mean(sum: i64, n: u32) -> f32 {
    (sum as f64 / (n as f64 * FIXED_ONE as f64)) as f32
}

/// +1 for seat 0, -1 for seat 1: turns seat 0's values into the mover's.
#[inline]
pub(crate) fn sign(mover: Seat) -> f32 {
    if mover == 0 { 1.0 } else { -1.0 }
}

/// A node's place in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(u32);

impl NodeId {
    /// No node.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// An edge's place in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeId(u32);

/// What the tree's owner has seen.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Sum of seat 0's values over all visits.
    pub(crate) sum: i64,
    /// The owner's key of the situation, or 0 in trees keyed by actions.
    key: u64,
    /// Visits.
    pub(crate) n: u32,
    next_sibling: NodeId,
    edges: u32,
    edges_len: u16,
    /// Who moves here, or [`Node::OVER`].
    pub(crate) mover: Seat,
    /// The network was asked here.
    pub(crate) evaluated: bool,
    /// The network's value when it was asked, the mover's.
    pub(crate) network_value: f32,
}

impl Node {
    /// The mover of a finished game.
    pub(crate) const OVER: Seat = 2;
}

/// An action at a node.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    /// Sum of seat 0's values over all visits.
    pub(crate) sum: i64,
    /// Visits.
    pub(crate) n: u32,
    /// Visits to the node, the present one included, in whose world the action was legal.
    pub(crate) available: u32,
    /// The network's probability.
    pub(crate) prior: f32,
    /// Sum of squared values, for confidence bounds.
    pub(crate) squares: f32,
    first_child: NodeId,
    /// The action.
    pub(crate) action: Action,
}

const _: () = assert!(size_of::<Node>() <= 48 && size_of::<Edge>() <= 40);

/// Bytes that a tree may take at most: of so many nodes, each with so many edges. Its memory grows by doubling.
pub fn tree_bytes(nodes: usize, edges: usize) -> usize {
    2 * nodes * (size_of::<Node>() + edges * size_of::<Edge>())
}

/// One tree.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

impl Tree {
    /// Empties the tree, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.edges.clear();
    }

    /// Nodes in the tree.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    #[inline]
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    #[inline]
    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// A node's edges, ascending by action.
    #[inline]
    pub(crate) fn edges(&self, id: NodeId) -> &[Edge] {
        let node = self.node(id);
        &self.edges[node.edges as usize..node.edges as usize + node.edges_len as usize]
    }

    #[inline]
    pub(crate) fn edges_mut(&mut self, id: NodeId) -> &mut [Edge] {
        let node = &self.nodes[id.0 as usize];
        &mut self.edges[node.edges as usize..node.edges as usize + node.edges_len as usize]
    }

    #[inline]
    pub(crate) fn node_and_edges(&mut self, id: NodeId) -> (&Node, &mut [Edge]) {
        let node = &self.nodes[id.0 as usize];
        (node, &mut self.edges[node.edges as usize..node.edges as usize + node.edges_len as usize])
    }

    /// A node's edge by its index in [`edges`](Self::edges); invalid once the node grows.
    #[inline]
    pub(crate) fn edge_id(&self, id: NodeId, index: usize) -> EdgeId {
        EdgeId(self.node(id).edges + index as u32)
    }

    #[inline]
    pub(crate) fn edge_mut(&mut self, id: EdgeId) -> &mut Edge {
        &mut self.edges[id.0 as usize]
    }

    /// Adds an unvisited node that hangs nowhere.
    pub(crate) fn add_root(&mut self, key: u64, mover: Seat) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("a tree has fewer than 2^32 nodes"));
        self.nodes.push(Node {
            sum: 0,
            key,
            n: 0,
            next_sibling: NodeId::NONE,
            edges: 0,
            edges_len: 0,
            mover,
            evaluated: false,
            network_value: 0.0,
        });
        id
    }

    /// The child below an edge with this key and mover, and whether it had to be added.
    #[inline]
    pub(crate) fn child(&mut self, edge: EdgeId, key: u64, mover: Seat) -> (NodeId, bool) {
        let first = self.edges[edge.0 as usize].first_child;
        let mut child = first;
        while child != NodeId::NONE {
            let node = self.node(child);
            if node.key == key && node.mover == mover {
                return (child, false);
            }
            child = node.next_sibling;
        }
        let child = self.add_root(key, mover);
        self.node_mut(child).next_sibling = first;
        self.edges[edge.0 as usize].first_child = child;
        (child, true)
    }

    /// Adds the edges that `id` lacks for these actions, ascending and with their priors. Edges that are there keep
    /// their prior. Moves the node's edges: edge ids of this node become invalid.
    pub(crate) fn add_edges(&mut self, id: NodeId, actions: &[Action], prior: &[f32]) {
        let (start, old) = (self.node(id).edges as usize, self.node(id).edges_len as usize);
        let grown = self.edges.len();
        let (mut kept, mut asked) = (0, 0);
        while kept < old || asked < actions.len() {
            let have = (kept < old).then(|| self.edges[start + kept].action);
            let edge = match (have, actions.get(asked)) {
                (Some(have), Some(&want)) if want < have => new_edge(want, prior[asked]),
                (None, Some(&want)) => new_edge(want, prior[asked]),
                _ => self.edges[start + kept].clone(),
            };
            kept += usize::from(have == Some(edge.action));
            asked += usize::from(actions.get(asked) == Some(&edge.action));
            self.edges.push(edge);
        }
        let len = self.edges.len() - grown;
        let node = self.node_mut(id);
        node.edges = u32::try_from(grown).expect("a tree has fewer than 2^32 edges");
        node.edges_len = u16::try_from(len).expect("a node has fewer than 2^16 actions");
    }

    /// The most visited node with this key where `mover` moves.
    pub(crate) fn find(&self, key: u64, mover: Seat) -> NodeId {
        let found = (0..self.nodes.len()).filter(|&i| self.nodes[i].key == key && self.nodes[i].mover == mover);
        found.max_by_key(|&i| (self.nodes[i].n, std::cmp::Reverse(i))).map_or(NodeId::NONE, |i| NodeId(i as u32))
    }

    /// The most visited child of an action.
    pub(crate) fn find_child(&self, id: NodeId, action: Action) -> NodeId {
        let Ok(index) = self.edges(id).binary_search_by_key(&action, |e| e.action) else {
            return NodeId::NONE;
        };
        let mut best = NodeId::NONE;
        let mut child = self.edges(id)[index].first_child;
        while child != NodeId::NONE {
            if best == NodeId::NONE || self.node(child).n > self.node(best).n {
                best = child;
            }
            child = self.node(child).next_sibling;
        }
        best
    }

    /// Copies the subtree below `root` into `into`, which is emptied first, and returns the root's new id.
    pub(crate) fn copy_subtree(&self, root: NodeId, into: &mut Tree) -> NodeId {
        into.clear();
        let mut copy = self.node(root).clone();
        copy.next_sibling = NodeId::NONE;
        into.nodes.push(copy);
        // Breadth first: every node of `into` before `next` has its edges copied and its children appended.
        let mut next = 0;
        while next < into.nodes.len() {
            let (start, len) = (into.nodes[next].edges as usize, into.nodes[next].edges_len as usize);
            into.nodes[next].edges = into.edges.len() as u32;
            for edge in &self.edges[start..start + len] {
                let mut edge = edge.clone();
                let mut child = edge.first_child;
                edge.first_child = NodeId::NONE;
                while child != NodeId::NONE {
                    let mut node = self.node(child).clone();
                    child = node.next_sibling;
                    node.next_sibling = edge.first_child;
                    edge.first_child = NodeId(into.nodes.len() as u32);
                    into.nodes.push(node);
                }
                into.edges.push(edge);
            }
            next += 1;
        }
        NodeId(0)
    }

    /// Checks the invariants of the module's head below `root`; the error says which node breaks which.
    pub(crate) fn check(&self, root: NodeId) -> Result<(), String> {
        let mut open = vec![root];
        let mut seen = 0;
        while let Some(id) = open.pop() {
            seen += 1;
            let node = self.node(id);
            let edges = self.edges(id);
            if !edges.windows(2).all(|w| w[0].action < w[1].action) {
                return Err(format!("{id:?}: edges do not ascend"));
            }
            let below: u32 = edges.iter().map(|e| e.n).sum();
            if below > node.n || (below == node.n && node.n > 0 && node.mover != Node::OVER) {
                return Err(format!(
                    "{id:?}: {} visits, {below} of them in its edges; one at least is its own",
                    node.n
                ));
            }
            for edge in edges {
                let (mut n, mut sum, mut child) = (0, 0, edge.first_child);
                while child != NodeId::NONE {
                    let node = self.node(child);
                    n += node.n;
                    sum += node.sum;
                    open.push(child);
                    child = node.next_sibling;
                }
                if (n, sum) != (edge.n, edge.sum) {
                    return Err(format!(
                        "{id:?} action {}: edge {:?}, children {:?}",
                        edge.action,
                        (edge.n, edge.sum),
                        (n, sum)
                    ));
                }
                if edge.available < edge.n {
                    return Err(format!("{id:?} action {}: visited more often than it was legal", edge.action));
                }
            }
        }
        if seen != self.nodes.len() {
            return Err(format!("{} nodes allocated, {seen} reachable", self.nodes.len()));
        }
        Ok(())
    }
}

fn new_edge(action: Action, prior: f32) -> Edge {
    Edge { sum: 0, n: 0, available: 0, prior, squares: 0.0, first_child: NodeId::NONE, action }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_edges_are_added_in_order_and_present_ones_keep_their_statistics() {
        let mut tree = Tree::default();
        let root = tree.add_root(0, 0);
        tree.add_edges(root, &[2, 5], &[0.4, 0.6]);
        let edge = tree.edge_id(root, 1);
        let (child, new) = tree.child(edge, 9, 1);
        assert!(new);
        tree.edge_mut(edge).n = 3;
        tree.add_edges(root, &[1, 5, 7], &[0.1, 0.2, 0.3]);
        let edges: Vec<_> = tree.edges(root).iter().map(|e| (e.action, e.prior, e.n)).collect();
        assert_eq!(edges, [(1, 0.1, 0), (2, 0.4, 0), (5, 0.6, 3), (7, 0.3, 0)]);
        assert_eq!(tree.child(tree.edge_id(root, 2), 9, 1), (child, false));
        assert_ne!(tree.child(tree.edge_id(root, 2), 9, 0), (child, false), "another mover is another node");
    }

    #[test]
    fn a_copied_subtree_keeps_statistics_and_drops_the_rest() {
        let mut tree = Tree::default();
        let root = tree.add_root(1, 0);
        tree.add_edges(root, &[0, 1], &[0.5, 0.5]);
        let (left, _) = tree.child(tree.edge_id(root, 0), 2, 1);
        tree.child(tree.edge_id(root, 1), 3, 1);
        tree.add_edges(left, &[4], &[1.0]);
        let (deep, _) = tree.child(tree.edge_id(left, 0), 5, 0);
        tree.node_mut(deep).n = 7;
        let mut into = Tree::default();
        let new_root = tree.copy_subtree(left, &mut into);
        assert_eq!((into.len(), into.node(new_root).key), (2, 2));
        assert_eq!(into.node(into.find(5, 0)).n, 7);
        assert_eq!(into.find(3, 1), NodeId::NONE);
        assert_eq!(into.find_child(new_root, 4), into.find(5, 0));
    }
}
