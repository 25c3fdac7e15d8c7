//! [`GameTree`]: a small game laid out whole, in sequence form (Koller, Megiddo and von Stengel 1996): what each seat did
//! up to the end of the game is one number, its *sequence*, so that values, best responses and regrets are sums over the
//! leaves and nothing has to be walked again. And [`Profile`], a policy of both seats in it.
//!
//! **Invariant:** players recall perfectly. An information set is what a seat sees, together with its own decisions
//! before: a view that forgets is completed by the seat's memory of what it saw and did when it moved.
//!
//! **Invariant:** an information set has a larger number than those of the same seat that lead to it.

use std::collections::HashMap;
use std::ops::Range;

use fogfall_game::{Action, Game, Seat, Turn};
use thiserror::Error;

/// Why a game cannot be laid out, or a policy not be read.
#[derive(Debug, Error, PartialEq)]
pub enum ExactError {
    /// The tree is larger than allowed.
    #[error("the game tree has more than {max_nodes} nodes")]
    TooLarge {
        /// The limit.
        max_nodes: usize,
    },
    /// A policy's answer is no distribution over the legal actions.
    #[error("the policy gives {probabilities:?} for {legal} legal actions")]
    Policy {
        /// What it answered.
        probabilities: Vec<f64>,
        /// How many actions are legal.
        legal: usize,
    },
    /// The same view goes with different legal actions: the game leaks.
    #[error("the same view has legal actions {first:?} and {second:?}")]
    Legal {
        /// In one state.
        first: Vec<Action>,
        /// In another.
        second: Vec<Action>,
    },
}

/// The sequence of a seat that has not moved.
const NOTHING: u32 = 0;

/// States that their mover cannot tell apart.
#[derive(Debug)]
pub(crate) struct InformationSet {
    pub(crate) seat: Seat,
    /// The mover's view, in [`GameTree::views`].
    view: u32,
    /// The mover's sequence when it gets here.
    pub(crate) parent: u32,
    /// Its sequence after its first legal action; those after the others follow.
    first: u32,
    legal: u32,
}

impl InformationSet {
    /// The mover's sequences after each legal action.
    pub(crate) fn sequences(&self) -> Range<usize> {
        self.first as usize..(self.first + self.legal) as usize
    }
}

/// Where games end with the same sequences of both seats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    /// Each seat's sequence.
    pub(crate) sequences: [u32; 2],
    /// Seat 0's payoff, times the probability of chance on the way.
    pub(crate) payoff: f64,
}

/// A game laid out whole. `V` is its view.
#[derive(Debug)]
pub struct GameTree<V> {
    /// What movers see, each once, with their legal actions.
    pub(crate) views: Vec<(V, Vec<Action>)>,
    pub(crate) sets: Vec<InformationSet>,
    pub(crate) leaves: Vec<Leaf>,
    /// Sequences of each seat, the empty one included.
    pub(crate) sequences: [usize; 2],
    nodes: usize,
}

/// A policy of both seats: for each sequence of a seat, the probability of its last action where it is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// `[seat][sequence]`; 1 for the empty sequence.
    pub(crate) odds: [Vec<f64>; 2],
}

impl<V: Clone> GameTree<V> {
    /// Lays out the game from `root` on.
    ///
    /// # Errors
    /// [`ExactError`] if it has more than `max_nodes` positions and chance nodes, or legal actions that depend on what
    /// the mover does not see.
    pub fn lay_out<G: Game<View = V>>(game: &G, root: &G::State, max_nodes: usize) -> Result<Self, ExactError> {
        let tree = Self { views: Vec::new(), sets: Vec::new(), leaves: Vec::new(), sequences: [1; 2], nodes: 0 };
        let mut surveyor = Surveyor { game, max_nodes, tree, views: HashMap::new(), sets: HashMap::new() };
        surveyor.add(root, [NOTHING; 2], 1.0)?;
        let mut tree = surveyor.tree;
        tree.leaves.sort_unstable_by_key(|leaf| leaf.sequences);
        tree.leaves.dedup_by(|later, first| {
            let same = later.sequences == first.sequences;
            if same {
                first.payoff += later.payoff;
            }
            same
        });
        Ok(tree)
    }

    /// Information sets of both seats.
    pub fn information_sets(&self) -> usize {
        self.sets.len()
    }

    /// Positions and chance nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// What movers see, each once, with their legal actions: what a policy is asked.
    pub fn decisions(&self) -> impl ExactSizeIterator<Item = (&V, &[Action])> {
        self.views.iter().map(|(view, legal)| (view, legal.as_slice()))
    }

    /// The profile of a policy that both seats play, asked once for each of [`decisions`](Self::decisions) in order.
    ///
    /// # Errors
    /// [`ExactError::Policy`] if an answer is no distribution over the legal actions.
    pub fn profile(&self, mut policy: impl FnMut(&V, &[Action]) -> Vec<f64>) -> Result<Profile, ExactError> {
        let mut answers = Vec::with_capacity(self.views.len());
        for (view, legal) in &self.views {
            let probabilities = policy(view, legal);
            let sum: f64 = probabilities.iter().sum();
            let good = probabilities.len() == legal.len() && probabilities.iter().all(|&p| p >= 0.0);
            if !good || (sum - 1.0).abs() > 1e-6 {
                return Err(ExactError::Policy { probabilities, legal: legal.len() });
            }
            answers.push(probabilities);
        }
        let mut profile = self.uniform();
        for set in &self.sets {
            profile.odds[usize::from(set.seat)][set.sequences()].copy_from_slice(&answers[set.view as usize]);
        }
        Ok(profile)
    }

    /// All legal actions equally likely.
    pub fn uniform(&self) -> Profile {
        let mut odds = self.sequences.map(|count| vec![1.0; count]);
        for set in &self.sets {
            odds[usize::from(set.seat)][set.sequences()].fill(1.0 / f64::from(set.legal));
        }
        Profile { odds }
    }

    /// The profile whose odds in each set are in proportion to `sums` over its sequences; uniform where they are 0.
    pub(crate) fn profile_of(&self, sums: &[Vec<f64>; 2]) -> Profile {
        let mut profile = self.uniform();
        for set in &self.sets {
            let seat = usize::from(set.seat);
            let sums = &sums[seat][set.sequences()];
            let total: f64 = sums.iter().sum();
            if total > 0.0 {
                let odds = &mut profile.odds[seat][set.sequences()];
                odds.iter_mut().zip(sums).for_each(|(odds, sum)| *odds = sum / total);
            }
        }
        profile
    }

    /// Probabilities of the legal actions, by what the mover sees. A view with several information sets, one for each
    /// memory that it forgets, gets those of the first.
    pub fn policy<'a>(&'a self, profile: &'a Profile) -> impl Iterator<Item = (&'a V, &'a [Action], &'a [f64])> {
        let mut told = vec![false; self.views.len()];
        self.sets.iter().filter_map(move |set| {
            let (view, legal) = &self.views[set.view as usize];
            let first = !std::mem::replace(&mut told[set.view as usize], true);
            first.then(|| (view, legal.as_slice(), &profile.odds[usize::from(set.seat)][set.sequences()]))
        })
    }

    /// `[sequences]` the probability that `seat` plays each of its sequences, if the others let it.
    pub(crate) fn reach(&self, profile: &Profile, seat: Seat) -> Vec<f64> {
        let mut reach = profile.odds[usize::from(seat)].clone();
        for set in self.sets.iter().filter(|set| set.seat == seat) {
            let before = reach[set.parent as usize];
            reach[set.sequences()].iter_mut().for_each(|odds| *odds *= before);
        }
        reach
    }

    /// Replaces `out` by `[sequences]` what `seat` itself is paid where its last decision was that of each sequence,
    /// weighted by chance and by `foe_reach`, its foe's [`reach`](Self::reach).
    pub(crate) fn gains(&self, seat: Seat, foe_reach: &[f64], out: &mut Vec<f64>) {
        let (own, foe) = (usize::from(seat), usize::from(1 - seat));
        out.clear();
        out.resize(self.sequences[own], 0.0);
        let sign = if seat == 0 { 1.0 } else { -1.0 };
        for leaf in &self.leaves {
            out[leaf.sequences[own] as usize] += sign * leaf.payoff * foe_reach[leaf.sequences[foe] as usize];
        }
    }
}

/// Lays out a tree.
struct Surveyor<'a, G: Game> {
    game: &'a G,
    max_nodes: usize,
    tree: GameTree<G::View>,
    /// Views by seat and bytes.
    views: HashMap<(Seat, Vec<u8>), u32>,
    /// Information sets by view and sequence.
    sets: HashMap<(u32, u32), usize>,
}

impl<G: Game> Surveyor<'_, G> {
    /// Adds the subtree of `state`, which both seats' sequences lead to if chance plays along with probability `chance`.
    fn add(&mut self, state: &G::State, sequences: [u32; 2], chance: f64) -> Result<(), ExactError> {
        if self.tree.nodes == self.max_nodes {
            return Err(ExactError::TooLarge { max_nodes: self.max_nodes });
        }
        self.tree.nodes += 1;
        match self.game.turn(state) {
            Turn::Over => {
                let payoff = chance * f64::from(self.game.payoff(state));
                self.tree.leaves.push(Leaf { sequences, payoff });
            }
            Turn::Chance => {
                let mut outcomes = Vec::new();
                self.game.chance(state, &mut outcomes);
                // Thirds in f32 sum to a little more than 1.
                let sum: f64 = outcomes.iter().map(|&(_, p)| f64::from(p)).sum();
                for (outcome, p) in outcomes {
                    self.add_after(state, outcome, sequences, chance * f64::from(p) / sum)?;
                }
            }
            Turn::Player(seat) => {
                let own = usize::from(seat);
                let mut legal = Vec::new();
                self.game.legal(state, &mut legal);
                let set = self.set(state, seat, &legal, sequences[own])?;
                let first = self.tree.sets[set].first;
                for (sequence, action) in (first..).zip(legal) {
                    let mut sequences = sequences;
                    sequences[own] = sequence;
                    self.add_after(state, action, sequences, chance)?;
                }
            }
        }
        Ok(())
    }

    fn add_after(
        &mut self,
        state: &G::State,
        action: Action,
        sequences: [u32; 2],
        chance: f64,
    ) -> Result<(), ExactError> {
        let mut next = state.clone();
        self.game.apply(&mut next, action);
        self.add(&next, sequences, chance)
    }

    /// The information set of a decision.
    fn set(&mut self, state: &G::State, seat: Seat, legal: &[Action], sequence: u32) -> Result<usize, ExactError> {
        let view = self.game.view(state, seat);
        let bytes = rmp_serde::to_vec(&view).expect("a view is plain data");
        let tree = &mut self.tree;
        let view = *self.views.entry((seat, bytes)).or_insert_with(|| {
            tree.views.push((view, legal.to_vec()));
            tree.views.len() as u32 - 1
        });
        let first = &tree.views[view as usize].1;
        if first != legal {
            return Err(ExactError::Legal { first: first.clone(), second: legal.to_vec() });
        }
        Ok(*self.sets.entry((view, sequence)).or_insert_with(|| {
            let sequences = &mut tree.sequences[usize::from(seat)];
            let first = *sequences as u32;
            *sequences += legal.len();
            tree.sets.push(InformationSet { seat, view, parent: sequence, first, legal: legal.len() as u32 });
            tree.sets.len() - 1
        }))
    }
}
