//! Exact numbers for small games: the value of a policy, best responses to it and its NashConv. Nothing is sampled.

use fogfall_game::{Action, Game, Seat};

use crate::game_tree::{ExactError, GameTree, Profile};

/// A policy: the probabilities of the legal actions, in their order, for what the mover sees.
pub type Policy<'a, V> = dyn FnMut(&V, &[Action]) -> Vec<f64> + 'a;

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

/// NashConv of a policy that both seats play from `root` on. The policy is asked once for each view. Who asks for
/// several policies lays out a [`GameTree`] once.
///
/// # Errors
/// [`ExactError`] if the tree is too large, or the policy's answers are no distributions.
pub fn nash_conv<G: Game>(
    game: &G,
    root: &G::State,
    policy: &mut Policy<'_, G::View>,
    max_nodes: usize,
) -> Result<Exploitability, ExactError> {
    let tree = GameTree::lay_out(game, root, max_nodes)?;
    Ok(tree.exploitability(&tree.profile(policy)?))
}

impl<V: Clone> GameTree<V> {
    /// NashConv of a profile, and what comes with it.
    pub fn exploitability(&self, profile: &Profile) -> Exploitability {
        let value = self.value(profile);
        let best_response = [0, 1].map(|seat| self.best_response(profile, seat));
        Exploitability {
            nash_conv: best_response[0] + best_response[1], // the two values of the profile itself cancel
            value,
            best_response,
            information_sets: self.information_sets(),
        }
    }

    /// Seat 0's payoff when each seat plays its part of the profile.
    pub fn value(&self, profile: &Profile) -> f64 {
        let [first, second] = [0, 1].map(|seat| self.reach(profile, seat));
        let odds = |sequences: [u32; 2]| first[sequences[0] as usize] * second[sequences[1] as usize];
        self.leaves.iter().map(|leaf| leaf.payoff * odds(leaf.sequences)).sum()
    }

    /// `seat`'s own payoff when it plays one profile and its foe another.
    pub fn value_against(&self, own: &Profile, foe: &Profile, seat: Seat) -> f64 {
        let [first, second] = if seat == 0 { [own, foe] } else { [foe, own] };
        let both = Profile { odds: [first.odds[0].clone(), second.odds[1].clone()] };
        if seat == 0 { self.value(&both) } else { -self.value(&both) }
    }

    /// `seat`'s own payoff when it answers the profile by a best response: from the last information sets to the first,
    /// each is worth its best sequence, and that is worth what follows after it.
    fn best_response(&self, profile: &Profile, seat: Seat) -> f64 {
        let mut worth = Vec::new();
        self.gains(seat, &self.reach(profile, 1 - seat), &mut worth);
        for set in self.sets.iter().rev().filter(|set| set.seat == seat) {
            let best = worth[set.sequences()].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            worth[set.parent as usize] += best;
        }
        worth[0]
    }
}
