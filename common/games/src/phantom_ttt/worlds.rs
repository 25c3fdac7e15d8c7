//! Worlds of [`PhantomTtt`](super::PhantomTtt): the other seat's hidden moves, drawn or carried on from an earlier world.
//!
//! What is hidden is where the other seat's marks are, in which order they came, and which of the viewer's marks it has found.
//! All sets of marks are equally likely that agree with what was seen, and all orders of a set; it finds marks as often as
//! a player who tries unknown cells at random. These are the odds that such a player leaves behind.
//!
//! **Invariant:** sets and orders are counted, never tried: a draw takes the same time whatever there is to guess.

use fogfall_game::{Action, Rng};

use super::board::{CELLS, FULL, PhantomBoard, PhantomView, has_line};
use crate::bits;

/// The most marks of a seat.
const MOST: usize = 5;

/// The most sets of marks: 9 choose 4.
const MOST_SETS: usize = 126;

/// All sets of cells by how many they have, and `[count]` where those of each count begin.
const SETS: ([u16; 1 << CELLS], [usize; CELLS + 2]) = {
    let (mut sets, mut begins) = ([0; 1 << CELLS], [0; CELLS + 2]);
    let (mut count, mut next) = (0, 0);
    while count <= CELLS {
        begins[count] = next;
        let mut set: u16 = 0;
        while set <= FULL {
            if set.count_ones() as usize == count {
                sets[next] = set;
                next += 1;
            }
            set += 1;
        }
        count += 1;
    }
    begins[count] = next;
    (sets, begins)
};

/// A mark of the other seat that the viewer found, and that is not in the earlier world.
#[derive(Clone, Copy, Default)]
struct Missing {
    cell: Action,
    /// It is among so many of the marks that are new.
    among: usize,
}

/// What has to be drawn: the other seat's marks after those of an earlier world.
struct Hidden {
    /// `[missing_len]` in the order in which they were found, so that `among` never falls.
    missing: [Missing; MOST],
    missing_len: usize,
    /// `[sets_len]` cells of the marks that nobody has found, one set as likely as another.
    sets: [u16; MOST_SETS],
    sets_len: usize,
    /// All marks but those of a set.
    base: u16,
    /// New marks in all.
    new: usize,
}

impl Hidden {
    /// What has to be drawn to get from `then` to a world of `view`; none if there is no way.
    fn between(then: &PhantomBoard, view: &PhantomView) -> Option<Self> {
        let (own, foe) = (usize::from(view.seat), usize::from(1 - view.seat));
        let old = then.marks[foe];
        let told_otherwise = then.marks[own] & !view.mine | then.found[own] & !view.found | old & view.mine;
        if told_otherwise != 0 || !view.tries.starts_with(then.tries[own]) {
            return None;
        }
        let mut hidden = Self {
            missing: [Missing::default(); MOST],
            missing_len: 0,
            sets: [0; MOST_SETS],
            sets_len: 0,
            base: old | view.found,
            new: (u32::from(view.placed) - view.mine.count_ones()).checked_sub(old.count_ones())? as usize,
        };
        // Before its n-th mark the viewer had seen seat 1 mark n - 1 cells, and seat 0 mark n.
        let mut seen = then.marks[own].count_ones() + u32::from(view.seat);
        for cell in view.tries.since(then.tries[own].len()) {
            if view.mine >> cell & 1 == 1 {
                seen += 1;
            } else if old >> cell & 1 == 0 {
                let among = seen.checked_sub(old.count_ones())? as usize;
                if among <= hidden.missing_len {
                    return None;
                }
                hidden.missing[hidden.missing_len] = Missing { cell, among };
                hidden.missing_len += 1;
            }
        }
        hidden.list_sets(FULL & !(view.mine | hidden.base), view.lost)?;
        Some(hidden)
    }

    /// Lists the sets of cells of `open` that hidden marks can have; none if there is none.
    fn list_sets(&mut self, open: u16, lost: bool) -> Option<()> {
        let count = self.new.checked_sub(self.missing_len)?;
        let (sets, begins) = &SETS;
        for &set in &sets[begins[count]..begins[count + 1]] {
            let possible = if lost { self.last(set) != 0 } else { !has_line(self.base | set) };
            self.sets[self.sets_len.min(MOST_SETS - 1)] = set;
            self.sets_len += usize::from(set & !open == 0 && possible);
        }
        (self.sets_len > 0).then_some(())
    }

    /// Cells of a set that can have been marked last where the other seat has won: they complete all its lines.
    fn last(&self, set: u16) -> u16 {
        let marks = self.base | set;
        let completes = |cell: &u16| has_line(marks) && !has_line(marks & !cell);
        (0..CELLS)
            .map(|cell| 1 << cell & set)
            .filter(|cell| *cell != 0)
            .filter(completes)
            .fold(0, |all, cell| all | cell)
    }

    /// How many sets and orders there are.
    fn ways(&self) -> f64 {
        let missing = self.missing[..self.missing_len].iter().enumerate();
        let places = missing.map(|(earlier, missing)| missing.among - earlier);
        places.chain(1..=self.new - self.missing_len).fold(self.sets_len as f64, |ways, choices| ways * choices as f64)
    }

    /// `[new]` cells in the order in which they are marked.
    fn draw(&self, lost: bool, rng: &mut Rng) -> [Action; MOST] {
        let mut set = self.sets[bits::below(self.sets_len as u32, rng) as usize];
        let (mut order, mut free) = ([0; MOST], (1_u64 << self.new) - 1);
        for missing in &self.missing[..self.missing_len] {
            let place = bits::draw(free & ((1 << missing.among) - 1), rng);
            order[place as usize] = missing.cell;
            free &= !(1 << place);
        }
        while free != 0 {
            let place = free.ilog2();
            let ends = lost && place as usize + 1 == self.new;
            let cell = bits::draw(u64::from(if ends { self.last(set) } else { set }), rng);
            order[place as usize] = cell as Action;
            free &= !(1 << place);
            set &= !(1 << cell);
        }
        order
    }
}

/// A world of `view` that goes on from `then`, a world of an earlier view of the same seat in which that seat is to move
/// or nobody has moved, and in how many ways the other seat's marks could have been drawn. None if `then` contradicts what
/// was seen since.
pub(super) fn go_on(then: &PhantomBoard, view: &PhantomView, rng: &mut Rng) -> Option<(PhantomBoard, f64)> {
    let hidden = Hidden::between(then, view)?;
    let order = hidden.draw(view.lost, rng);
    let mut marks = order[..hidden.new].iter();
    let (own, mut now) = (usize::from(view.seat), *then);
    while !now.over {
        if now.mover() == view.seat {
            let Some(cell) = view.tries.get(now.tries[own].len()) else { break };
            now.attempt(cell);
        } else {
            find(&mut now, rng);
            let Some(&cell) = marks.next() else { break };
            now.attempt(cell);
        }
    }
    Some((now, hidden.ways()))
}

/// The mover tries unknown cells at random, up to the first that is free.
fn find(now: &mut PhantomBoard, rng: &mut Rng) {
    let mover = now.mover();
    loop {
        let cell = bits::draw(now.unknown(mover).into(), rng);
        if now.marks[usize::from(1 - mover)] >> cell & 1 == 0 {
            return;
        }
        now.attempt(cell as Action);
    }
}
