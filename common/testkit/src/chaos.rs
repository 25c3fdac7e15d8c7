//! Chaos: who is killed or paused, when and for how long, all from a seed.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use fogfall_game::stream;
use rand::RngExt;
use rand::seq::SliceRandom;

use crate::supervise::Victim;

/// Stream of the faults, below the seed.
const FAULTS_STREAM: u64 = 1;
/// The shortest fault.
const SHORTEST: Duration = Duration::from_millis(100);
/// Time between the beginnings of two faults, on average.
const EVERY: Duration = Duration::from_secs(3);

/// Between two looks at whether somebody has ended.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What is done to a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// It is killed as by `kill -9`, and started again later.
    Kill,
    /// It is stopped, and goes on later.
    Pause,
}

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When it begins, from the beginning of the chaos.
    pub at: Duration,
    /// Which victim.
    pub victim: usize,
    /// What is done to it.
    pub harm: Harm,
    /// How long it lasts.
    pub lasts: Duration,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, lasts) = (self.at.as_secs_f64(), self.lasts.as_secs_f64());
        write!(f, "{at:7.2} s: {:?} victim {} for {lasts:.2} s", self.harm, self.victim)
    }
}

/// Draws faults that begin and end within `over`; none lasts longer than `longest`. Several victims may suffer at once,
/// each of them one fault at a time. Nobody suffers the same a second time before all have suffered everything once.
pub fn draw(seed: u64, victims: usize, over: Duration, longest: Duration) -> Vec<Fault> {
    let mut rng = stream(seed, &[FAULTS_STREAM]);
    let (mut faults, mut deck, mut at) = (Vec::new(), Vec::new(), Duration::ZERO);
    let mut busy = vec![Duration::ZERO; victims];
    loop {
        if deck.is_empty() {
            deck = (0..victims).flat_map(|victim| [(victim, Harm::Kill), (victim, Harm::Pause)]).collect();
            deck.shuffle(&mut rng);
        }
        let Some((victim, harm)) = deck.pop() else { return faults };
        at = (at + EVERY.mul_f64(2.0 * rng.random::<f64>())).max(busy[victim]);
        // As often between 0.1 and 1 second as between 1 and 10.
        let lasts = SHORTEST.mul_f64((longest.as_secs_f64() / SHORTEST.as_secs_f64()).powf(rng.random::<f64>()));
        if at + lasts > over {
            return faults;
        }
        busy[victim] = at + lasts;
        faults.push(Fault { at, victim, harm, lasts });
    }
}

/// Does all of it. Somebody who ends by himself ends the chaos early, and is told; the others are mended all the same.
///
/// # Panics
/// If a victim cannot be mended.
pub fn inflict(faults: &[Fault], victims: &mut [&mut dyn Victim]) -> Option<String> {
    let ends = faults.iter().map(|fault| (fault.at + fault.lasts, fault, false));
    let mut changes: Vec<_> = faults.iter().map(|fault| (fault.at, fault, true)).chain(ends).collect();
    changes.sort_by_key(|&(at, _, begins)| (at, begins));
    let (began, mut suffering, mut wrong) = (Instant::now(), Vec::<Fault>::new(), None);
    for (at, fault, begins) in changes {
        while wrong.is_none() && began.elapsed() < at {
            thread::sleep(at.saturating_sub(began.elapsed()).min(LOOK_EVERY));
            wrong = victims.iter_mut().find_map(|victim| {
                let status = victim.ended()?;
                Some(format!(
                    "{} ended by itself after {:.1} s: {status}",
                    victim.name(),
                    began.elapsed().as_secs_f64()
                ))
            });
        }
        if begins && wrong.is_none() {
            match fault.harm {
                Harm::Kill => victims[fault.victim].kill(),
                Harm::Pause => victims[fault.victim].pause(),
            }
            suffering.push(*fault);
        } else if let Some(index) = suffering.iter().position(|suffered| suffered == fault) {
            match suffering.remove(index).harm {
                Harm::Kill => victims[fault.victim].restart(),
                Harm::Pause => victims[fault.victim].resume(),
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const LONGEST: Duration = Duration::from_secs(6);

    #[test]
    fn the_same_seed_draws_the_same_faults_and_all_of_them_end_in_time() {
        let faults = draw(1, 7, MINUTE, LONGEST);
        assert_eq!(faults, draw(1, 7, MINUTE, LONGEST));
        assert_ne!(faults, draw(2, 7, MINUTE, LONGEST));
        for fault in &faults {
            assert!(fault.lasts >= SHORTEST && fault.lasts <= LONGEST && fault.at + fault.lasts <= MINUTE, "{fault}");
        }
        assert!(draw(1, 0, MINUTE, LONGEST).is_empty());
    }

    #[test]
    fn everybody_suffers_everything_before_anybody_suffers_it_again_and_one_thing_at_a_time() {
        for seed in 0..20 {
            let faults = draw(seed, 3, 10 * MINUTE, LONGEST);
            let first: Vec<_> = faults.iter().take(6).map(|fault| (fault.victim, fault.harm)).collect();
            let all = (0..3).flat_map(|victim| [(victim, Harm::Kill), (victim, Harm::Pause)]);
            assert!(all.into_iter().all(|harm| first.contains(&harm)), "{first:?}");
            for victim in 0..3 {
                let of_one: Vec<_> = faults.iter().filter(|fault| fault.victim == victim).collect();
                assert!(of_one.windows(2).all(|pair| pair[0].at + pair[0].lasts <= pair[1].at));
            }
        }
    }
}
