//! The window: the newest rows in memory, from which batches are drawn. A ring of fixed-size rows that is allocated
//! once; it has one owner and no locks. If asked to, it counts how many rows it holds of each information state.
//!
//! **Invariants:** `inserted = len + evicted`; `next = start + inserted + skipped`; slots `0..len` hold rows; the
//! counts of all information states are positive and sum to `len`.

use std::collections::HashMap;

use fogfall_proto::{RowLayout, RowRef};
use rand::{Rng, RngExt};
use thiserror::Error;

/// Why a window was refused or rows were not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WindowError {
    /// It would not fit into the memory allowed.
    #[error(
        "a window of {capacity_rows} rows of {row_bytes} bytes takes {bytes} bytes; {limit_bytes} are allowed: at most \
         {fitting_rows} rows fit"
    )]
    TooBig {
        /// Rows asked for.
        capacity_rows: usize,
        /// Bytes of one row.
        row_bytes: usize,
        /// Bytes all rows take.
        bytes: u128,
        /// Bytes allowed.
        limit_bytes: u64,
        /// Rows that would fit.
        fitting_rows: u64,
    },
    /// The machine does not give the memory.
    #[error("no memory for a window of {bytes} bytes")]
    NoMemory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// A window without rows, or with more than `u32` can number.
    #[error("a window of {capacity_rows} rows; it holds 1 to {}", u32::MAX)]
    Capacity {
        /// Rows asked for.
        capacity_rows: usize,
    },
    /// Not whole rows.
    #[error("{bytes} bytes are not whole rows of {row_bytes}")]
    PartialRow {
        /// Bytes given.
        bytes: usize,
        /// Bytes of one row.
        row_bytes: usize,
    },
    /// Nothing to draw from yet.
    #[error("the window is empty")]
    Empty,
}

/// The newest rows of a replay log.
#[derive(Debug)]
pub struct Window {
    layout: RowLayout,
    row_bytes: usize,
    capacity_rows: usize,
    /// `[capacity_rows * row_bytes]`, allocated once.
    ring: Vec<u8>,
    /// Rows held by [`RowRef::state_key`]; none if they are not counted.
    states: Option<HashMap<u64, u32>>,
    /// Log position of the first row it was to follow.
    start: u64,
    inserted: u64,
    skipped: u64,
    sampled: u64,
}

impl Window {
    /// An empty window that follows a log from position `start`.
    ///
    /// # Errors
    /// [`WindowError::TooBig`] if its rows take more than `limit_bytes`; [`WindowError::Capacity`],
    /// [`WindowError::NoMemory`].
    pub fn new(layout: RowLayout, capacity_rows: usize, limit_bytes: u64, start: u64) -> Result<Self, WindowError> {
        let row_bytes = layout.row_bytes();
        if capacity_rows == 0 || capacity_rows > u32::MAX as usize {
            return Err(WindowError::Capacity { capacity_rows });
        }
        let bytes = capacity_rows as u128 * row_bytes as u128;
        if bytes > u128::from(limit_bytes) {
            let fitting_rows = limit_bytes / row_bytes as u64;
            return Err(WindowError::TooBig { capacity_rows, row_bytes, bytes, limit_bytes, fitting_rows });
        }
        let bytes = bytes as usize;
        let mut ring = Vec::new();
        ring.try_reserve_exact(bytes).map_err(|_| WindowError::NoMemory { bytes })?;
        Ok(Self { layout, row_bytes, capacity_rows, ring, states: None, start, inserted: 0, skipped: 0, sampled: 0 })
    }

    /// Counts the rows of each information state from now on, besides the memory allowed: some 20 bytes a state.
    #[must_use]
    pub fn counting_states(mut self) -> Self {
        let mut states = HashMap::new();
        self.rows().for_each(|row| *states.entry(row.state_key()).or_default() += 1);
        self.states = Some(states);
        self
    }

    /// Takes the next whole rows of the log, evicting the oldest; returns how many rows were evicted.
    ///
    /// # Errors
    /// [`WindowError::PartialRow`], and nothing is taken.
    pub fn follow(&mut self, rows: &[u8]) -> Result<u64, WindowError> {
        if !rows.len().is_multiple_of(self.row_bytes) {
            return Err(WindowError::PartialRow { bytes: rows.len(), row_bytes: self.row_bytes });
        }
        let before = self.evicted_total();
        for row in rows.chunks_exact(self.row_bytes) {
            let slot = (self.inserted % self.capacity_rows as u64) as usize;
            self.recount(slot, row);
            if slot * self.row_bytes == self.ring.len() {
                self.ring.extend_from_slice(row);
            } else {
                self.ring[slot * self.row_bytes..(slot + 1) * self.row_bytes].copy_from_slice(row);
            }
            self.inserted += 1;
        }
        Ok(self.evicted_total() - before)
    }

    /// Counts a row that takes a slot, and no longer the one that it takes it from.
    fn recount(&mut self, slot: usize, row: &[u8]) {
        let Some(states) = &mut self.states else { return };
        let key = |row| self.layout.rows(row).next().expect("a slot holds one row").state_key();
        if let Some(old) = self.ring.get(slot * self.row_bytes..(slot + 1) * self.row_bytes) {
            let old = key(old);
            let rows = states.get_mut(&old).expect("every row held is counted");
            *rows -= 1;
            if *rows == 0 {
                states.remove(&old);
            }
        }
        *states.entry(key(row)).or_default() += 1;
    }

    /// Goes on from a later position: the rows between were evicted from the log before they were read here.
    ///
    /// # Panics
    /// If `position` lies behind [`Window::next`]: a log never goes back while it is followed.
    pub fn skip_to(&mut self, position: u64) {
        assert!(position >= self.next(), "skip from {} back to {position}", self.next());
        self.skipped += position - self.next();
    }

    /// Draws `n` slots, uniformly and with replacement, in place of what `slots` held. The draws follow from `rng` and
    /// the rows held, oldest first: a window that was filled anew from the log draws as one that was never gone.
    ///
    /// # Errors
    /// [`WindowError::Empty`].
    pub fn sample(&mut self, rng: &mut impl Rng, n: usize, slots: &mut Vec<u32>) -> Result<(), WindowError> {
        if self.is_empty() {
            return Err(WindowError::Empty);
        }
        let (len, capacity) = (self.len() as u64, self.capacity_rows as u64);
        let oldest = self.evicted_total();
        slots.clear();
        slots.extend((0..n).map(|_| ((oldest + rng.random_range(0..len)) % capacity) as u32));
        self.sampled += n as u64;
        Ok(())
    }

    /// The row in a slot.
    ///
    /// # Panics
    /// If `slot` is not below [`Window::len`].
    pub fn row(&self, slot: u32) -> RowRef<'_> {
        self.layout.rows(self.row_bytes_at(slot)).next().expect("a slot holds one row")
    }

    /// The encoded row in a slot.
    ///
    /// # Panics
    /// If `slot` is not below [`Window::len`].
    pub fn row_bytes_at(&self, slot: u32) -> &[u8] {
        let at = slot as usize * self.row_bytes;
        &self.ring[at..at + self.row_bytes]
    }

    /// How many rows held have the information state of the row in a slot, itself included; none if they are not
    /// counted.
    ///
    /// # Panics
    /// If `slot` is not below [`Window::len`].
    pub fn rows_alike(&self, slot: u32) -> Option<u32> {
        self.states.as_ref().map(|states| states[&self.row(slot).state_key()])
    }

    /// All rows held, in no particular order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = RowRef<'_>> {
        self.layout.rows(&self.ring)
    }

    /// Rows held.
    pub fn len(&self) -> usize {
        self.ring.len() / self.row_bytes
    }

    /// True before the first row.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Rows it can hold.
    pub fn capacity(&self) -> usize {
        self.capacity_rows
    }

    /// Memory it takes when full.
    pub fn bytes(&self) -> usize {
        self.ring.capacity()
    }

    /// The layout of its rows.
    pub fn layout(&self) -> RowLayout {
        self.layout
    }

    /// Log position of the next row to follow.
    pub fn next(&self) -> u64 {
        self.start + self.inserted + self.skipped
    }

    /// Rows taken since the start.
    pub fn inserted_total(&self) -> u64 {
        self.inserted
    }

    /// Rows that newer ones have replaced.
    pub fn evicted_total(&self) -> u64 {
        self.inserted - self.len() as u64
    }

    /// Rows that left the log unread.
    pub fn skipped_total(&self) -> u64 {
        self.skipped
    }

    /// Rows drawn.
    pub fn sampled_total(&self) -> u64 {
        self.sampled
    }
}

#[cfg(test)]
mod tests {
    use fogfall_proto::{Row, Version};
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn layout() -> RowLayout {
        RowLayout::new(1, 2, 0)
    }

    /// Rows whose step is their position.
    fn rows(steps: std::ops::Range<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for step in steps {
            let row = Row { version: Version { epoch: 1, step }, observation: vec![step as f32], ..Row::default() };
            layout().write(&row, &mut bytes);
        }
        bytes
    }

    fn held(window: &Window) -> Vec<u64> {
        let mut steps: Vec<u64> = window.rows().map(|row| row.version().step).collect();
        steps.sort_unstable();
        steps
    }

    #[test]
    fn it_holds_the_newest_rows_and_its_counts_balance() {
        let mut window = Window::new(layout(), 4, 1 << 20, 100).unwrap();
        let memory = window.bytes();
        assert_eq!(window.follow(&rows(0..3)), Ok(0));
        assert_eq!(held(&window), [0, 1, 2]);
        assert_eq!(window.follow(&rows(3..6)), Ok(2)); // 6 rows into 4 places
        assert_eq!(held(&window), [2, 3, 4, 5]);
        assert_eq!(window.follow(&rows(6..17)), Ok(11)); // more than it holds at once
        assert_eq!(held(&window), [13, 14, 15, 16]);
        window.skip_to(120);
        assert_eq!((window.inserted_total(), window.evicted_total(), window.skipped_total()), (17, 13, 3));
        assert_eq!(window.inserted_total(), window.len() as u64 + window.evicted_total());
        assert_eq!(window.next(), 120); // 100 + 17 + 3
        assert_eq!(window.bytes(), memory);
    }

    #[test]
    fn draws_are_uniform_over_all_rows_held_and_reproducible() {
        let mut window = Window::new(layout(), 8, 1 << 20, 0).unwrap();
        let mut slots = Vec::new();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        assert_eq!(window.sample(&mut rng, 1, &mut slots), Err(WindowError::Empty));
        window.follow(&rows(0..12)).unwrap();
        window.sample(&mut rng, 80_000, &mut slots).unwrap();
        let mut counts = [0_u32; 12];
        for &slot in &slots {
            counts[window.row(slot).version().step as usize] += 1;
        }
        assert_eq!(counts[..4], [0; 4]); // evicted
        for count in &counts[4..] {
            // 10,000 expected, standard deviation sqrt(80000 * 1/8 * 7/8) = 93.5; 5 of them are 468.
            assert!(count.abs_diff(10_000) < 468, "{counts:?}");
        }
        let mut again = Vec::new();
        window.sample(&mut Xoshiro256PlusPlus::seed_from_u64(1), 80_000, &mut again).unwrap();
        assert_eq!(again, slots);
        assert_eq!(window.sampled_total(), 160_000);
    }

    #[test]
    fn a_window_filled_anew_draws_the_same_rows_as_one_that_was_never_gone() {
        let mut old = Window::new(layout(), 8, 1 << 20, 0).unwrap();
        old.follow(&rows(0..13)).unwrap();
        let mut new = Window::new(layout(), 8, 1 << 20, 5).unwrap();
        new.follow(&rows(5..13)).unwrap(); // 13 - 8 = 5: the same rows in other slots
        let draw = |window: &mut Window| -> Vec<u64> {
            let mut slots = Vec::new();
            window.sample(&mut Xoshiro256PlusPlus::seed_from_u64(7), 50, &mut slots).unwrap();
            slots.iter().map(|&slot| window.row(slot).version().step).collect()
        };
        assert_eq!(old.row(0).version().step, 8);
        assert_eq!(new.row(0).version().step, 5);
        assert_eq!(draw(&mut old), draw(&mut new));
    }

    #[test]
    fn rows_of_an_information_state_are_counted_while_they_are_held() {
        let rows = |states: &[u64]| states.iter().flat_map(|&state| rows(state..state + 1)).collect::<Vec<u8>>();
        let alike =
            |window: &Window| (0..window.len() as u32).map(|i| window.rows_alike(i)).collect::<Option<Vec<_>>>();
        let mut window = Window::new(layout(), 4, 1 << 20, 0).unwrap();
        window.follow(&rows(&[7, 8])).unwrap();
        assert_eq!(alike(&window), None);
        window = window.counting_states();
        assert_eq!(alike(&window).unwrap(), [1, 1]);
        window.follow(&rows(&[7, 7])).unwrap();
        assert_eq!(alike(&window).unwrap(), [3, 1, 3, 3]); // 7 8 7 7
        window.follow(&rows(&[8, 9])).unwrap();
        assert_eq!(alike(&window).unwrap(), [1, 1, 2, 2]); // 8 9 7 7: the older 7 and 8 are gone
        window.follow(&rows(&[9, 9, 9, 9, 7])).unwrap();
        assert_eq!(alike(&window).unwrap(), [3, 3, 1, 3]); // 9 9 7 9, slot 2 twice
        assert_eq!(window.states.as_ref().unwrap().len(), 2, "8 is forgotten");
    }

    #[test]
    fn one_that_does_not_fit_is_refused_at_the_start_with_what_would_fit() {
        assert_eq!(layout().row_bytes(), 72); // 40 + 4 + 3 * 8 + 0 + 4
        let refused = Window::new(layout(), 1000, 71_999, 0).expect_err("refused").to_string();
        assert_eq!(
            refused,
            "a window of 1000 rows of 72 bytes takes 72000 bytes; 71999 are allowed: at most 999 rows fit"
        );
        assert!(Window::new(layout(), 1000, 72_000, 0).is_ok());
        assert_eq!(Window::new(layout(), 0, 1, 0).expect_err("refused"), WindowError::Capacity { capacity_rows: 0 });
    }

    #[test]
    fn a_cut_row_is_refused_and_nothing_is_taken() {
        let mut window = Window::new(layout(), 4, 1 << 20, 0).unwrap();
        let refused = window.follow(&rows(0..2)[..100]);
        assert_eq!(refused, Err(WindowError::PartialRow { bytes: 100, row_bytes: 72 }));
        assert!(window.is_empty());
    }
}
