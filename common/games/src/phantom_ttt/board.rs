//! The true game of [`PhantomTtt`](super::PhantomTtt), and what one seat sees of it.
//!
//! **Invariant:** what both seats tried, in order, is the whole game: a seat goes on until a cell was free, then the other
//! moves.

use fogfall_game::{Action, Seat};
use serde::{Deserialize, Serialize};

/// Cells of the board.
pub(super) const CELLS: usize = 9;

/// All cells.
pub(super) const FULL: u16 = (1 << CELLS) - 1;

/// `[cells]` one bit a set of cells: three of them are a row, a column or a diagonal.
const LINES: [u64; 8] = {
    let lines = [0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124];
    let mut table = [0; 8];
    let mut cells = 0;
    while cells < 1 << CELLS {
        let mut line = 0;
        while line < lines.len() {
            if cells & lines[line] == lines[line] {
                table[cells / 64] |= 1 << (cells % 64);
            }
            line += 1;
        }
        cells += 1;
    }
    table
};

/// True if three of the cells lie in a line.
#[inline]
pub(super) fn has_line(cells: u16) -> bool {
    LINES[usize::from(cells / 64)] >> (cells % 64) & 1 == 1
}

/// Cells that a seat tried, in order: four bits each below a leading one, the last lowest.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tries(u64);

impl Default for Tries {
    fn default() -> Self {
        Self(1)
    }
}

impl Tries {
    #[inline]
    fn push(&mut self, cell: Action) {
        self.0 = self.0 << 4 | u64::from(cell);
    }

    #[inline]
    pub(super) fn len(self) -> u32 {
        self.0.ilog2() / 4
    }

    /// The cell that was tried after `before` others.
    #[inline]
    pub(super) fn get(self, before: u32) -> Option<Action> {
        let later = self.len().checked_sub(before + 1)?;
        Some((self.0 >> (4 * later) & 15) as Action)
    }

    /// Cells in order, but for the first `from`.
    pub(super) fn since(self, from: u32) -> impl Iterator<Item = Action> {
        (from..).map_while(move |before| self.get(before))
    }

    pub(super) fn starts_with(self, earlier: Self) -> bool {
        self.len().checked_sub(earlier.len()).is_some_and(|later| self.0 >> (4 * later) == earlier.0)
    }

    /// All that was tried, as a number.
    #[inline]
    pub(super) fn bits(self) -> u64 {
        self.0
    }
}

impl std::fmt::Debug for Tries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.since(0)).finish()
    }
}

/// The true game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhantomBoard {
    /// `[seat]` what each has tried.
    pub(super) tries: [Tries; 2],
    /// `[seat]` cells that each has marked.
    pub(super) marks: [u16; 2],
    /// `[seat]` marks of the other that each has found by trying.
    pub(super) found: [u16; 2],
    /// Marks of both.
    pub(super) placed: u8,
    /// A line, or a full board.
    pub(super) over: bool,
}

impl PhantomBoard {
    /// The seat that tries next.
    #[inline]
    pub(super) fn mover(&self) -> Seat {
        self.placed % 2
    }

    /// Cells that a seat knows nothing of.
    #[inline]
    pub(super) fn unknown(&self, seat: Seat) -> u16 {
        FULL & !(self.marks[usize::from(seat)] | self.found[usize::from(seat)])
    }

    /// The mover tries a cell.
    #[inline]
    pub(super) fn attempt(&mut self, cell: Action) {
        let (mover, bit) = (usize::from(self.mover()), 1 << cell);
        debug_assert!(self.unknown(self.mover()) & bit != 0, "seat {mover} knows cell {cell}");
        self.tries[mover].push(cell);
        if self.marks[1 - mover] & bit != 0 {
            self.found[mover] |= bit;
        } else {
            self.marks[mover] |= bit;
            self.placed += 1;
            self.over = has_line(self.marks[mover]) || usize::from(self.placed) == CELLS;
        }
    }

    /// What a seat sees.
    pub(super) fn seen(&self, seat: Seat) -> PhantomView {
        let (own, foe) = (usize::from(seat), usize::from(1 - seat));
        PhantomView {
            seat,
            tries: self.tries[own],
            mine: self.marks[own],
            found: self.found[own],
            placed: self.placed,
            lost: has_line(self.marks[foe]),
        }
    }

    /// Goes on as `later` went, and shows `seat`'s decisions. Returns the product of the numbers of cells that `foe` had to
    /// choose from, where it has tried one and where it is to move.
    pub(super) fn replay(mut self, later: &Self, foe: Seat, seat: Seat, visit: &mut dyn FnMut(&Self, Action)) -> f64 {
        let mut choices = 1.0;
        while !self.over {
            let mover = self.mover();
            if mover == foe {
                choices *= f64::from(self.unknown(foe).count_ones());
            }
            let tries = usize::from(mover);
            let Some(cell) = later.tries[tries].get(self.tries[tries].len()) else { break };
            if mover == seat {
                visit(&self, cell);
            }
            self.attempt(cell);
        }
        choices
    }
}

/// What one seat has seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhantomView {
    pub(super) seat: Seat,
    /// What it has tried, in order.
    pub(super) tries: Tries,
    /// Cells that it has marked.
    pub(super) mine: u16,
    /// Marks of the other that it has found.
    pub(super) found: u16,
    /// Marks of both: a seat moves when the other has marked a cell.
    pub(super) placed: u8,
    /// The other has a line, and the game is over.
    pub(super) lost: bool,
}
