//! A number of pairs of games, shared out to all cores.

use std::thread;

use anyhow::{Result, anyhow};

/// Calls `play` with the first pair and the number of pairs of each part, each on a thread of its own, and joins what
/// they give in order. What is played does not depend on how many parts there are.
///
/// # Errors
/// If a thread died.
pub fn in_parts<T: Send>(pairs: u32, play: impl Fn(u32, u32) -> Vec<T> + Sync) -> Result<Vec<T>> {
    let threads = thread::available_parallelism()?.get().min(pairs as usize).max(1) as u32;
    let share = pairs.div_ceil(threads);
    let part = |number: u32| {
        let first = number * share;
        play(first, pairs.saturating_sub(first).min(share))
    };
    let parts = thread::scope(|scope| {
        let part = &part;
        let parts: Vec<_> = (0..threads).map(|number| scope.spawn(move || part(number))).collect();
        parts.into_iter().map(thread::ScopedJoinHandle::join).collect::<Result<Vec<_>, _>>()
    });
    Ok(parts.map_err(|_| anyhow!("a thread of the match has died"))?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_played_once_and_in_order() {
        for pairs in [0, 1, 7, 64] {
            let played = in_parts(pairs, |first, count| (first..first + count).collect()).unwrap();
            assert_eq!(played, (0..pairs).collect::<Vec<_>>());
        }
    }
}
