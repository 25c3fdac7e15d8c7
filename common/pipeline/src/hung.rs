//! Threads that do not go on: nothing in the process can free one, so the process is not healthy, and whoever watches it
//! starts it anew.

use std::{collections::BTreeSet, fmt, time::Duration};

use fogfall_service::admin::{Condition, Vitals};

/// A thread that does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hung {
    /// Its number.
    pub thread: usize,
    /// The seed of the game in which it hangs; 0 where it has not come to its first moves.
    pub seed: u64,
    /// How long it has not gone on.
    pub lasts: Duration,
}

impl fmt::Display for Hung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { thread, seed, lasts } = self;
        write!(f, "thread {thread} hangs in the game of seed {seed:016x} for {} s", lasts.as_secs())
    }
}

/// Keeps count of the games that hung, and the process's health by them.
pub struct HungGames {
    health: Condition,
    /// Those so far, by thread and seed.
    known: BTreeSet<(usize, u64)>,
}

impl HungGames {
    /// None has hung.
    pub fn none(vitals: &Vitals) -> Self {
        Self { health: vitals.healthy("games"), known: BTreeSet::new() }
    }

    /// Looks at those that hang now, logs those that are new, and returns how many have hung so far.
    pub fn look(&mut self, hung: &[Hung]) -> u64 {
        for hung in hung.iter().filter(|hung| self.known.insert((hung.thread, hung.seed))) {
            let (seed, lasts_s) = (format!("{:016x}", hung.seed), hung.lasts.as_secs_f64());
            tracing::error!(thread = hung.thread, seed, lasts_s, "a game does not go on");
        }
        match hung.first() {
            Some(first) => self.health.unmet(first.to_string()),
            None => self.health.met(),
        }
        self.known.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_game_that_hangs_is_counted_once_and_the_process_is_unhealthy_as_long() {
        let vitals = Vitals::new();
        let mut games = HungGames::none(&vitals);
        let hung = Hung { thread: 1, seed: 0xab, lasts: Duration::from_secs(130) };
        assert_eq!(games.look(&[]), 0);
        assert_eq!((games.look(&[hung]), games.look(&[hung])), (1, 1));
        let said = "games: thread 1 hangs in the game of seed 00000000000000ab for 130 s";
        assert_eq!(vitals.stalled(Instant::now()), [said]);
        assert_eq!(games.look(&[Hung { seed: 0xcd, ..hung }]), 2);
        assert_eq!(games.look(&[]), 2);
        assert!(vitals.stalled(Instant::now()).is_empty());
    }
}
