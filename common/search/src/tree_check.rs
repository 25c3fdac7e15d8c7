//! What must always hold of a tree, checked node by node; for tests.

use std::collections::HashSet;

use super::{Node, NodeId, Tree};

impl Tree {
    /// Checks the invariants of the module's head, that every node is reached from a start or free, and that the list of
    /// leaves holds the childless nodes, each once; the error says which node breaks which. `unsaid` are visits of a root
    /// that have not been added above it yet.
    pub(crate) fn check(&self, unsaid: Option<(NodeId, u32, i64)>) -> Result<(), String> {
        let mut open: Vec<_> = self.starts.values().copied().collect();
        let mut seen = HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                return Err(format!("{id:?} is reached twice"));
            }
            self.check_node(id, unsaid)?;
            for edge in self.edges(id) {
                open.extend(self.children(edge.first_child));
            }
        }
        if seen.len() != self.len() {
            return Err(format!("{} nodes are held, {} reachable", self.len(), seen.len()));
        }
        let free = self.nodes.iter().filter(|node| node.mover == Node::FREE).count();
        if free != self.free_nodes as usize {
            return Err(format!("{free} places are free, {} counted", self.free_nodes));
        }
        if self.leaves.is_some() { self.check_leaves(&seen) } else { Ok(()) }
    }

    fn check_node(&self, id: NodeId, unsaid: Option<(NodeId, u32, i64)>) -> Result<(), String> {
        let (node, edges) = (self.node(id), self.edges(id));
        if !edges.windows(2).all(|w| w[0].action < w[1].action) {
            return Err(format!("{id:?}: edges do not ascend"));
        }
        let below: u32 = edges.iter().map(|e| e.n).sum();
        if below > node.n || (below == node.n && node.n > 0 && node.mover != Node::OVER) {
            return Err(format!("{id:?}: {} visits, {below} of them in its edges; one at least is its own", node.n));
        }
        for edge in edges {
            let (mut n, mut sum) = (0, 0);
            for child in self.children(edge.first_child) {
                let below = self.node(child);
                if (below.parent, below.action) != (id, edge.action) {
                    return Err(format!("{child:?} does not know that it hangs below {id:?} action {}", edge.action));
                }
                (n, sum) = (n + below.n, sum + below.sum);
                if let Some((_, less_n, less_sum)) = unsaid.filter(|(root, ..)| *root == child) {
                    (n, sum) = (n - less_n, sum - less_sum);
                }
            }
            if (n, sum) != (edge.n, edge.sum) {
                let (edge_has, action) = ((edge.n, edge.sum), edge.action);
                return Err(format!("{id:?} action {action}: edge {edge_has:?}, children {:?}", (n, sum)));
            }
            if edge.available > 0 && edge.available < edge.n {
                return Err(format!("{id:?} action {}: visited more often than it was legal", edge.action));
            }
        }
        Ok(())
    }

    fn check_leaves(&self, seen: &HashSet<NodeId>) -> Result<(), String> {
        let mut listed = HashSet::new();
        for leaf in self.fall_order() {
            if !listed.insert(leaf) {
                return Err(format!("{leaf:?} is in the list of leaves twice"));
            }
        }
        let childless: HashSet<_> = seen.iter().copied().filter(|&id| self.is_childless(id)).collect();
        match listed == childless {
            true => Ok(()),
            false => Err(format!("{} leaves are listed, {} nodes are childless", listed.len(), childless.len())),
        }
    }

    /// The leaves, the one that falls next first.
    pub(super) fn fall_order(&self) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.head(), |&id| {
            let (_, after) = self.node(id).leaf;
            (after != NodeId::NONE).then_some(after)
        })
    }
}
