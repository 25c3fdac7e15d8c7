//! Positions of connect four as a solver needs them: sets of cells, seven bits a column from the bottom up, the seventh of
//! which stays empty. Columns and seats are those of OpenSpiel.

/// Columns.
pub(super) const WIDTH: u32 = 7;

/// Rows.
pub(super) const HEIGHT: u32 = 6;

/// Cells.
pub(super) const CELLS: u32 = WIDTH * HEIGHT;

/// The lowest cell of each column.
const BOTTOM: u64 = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28 | 1 << 35 | 1 << 42;

/// All cells.
const FULL: u64 = BOTTOM * 0b11_1111;

/// Steps from cell to cell along lines that are not upright.
const ACROSS: [u32; 3] = [6, 7, 8];

/// A position in which nobody has won.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// Stones of the seat to move.
    pub(super) own: u64,
    /// Stones of both.
    pub(super) stones: u64,
    /// How many there are.
    pub(super) count: u32,
}

impl Position {
    /// The lowest free cell of each column that is not full.
    #[inline]
    pub(super) fn free(&self) -> u64 {
        (self.stones + BOTTOM) & FULL
    }

    /// The lowest free cell of a column; 0 if it is full.
    pub(super) fn cell(&self, column: u32) -> u64 {
        self.free() & 0x3f << (7 * column)
    }

    /// The position after a stone on a free cell.
    #[inline]
    pub(super) fn play(&self, cell: u64) -> Self {
        Self { own: self.own ^ self.stones, stones: self.stones | cell, count: self.count + 1 }
    }

    /// Stones of the seat that does not move.
    #[inline]
    pub(super) fn foe(&self) -> u64 {
        self.own ^ self.stones
    }

    /// A number that no other position has, below 2^49.
    #[inline]
    pub(super) fn key(&self) -> u64 {
        self.own + self.stones
    }

    /// Empty cells, reachable or not, that would complete four of the mover's stones.
    #[inline]
    pub(super) fn wins(&self) -> u64 {
        completions(self.own) & !self.stones
    }

    /// Empty cells that would complete four of the other seat's.
    #[inline]
    pub(super) fn threats(&self) -> u64 {
        completions(self.foe()) & !self.stones
    }

    /// How many empty cells complete a line of the mover's stones and one on `cell`.
    #[inline]
    pub(super) fn wins_after(&self, cell: u64) -> u32 {
        (completions(self.own | cell) & !self.stones & !cell).count_ones()
    }

    /// The mover could still get four in a line if all empty cells were its own.
    #[inline]
    pub(super) fn can_win(&self) -> bool {
        has_four(self.own | FULL & !self.stones)
    }

    /// The other seat could.
    #[inline]
    pub(super) fn can_lose(&self) -> bool {
        has_four(FULL & !self.own)
    }
}

/// True if four of the cells lie in a line.
#[inline]
fn has_four(cells: u64) -> bool {
    let line = |step: u32| {
        let pairs = cells & cells >> step;
        pairs & pairs >> (2 * step)
    };
    line(1) | ACROSS.into_iter().fold(0, |lines, step| lines | line(step)) != 0
}

/// Cells that make four in a line with three of `cells`.
#[inline]
fn completions(cells: u64) -> u64 {
    let upright = cells << 1 & cells << 2 & cells << 3;
    let across = ACROSS.into_iter().fold(0, |found, step| {
        let (below, above) = (cells << step, cells >> step);
        let (two_below, two_above) = (below & cells << (2 * step), above & cells >> (2 * step));
        found | two_below & (cells << (3 * step) | above) | two_above & (cells >> (3 * step) | below)
    });
    (upright | across) & FULL
}
