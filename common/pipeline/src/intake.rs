//! Where stored rows meet the train thread: the window and the limiter behind one lock. Both sides wait here, with a
//! deadline, and the waiting is counted.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use fogfall_replay::{LimiterCounts, SampleToInsert, Window, WindowError};

/// What one side waits for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    /// Time waited in all, finished waits only.
    pub total: Duration,
    /// When the present wait began.
    pub since: Option<Instant>,
}

impl Waiting {
    /// Waits since then, unless it does already.
    pub fn begin(&mut self, since: Instant) {
        self.since.get_or_insert(since);
    }

    /// Does not wait any more.
    pub fn end(&mut self) {
        if let Some(since) = self.since.take() {
            self.total += since.elapsed();
        }
    }

    /// Time waited, the present wait included.
    pub fn elapsed(&self) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// The window, the limiter, and who waits.
pub struct IntakeState {
    /// The rows that may be sampled.
    pub window: Window,
    /// What is allowed.
    pub limiter: SampleToInsert,
    /// The train thread, for rows.
    pub sampling: Waiting,
    /// The ingest stage, for training to catch up.
    pub inserting: Waiting,
    /// Rows on their way through the log into the window.
    arriving: u64,
    /// True once rows are let in without limit.
    open: bool,
}

impl IntakeState {
    fn can_insert(&self) -> bool {
        self.open || self.limiter.can_insert(self.arriving + 1)
    }
}

/// What an observer sees.
#[derive(Clone, Copy, Debug)]
pub struct IntakeStatus {
    /// Rows in the window.
    pub rows: usize,
    /// Rows it can hold.
    pub capacity: usize,
    /// Rows it must hold before training begins.
    pub needed: u64,
    /// The limiter's counters.
    pub counts: LimiterCounts,
    /// Train thread.
    pub sampling: Waiting,
    /// Ingest stage.
    pub inserting: Waiting,
}

/// The window and the limiter behind one lock.
pub struct Intake {
    state: Mutex<IntakeState>,
    changed: Condvar,
}

impl Intake {
    /// An intake that nobody waits at.
    pub fn new(window: Window, limiter: SampleToInsert) -> Self {
        let (sampling, inserting) = (Waiting::default(), Waiting::default());
        let state = IntakeState { window, limiter, sampling, inserting, arriving: 0, open: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The state, locked.
    pub fn lock(&self) -> MutexGuard<'_, IntakeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes rows that follow in the log, allowed or not: what is stored is never turned away. Returns how many.
    ///
    /// # Errors
    /// [`WindowError::PartialRow`].
    pub fn insert(&self, rows: &[u8]) -> Result<u64, WindowError> {
        let mut state = self.lock();
        let before = state.window.inserted_total();
        let evicted = state.window.follow(rows)?;
        let inserted = state.window.inserted_total() - before;
        state.limiter.insert(inserted);
        state.limiter.delete(evicted);
        state.arriving = state.arriving.saturating_sub(inserted);
        drop(state);
        self.changed.notify_all();
        Ok(inserted)
    }

    /// Goes on from a later position of the log: the rows between have left it unread.
    pub fn skip_to(&self, position: u64) {
        let mut state = self.lock();
        let skipped = position - state.window.next();
        state.window.skip_to(position);
        state.arriving = state.arriving.saturating_sub(skipped);
        drop(state);
        self.changed.notify_all();
    }

    /// Notes rows that are being stored: they will be inserted.
    pub fn expect(&self, rows: u64) {
        self.lock().arriving += rows;
        self.changed.notify_all();
    }

    /// Notes that rows which were expected have not been stored.
    pub fn unexpect(&self, rows: u64) {
        let mut state = self.lock();
        state.arriving = state.arriving.saturating_sub(rows);
        drop(state);
        self.changed.notify_all();
    }

    /// Waits at most `patience` until rows are expected; true if they are.
    pub fn wait_for_rows(&self, patience: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), patience, |s| s.arriving == 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.arriving > 0
    }

    /// Waits at most `patience` until a row more may be stored, besides those expected; true if it may.
    pub fn wait_to_insert(&self, patience: Duration) -> bool {
        self.wait(patience, IntakeState::can_insert, |s| &mut s.inserting)
    }

    /// From now on nobody waits to insert: the run ends, and what was played is stored all the same.
    pub fn open(&self) {
        self.lock().open = true;
        self.changed.notify_all();
    }

    /// Waits at most `patience` until `rows` may be sampled; true if they may.
    pub fn wait_to_sample(&self, rows: u64, patience: Duration) -> bool {
        self.wait(patience, |s| s.limiter.can_sample(rows), |s| &mut s.sampling)
    }

    fn wait(
        &self,
        patience: Duration,
        allowed: impl Fn(&IntakeState) -> bool,
        side: impl Fn(&mut IntakeState) -> &mut Waiting,
    ) -> bool {
        let mut state = self.lock();
        let now = Instant::now();
        if !allowed(&state) {
            side(&mut state).begin(now);
            let left = self.changed.wait_timeout_while(state, patience, |s| !allowed(s));
            state = left.unwrap_or_else(PoisonError::into_inner).0;
            if !allowed(&state) {
                return false;
            }
        }
        side(&mut state).end();
        true
    }

    /// Counts rows sampled, and wakes who waits to insert.
    pub fn sampled(&self, rows: u64) {
        self.lock().limiter.sample(rows);
        self.changed.notify_all();
    }

    /// What an observer sees.
    pub fn status(&self) -> IntakeStatus {
        let state = self.lock();
        IntakeStatus {
            rows: state.window.len(),
            capacity: state.window.capacity(),
            needed: state.limiter.settings().min_size_to_sample,
            counts: state.limiter.counts(),
            sampling: state.sampling,
            inserting: state.inserting,
        }
    }
}

#[cfg(test)]
mod tests {
    use fogfall_proto::{Row, RowLayout};
    use fogfall_replay::LimiterSettings;

    use super::*;

    const NOW: Duration = Duration::ZERO;

    /// Takes 4 rows freely, and balances up to 2 more or less.
    fn intake() -> (Intake, RowLayout) {
        let layout = RowLayout::new(1, 1, 0);
        let settings = LimiterSettings {
            samples_per_insert: 1.0,
            min_size_to_sample: 4,
            error_buffer: 2.0,
            largest_insert: 1,
            largest_sample: 1,
            capacity: 100,
        };
        let window = Window::new(layout, 100, 1 << 20, 0).unwrap();
        (Intake::new(window, SampleToInsert::new(settings).unwrap()), layout)
    }

    fn rows(layout: RowLayout, n: usize) -> Vec<u8> {
        let row = Row {
            observation: vec![0.0],
            legal: vec![0],
            policy: vec![1.0],
            prior: vec![1.0],
            visits: vec![1],
            ..Row::default()
        };
        let mut bytes = Vec::new();
        (0..n).for_each(|_| layout.write(&row, &mut bytes));
        bytes
    }

    #[test]
    fn rows_on_their_way_count_once_until_they_arrive_and_after() {
        let (intake, layout) = intake();
        assert!(!intake.wait_for_rows(NOW));
        intake.expect(6);
        assert!(intake.wait_for_rows(NOW));
        assert!(!intake.wait_to_insert(NOW)); // 6 + 1 rows, 4 + 2 balance
        intake.insert(&rows(layout, 6)).unwrap();
        assert!(!intake.wait_for_rows(NOW));
        assert!(!intake.wait_to_insert(NOW)); // 6 rows are held, and 1 more
        intake.sampled(1);
        assert!(intake.wait_to_insert(NOW)); // 7 - 1 balance
        intake.expect(1);
        assert!(!intake.wait_to_insert(NOW));
        intake.unexpect(1);
        assert!(intake.wait_to_insert(NOW));
        intake.expect(3);
        intake.skip_to(9); // rows 6 to 8 left the log unread
        assert!(!intake.wait_for_rows(NOW));
        assert_eq!(intake.status().rows, 6);
    }

    #[test]
    fn an_open_intake_lets_everything_in() {
        let (intake, layout) = intake();
        intake.insert(&rows(layout, 6)).unwrap();
        assert!(!intake.wait_to_insert(NOW));
        assert!(intake.status().inserting.since.is_some());
        intake.open();
        assert!(intake.wait_to_insert(NOW));
        assert!(intake.status().inserting.since.is_none());
    }

    #[test]
    fn whoever_waits_is_woken_when_the_other_side_has_done_its_part() {
        let (intake, layout) = intake();
        let long = Duration::from_secs(600);
        std::thread::scope(|scope| {
            let sampler = scope.spawn(|| intake.wait_to_sample(1, long));
            intake.insert(&rows(layout, 6)).unwrap();
            assert!(sampler.join().unwrap());
            let inserter = scope.spawn(|| intake.wait_to_insert(long));
            intake.sampled(1);
            assert!(inserter.join().unwrap());
            let reader = scope.spawn(|| intake.wait_for_rows(long));
            intake.expect(1);
            assert!(reader.join().unwrap());
        });
    }
}
