//! `actor solve`: solves a small game by CFR+ and shows how far the average policy is from equilibrium on the way.

use std::sync::Arc;

use anyhow::{Context, ensure};
use fogfall_eval::{Cfr, GameTree};
use fogfall_game::{Game, GameVisitor, stream};
use serde::Serialize;

/// Laying out more positions than this takes minutes and many gigabytes.
const MAX_NODES: usize = 20_000_000;

/// What is to be solved.
pub struct Solve {
    /// Iterations of CFR+.
    pub iterations: u32,
}

/// A solved game.
#[derive(Serialize)]
pub struct Solution {
    /// The game.
    pub game: String,
    /// Positions and chance nodes.
    pub nodes: usize,
    /// Information sets of both seats.
    pub information_sets: usize,
    /// From the uniform policy, which is no iterations, to the last.
    pub curve: Vec<Solved>,
}

/// The average policy after some iterations.
#[derive(Clone, Copy, Serialize)]
pub struct Solved {
    /// Iterations of CFR+.
    pub iterations: u32,
    /// Sum of what both seats gain by a best response, in the game's own units.
    pub nash_conv: f64,
    /// Seat 0's payoff.
    pub value: f64,
}

impl std::fmt::Display for Solution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { game, nodes, information_sets, curve } = self;
        writeln!(f, "{game}: {nodes} nodes, {information_sets} information sets")?;
        write!(f, "{:>10}  {:>12}  {:>12}", "iterations", "NashConv", "seat 0 gets")?;
        for Solved { iterations, nash_conv, value } in curve {
            write!(f, "\n{iterations:>10}  {nash_conv:>12.6}  {value:>12.6}")?;
        }
        Ok(())
    }
}

impl GameVisitor for Solve {
    type Out = anyhow::Result<Solution>;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        let name = &game.info().name;
        let start = |seed| game.start(&mut stream(seed, &[]));
        let same = game.describe(&start(0)) == game.describe(&start(1));
        ensure!(same, "{name} draws its start at random, so it is no single tree");
        let tree = GameTree::lay_out(&*game, &start(0), MAX_NODES).with_context(|| format!("cannot solve {name}"))?;
        let mut solver = Cfr::new(&tree);
        let mut curve = Vec::new();
        for until in milestones(self.iterations) {
            while solver.iterations() < until {
                solver.iterate();
            }
            let found = tree.exploitability(&solver.average());
            curve.push(Solved { iterations: until, nash_conv: found.nash_conv, value: found.value });
        }
        Ok(Solution { game: name.clone(), nodes: tree.nodes(), information_sets: tree.information_sets(), curve })
    }
}

/// Where to look: 0, 1, 10, 100 and so on, and the last iteration.
fn milestones(last: u32) -> impl Iterator<Item = u32> {
    let powers = std::iter::successors(Some(1_u32), |power| power.checked_mul(10));
    std::iter::once(0).chain(powers.take_while(move |&power| power < last)).chain((last > 0).then_some(last))
}

#[cfg(test)]
mod tests {
    use fogfall_games::{Battle, KuhnPoker};

    use super::*;

    #[test]
    fn kuhn_poker_is_solved_from_the_uniform_policy_to_its_value() {
        let solution = Solve { iterations: 200 }.visit(Arc::new(KuhnPoker::new())).unwrap();
        let at: Vec<u32> = solution.curve.iter().map(|solved| solved.iterations).collect();
        assert_eq!((at, solution.information_sets), (vec![0, 1, 10, 100, 200], 12));
        assert!((solution.curve[0].nash_conv - 0.916_667).abs() < 1e-6);
        assert!((solution.curve[4].value + 1.0 / 18.0).abs() < 1e-3);
        let text = solution.to_string();
        assert!(text.starts_with("kuhn_poker: 58 nodes, 12 information sets\niterations"), "{text}");
        assert!(text.contains("\n         0      0.916667      0.125000\n"), "{text}");
    }

    #[test]
    fn a_game_with_a_drawn_start_is_refused() {
        let refused = Solve { iterations: 1 }.visit(Arc::new(Battle::new(None).unwrap())).err().unwrap().to_string();
        assert_eq!(refused, "battle draws its start at random, so it is no single tree");
    }
}
