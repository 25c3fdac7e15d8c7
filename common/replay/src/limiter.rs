//! How far sampling may run ahead of storing, and storing ahead of sampling. Pure arithmetic: it says what is allowed
//! and counts what was done; whoever asks does the waiting, and says so.
//!
//! The arithmetic is that of Reverb's `RateLimiter` and `SampleToInsertRatio`. With `inserts`, `deletes` and `samples`
//! counted from the start, and `diff = inserts * samples_per_insert - samples`:
//!
//! - sampling `n` is allowed if `inserts - deletes >= min_size_to_sample` and `diff - n >= min_diff`;
//! - inserting `n` is allowed if `inserts + n - deletes <= min_size_to_sample` or
//!   `diff + n * samples_per_insert <= max_diff`;
//! - `min_diff` and `max_diff` lie `error_buffer` below and above `min_size_to_sample * samples_per_insert`, so only
//!   what happens after the first `min_size_to_sample` inserts is held to the ratio.
//!
//! Unlike Reverb, inserts and samples come in groups (a trajectory, a batch), and settings that can come to a
//! standstill with the declared group sizes are refused at the start.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What the limiter holds to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimiterSettings {
    /// Rows sampled per row inserted, over the run. Raising it trains more often on each row.
    pub samples_per_insert: f64,
    /// Rows the window must hold before the first sample.
    pub min_size_to_sample: u64,
    /// How far, in sampled rows, the two sides may drift apart in either direction before one must wait.
    pub error_buffer: f64,
    /// Most rows inserted at once: the longest trajectory.
    pub largest_insert: u64,
    /// Most rows sampled at once: the batch.
    pub largest_sample: u64,
    /// Rows the window can hold.
    pub capacity: u64,
}

/// Why settings were refused.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LimiterError {
    /// Not a usable number.
    #[error("{field} is {value}; it must be {expected}")]
    Value {
        /// Which setting.
        field: &'static str,
        /// Its value.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// The two sides could end up waiting for each other.
    #[error(
        "error_buffer is {error_buffer}; below {least} both sides can come to wait for each other: it must be at least \
         max(1, samples_per_insert), (samples_per_insert * largest insert + largest sample) / 2, and \
         samples_per_insert * (largest insert - 1)"
    )]
    Deadlock {
        /// The value given.
        error_buffer: f64,
        /// The least that is safe.
        least: f64,
    },
    /// The window can never hold enough to begin.
    #[error(
        "min_size_to_sample is {min_size_to_sample}, but the window holds only {capacity} rows: sampling would never begin"
    )]
    Capacity {
        /// The value given.
        min_size_to_sample: u64,
        /// Rows the window can hold.
        capacity: u64,
    },
}

/// What was done since the start of the run. A checkpoint stores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimiterCounts {
    /// Rows inserted.
    pub inserts: u64,
    /// Rows evicted again.
    pub deletes: u64,
    /// Rows sampled.
    pub samples: u64,
    /// Taken off `inserts * samples_per_insert - samples` by rebases.
    pub forgiven: f64,
}

/// Keeps the ratio of rows sampled to rows inserted.
#[derive(Clone, Debug)]
pub struct SampleToInsert {
    settings: LimiterSettings,
    counts: LimiterCounts,
}

impl LimiterSettings {
    /// The least `error_buffer` that cannot come to a standstill.
    ///
    /// Both sides wait only if some `diff` satisfies `diff - s < min_diff` and `diff + spi * i > max_diff`; none does if
    /// `max_diff - min_diff >= spi * i + s`. A group that crosses `min_size_to_sample` overshoots it by `i - 1` rows at
    /// most, which `max_diff` must allow. Reverb's own rule is `max_diff - min_diff >= 2 * max(1, spi)`.
    pub fn least_error_buffer(&self) -> f64 {
        let spi = self.samples_per_insert;
        let (insert, sample) = (self.largest_insert as f64, self.largest_sample as f64);
        spi.max(1.0).max((spi * insert + sample) / 2.0).max(spi * (insert - 1.0))
    }

    fn check(&self) -> Result<(), LimiterError> {
        let refuse = |field, value, expected| Err(LimiterError::Value { field, value, expected });
        if !(self.samples_per_insert.is_finite() && self.samples_per_insert > 0.0) {
            return refuse("samples_per_insert", self.samples_per_insert, "above 0");
        }
        for (field, value) in [
            ("min_size_to_sample", self.min_size_to_sample),
            ("largest_insert", self.largest_insert),
            ("largest_sample", self.largest_sample),
        ] {
            if value == 0 {
                return refuse(field, 0.0, "at least 1");
            }
        }
        if !self.error_buffer.is_finite() {
            return refuse("error_buffer", self.error_buffer, "a finite number");
        }
        if self.min_size_to_sample > self.capacity {
            let (min_size_to_sample, capacity) = (self.min_size_to_sample, self.capacity);
            return Err(LimiterError::Capacity { min_size_to_sample, capacity });
        }
        let least = self.least_error_buffer();
        if self.error_buffer < least {
            return Err(LimiterError::Deadlock { error_buffer: self.error_buffer, least });
        }
        Ok(())
    }
}

impl SampleToInsert {
    /// A limiter at the start of a run.
    ///
    /// # Errors
    /// [`LimiterError`] for settings that mean nothing or can come to a standstill.
    pub fn new(settings: LimiterSettings) -> Result<Self, LimiterError> {
        Self::restore(settings, LimiterCounts::default())
    }

    /// A limiter that goes on from a checkpoint's counts.
    ///
    /// # Errors
    /// As [`SampleToInsert::new`].
    pub fn restore(settings: LimiterSettings, counts: LimiterCounts) -> Result<Self, LimiterError> {
        settings.check()?;
        Ok(Self { settings, counts })
    }

    /// What it holds to.
    pub fn settings(&self) -> &LimiterSettings {
        &self.settings
    }

    /// What was done so far.
    pub fn counts(&self) -> LimiterCounts {
        self.counts
    }

    /// Rows held now.
    pub fn size(&self) -> u64 {
        self.counts.inserts - self.counts.deletes
    }

    /// `inserts * samples_per_insert - samples`: grows by storing, shrinks by sampling.
    pub fn diff(&self) -> f64 {
        let LimiterCounts { inserts, samples, forgiven, .. } = self.counts;
        inserts as f64 * self.settings.samples_per_insert - samples as f64 - forgiven
    }

    /// Below this, sampling waits.
    pub fn min_diff(&self) -> f64 {
        self.middle() - self.settings.error_buffer
    }

    /// Above this, inserting waits.
    pub fn max_diff(&self) -> f64 {
        self.middle() + self.settings.error_buffer
    }

    fn middle(&self) -> f64 {
        self.settings.min_size_to_sample as f64 * self.settings.samples_per_insert
    }

    /// True if `n` more rows may be inserted now.
    pub fn can_insert(&self, n: u64) -> bool {
        self.size() + n <= self.settings.min_size_to_sample
            || self.diff() + n as f64 * self.settings.samples_per_insert <= self.max_diff()
    }

    /// True if `n` rows may be sampled now.
    pub fn can_sample(&self, n: u64) -> bool {
        self.size() >= self.settings.min_size_to_sample && self.diff() - n as f64 >= self.min_diff()
    }

    /// Counts `n` rows inserted.
    pub fn insert(&mut self, n: u64) {
        self.counts.inserts += n;
    }

    /// Counts `n` rows sampled.
    pub fn sample(&mut self, n: u64) {
        self.counts.samples += n;
    }

    /// Counts `n` rows evicted.
    ///
    /// # Panics
    /// If more rows go than are held.
    pub fn delete(&mut self, n: u64) {
        assert!(n <= self.size(), "{n} rows deleted of {}", self.size());
        self.counts.deletes += n;
    }

    /// Goes on after a restart at which the window was filled anew with `held` rows: they count as inserted, but
    /// neither as a debt of training nor as work already done, so no catch-up burst follows on either side. The balance
    /// stays what it was (within bounds), or even if sampling had not begun; with too few rows it starts afresh.
    pub fn rebase(&mut self, held: u64) {
        let least = self.settings.min_size_to_sample;
        let target = if held < least {
            held as f64 * self.settings.samples_per_insert
        } else if self.size() < least {
            self.middle()
        } else {
            self.diff().clamp(self.min_diff(), self.max_diff())
        };
        self.counts.deletes = self.counts.inserts;
        self.counts.inserts += held;
        self.counts.forgiven += self.diff() - target;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A limiter for single rows with Reverb's `min_diff` and `max_diff` lying evenly around the middle.
    fn limiter(samples_per_insert: f64, min_size_to_sample: u64, error_buffer: f64) -> SampleToInsert {
        SampleToInsert::new(LimiterSettings {
            samples_per_insert,
            min_size_to_sample,
            error_buffer,
            largest_insert: 1,
            largest_sample: 1,
            capacity: 100,
        })
        .unwrap()
    }

    #[test]
    fn samples_wait_until_enough_rows_are_held() {
        let mut limiter = limiter(1.0, 2, 1.0);
        assert!(!limiter.can_sample(1));
        limiter.insert(1);
        assert!(!limiter.can_sample(1)); // 1 row of 2
        limiter.insert(1);
        assert!(limiter.can_sample(1)); // diff 2 - 1 = 1 = min_diff
    }

    #[test]
    fn samples_are_allowed_down_to_the_lower_bound() {
        let mut limiter = limiter(1.0, 1, 2.0); // middle 1, from -1 to 3
        limiter.insert(1); // diff 1
        assert!(limiter.can_sample(1)); // diff 0
        assert!(limiter.can_sample(2)); // diff -1
        assert!(!limiter.can_sample(3)); // diff -2
    }

    #[test]
    fn inserts_are_free_up_to_the_least_size_and_then_allowed_up_to_the_upper_bound() {
        let mut limiter = limiter(1.5, 2, 2.0); // middle 3, from 1 to 5
        assert!(limiter.can_insert(1)); // diff 1.5, below the least size
        assert!(limiter.can_insert(2)); // diff 3, at the least size
        assert!(limiter.can_insert(3)); // diff 4.5
        assert!(!limiter.can_insert(4)); // diff 6
        limiter.insert(3);
        assert!(!limiter.can_insert(1)); // diff 6
        limiter.sample(2); // diff 4.5 - 2 = 2.5
        assert!(limiter.can_insert(1)); // diff 4
        assert!(!limiter.can_insert(2)); // diff 5.5
    }

    #[test]
    fn evictions_below_the_least_size_stop_samples_and_free_inserts() {
        let mut limiter = limiter(5.0, 2, 5.0); // middle 10, from 5 to 15
        limiter.insert(3); // diff 15
        assert!(!limiter.can_insert(1)); // diff 20
        assert!(limiter.can_sample(10)); // diff 5
        limiter.delete(2);
        assert_eq!(limiter.size(), 1);
        assert!(!limiter.can_sample(1));
        assert!(limiter.can_insert(1)); // 2 rows are the least size
        assert!(!limiter.can_insert(2)); // 3 rows, diff 25
    }

    #[test]
    fn counts_survive_a_checkpoint() {
        let mut limiter = limiter(1.5, 2, 2.0);
        limiter.insert(2);
        limiter.sample(1);
        limiter.delete(1);
        let text = serde_json::to_string(&limiter.counts()).unwrap();
        let restored = SampleToInsert::restore(*limiter.settings(), serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(restored.counts(), limiter.counts());
        assert_eq!(restored.diff(), 2.0); // 2 * 1.5 - 1
    }

    #[test]
    fn settings_that_can_come_to_a_standstill_are_refused_with_the_least_safe_value() {
        let settings = LimiterSettings {
            samples_per_insert: 4.0,
            min_size_to_sample: 100,
            error_buffer: 500.0,
            largest_insert: 60,
            largest_sample: 256,
            capacity: 1000,
        };
        assert_eq!(settings.least_error_buffer(), 248.0); // (4 * 60 + 256) / 2; 4 * 59 = 236 is less
        assert!(SampleToInsert::new(settings).is_ok());
        let reason = |settings| SampleToInsert::new(settings).expect_err("refused").to_string();
        let tight = LimiterSettings { error_buffer: 247.0, ..settings };
        assert!(reason(tight).starts_with("error_buffer is 247; below 248 both sides can come to wait"));
        let single = LimiterSettings { largest_insert: 1, largest_sample: 1, error_buffer: 3.9, ..settings };
        assert_eq!(single.least_error_buffer(), 4.0); // max(1, 4), as in Reverb
        assert!(reason(single).starts_with("error_buffer is 3.9; below 4 "));
        let small = LimiterSettings { capacity: 99, ..settings };
        assert!(reason(small).contains("the window holds only 99 rows"));
        let zero = LimiterSettings { samples_per_insert: 0.0, ..settings };
        assert_eq!(reason(zero), "samples_per_insert is 0; it must be above 0");
    }

    #[test]
    fn with_the_least_error_buffer_one_side_can_always_go_on() {
        for (samples_per_insert, largest_insert, largest_sample, min_size_to_sample) in
            [(0.25, 60, 256, 7), (4.0, 60, 256, 100), (1.0, 1, 1, 1), (16.0, 60, 32, 1000), (3.3, 7, 5, 11)]
        {
            let mut settings = LimiterSettings {
                samples_per_insert,
                min_size_to_sample,
                error_buffer: 0.0,
                largest_insert,
                largest_sample,
                capacity: 1000,
            };
            settings.error_buffer = settings.least_error_buffer();
            let mut limiter = SampleToInsert::new(settings).unwrap();
            for turn in 0..20_000_u64 {
                let insert = 1 + turn * 7919 % largest_insert; // groups of all sizes, in a fixed mixed order
                match (limiter.can_insert(insert), limiter.can_sample(largest_sample)) {
                    (true, can) if !can || turn % 3 > 0 => {
                        limiter.insert(insert);
                        limiter.delete(limiter.size().saturating_sub(settings.capacity));
                    }
                    (_, true) => limiter.sample(largest_sample),
                    _ => panic!("standstill at {limiter:?}"),
                }
            }
            let counts = limiter.counts();
            let ratio = counts.samples as f64 / (counts.inserts - min_size_to_sample) as f64;
            let slack = settings.error_buffer / (counts.inserts - min_size_to_sample) as f64;
            assert!((ratio - samples_per_insert).abs() <= slack + 1e-9, "{ratio} for {samples_per_insert}");
        }
    }

    #[test]
    fn a_rebase_causes_no_burst_on_either_side() {
        let mut limiter = limiter(2.0, 10, 4.0); // middle 20, from 16 to 24
        limiter.insert(50);
        limiter.sample(79);
        assert_eq!(limiter.diff(), 21.0); // 100 - 79
        let counts = limiter.counts();

        // 40 rows were stored since the checkpoint; the window holds all 90 again.
        limiter.rebase(90);
        assert_eq!((limiter.size(), limiter.diff()), (90, 21.0));
        assert!(limiter.can_sample(5) && !limiter.can_sample(6)); // 21 - 5 = 16
        assert!(limiter.can_insert(1) && !limiter.can_insert(2)); // 21 + 2 = 23

        // Nothing was left: it begins afresh.
        let mut empty = SampleToInsert::restore(*limiter.settings(), counts).unwrap();
        empty.rebase(0);
        assert_eq!((empty.size(), empty.diff()), (0, 0.0));
        empty.insert(10);
        assert_eq!(empty.diff(), 20.0);

        // Sampling had not begun at the checkpoint, but there is enough now: even.
        let mut early = SampleToInsert::new(*limiter.settings()).unwrap();
        early.insert(3);
        early.rebase(30);
        assert_eq!((early.size(), early.diff()), (30, 20.0));
    }
}
