//! Exact numbers for small games: the value of a policy, best responses to it and its NashConv.
//!
//! The whole game tree is laid out once; nothing is sampled.
//!
//! **Invariant:** players recall perfectly. An information set is what a seat sees, together with its own decisions
//! before: a view that forgets is completed by the seat's memory of what it saw and did when it moved.

use std::collections::HashMap;

use fogfall_game::{Action, Game, Seat, Turn};
use thiserror::Error;

/// A policy: the probabilities of the legal actions, in their order, for what the mover sees.
pub type Policy<'a, V> = dyn FnMut(&V, &[Action]) -> Vec<f64> + 'a;

/// Why a game cannot be solved.
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

/// How far a policy, played by both seats, is from equilibrium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exploitability {
    /// Sum of what both seats gain by a best response; 0 in equilibrium, in the game's own units. Twice what other
    /// authors call exploitability.
    pub nash_conv: f64,
    /// Seat 0's payoff when both seats play the policy.
    pub value: f64,
    /// Each seat's own payoff when it answers the policy by a best response.
    pub best_response: [f64; 2],
    /// Information sets of both seats.
    pub information_sets: usize,
}

/// NashConv of a policy that both seats play from `root` on. The policy is asked once for each view.
///
/// # Errors
/// [`ExactError`] if the tree is too large, or the policy's answers are no distributions.
pub fn nash_conv<G: Game>(
    game: &G,
    root: &G::State,
    policy: &mut Policy<'_, G::View>,
    max_nodes: usize,
) -> Result<Exploitability, ExactError> {
    let mut builder =
        Builder { game, policy, max_nodes, tree: Tree::default(), keys: HashMap::new(), asked: HashMap::new() };
    builder.add(root, [None; 2])?;
    let tree = builder.tree;
    let value = tree.value(0);
    let best_response = [0, 1].map(|seat| tree.best_response(seat));
    Ok(Exploitability {
        nash_conv: (best_response[0] - value) + (best_response[1] + value),
        value,
        best_response,
        information_sets: tree.sets.len(),
    })
}

/// A node of the game tree. Children have larger numbers than their parents.
enum Node {
    /// Seat 0's payoff.
    Over(f64),
    /// Outcomes with their probabilities.
    Chance(Vec<(f64, usize)>),
    /// A decision: its information set, and a child for each legal action.
    Player(usize, Vec<usize>),
}

/// States that their mover cannot tell apart.
struct InformationSet {
    seat: Seat,
    legal: Vec<Action>,
    /// `[legal]` the policy's.
    probabilities: Vec<f64>,
    nodes: Vec<usize>,
}

#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
    sets: Vec<InformationSet>,
}

/// The last decision of a seat: its information set and the place of the action taken.
type Memory = Option<(usize, usize)>;

struct Builder<'a, 'p, G: Game> {
    game: &'a G,
    policy: &'a mut Policy<'p, G::View>,
    max_nodes: usize,
    tree: Tree,
    /// Information sets by seat, memory and view.
    keys: HashMap<(Seat, Memory, Vec<u8>), usize>,
    /// The policy's answers by seat and view.
    asked: HashMap<(Seat, Vec<u8>), Vec<f64>>,
}

impl<G: Game> Builder<'_, '_, G> {
    /// Adds the subtree of `state`. `memory` is each seat's last decision.
    fn add(&mut self, state: &G::State, memory: [Memory; 2]) -> Result<usize, ExactError> {
        let node = self.tree.nodes.len();
        if node == self.max_nodes {
            return Err(ExactError::TooLarge { max_nodes: self.max_nodes });
        }
        self.tree.nodes.push(Node::Over(0.0)); // holds the place until the children are there
        self.tree.nodes[node] = match self.game.turn(state) {
            Turn::Over => Node::Over(f64::from(self.game.payoff(state))),
            Turn::Chance => {
                let mut outcomes = Vec::new();
                self.game.chance(state, &mut outcomes);
                // Thirds in f32 sum to a little more than 1.
                let sum: f64 = outcomes.iter().map(|&(_, p)| f64::from(p)).sum();
                let mut children = Vec::new();
                for (outcome, p) in outcomes {
                    children.push((f64::from(p) / sum, self.add_after(state, outcome, memory)?));
                }
                Node::Chance(children)
            }
            Turn::Player(seat) => {
                let set = self.set(state, seat, memory[usize::from(seat)])?;
                self.tree.sets[set].nodes.push(node);
                let mut children = Vec::new();
                for (place, action) in self.tree.sets[set].legal.clone().into_iter().enumerate() {
                    let mut memory = memory;
                    memory[usize::from(seat)] = Some((set, place));
                    children.push(self.add_after(state, action, memory)?);
                }
                Node::Player(set, children)
            }
        };
        Ok(node)
    }

    fn add_after(&mut self, state: &G::State, action: Action, memory: [Memory; 2]) -> Result<usize, ExactError> {
        let mut next = state.clone();
        self.game.apply(&mut next, action);
        self.add(&next, memory)
    }

    /// The information set of a decision.
    fn set(&mut self, state: &G::State, seat: Seat, memory: Memory) -> Result<usize, ExactError> {
        let view = self.game.view(state, seat);
        let bytes = rmp_serde::to_vec(&view).expect("a view is plain data");
        let mut legal = Vec::new();
        self.game.legal(state, &mut legal);
        if let Some(&set) = self.keys.get(&(seat, memory, bytes.clone())) {
            let first = &self.tree.sets[set].legal;
            if *first != legal {
                return Err(ExactError::Legal { first: first.clone(), second: legal });
            }
            return Ok(set);
        }
        let probabilities =
            self.asked.entry((seat, bytes.clone())).or_insert_with(|| (self.policy)(&view, &legal)).clone();
        let sum: f64 = probabilities.iter().sum();
        let good = probabilities.len() == legal.len() && probabilities.iter().all(|&p| p >= 0.0);
        if !good || (sum - 1.0).abs() > 1e-6 {
            return Err(ExactError::Policy { probabilities, legal: legal.len() });
        }
        let set = self.tree.sets.len();
        self.tree.sets.push(InformationSet { seat, legal, probabilities, nodes: Vec::new() });
        self.keys.insert((seat, memory, bytes), set);
        Ok(set)
    }
}

impl Tree {
    /// Seat 0's payoff from `node` on, when both seats play the policy.
    fn value(&self, node: usize) -> f64 {
        match &self.nodes[node] {
            Node::Over(payoff) => *payoff,
            Node::Chance(children) => children.iter().map(|&(p, child)| p * self.value(child)).sum(),
            Node::Player(set, children) => {
                let odds = &self.sets[*set].probabilities;
                odds.iter().zip(children).map(|(p, &child)| p * self.value(child)).sum()
            }
        }
    }

    /// `seat`'s own payoff when it answers the policy by a best response.
    fn best_response(&self, seat: Seat) -> f64 {
        let mut response = Response {
            tree: self,
            seat,
            reach: self.reach(seat),
            best: vec![None; self.sets.len()],
            values: vec![None; self.nodes.len()],
        };
        response.value(0)
    }

    /// `[nodes]` the probability that chance and `seat`'s foe play towards each node.
    fn reach(&self, seat: Seat) -> Vec<f64> {
        let mut reach = vec![0.0; self.nodes.len()];
        reach[0] = 1.0;
        for (node, kind) in self.nodes.iter().enumerate() {
            match kind {
                Node::Over(_) => {}
                Node::Chance(children) => children.iter().for_each(|&(p, child)| reach[child] = p * reach[node]),
                Node::Player(set, children) => {
                    let set = &self.sets[*set];
                    for (p, &child) in set.probabilities.iter().zip(children) {
                        reach[child] = if set.seat == seat { reach[node] } else { p * reach[node] };
                    }
                }
            }
        }
        reach
    }
}

/// A best response in the making.
struct Response<'a> {
    tree: &'a Tree,
    seat: Seat,
    reach: Vec<f64>,
    /// `[sets]` the place of the best action, once known.
    best: Vec<Option<usize>>,
    /// `[nodes]` the seat's own payoff, once known.
    values: Vec<Option<f64>>,
}

impl Response<'_> {
    fn value(&mut self, node: usize) -> f64 {
        if let Some(value) = self.values[node] {
            return value;
        }
        let tree = self.tree;
        let value = match &tree.nodes[node] {
            Node::Over(payoff) => {
                if self.seat == 0 {
                    *payoff
                } else {
                    -payoff
                }
            }
            Node::Chance(children) => children.iter().map(|&(p, child)| p * self.value(child)).sum(),
            Node::Player(set, children) if tree.sets[*set].seat == self.seat => {
                let best = self.best(*set);
                self.value(children[best])
            }
            Node::Player(set, children) => {
                let odds = &tree.sets[*set].probabilities;
                odds.iter().zip(children).map(|(p, &child)| p * self.value(child)).sum()
            }
        };
        self.values[node] = Some(value);
        value
    }

    /// The action that is best over all states of an information set, each weighted by how likely it is reached.
    /// Terminates by perfect recall: below a set lie only later ones.
    fn best(&mut self, set: usize) -> usize {
        if let Some(best) = self.best[set] {
            return best;
        }
        let tree = self.tree;
        let mut values = vec![0.0; tree.sets[set].legal.len()];
        for &node in &tree.sets[set].nodes {
            let Node::Player(_, children) = &tree.nodes[node] else { unreachable!("sets hold decisions") };
            for (value, &child) in values.iter_mut().zip(children) {
                *value += self.reach[node] * self.value(child);
            }
        }
        let best = (1..values.len()).fold(0, |best, place| if values[place] > values[best] { place } else { best });
        self.best[set] = Some(best);
        best
    }
}
