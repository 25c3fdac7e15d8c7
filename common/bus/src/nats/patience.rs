//! How long to wait and when to try again: pauses double up to a limit and are random, so that many clients of a server
//! that comes back do not come back together.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The first pause at most.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// Doublings of it: the longest pause is 2.56 s.
const MAX_DOUBLINGS: u32 = 7;

/// A random time below `limit`. Not for anything that is to be repeated: it differs from process to process.
pub(crate) fn random_below(limit: Duration) -> Duration {
    static DRAWS: AtomicU64 = AtomicU64::new(0);
    static KEYS: std::sync::LazyLock<RandomState> = std::sync::LazyLock::new(RandomState::new);
    let draw = KEYS.hash_one(DRAWS.fetch_add(1, Ordering::Relaxed));
    // The upper 53 bits as a number in [0, 1).
    limit.mul_f64((draw >> 11) as f64 / (1_u64 << 53) as f64)
}

/// How long to wait after the `failures`-th failure in a row, counted from 0: half of a doubling limit or more.
pub(crate) fn pause(failures: u32) -> Duration {
    let limit = FIRST_PAUSE * (1 << failures.min(MAX_DOUBLINGS));
    limit / 2 + random_below(limit / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_differ() {
        for _ in 0..100 {
            assert!((10..20).contains(&pause(0).as_millis()));
            assert!((80..160).contains(&pause(3).as_millis())); // 20 ms * 2^3
            assert!((1280..2560).contains(&pause(40).as_millis())); // 20 ms * 2^7
        }
        assert_ne!(random_below(Duration::from_secs(9)), random_below(Duration::from_secs(9)));
        assert_eq!(random_below(Duration::ZERO), Duration::ZERO);
    }
}
