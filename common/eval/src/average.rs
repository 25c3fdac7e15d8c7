//! [`Average`]: the policy that plays like one of many, chosen once before the game. The average of a run's policies is
//! what fictitious play and the literature on self-play in games with hidden information report: it can be near an
//! equilibrium while the last policy cycles around it.

use serde::{Deserialize, Serialize};

use crate::game_tree::{GameTree, Profile};

/// A sum of profiles of one tree, each counted by its weight and by how likely its own moves lead to an information set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Average {
    /// `[seat][sequence]` sums of weight times the probability that the seat plays the sequence.
    sums: [Vec<f64>; 2],
    weight: f64,
}

impl Average {
    /// No profile yet.
    pub fn new<V: Clone>(tree: &GameTree<V>) -> Self {
        Self { sums: tree.sequences.map(|count| vec![0.0; count]), weight: 0.0 }
    }

    /// True if it is of a tree of this size.
    pub fn fits<V: Clone>(&self, tree: &GameTree<V>) -> bool {
        [self.sums[0].len(), self.sums[1].len()] == tree.sequences
    }

    /// Sum of the weights.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Adds a profile.
    ///
    /// # Panics
    /// If it is not of the same tree.
    pub fn add<V: Clone>(&mut self, tree: &GameTree<V>, weight: f64, profile: &Profile) {
        assert!(self.fits(tree), "an average is of one tree");
        self.weight += weight;
        for (seat, sums) in [0, 1].into_iter().zip(&mut self.sums) {
            let reach = tree.reach(profile, seat);
            sums.iter_mut().zip(reach).for_each(|(sum, reach)| *sum += weight * reach);
        }
    }

    /// The averaged policy; uniform where none of the profiles gets to.
    pub fn profile<V: Clone>(&self, tree: &GameTree<V>) -> Profile {
        tree.profile_of(&self.sums)
    }
}
