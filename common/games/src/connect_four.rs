//! Connect four with OpenSpiel's numbering: action `a` drops a stone into column `a` of seven, six high; seat 0 moves
//! first.
//!
//! Perfect information, no chance. The board is two sets of cells, one bit a cell, seven bits a column from the bottom up.
//!
//! **Invariant:** the seventh bit of each column is never set, so that no line runs over the top into the next column.

use fogfall_game::{Action, Actions, Game, GameInfo, Layout, Planes, Rng, Seat, Symmetry, Turn, mix};
use serde::{Deserialize, Serialize};

use crate::bits;

/// Columns of the board.
const WIDTH: usize = 7;

/// Rows of the board.
const HEIGHT: usize = 6;

/// Cells of the board.
const CELLS: usize = WIDTH * HEIGHT;

/// The lowest cell of each column.
const BOTTOM: u64 = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28 | 1 << 35 | 1 << 42;

/// All cells.
const FULL: u64 = BOTTOM * 0b11_1111;

/// `[set][k]` the k-th column of a set of columns.
const COLUMNS: [[Action; WIDTH]; 1 << WIDTH] = {
    let mut columns = [[0; WIDTH]; 1 << WIDTH];
    let mut set = 0;
    while set < columns.len() {
        let (mut column, mut k) = (0, 0);
        while column < WIDTH {
            if set >> column & 1 == 1 {
                columns[set][k] = column as Action;
                k += 1;
            }
            column += 1;
        }
        set += 1;
    }
    columns
};

/// `[set][column]` 1 for the columns of a set.
const ROWS: [[f32; WIDTH]; 1 << WIDTH] = {
    let mut rows = [[0.0; WIDTH]; 1 << WIDTH];
    let mut set = 0;
    while set < rows.len() {
        let mut column = 0;
        while column < WIDTH {
            if set >> column & 1 == 1 {
                rows[set][column] = 1.0;
            }
            column += 1;
        }
        set += 1;
    }
    rows
};

/// The columns whose lowest cell is in `cells`, as a set of seven bits. The product brings bit `7 i` to bit `42 + i`, and
/// no two bits to the same place.
#[inline]
fn row(cells: u64) -> usize {
    const GATHER: u64 = 1 << 42 | 1 << 36 | 1 << 30 | 1 << 24 | 1 << 18 | 1 << 12 | 1 << 6;
    ((cells & BOTTOM).wrapping_mul(GATHER) >> 42 & 0x7f) as usize
}

/// True if four of the cells lie in a line.
#[inline]
fn has_four(cells: u64) -> bool {
    let line = |step: u32| {
        let pairs = cells & cells >> step;
        pairs & pairs >> (2 * step)
    };
    line(1) | line(6) | line(7) | line(8) != 0
}

/// A board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ConnectFourBoard {
    /// Stones of the seat that moves next.
    mover: u64,
    /// Stones of both seats.
    stones: u64,
    /// How many there are.
    count: u8,
    /// The last stone made four in a line.
    won: bool,
}

impl ConnectFourBoard {
    /// The lowest free cell of each column that is not full.
    #[inline]
    fn free(&self) -> u64 {
        (self.stones + BOTTOM) & FULL
    }

    /// The lowest free cell of a column; none if it is full.
    #[inline]
    fn cell(&self, column: u32) -> u64 {
        self.free() & 0x3f << (7 * column)
    }

    /// Drops the mover's stone onto a free cell.
    #[inline]
    fn drop(&mut self, cell: u64) {
        self.won = has_four(self.mover | cell);
        self.mover ^= self.stones;
        self.stones |= cell;
        self.count += 1;
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.won || usize::from(self.count) == CELLS
    }

    /// Stones of a seat.
    fn of(&self, seat: Seat) -> u64 {
        if self.count % 2 == seat { self.mover } else { self.mover ^ self.stones }
    }

    /// Seat 0's payoff, once over.
    #[inline]
    fn payoff(&self) -> f32 {
        match (self.won, self.count % 2) {
            (false, _) => 0.0,
            (true, 1) => 1.0, // the last of an odd number of stones is seat 0's
            (true, _) => -1.0,
        }
    }
}

/// The game.
#[derive(Debug)]
pub struct ConnectFour {
    info: GameInfo,
}

impl ConnectFour {
    /// The name it is registered under.
    pub const NAME: &'static str = "connect_four";

    /// The game.
    pub fn new() -> Self {
        let mirror = |number: usize| number / WIDTH * WIDTH + (WIDTH - 1 - number % WIDTH);
        let info = GameInfo {
            name: Self::NAME.to_owned(),
            rules: None,
            observation: Layout::new([("mine", CELLS), ("theirs", CELLS)]),
            planes: Some(Planes { channels: 2, height: HEIGHT, width: WIDTH }),
            actions: (0..WIDTH).map(|column| format!("column {column}")).collect(),
            hidden: Layout::default(),
            max_decisions: CELLS,
            value_scale: 1.0,
            value_bound: 1.0,
            perfect_information: true,
            mixed_play: false,
            has_chance: false,
            symmetries: vec![Symmetry {
                observation: (0..2 * CELLS).map(|number| mirror(number) as u32).collect(),
                actions: (0..WIDTH).map(|column| mirror(column) as Action).collect(),
            }],
        };
        Self { info }
    }
}

impl Default for ConnectFour {
    fn default() -> Self {
        Self::new()
    }
}

impl Game for ConnectFour {
    type State = ConnectFourBoard;
    type View = ConnectFourBoard;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn start(&self, _setup: &mut Rng) -> ConnectFourBoard {
        ConnectFourBoard::default()
    }

    #[inline]
    fn turn(&self, board: &ConnectFourBoard) -> Turn {
        if board.is_over() { Turn::Over } else { Turn::Player(board.count % 2) }
    }

    #[inline]
    fn legal(&self, board: &ConnectFourBoard, out: &mut Actions) {
        let open = row(!board.stones >> (HEIGHT - 1));
        out.clear();
        out.extend_from_slice(&COLUMNS[open][..open.count_ones() as usize]);
    }

    fn chance(&self, _board: &ConnectFourBoard, out: &mut Vec<(Action, f32)>) {
        out.clear();
    }

    fn sample(&self, _board: &ConnectFourBoard, _rng: &mut Rng) -> Action {
        unreachable!("connect four has no chance")
    }

    #[inline]
    fn apply(&self, board: &mut ConnectFourBoard, action: Action) {
        let cell = board.cell(action.into());
        debug_assert!(cell != 0, "column {action} is full");
        board.drop(cell);
    }

    #[inline]
    fn advance(&self, board: &mut ConnectFourBoard, action: Action, _rng: &mut Rng) {
        self.apply(board, action);
    }

    #[inline]
    fn play_out(&self, board: &mut ConnectFourBoard, _scratch: &mut Actions, rng: &mut Rng) -> f32 {
        while !board.is_over() {
            let mut cell = 0;
            while cell == 0 {
                cell = board.cell(bits::below(WIDTH as u32, rng));
            }
            board.drop(cell);
        }
        board.payoff()
    }

    fn payoff(&self, board: &ConnectFourBoard) -> f32 {
        board.payoff()
    }

    fn view(&self, board: &ConnectFourBoard, _seat: Seat) -> ConnectFourBoard {
        *board
    }

    /// The position, the same for both seats: transpositions share a node.
    #[inline]
    fn tree_key(&self, board: &ConnectFourBoard, _seat: Seat) -> u64 {
        mix(board.mover, board.stones)
    }

    /// Rows from the bottom up.
    fn observe(&self, board: &ConnectFourBoard, seat: Seat, out: &mut [f32]) {
        let planes = [board.of(seat), board.of(1 - seat)];
        let rows = planes.into_iter().flat_map(|stones| (0..HEIGHT).map(move |height| row(stones >> height)));
        for (out, row) in out.chunks_exact_mut(WIDTH).zip(rows) {
            out.copy_from_slice(&ROWS[row]);
        }
    }

    fn hidden(&self, _board: &ConnectFourBoard, _seat: Seat, _out: &mut [f32]) {}

    fn determinize(&self, view: &ConnectFourBoard, _rng: &mut Rng) -> ConnectFourBoard {
        *view
    }

    fn describe(&self, board: &ConnectFourBoard) -> String {
        let [first, second] = [0, 1].map(|seat| board.of(seat));
        let cell = |place: usize| match (first >> place & 1, second >> place & 1) {
            (1, _) => 'x',
            (_, 1) => 'o',
            _ => '.',
        };
        let row = |row: usize| (0..WIDTH).map(|column| cell(7 * column + row)).collect::<String>();
        (0..HEIGHT).rev().map(row).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use fogfall_game::stream;
    use rand::RngExt;

    use super::*;

    fn after(columns: &[Action]) -> ConnectFourBoard {
        let game = ConnectFour::new();
        let mut board = game.start(&mut stream(0, &[]));
        for &column in columns {
            assert_eq!(game.turn(&board), Turn::Player(board.count % 2), "{columns:?}");
            game.apply(&mut board, column);
        }
        board
    }

    #[test]
    fn four_in_any_direction_win_and_three_do_not() {
        let game = ConnectFour::new();
        for (columns, payoff) in [
            (vec![3, 2, 3, 2, 3, 2, 3], 1.0),             // upwards
            (vec![0, 0, 1, 1, 2, 2, 3], 1.0),             // along the bottom
            (vec![0, 0, 1, 1, 2, 2, 4, 3], 0.0),          // three, a gap blocked
            (vec![0, 1, 1, 2, 4, 2, 2, 3, 3, 3, 3], 1.0), // rising: heights 1, 2, 3, 4 of columns 0 to 3
            (vec![6, 5, 5, 4, 2, 4, 4, 3, 3, 3, 3], 1.0), // falling: its mirror image
            (vec![0, 6, 0, 6, 0, 6, 1, 6], -1.0),         // seat 1, upwards
        ] {
            let board = after(&columns);
            assert_eq!(game.turn(&board) == Turn::Over, payoff != 0.0, "{}", game.describe(&board));
            assert_eq!(game.payoff(&board), payoff, "{}", game.describe(&board));
        }
    }

    #[test]
    fn lines_do_not_run_over_the_top_or_the_side() {
        // o tops column 0 with three, and lies at the bottom of column 1.
        let board = after(&[0, 1, 0, 4, 0, 0, 2, 0, 2, 0]);
        assert!(!board.won, "{board:?}");
        // x lies low in columns 4, 5 and 6, and second in column 0.
        let board = after(&[4, 0, 5, 3, 0, 1, 6]);
        assert!(!board.won, "{board:?}");
    }

    #[test]
    fn a_full_column_is_not_legal() {
        let game = ConnectFour::new();
        let mut legal = vec![9; 9];
        game.legal(&after(&[2, 2, 2, 2, 2, 2, 6]), &mut legal);
        assert_eq!(legal, [0, 1, 3, 4, 5, 6]);
    }

    #[test]
    fn each_seat_sees_its_own_stones_first_from_the_bottom_up() {
        let game = ConnectFour::new();
        let board = after(&[3, 3, 6]);
        let mut seen = [f32::NAN; 84];
        for (seat, stones) in [(0, [3, 6, 42 + 7 + 3]), (1, [7 + 3, 42 + 3, 42 + 6])] {
            game.observe(&board, seat, &mut seen);
            let set: Vec<usize> = (0..84).filter(|&number| seen[number] == 1.0).collect();
            assert_eq!(set, stones);
        }
        assert_eq!(game.describe(&board).lines().last(), Some("...x..x"));
    }

    /// A line of four, looked for cell by cell.
    fn has_four_slowly(stones: u64) -> bool {
        let at = |column: i32, row: i32| {
            (0..7).contains(&column) && (0..6).contains(&row) && stones >> (7 * column + row) & 1 == 1
        };
        let steps = [(1, 0), (0, 1), (1, 1), (1, -1)];
        (0..7)
            .any(|column| (0..6).any(|row| steps.iter().any(|&(x, y)| (0..4).all(|k| at(column + k * x, row + k * y)))))
    }

    #[test]
    fn lines_of_random_boards_are_those_found_cell_by_cell() {
        let rng = &mut stream(1, &[]);
        let mut lines = 0;
        for _ in 0..20_000 {
            let stones = rng.random::<u64>() & rng.random::<u64>() & FULL;
            assert_eq!(has_four(stones), has_four_slowly(stones), "{stones:#x}");
            lines += usize::from(has_four(stones));
        }
        assert!((1_000..19_000).contains(&lines), "{lines}");
    }
}
