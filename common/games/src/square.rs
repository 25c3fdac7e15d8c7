//! Symmetries of games on a square board.

use fogfall_game::{Action, Symmetry};

/// The eight symmetries of the square: the identity, three turns, and the mirror images of the four.
pub(crate) const ALL: std::ops::Range<usize> = 0..8;

/// Where a symmetry brings a cell of a board with `side` cells a side; cells count row by row.
pub(crate) fn image(symmetry: usize, cell: usize, side: usize) -> usize {
    let (mut row, mut column) = (cell / side, cell % side);
    for _ in 0..symmetry % 4 {
        (row, column) = (column, side - 1 - row);
    }
    if symmetry >= 4 {
        column = side - 1 - column;
    }
    side * row + column
}

/// A symmetry of a game whose observation is `planes` boards with `side` cells a side, one after the other, and whose
/// first actions are the cells; the other actions are their own images.
pub(crate) fn symmetry(symmetry: usize, side: usize, planes: usize, actions: usize) -> Symmetry {
    let cells = side * side;
    let mut observation = vec![0; planes * cells];
    for number in 0..planes * cells {
        let (plane, cell) = (number / cells * cells, number % cells);
        observation[plane + image(symmetry, cell, side)] = number as u32;
    }
    let moved = (0..cells).map(|cell| image(symmetry, cell, side));
    Symmetry { observation, actions: moved.chain(cells..actions).map(|action| action as Action).collect() }
}
