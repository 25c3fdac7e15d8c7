//! The arena that holds one search's trees: nodes, their edges and statistics. No rules, no policy.
//!
//! There is one tree a situation in which a search began that hangs below no other: its *start*. Trees that live for a
//! generation (Method 2) shed leaves, and the arena uses their places again.
//!
//! **Invariants**, after every finished simulation and after every fall: a node's visits are its own (simulations that
//! ended there) plus those of its edges, an edge's those of its children; the same for value sums. A node's edges are
//! contiguous and ascend by action. Sums are seat 0's, as fixed point: adding and undoing is exact in any order.

use std::collections::BTreeMap;

use fogfall_game::{Action, Seat};

use crate::leaves::Leaves;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub(crate) u32);

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
    /// The owner's key of the situation; 0 below the start in trees keyed by actions.
    key: u64,
    /// Visits.
    pub(crate) n: u32,
    parent: NodeId,
    /// The next child of the same edge; of a free place, the next free one.
    next_sibling: NodeId,
    edges: u32,
    /// Its place among the leaves, see [`Leaves`].
    pub(crate) leaf: (NodeId, NodeId),
    edges_len: u16,
    /// The parent's edge that it hangs below.
    action: Action,
    /// Who moves here, [`Node::OVER`] or [`Node::FREE`].
    pub(crate) mover: Seat,
    /// The network was asked here.
    pub(crate) evaluated: bool,
    /// Number of the last search that asked here or came past what another had asked; 0 for none.
    pub(crate) searched: u16,
}

impl Node {
    /// The mover of a finished game.
    pub(crate) const OVER: Seat = 2;
    /// The mover of a place that holds no node.
    const FREE: Seat = 3;
}

/// An action at a node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edge {
    /// Sum of seat 0's values over all visits.
    pub(crate) sum: i64,
    /// Visits.
    pub(crate) n: u32,
    /// Visits to the node, the present one included, in whose world the action was legal; 0 and not counted where that is
    /// all of them.
    pub(crate) available: u32,
    /// The network's probability.
    pub(crate) prior: f32,
    first_child: NodeId,
    /// The action.
    pub(crate) action: Action,
    /// A child of it has fallen.
    lost_child: bool,
}

const _: () = assert!(size_of::<Node>() <= 48 && size_of::<Edge>() <= 32);

/// Bytes that a tree may take at most: of so many nodes, each with so many edges. Its memory grows by doubling.
pub fn tree_bytes(nodes: usize, edges: usize) -> usize {
    2 * nodes * (size_of::<Node>() + edges * size_of::<Edge>())
}

/// A search's trees.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// The nodes that hang below no other, by key and mover.
    starts: BTreeMap<(u64, Seat), NodeId>,
    /// The childless nodes in the order in which they fall; kept only where leaves fall.
    leaves: Option<Leaves>,
    free_node: NodeId,
    free_nodes: u32,
    /// Free places for edges, by how many fit.
    free_edges: Vec<Vec<u32>>,
    /// Leaves that fell, and children added where one had fallen before, since the tree was made.
    falls: u64,
    re_expansions: u64,
}

impl Tree {
    /// An empty tree, whose leaves may `fall` or not.
    pub(crate) fn new(fall: bool) -> Self {
        Self {
            nodes: Vec::new(),
            edges: Vec::new(),
            starts: BTreeMap::new(),
            leaves: fall.then(Leaves::default),
            free_node: NodeId::NONE,
            free_nodes: 0,
            free_edges: Vec::new(),
            falls: 0,
            re_expansions: 0,
        }
    }

    /// Empties the tree, keeps the memory and what was counted.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.edges.clear();
        self.starts.clear();
        self.leaves.iter_mut().for_each(|leaves| *leaves = Leaves::default());
        (self.free_node, self.free_nodes) = (NodeId::NONE, 0);
        self.free_edges.iter_mut().for_each(Vec::clear);
    }

    /// Forgets which searches came where: their numbers begin anew.
    pub(crate) fn forget_searches(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.searched = 0);
    }

    /// Nodes in the tree.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() - self.free_nodes as usize
    }

    /// Bytes that nodes and edges take, free places included.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.edges.capacity() * size_of::<Edge>()
    }

    /// Leaves that fell since the tree was made.
    pub(crate) fn falls(&self) -> u64 {
        self.falls
    }

    /// Children added since the tree was made below edges that had lost one.
    pub(crate) fn re_expansions(&self) -> u64 {
        self.re_expansions
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

    /// The index of a node's edge in [`edges`](Self::edges).
    #[inline]
    pub(crate) fn edge_index(&self, id: NodeId, edge: EdgeId) -> usize {
        (edge.0 - self.node(id).edges) as usize
    }

    #[inline]
    pub(crate) fn edge_mut(&mut self, id: EdgeId) -> &mut Edge {
        &mut self.edges[id.0 as usize]
    }

    /// The node with this key and mover that hangs below no other, added if there is none.
    pub(crate) fn start(&mut self, key: u64, mover: Seat) -> NodeId {
        if let Some(&start) = self.starts.get(&(key, mover)) {
            return start;
        }
        let start = self.add_node(key, mover, NodeId::NONE, 0);
        self.starts.insert((key, mover), start);
        start
    }

    #[inline]
    fn add_node(&mut self, key: u64, mover: Seat, parent: NodeId, action: Action) -> NodeId {
        let node = Node {
            sum: 0,
            key,
            n: 0,
            parent,
            next_sibling: NodeId::NONE,
            edges: 0,
            leaf: Leaves::NOWHERE,
            edges_len: 0,
            action,
            mover,
            evaluated: false,
            searched: 0,
        };
        let id = self.free_node;
        let id = if id == NodeId::NONE {
            self.nodes.push(node);
            NodeId(u32::try_from(self.nodes.len() - 1).expect("a tree has fewer than 2^32 nodes"))
        } else {
            self.free_node = self.node(id).next_sibling;
            self.free_nodes -= 1;
            *self.node_mut(id) = node;
            id
        };
        if let Some(leaves) = &mut self.leaves {
            leaves.push(&mut self.nodes, id);
        }
        id
    }

    /// The child of `parent` below its `edge` with this key and mover, and whether it had to be added.
    #[inline]
    pub(crate) fn child(&mut self, parent: NodeId, edge: EdgeId, key: u64, mover: Seat) -> (NodeId, bool) {
        let Edge { first_child: first, action, lost_child, .. } = self.edges[edge.0 as usize];
        let mut child = first;
        while child != NodeId::NONE {
            let node = self.node(child);
            if node.key == key && node.mover == mover {
                return (child, false);
            }
            child = node.next_sibling;
        }
        let child = self.add_node(key, mover, parent, action);
        self.node_mut(child).next_sibling = first;
        self.edges[edge.0 as usize].first_child = child;
        self.re_expansions += u64::from(lost_child);
        if let Some(leaves) = &mut self.leaves {
            leaves.remove(&mut self.nodes, parent);
        }
        (child, true)
    }

    /// Adds the edges that `id` lacks for these actions, ascending and with their priors. Edges that are there keep
    /// their prior. Moves the node's edges: edge ids of this node become invalid.
    pub(crate) fn add_edges(&mut self, id: NodeId, actions: &[Action], prior: &[f32]) {
        let (start, old) = (self.node(id).edges as usize, self.node(id).edges_len as usize);
        let have = &self.edges[start..start + old];
        let missing = actions.iter().filter(|action| !have.iter().any(|edge| edge.action == **action)).count();
        if missing == 0 {
            return;
        }
        let grown = self.take_edges(old + missing);
        let (mut kept, mut asked) = (0, 0);
        for place in grown..grown + old + missing {
            let have = (kept < old).then(|| self.edges[start + kept].action);
            let edge = match (have, actions.get(asked)) {
                (Some(have), Some(&want)) if want < have => new_edge(want, prior[asked]),
                (None, Some(&want)) => new_edge(want, prior[asked]),
                _ => self.edges[start + kept].clone(),
            };
            kept += usize::from(have == Some(edge.action));
            asked += usize::from(actions.get(asked) == Some(&edge.action));
            self.edges[place] = edge;
        }
        self.give_edges(start, old);
        let node = self.node_mut(id);
        node.edges = u32::try_from(grown).expect("a tree has fewer than 2^32 edges");
        node.edges_len = u16::try_from(old + missing).expect("a node has fewer than 2^16 actions");
    }

    /// A place for `len` edges.
    fn take_edges(&mut self, len: usize) -> usize {
        if let Some(place) = self.free_edges.get_mut(len).and_then(Vec::pop) {
            return place as usize;
        }
        let place = self.edges.len();
        self.edges.resize_with(place + len, || new_edge(0, 0.0));
        place
    }

    fn give_edges(&mut self, place: usize, len: usize) {
        if len == 0 {
            return;
        }
        if self.free_edges.len() <= len {
            self.free_edges.resize_with(len + 1, Vec::new);
        }
        self.free_edges[len].push(place as u32);
    }

    /// The children of an action at a node.
    fn children(&self, first: NodeId) -> impl Iterator<Item = NodeId> {
        let there = |id: NodeId| (id != NodeId::NONE).then_some(id);
        std::iter::successors(there(first), move |&id| there(self.node(id).next_sibling))
    }

    /// The most visited decision of `mover` with this key below `root`, none of its own decisions between; else the start
    /// with this key, added if there is none.
    pub(crate) fn find(&mut self, root: NodeId, key: u64, mover: Seat) -> NodeId {
        let mut best = NodeId::NONE;
        let mut open = vec![root];
        while let Some(id) = open.pop().filter(|&id| id != NodeId::NONE) {
            for child in self.edges(id).iter().flat_map(|edge| self.children(edge.first_child)) {
                let node = self.node(child);
                if node.mover == Node::OVER {
                    continue;
                }
                if node.mover != mover {
                    open.push(child);
                } else if node.key == key && (best == NodeId::NONE || node.n > self.node(best).n) {
                    best = child;
                }
            }
        }
        if best == NodeId::NONE { self.start(key, mover) } else { best }
    }

    /// The most visited child of an action.
    pub(crate) fn find_child(&self, id: NodeId, action: Action) -> NodeId {
        let Ok(index) = self.edges(id).binary_search_by_key(&action, |e| e.action) else {
            return NodeId::NONE;
        };
        let children = self.children(self.edges(id)[index].first_child);
        children.max_by_key(|&child| self.node(child).n).unwrap_or(NodeId::NONE)
    }

    /// A simulation has ended at this node: of the leaves that fall in the order of their last visits it is the last.
    #[inline]
    pub(crate) fn touch(&mut self, id: NodeId) {
        if let Some(leaves) = &mut self.leaves
            && leaves.holds(&self.nodes, id)
        {
            leaves.remove(&mut self.nodes, id);
            leaves.push(&mut self.nodes, id);
        }
    }

    /// If there are more than `up` nodes, lets leaves fall from the head of their list until `down` are left. The node
    /// `root` stays, and with it all that it hangs below.
    pub(crate) fn shed(&mut self, up: u32, down: u32, root: NodeId) {
        if self.len() <= up as usize {
            return;
        }
        for _ in down as usize..self.len() {
            if self.head() == Some(root) {
                self.touch(root);
            }
            match self.head() {
                Some(leaf) if leaf != root => self.fall(leaf),
                _ => return,
            }
        }
    }

    /// The leaf that falls next.
    fn head(&self) -> Option<NodeId> {
        self.leaves.as_ref().and_then(Leaves::head)
    }

    /// Adds `n` visits with this sum, which began at `root`, to all that `root` hangs below: to them they are visits like
    /// others.
    ///
    /// An action above that was legal in all visits so far counts as legal in these, too; so a fall can take it back.
    pub(crate) fn add_above(&mut self, root: NodeId, n: u32, sum: i64) {
        let (mut below, mut at) = (root, self.node(root).parent);
        while at != NodeId::NONE {
            let action = self.node(below).action;
            let node = self.node_mut(at);
            (node.n, node.sum) = (node.n + n, node.sum + sum);
            let edges = self.edges_mut(at);
            let through: u32 = edges.iter().map(|edge| edge.n).sum();
            for edge in edges {
                let counted = edge.available > 0;
                if edge.action == action {
                    (edge.n, edge.sum) = (edge.n + n, edge.sum + sum);
                    edge.available += if counted { n } else { 0 };
                } else if counted && edge.available == through {
                    edge.available += n;
                }
            }
            (below, at) = (at, self.node(at).parent);
        }
    }

    fn is_childless(&self, id: NodeId) -> bool {
        self.edges(id).iter().all(|edge| edge.first_child == NodeId::NONE)
    }

    /// Takes back what a leaf has contributed from it to its start, and removes it. The parent's edge keeps its prior; a
    /// parent without another child is a leaf again.
    ///
    /// Of the edges on the way, this one was legal in all visits that go; another one was legal in at most as many visits
    /// as remain. So the counts of an action that is legal in every world are restored exactly.
    pub(crate) fn fall(&mut self, leaf: NodeId) {
        debug_assert!(self.is_childless(leaf), "a leaf has no children");
        let Node { n, sum, parent, .. } = *self.node(leaf);
        let (mut below, mut at) = (leaf, parent);
        while at != NodeId::NONE {
            let action = self.node(below).action;
            let node = self.node_mut(at);
            (node.n, node.sum) = (node.n - n, node.sum - sum);
            let edges = self.edges_mut(at);
            let mut through = 0;
            for edge in edges.iter_mut() {
                if edge.action == action {
                    (edge.n, edge.sum, edge.available) = (edge.n - n, edge.sum - sum, edge.available.saturating_sub(n));
                }
                through += edge.n;
            }
            edges.iter_mut().for_each(|edge| edge.available = edge.available.min(through));
            (below, at) = (at, self.node(at).parent);
        }
        self.remove(leaf);
        self.falls += 1;
    }

    fn remove(&mut self, leaf: NodeId) {
        let Node { key, parent, next_sibling, edges, edges_len, action, mover, .. } = *self.node(leaf);
        if let Some(leaves) = &mut self.leaves
            && leaves.holds(&self.nodes, leaf)
        {
            leaves.remove(&mut self.nodes, leaf);
        }
        self.give_edges(edges as usize, edges_len as usize);
        if parent == NodeId::NONE {
            self.starts.remove(&(key, mover));
        } else {
            let before = {
                let index = self.edges(parent).binary_search_by_key(&action, |e| e.action);
                let edge = self.edge_id(parent, index.expect("a child hangs below an edge"));
                self.edge_mut(edge).lost_child = true;
                let first = self.edges[edge.0 as usize].first_child;
                if first == leaf {
                    self.edge_mut(edge).first_child = next_sibling;
                }
                self.children(first).find(|&child| self.node(child).next_sibling == leaf && first != leaf)
            };
            before.into_iter().for_each(|before| self.node_mut(before).next_sibling = next_sibling);
            if self.is_childless(parent) {
                self.leaves.iter_mut().for_each(|leaves| leaves.push(&mut self.nodes, parent));
            }
        }
        let place = Node { mover: Node::FREE, next_sibling: self.free_node, edges_len: 0, ..self.node(leaf).clone() };
        *self.node_mut(leaf) = place;
        (self.free_node, self.free_nodes) = (leaf, self.free_nodes + 1);
    }
}

fn new_edge(action: Action, prior: f32) -> Edge {
    Edge { sum: 0, n: 0, available: 0, prior, first_child: NodeId::NONE, action, lost_child: false }
}

#[path = "tree_check.rs"]
mod check;
#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
