//! `search:cpu`: how many simulations with random playouts take as much CPU time a move as the other side's search. Found
//! by short matches of the two before the match itself; the match's report says what it came to.

use std::sync::Arc;

use anyhow::{Result, ensure};
use fogfall_game::{Game, mix};
use fogfall_selfplay::Effort;

use crate::{agent::AgentSpec, matches::play};

/// Apart from the seeds of the match.
const SEED: u64 = 0x6370_7521;
/// Pairs of a trial.
const PAIRS: u32 = 32;
/// Trials, each with the simulations that follow from the one before.
const TRIALS: usize = 5;
/// Times that differ by less than this share are equal.
const CLOSE: f64 = 0.03;
/// The most simulations that the setting allows.
const MOST: f64 = 1_000_000.0;

/// Gives the side that asks for it the simulations that take the other side's time, and says how many; none if no side
/// asks. A trial plays no more pairs than the match.
///
/// # Errors
/// If the other side does not search, or a thread died.
pub fn equal_cpu<G: Game>(game: &Arc<G>, sides: &mut [AgentSpec; 2], pairs: u32, seed: u64) -> Result<Option<u32>> {
    let Some(side) = sides.iter().position(AgentSpec::wants_equal_cpu) else { return Ok(None) };
    let other = &sides[1 - side];
    ensure!(
        other.searches() && !other.wants_equal_cpu(),
        "search:cpu takes the CPU time of a side that searches; '{}' has none to go by",
        other.name()
    );
    let found = settle(sides[side].simulations(), |simulations| {
        sides[side].set_simulations(simulations);
        let [a, b] = &*sides;
        let efforts = play(game, [a, b], [0, pairs.min(PAIRS)], mix(seed, SEED))?.efforts;
        Ok(time(&efforts[1 - side]) / time(&efforts[side]))
    })?;
    sides[side].set_simulations(found);
    Ok(Some(found))
}

/// The simulations at which `trial`, which gives the other side's time over one's own, comes close to 1.
fn settle(mut simulations: u32, mut trial: impl FnMut(u32) -> Result<f64>) -> Result<u32> {
    for _ in 0..TRIALS {
        let factor = trial(simulations)?;
        if (factor - 1.0).abs() < CLOSE {
            break;
        }
        simulations = (f64::from(simulations) * factor).round().clamp(1.0, MOST) as u32;
    }
    Ok(simulations)
}

/// Seconds a move.
fn time(effort: &Effort) -> f64 {
    effort.time.as_secs_f64().max(1e-9) / effort.moves.max(1) as f64
}

#[cfg(test)]
mod tests {
    use fogfall_games::KuhnPoker;

    use super::*;
    use crate::agent::AgentFlags;

    fn sides(texts: [&str; 2]) -> [AgentSpec; 2] {
        texts.map(|text| AgentSpec::parse(text, &KuhnPoker::new(), &AgentFlags::default()).unwrap())
    }

    #[test]
    fn simulations_settle_where_the_times_are_equal() {
        // A move takes 0.1 ms and 2 us a simulation, the other side's 3.1 ms: 1500 simulations.
        let own = |simulations: u32| 0.1 + 0.002 * f64::from(simulations);
        let mut trials = 0;
        let found = settle(64, |simulations| {
            trials += 1;
            Ok(3.1 / own(simulations))
        });
        let found = found.unwrap();
        assert!((own(found) / 3.1 - 1.0).abs() < CLOSE && trials < TRIALS, "{found} after {trials}");
        assert_eq!(settle(2, |_| Ok(0.01)).unwrap(), 1);
        assert_eq!(settle(1_000, |_| Ok(1e6)).unwrap(), 1_000_000);
    }

    #[test]
    fn only_the_side_that_asks_for_it_is_changed() {
        let game = Arc::new(KuhnPoker::new());
        let mut both = sides(["search:500", "search:cpu"]);
        let found = equal_cpu(&game, &mut both, 4, 1).unwrap().unwrap();
        assert_eq!((both[0].simulations(), both[1].simulations()), (500, found));
        let mut plain = sides(["search:10", "random"]);
        assert_eq!(equal_cpu(&game, &mut plain, 4, 1).unwrap(), None);
    }

    #[test]
    fn it_needs_a_side_with_a_time_of_its_own() {
        let game = Arc::new(KuhnPoker::new());
        for other in ["random", "search:cpu"] {
            let error = equal_cpu(&game, &mut sides([other, "search:cpu"]), 4, 1).unwrap_err().to_string();
            assert!(error.ends_with("has none to go by"), "{error}");
        }
    }
}
