//! [`Cfr`]: the CFR+ solver (Tammelin 2014), the referee of games with hidden information: its average policy goes to an
//! equilibrium.
//!
//! As OpenSpiel's `CFRPlusSolver`: the seats are updated in turn, regrets never fall below 0, and the policies are
//! averaged with linearly growing weights.

use fogfall_game::Seat;

use crate::game_tree::{GameTree, Profile};

/// CFR+ under way.
#[derive(Debug)]
pub struct Cfr<'a, V> {
    tree: &'a GameTree<V>,
    iterations: u32,
    /// The policy of this iteration, by regret matching.
    current: Profile,
    /// `[seat][sequence]` regrets, none below 0.
    regrets: [Vec<f64>; 2],
    /// `[seat][sequence]` reach of all policies so far, each with the number of its iteration as weight.
    sums: [Vec<f64>; 2],
    worth: Vec<f64>,
}

impl<'a, V: Clone> Cfr<'a, V> {
    /// A solver that has done nothing yet.
    pub fn new(tree: &'a GameTree<V>) -> Self {
        let zeros = || tree.sequences.map(|count| vec![0.0; count]);
        Self { tree, iterations: 0, current: tree.uniform(), regrets: zeros(), sums: zeros(), worth: Vec::new() }
    }

    /// Iterations done.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// Updates both seats.
    pub fn iterate(&mut self) {
        self.iterations += 1;
        for seat in [0, 1] {
            self.update(seat);
        }
    }

    /// The average policy, which goes to an equilibrium.
    pub fn average(&self) -> Profile {
        self.tree.profile_of(&self.sums)
    }

    fn update(&mut self, seat: Seat) {
        let own = usize::from(seat);
        let weight = f64::from(self.iterations);
        let reach = self.tree.reach(&self.current, seat);
        self.sums[own].iter_mut().zip(reach).for_each(|(sum, reach)| *sum += weight * reach);
        self.tree.gains(seat, &self.tree.reach(&self.current, 1 - seat), &mut self.worth);
        let (odds, regrets, worth) = (&mut self.current.odds[own], &mut self.regrets[own], &mut self.worth);
        for set in self.tree.sets.iter().rev().filter(|set| set.seat == seat) {
            let places = set.sequences();
            let (odds, regrets) = (&mut odds[places.clone()], &mut regrets[places.clone()]);
            let value: f64 = odds.iter().zip(&worth[places.clone()]).map(|(odds, worth)| odds * worth).sum();
            for (regret, worth) in regrets.iter_mut().zip(&worth[places]) {
                *regret = (*regret + worth - value).max(0.0);
            }
            match_regrets(regrets, odds);
            worth[set.parent as usize] += value;
        }
    }
}

/// Odds in proportion to the regrets; uniform if there are none.
fn match_regrets(regrets: &[f64], odds: &mut [f64]) {
    let total: f64 = regrets.iter().sum();
    let uniform = 1.0 / odds.len() as f64;
    for (odds, regret) in odds.iter_mut().zip(regrets) {
        *odds = if total > 0.0 { regret / total } else { uniform };
    }
}
