//! `Leave_list` of Method 2: the childless nodes in the order in which they fall, as a list that runs through the nodes
//! themselves, so that a leaf that gets a child leaves it at once.

use crate::tree::{Node, NodeId};

/// Head and tail of the list.
#[derive(Clone, Debug)]
pub(crate) struct Leaves {
    head: NodeId,
    tail: NodeId,
}

impl Default for Leaves {
    fn default() -> Self {
        Self { head: NodeId::NONE, tail: NodeId::NONE }
    }
}

impl Leaves {
    /// Before and after of a node that is not in the list.
    pub(crate) const NOWHERE: (NodeId, NodeId) = (NodeId(u32::MAX - 1), NodeId(u32::MAX - 1));

    /// The leaf that falls next.
    pub(crate) fn head(&self) -> Option<NodeId> {
        (self.head != NodeId::NONE).then_some(self.head)
    }

    /// True if the node is in the list.
    #[inline]
    pub(crate) fn holds(&self, nodes: &[Node], id: NodeId) -> bool {
        nodes[id.0 as usize].leaf != Self::NOWHERE
    }

    /// Puts a node at the tail.
    #[inline]
    pub(crate) fn push(&mut self, nodes: &mut [Node], id: NodeId) {
        nodes[id.0 as usize].leaf = (self.tail, NodeId::NONE);
        match self.tail {
            NodeId::NONE => self.head = id,
            tail => nodes[tail.0 as usize].leaf.1 = id,
        }
        self.tail = id;
    }

    /// Takes a node out, if it is in.
    #[inline]
    pub(crate) fn remove(&mut self, nodes: &mut [Node], id: NodeId) {
        let (before, after) = std::mem::replace(&mut nodes[id.0 as usize].leaf, Self::NOWHERE);
        if (before, after) == Self::NOWHERE {
            return;
        }
        match before {
            NodeId::NONE => self.head = after,
            before => nodes[before.0 as usize].leaf.1 = after,
        }
        match after {
            NodeId::NONE => self.tail = before,
            after => nodes[after.0 as usize].leaf.0 = before,
        }
    }
}
