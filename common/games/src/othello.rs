//! Othello with OpenSpiel's numbering: action `a` sets a disc in row `a / 8`, column `a % 8`, action 64 passes, which is
//! legal only where nothing else is; seat 0 is black and moves first.
//!
//! Perfect information, no chance. The board is two sets of cells, one bit a cell, row by row.
//!
//! **Invariant:** a position knows its mover's moves, so that they are found once: they also tell a pass and the end.

use fogfall_game::{Action, Actions, Game, GameInfo, Layout, Planes, Rng, Seat, Turn, mix};
use serde::{Deserialize, Serialize};

use crate::{bits, square};

/// Cells a side of the board.
const SIDE: usize = 8;

/// Cells of the board.
const CELLS: usize = SIDE * SIDE;

/// The action of a seat that cannot set a disc.
const PASS: Action = CELLS as Action;

/// All columns but the first and the last: where a line that leads along a row or a diagonal goes on.
const INNER: u64 = 0x7e7e_7e7e_7e7e_7e7e;

/// Black's discs at the start: e4 and d5.
const BLACK: u64 = 1 << 28 | 1 << 35;

/// White's: d4 and e5.
const WHITE: u64 = 1 << 27 | 1 << 36;

/// Symmetries that keep the discs of the start in place: the half turn and the two diagonals. The others swap the colours.
const SYMMETRIES: [usize; 3] = [2, 5, 7];

/// The four axes: the step from cell to cell, and where a line of discs may run on.
#[inline]
fn axes(foe: u64) -> [(u32, u64); 4] {
    let inner = foe & INNER;
    [(1, inner), (7, inner), (8, foe), (9, inner)]
}

/// The discs of `along` that follow on `from` in one line without a gap, upwards and downwards on an axis; at most six.
/// Lines grow by one, one and twice two discs.
#[inline]
fn runs(from: u64, step: u32, along: u64) -> [u64; 2] {
    let mut up = along & from << step;
    let mut down = along & from >> step;
    up |= along & up << step;
    down |= along & down >> step;
    let pairs_up = along & along << step;
    let pairs_down = pairs_up >> step;
    for _ in 0..2 {
        up |= pairs_up & up << (2 * step);
        down |= pairs_down & down >> (2 * step);
    }
    [up, down]
}

/// Free cells from which a line of the foe's discs leads to one of the own.
#[inline]
fn moves(own: u64, foe: u64) -> u64 {
    let ends = axes(foe).into_iter().fold(0, |ends, (step, along)| {
        let [up, down] = runs(own, step, along);
        ends | up << step | down >> step
    });
    ends & !(own | foe)
}

/// The foe's discs that a disc on `cell` turns.
#[inline]
fn flips(cell: u64, own: u64, foe: u64) -> u64 {
    axes(foe).into_iter().fold(0, |flips, (step, along)| {
        let [up, down] = runs(cell, step, along);
        let held = |run: u64, end: u64| if own & end != 0 { run } else { 0 };
        flips | held(up, up << step) | held(down, down >> step)
    })
}

/// A position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OthelloBoard {
    /// Discs of the seat to move.
    own: u64,
    /// Discs of the other seat.
    foe: u64,
    /// Cells on which the seat to move may set a disc.
    moves: u64,
    /// The seat to move.
    mover: Seat,
    /// No seat can set a disc.
    over: bool,
}

impl OthelloBoard {
    fn start() -> Self {
        Self { own: BLACK, foe: WHITE, moves: moves(BLACK, WHITE), mover: 0, over: false }
    }

    /// Sets the mover's disc on a cell that is one of its moves.
    #[inline]
    fn set(&mut self, cell: u64) {
        let flips = flips(cell, self.own, self.foe);
        (self.own, self.foe) = (self.foe ^ flips, self.own | flips | cell);
        self.hand_over();
    }

    /// Leaves the move to the other seat.
    #[inline]
    fn pass(&mut self) {
        (self.own, self.foe) = (self.foe, self.own);
        self.hand_over();
    }

    /// Gives the move to the other seat, whose discs are `own` already.
    #[inline]
    fn hand_over(&mut self) {
        self.mover ^= 1;
        self.moves = moves(self.own, self.foe);
        self.over = self.moves == 0 && moves(self.foe, self.own) == 0;
    }

    /// Discs of a seat.
    fn of(&self, seat: Seat) -> u64 {
        if self.mover == seat { self.own } else { self.foe }
    }

    /// Seat 0's payoff, once over: more discs win.
    #[inline]
    fn payoff(&self) -> f32 {
        let more = self.own.count_ones() as i32 - self.foe.count_ones() as i32;
        (if self.mover == 0 { more.signum() } else { -more.signum() }) as f32
    }
}

/// The game.
#[derive(Debug)]
pub struct Othello {
    info: GameInfo,
}

impl Othello {
    /// The name it is registered under.
    pub const NAME: &'static str = "othello";

    /// The game.
    pub fn new() -> Self {
        let name = |cell: usize| format!("{}{}", char::from(b'a' + (cell % SIDE) as u8), 1 + cell / SIDE);
        let actions = 1 + CELLS;
        let info = GameInfo {
            name: Self::NAME.to_owned(),
            rules: None,
            observation: Layout::new([("mine", CELLS), ("theirs", CELLS)]),
            planes: Some(Planes { channels: 2, height: SIDE, width: SIDE }),
            actions: (0..CELLS).map(name).chain(["pass".to_owned()]).collect(),
            hidden: Layout::default(),
            max_decisions: 2 * (CELLS - 4), // each disc after at most one pass
            value_scale: 1.0,
            value_bound: 1.0,
            perfect_information: true,
            mixed_play: false,
            has_chance: false,
            symmetries: SYMMETRIES.map(|symmetry| square::symmetry(symmetry, SIDE, 2, actions)).to_vec(),
        };
        Self { info }
    }
}

impl Default for Othello {
    fn default() -> Self {
        Self::new()
    }
}

impl Game for Othello {
    type State = OthelloBoard;
    type View = OthelloBoard;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn start(&self, _setup: &mut Rng) -> OthelloBoard {
        OthelloBoard::start()
    }

    #[inline]
    fn turn(&self, board: &OthelloBoard) -> Turn {
        if board.over { Turn::Over } else { Turn::Player(board.mover) }
    }

    #[inline]
    fn legal(&self, board: &OthelloBoard, out: &mut Actions) {
        out.clear();
        if board.moves == 0 {
            out.push(PASS);
        }
        let mut moves = board.moves;
        while moves != 0 {
            out.push(moves.trailing_zeros() as Action);
            moves &= moves - 1;
        }
    }

    fn chance(&self, _board: &OthelloBoard, out: &mut Vec<(Action, f32)>) {
        out.clear();
    }

    fn sample(&self, _board: &OthelloBoard, _rng: &mut Rng) -> Action {
        unreachable!("othello has no chance")
    }

    #[inline]
    fn apply(&self, board: &mut OthelloBoard, action: Action) {
        if action == PASS {
            debug_assert!(board.moves == 0, "a pass where a disc can be set");
            board.pass();
        } else {
            debug_assert!(board.moves >> action & 1 == 1, "a disc on cell {action} turns nothing");
            board.set(1 << action);
        }
    }

    #[inline]
    fn advance(&self, board: &mut OthelloBoard, action: Action, _rng: &mut Rng) {
        self.apply(board, action);
    }

    #[inline]
    fn play_out(&self, board: &mut OthelloBoard, _scratch: &mut Actions, rng: &mut Rng) -> f32 {
        while !board.over {
            if board.moves == 0 {
                board.pass();
            } else {
                board.set(1 << bits::draw(board.moves, rng));
            }
        }
        board.payoff()
    }

    fn payoff(&self, board: &OthelloBoard) -> f32 {
        board.payoff()
    }

    fn view(&self, board: &OthelloBoard, _seat: Seat) -> OthelloBoard {
        *board
    }

    /// The position, the same for both seats: transpositions share a node.
    #[inline]
    fn tree_key(&self, board: &OthelloBoard, _seat: Seat) -> u64 {
        mix(mix(board.mover.into(), board.own), board.foe)
    }

    fn observe(&self, board: &OthelloBoard, seat: Seat, out: &mut [f32]) {
        for (plane, discs) in out.chunks_exact_mut(CELLS).zip([board.of(seat), board.of(1 - seat)]) {
            for (row, discs) in plane.chunks_exact_mut(SIDE).zip(discs.to_le_bytes()) {
                for (column, number) in row.iter_mut().enumerate() {
                    *number = f32::from(discs >> column & 1);
                }
            }
        }
    }

    fn hidden(&self, _board: &OthelloBoard, _seat: Seat, _out: &mut [f32]) {}

    fn determinize(&self, view: &OthelloBoard, _rng: &mut Rng) -> OthelloBoard {
        *view
    }

    fn describe(&self, board: &OthelloBoard) -> String {
        let [black, white] = [0, 1].map(|seat| board.of(seat));
        let cell = |cell: usize| match (black >> cell & 1, white >> cell & 1) {
            (1, _) => 'x',
            (_, 1) => 'o',
            _ => '.',
        };
        let row = |row: usize| (0..SIDE).map(|column| cell(SIDE * row + column)).collect::<String>();
        (0..SIDE).map(row).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use fogfall_game::stream;
    use rand::RngExt;

    use super::*;

    /// A position from eight rows of text, black to move.
    fn board(rows: [&str; 8]) -> OthelloBoard {
        let of = |disc: char| {
            let cells = rows.iter().flat_map(|row| row.chars()).enumerate();
            cells.filter(|&(_, cell)| cell == disc).fold(0, |discs, (cell, _)| discs | 1 << cell)
        };
        let mut board = OthelloBoard { own: of('o'), foe: of('x'), moves: 0, mover: 1, over: false };
        board.pass();
        board
    }

    fn legal(board: &OthelloBoard) -> Actions {
        let mut legal = vec![77; 3];
        Othello::new().legal(board, &mut legal);
        legal
    }

    #[test]
    fn black_opens_with_one_of_four_moves_and_turns_one_disc() {
        let game = Othello::new();
        let mut board = game.start(&mut stream(0, &[]));
        assert_eq!(legal(&board), [19, 26, 37, 44]); // d3, c4, f5, e6
        game.apply(&mut board, 19);
        assert_eq!(game.turn(&board), Turn::Player(1));
        let rows = ["........", "........", "...x....", "...xx...", "...xo...", "........", "........", "........"];
        assert_eq!(game.describe(&board), rows.join("\n"));
        assert_eq!(game.info().actions[19], "d3");
    }

    #[test]
    fn a_disc_turns_the_lines_in_all_eight_directions_up_to_the_next_of_its_own() {
        let rows = ["x..x..x.", ".o.o.o..", "..ooo...", "xoo.oooo", "..ooo...", ".o.o.o..", "x..o..x.", "...x...."];
        let mut board = board(rows);
        Othello::new().apply(&mut board, 27);
        // To the right no disc of its own ends the line.
        let rows = ["x..x..x.", ".x.x.x..", "..xxx...", "xxxxoooo", "..xxx...", ".x.x.x..", "x..x..x.", "...x...."];
        assert_eq!(Othello::new().describe(&board), rows.join("\n"));
    }

    #[test]
    fn lines_do_not_run_on_from_one_row_to_the_next() {
        let board =
            board(["......xo", "o.......", "x.......", "........", "........", "........", "........", "........"]);
        assert_eq!(legal(&board), [0]); // upwards from the third row; not along the first row into the second
    }

    #[test]
    fn a_seat_without_a_move_passes_and_the_game_ends_where_both_have_none() {
        let game = Othello::new();
        let rows = ["ox......", "........", "........", "........", "........", "........", "........", "........"];
        let mut board = board(rows);
        assert_eq!((game.turn(&board), legal(&board)), (Turn::Player(0), vec![PASS]));
        game.apply(&mut board, PASS);
        assert_eq!((game.turn(&board), legal(&board)), (Turn::Player(1), vec![2]));
        game.apply(&mut board, 2);
        assert_eq!(game.turn(&board), Turn::Over);
        assert_eq!(game.payoff(&board), -1.0); // ooo
    }

    #[test]
    fn each_seat_sees_its_own_discs_first() {
        let game = Othello::new();
        let mut seen = [f32::NAN; 128];
        for (seat, discs) in [(0, [28, 35, 64 + 27, 64 + 36]), (1, [27, 36, 64 + 28, 64 + 35])] {
            game.observe(&OthelloBoard::start(), seat, &mut seen);
            let set: Vec<usize> = (0..128).filter(|&number| seen[number] == 1.0).collect();
            assert_eq!(set, discs);
        }
    }

    /// What a disc turns, looked for cell by cell.
    fn flips_slowly(cell: i32, own: u64, foe: u64) -> u64 {
        let mut flips = 0;
        for (x, y) in [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)] {
            let (mut column, mut row, mut line) = (cell % 8 + x, cell / 8 + y, 0);
            while (0..8).contains(&column) && (0..8).contains(&row) && foe >> (8 * row + column) & 1 == 1 {
                line |= 1_u64 << (8 * row + column);
                (column, row) = (column + x, row + y);
            }
            if (0..8).contains(&column) && (0..8).contains(&row) && own >> (8 * row + column) & 1 == 1 {
                flips |= line;
            }
        }
        flips
    }

    #[test]
    fn moves_and_flips_of_random_boards_are_those_found_cell_by_cell() {
        let rng = &mut stream(1, &[]);
        for _ in 0..5_000 {
            let (own, filled) = (rng.random::<u64>(), rng.random::<u64>() | rng.random::<u64>());
            let (own, foe) = (own & filled, !own & filled);
            let mut expected = 0;
            for cell in (0..64).filter(|&cell| filled >> cell & 1 == 0) {
                let slowly = flips_slowly(cell, own, foe);
                assert_eq!(flips(1 << cell, own, foe), slowly, "{own:#x} {foe:#x} {cell}");
                expected |= u64::from(slowly != 0) << cell;
            }
            assert_eq!(moves(own, foe), expected, "{own:#x} {foe:#x}");
        }
    }
}
