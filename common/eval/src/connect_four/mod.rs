//! Connect four as a referee knows it: a solver, and a fixed set of solved positions on which players are measured.
//!
//! **Invariant:** columns and seats are OpenSpiel's; a game of that name with other rules has no referee here.

mod position;
mod solver;

use std::collections::BTreeMap;

use fogfall_game::{Action, Actions, Game, Turn};
use serde::Deserialize;

use crate::{Referee, SolvedPosition};

pub use solver::ConnectFourSolver;

/// 120 positions of random games with 12 to 32 stones, with the exact value of each move: what [`ConnectFourSolver`] finds.
const POSITIONS: &str = include_str!("positions.jsonl");

/// A line of [`POSITIONS`].
#[derive(Deserialize)]
struct Record {
    /// Columns from the empty board.
    moves: Actions,
    /// By column: 1 won, 0 drawn, -1 lost for the seat to move.
    action_values: BTreeMap<Action, i8>,
}

/// The fixed set of positions, if this is the game it was made for. A player that moves at random keeps the value in 54 % of
/// them.
pub(crate) fn referee<G: Game>(game: &G, root: &G::State) -> Option<Referee<G::View>> {
    if game.info().name != "connect_four" {
        return None;
    }
    let positions = POSITIONS.lines().map(|line| {
        let record = serde_json::from_str(line).expect("the positions are recorded so");
        position(game, root, record)
    });
    positions.collect::<Option<Vec<_>>>().map(Referee::of)
}

/// A recorded position; none if the game does not allow its moves.
fn position<G: Game>(game: &G, root: &G::State, record: Record) -> Option<SolvedPosition<G::View>> {
    let (mut state, mut legal) = (root.clone(), Actions::new());
    for &column in &record.moves {
        mover(game, &state, &mut legal)?;
        if !legal.contains(&column) {
            return None;
        }
        game.apply(&mut state, column);
    }
    let seat = mover(game, &state, &mut legal)?;
    let values = record.action_values.values().map(|&value| f32::from(value)).collect();
    let same = legal.iter().eq(record.action_values.keys());
    same.then(|| SolvedPosition { view: game.view(&state, seat), legal, values, text: game.describe(&state) })
}

/// Who moves, and the legal actions; none if nobody does.
fn mover<G: Game>(game: &G, state: &G::State, legal: &mut Actions) -> Option<u8> {
    let Turn::Player(seat) = game.turn(state) else { return None };
    game.legal(state, legal);
    Some(seat)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> impl Iterator<Item = Record> {
        POSITIONS.lines().map(|line| serde_json::from_str(line).unwrap())
    }

    fn agree(records: impl Iterator<Item = Record>) -> usize {
        let mut solver = ConnectFourSolver::new();
        let solved = records.map(|Record { moves, action_values }| {
            assert_eq!(solver.values(&moves), Some(action_values.into_iter().collect()), "{moves:?}");
        });
        solved.count()
    }

    #[test]
    fn the_solver_finds_the_recorded_values_of_late_positions() {
        assert_eq!(agree(records().filter(|record| record.moves.len() >= 20)), 62);
    }

    /// Takes some seconds.
    #[test]
    #[ignore = "solves positions with few stones: cargo test -p fogfall-eval -- --ignored"]
    fn the_solver_finds_all_recorded_values() {
        assert_eq!(agree(records()), 120);
    }
}
