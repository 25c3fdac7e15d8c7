//! Tic-tac-toe with OpenSpiel's numbering: action `a` marks row `a / 3`, column `a % 3`; seat 0 moves first.
//!
//! Perfect information, no chance. A view is the whole board, so a world is the true game.

use fogfall_game::{Action, Actions, Game, GameInfo, Layout, Rng, Seat, Turn, mix};
use serde::{Deserialize, Serialize};

use crate::square;

/// Cells of the board.
const CELLS: usize = 9;

/// All cells marked.
const FULL: u16 = (1 << CELLS) - 1;

/// Rows, columns and diagonals as sets of cells, one bit a cell.
const LINES: [u16; 8] = [
    0b000_000_111,
    0b000_111_000,
    0b111_000_000,
    0b001_001_001,
    0b010_010_010,
    0b100_100_100,
    0b100_010_001,
    0b001_010_100,
];

/// The board: the cells that each seat has marked, one bit a cell. Never overlapping; seat 0 has as many as seat 1 or
/// one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Board {
    marks: [u16; 2],
}

impl Board {
    /// The seat that has three in a row.
    pub fn winner(&self) -> Option<Seat> {
        [0, 1].into_iter().find(|&seat| {
            let marks = self.marks[usize::from(seat)];
            LINES.iter().any(|line| marks & line == *line)
        })
    }

    fn marked(&self) -> u16 {
        self.marks[0] | self.marks[1]
    }

    /// The seat that marks next, were the game not over.
    fn mover(&self) -> Seat {
        (self.marked().count_ones() % 2) as Seat
    }
}

/// The game.
#[derive(Debug)]
pub struct TicTacToe {
    info: GameInfo,
}

impl TicTacToe {
    /// The name it is registered under.
    pub const NAME: &'static str = "tic_tac_toe";

    /// The game.
    pub fn new() -> Self {
        let info = GameInfo {
            name: Self::NAME.to_owned(),
            rules: None,
            observation: Layout::new([("mine", CELLS), ("theirs", CELLS)]),
            planes: None,
            actions: (0..CELLS).map(|cell| format!("r{}c{}", cell / 3, cell % 3)).collect(),
            hidden: Layout::default(),
            max_decisions: CELLS,
            value_scale: 1.0,
            value_bound: 1.0,
            perfect_information: true,
            mixed_play: false,
            has_chance: false,
            symmetries: square::ALL.skip(1).map(|symmetry| square::symmetry(symmetry, 3, 2, CELLS)).collect(),
        };
        Self { info }
    }
}

impl Default for TicTacToe {
    fn default() -> Self {
        Self::new()
    }
}

impl Game for TicTacToe {
    type State = Board;
    type View = Board;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn start(&self, _setup: &mut Rng) -> Board {
        Board::default()
    }

    fn turn(&self, board: &Board) -> Turn {
        if board.marked() == FULL || board.winner().is_some() { Turn::Over } else { Turn::Player(board.mover()) }
    }

    fn legal(&self, board: &Board, out: &mut Actions) {
        out.clear();
        out.extend((0..CELLS as Action).filter(|cell| board.marked() & (1 << cell) == 0));
    }

    fn chance(&self, _board: &Board, out: &mut Vec<(Action, f32)>) {
        out.clear();
    }

    fn sample(&self, _board: &Board, _rng: &mut Rng) -> Action {
        unreachable!("tic-tac-toe has no chance")
    }

    fn apply(&self, board: &mut Board, action: Action) {
        debug_assert!(board.marked() & (1 << action) == 0, "cell {action} is marked");
        board.marks[usize::from(board.mover())] |= 1 << action;
    }

    fn payoff(&self, board: &Board) -> f32 {
        match board.winner() {
            Some(0) => 1.0,
            Some(_) => -1.0,
            None => 0.0,
        }
    }

    fn view(&self, board: &Board, _seat: Seat) -> Board {
        *board
    }

    /// The position, the same for both seats: transpositions share a node.
    fn tree_key(&self, board: &Board, _seat: Seat) -> u64 {
        mix(u64::from(board.marks[0]), u64::from(board.marks[1]))
    }

    fn observe(&self, board: &Board, seat: Seat, out: &mut [f32]) {
        let own = usize::from(seat);
        for (plane, marks) in out.chunks_exact_mut(CELLS).zip([board.marks[own], board.marks[1 - own]]) {
            for (cell, number) in plane.iter_mut().enumerate() {
                *number = f32::from(marks >> cell & 1);
            }
        }
    }

    fn hidden(&self, _board: &Board, _seat: Seat, _out: &mut [f32]) {}

    fn determinize(&self, view: &Board, _rng: &mut Rng) -> Board {
        *view
    }

    fn describe(&self, board: &Board) -> String {
        let cell = |cell: usize| match (board.marks[0] >> cell & 1, board.marks[1] >> cell & 1) {
            (1, _) => 'x',
            (_, 1) => 'o',
            _ => '.',
        };
        let row = |row: usize| (0..3).map(|column| cell(3 * row + column)).collect::<String>();
        [row(0), row(1), row(2)].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use fogfall_game::stream;

    use super::*;

    fn after(actions: &[Action]) -> Board {
        let game = TicTacToe::new();
        let mut board = game.start(&mut stream(0, &[]));
        for &action in actions {
            game.apply(&mut board, action);
        }
        board
    }

    #[test]
    fn three_in_a_column_win_and_end_the_game() {
        let game = TicTacToe::new();
        let board = after(&[0, 1, 3, 2, 6]); // x: 0, 3, 6 is the left column
        assert_eq!(game.turn(&board), Turn::Over);
        assert_eq!(game.payoff(&board), 1.0);
        assert_eq!(game.describe(&board), "xoo\nx..\nx..");
    }

    #[test]
    fn a_full_board_without_three_in_a_row_is_a_draw() {
        let game = TicTacToe::new();
        let board = after(&[0, 1, 2, 4, 3, 5, 7, 6, 8]); // xox / xoo / oxx
        assert_eq!(game.turn(&board), Turn::Over);
        assert_eq!(game.payoff(&board), 0.0);
    }

    #[test]
    fn each_seat_sees_its_own_marks_first() {
        let game = TicTacToe::new();
        let board = after(&[4, 0]);
        let mut seen = [f32::NAN; 18];
        game.observe(&board, 1, &mut seen);
        assert_eq!(seen[0], 1.0); // mine: the corner
        assert_eq!(seen[9 + 4], 1.0); // theirs: the centre
        assert_eq!(seen.iter().sum::<f32>(), 2.0);
    }

    #[test]
    fn the_seven_symmetries_differ_and_map_a_played_board_to_the_board_of_the_mapped_moves() {
        let game = TicTacToe::new();
        let moves = [0, 4, 5, 1]; // no symmetry keeps this board
        let mut seen = [0.0; 18];
        game.observe(&after(&moves), 0, &mut seen);
        let mut images = Vec::new();
        for symmetry in &game.info().symmetries {
            let mut expected = [0.0; 18];
            game.observe(&after(&moves.map(|a| symmetry.actions[usize::from(a)])), 0, &mut expected);
            let image: Vec<f32> = symmetry.observation.iter().map(|&source| seen[source as usize]).collect();
            assert_eq!(image, expected);
            images.push(image);
        }
        images.push(seen.to_vec());
        images.sort_by(|a, b| a.partial_cmp(b).unwrap());
        images.dedup();
        assert_eq!(images.len(), 8);
    }
}
