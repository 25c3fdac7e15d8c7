//! [`ConnectFourSolver`]: the game-theoretic value of positions, by alpha-beta search over sets of bits with a table of
//! positions already searched.

use fogfall_game::Action;

use super::position::{CELLS, Position, WIDTH};

/// Positions in the table, as a power of two.
const TABLE_BITS: u32 = 22;

/// Bits of an entry below its key: how much work it saves, and the bounds.
const KEY_FROM: u32 = 10;

/// Bits of an entry that hold its bounds.
const BOUND_BITS: u32 = 4;

/// What is known of a position's value, the mover's.
#[derive(Clone, Copy)]
struct Bounds {
    low: i8,
    high: i8,
}

impl Bounds {
    /// Nothing.
    const OPEN: Self = Self { low: -1, high: 1 };

    fn write(self) -> u64 {
        ((self.low + 1) << 2 | (self.high + 1)) as u64
    }

    fn read(entry: u64) -> Self {
        Self { low: (entry >> 2 & 3) as i8 - 1, high: (entry & 3) as i8 - 1 }
    }
}

/// Solves positions of connect four: won, drawn or lost for the seat to move. All moves of a position with 12 stones take
/// tenths of a second, with 20 a millisecond.
///
/// Alpha-beta with what is known to help in this game (Allis 1988): forced answers, no stone below a cell where the other
/// seat wins, moves that make many threats first, and a table of positions, which takes 32 MiB and is kept from one position
/// to the next. A history of good cells, an order by rows of the right parity and windows of width one were tried and saved
/// nothing.
#[derive(Debug)]
pub struct ConnectFourSolver {
    /// Pairs of entries. An entry is a key and two bounds; 0 is none.
    table: Vec<[u64; 2]>,
    positions: u64,
}

impl Default for ConnectFourSolver {
    fn default() -> Self {
        Self::new()
    }
}

impl ConnectFourSolver {
    /// A solver that knows nothing yet.
    pub fn new() -> Self {
        Self { table: vec![[0; 2]; 1 << (TABLE_BITS - 1)], positions: 0 }
    }

    /// Positions searched so far.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// The columns that are not full after `columns` were played from the empty board, each with its value for the seat to
    /// move when both play on perfectly: 1 won, 0 drawn, -1 lost. None if `columns` cannot be played, or the game is over.
    pub fn values(&mut self, columns: &[Action]) -> Option<Vec<(Action, i8)>> {
        let mut position = Position::default();
        for &column in columns {
            let cell = playable(&position, column)?;
            if cell & position.wins() != 0 {
                return None;
            }
            position = position.play(cell);
        }
        let values: Vec<(Action, i8)> = (0..WIDTH as Action)
            .filter_map(|column| Some((column, self.value_after(&position, playable(&position, column)?))))
            .collect();
        (!values.is_empty()).then_some(values)
    }

    /// The mover's value of a stone on `cell`.
    fn value_after(&mut self, position: &Position, cell: u64) -> i8 {
        if cell & position.wins() != 0 {
            return 1;
        }
        let next = position.play(cell);
        if next.free() & next.wins() != 0 { -1 } else { -self.search(&next, -1, 1) }
    }

    /// The mover's value, where it cannot win by its next stone. A value of at most `alpha` says that it is no more, one of at
    /// least `beta` that it is no less.
    fn search(&mut self, position: &Position, alpha: i8, beta: i8) -> i8 {
        let began = self.positions;
        self.positions += 1;
        let threats = position.threats();
        let forced = position.free() & threats;
        let answers = if forced == 0 { position.free() } else { forced };
        let moves = answers & !(threats >> 1); // a stone below a threat lets the other seat win
        if moves == 0 || forced & forced.wrapping_sub(1) != 0 {
            return -1;
        }
        if position.count + 2 >= CELLS {
            return 0; // nobody wins by the last two stones
        }
        let key = position.key();
        let mut bounds = self.look_up(key);
        bounds.high = if position.can_win() { bounds.high } else { bounds.high.min(0) };
        bounds.low = if position.can_lose() { bounds.low } else { bounds.low.max(0) };
        if bounds.low >= beta || bounds.low == bounds.high {
            return bounds.low;
        }
        if bounds.high <= alpha {
            return bounds.high;
        }
        let (alpha, beta) = (alpha.max(bounds.low), beta.min(bounds.high));
        let (mut best, mut ordered) = (-1, [(0, 0); WIDTH as usize]);
        for &(_, cell) in order(position, moves, &mut ordered) {
            best = best.max(-self.search(&position.play(cell), -beta, -alpha.max(best)));
            if best >= beta {
                break;
            }
        }
        if best < beta {
            bounds.high = best;
        }
        if best > alpha {
            bounds.low = best;
        }
        self.store(key, bounds, self.positions - began);
        best
    }

    fn bucket(key: u64) -> usize {
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - (TABLE_BITS - 1))) as usize
    }

    fn look_up(&self, key: u64) -> Bounds {
        let found = self.table[Self::bucket(key)].iter().find(|&&entry| entry >> KEY_FROM == key);
        found.map_or(Bounds::OPEN, |&entry| Bounds::read(entry))
    }

    /// Keeps bounds that took `work` positions to find. Of a pair of entries the first is the one that took most.
    fn store(&mut self, key: u64, bounds: Bounds, work: u64) {
        let entry = key << KEY_FROM | u64::from(work.ilog2()) << BOUND_BITS | bounds.write();
        let pair = &mut self.table[Self::bucket(key)];
        let work = |entry: u64| entry >> BOUND_BITS & ((1 << (KEY_FROM - BOUND_BITS)) - 1);
        if pair[0] >> KEY_FROM == key || work(entry) >= work(pair[0]) {
            if pair[0] >> KEY_FROM != key {
                pair[1] = pair[0];
            }
            pair[0] = entry;
        } else {
            pair[1] = entry;
        }
    }
}

/// The moves in the order in which they are tried: what makes many threats first, then the middle.
#[inline]
fn order<'a>(position: &Position, moves: u64, order: &'a mut [(u32, u64); WIDTH as usize]) -> &'a [(u32, u64)] {
    let mut len = 0;
    for column in [3, 2, 4, 1, 5, 0, 6] {
        let cell = moves & 0x3f << (7 * column);
        if cell == 0 {
            continue;
        }
        let threats = position.wins_after(cell);
        let mut place = len;
        while place > 0 && order[place - 1].0 < threats {
            order[place] = order[place - 1];
            place -= 1;
        }
        order[place] = (threats, cell);
        len += 1;
    }
    &order[..len]
}

/// The cell on which a stone falls in a column; none if there is no such column, or no room.
fn playable(position: &Position, column: Action) -> Option<u64> {
    let column = u32::from(column);
    (column < WIDTH).then(|| position.cell(column)).filter(|&cell| cell != 0)
}
