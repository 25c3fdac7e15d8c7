//! [`TreeStats`]: what is told of a search's tree.

/// How large a search's tree is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeStats {
    /// Nodes in it.
    pub nodes: u64,
    /// Bytes that its nodes and edges take.
    pub bytes: u64,
    /// Leaves that fell since the search was made.
    pub falls: u64,
    /// Nodes added since then where a leaf had fallen before.
    pub re_expansions: u64,
}

impl std::ops::Add for TreeStats {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            nodes: self.nodes + other.nodes,
            bytes: self.bytes + other.bytes,
            falls: self.falls + other.falls,
            re_expansions: self.re_expansions + other.re_expansions,
        }
    }
}
