//! What a cache in front of an evaluator must do: answer as the evaluator inside would, whatever was asked before. Its key
//! must hold all that the answer depends on: each number of the observation, the legal actions, and the weights.

use fogfall_game::Action;
use fogfall_search::{EvalBatch, Evaluator, Hash};

/// Numbers in an observation: two words of a hash's input and a rest.
const OBSERVATION: usize = 9;
/// Lists of legal actions; some are as long as others, and one begins like another.
const LEGAL: [&[Action]; 5] = [&[0, 1], &[0, 2], &[1, 2], &[0, 1, 2], &[2]];
/// The weights given one after the other, back to the first at last.
const WEIGHTS: [u64; 4] = [1, 2, 3, 1];

/// Asks questions that differ in one thing at a time, each of them twice, and again after every change of weights.
/// `cached` puts the cache in front of an evaluator; `renew` gives the evaluator inside the weights of this number.
///
/// # Errors
/// The first answer that is not the evaluator's own.
pub fn conformance<E: Evaluator>(cached: impl FnOnce(Hash) -> E, renew: impl Fn(&mut E, u64)) -> Result<(), String> {
    let mut cache = cached(Hash { seed: WEIGHTS[0] });
    for (turn, &weights) in WEIGHTS.iter().enumerate() {
        if turn > 0 {
            renew(&mut cache, weights);
        }
        let mut expected = questions();
        Hash { seed: weights }.evaluate(&mut expected);
        for time in 1..=2 {
            let mut asked = questions();
            cache.evaluate(&mut asked);
            for row in 0..asked.len() {
                if asked.answer(row) != expected.answer(row) {
                    return Err(format!(
                        "weights {weights}, time {time}: {:?} with legal actions {:?} is answered {:?}, not {:?}",
                        asked.observation(row),
                        asked.legal(row),
                        asked.answer(row),
                        expected.answer(row)
                    ));
                }
            }
        }
    }
    Ok(())
}

/// An observation of zeros, and others that differ from it in one number, with each list of legal actions.
fn questions() -> EvalBatch {
    let mut batch = EvalBatch::new(OBSERVATION);
    for changed in 0..=OBSERVATION {
        for legal in LEGAL {
            if let Some(number) = batch.push(batch.len() as u32, legal).get_mut(changed) {
                *number = 1.0;
            }
        }
    }
    batch
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use fogfall_search::Cached;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Part {
        /// The observation's last number.
        Observation,
        Legal,
        Weights,
        Nothing,
    }

    /// Bits of the observation, legal actions, weights.
    type Key = (Vec<u32>, Vec<Action>, u64);

    /// A cache whose key lacks a part.
    struct Forgetful {
        inner: Hash,
        lacks: Part,
        known: HashMap<Key, (Vec<f32>, f32)>,
    }

    impl Evaluator for Forgetful {
        fn evaluate(&mut self, batch: &mut EvalBatch) {
            let mut answers = EvalBatch::new(batch.observation_len);
            for row in 0..batch.len() {
                let kept = batch.observation_len - usize::from(self.lacks == Part::Observation);
                let observation = batch.observation(row)[..kept].iter().map(|number| number.to_bits()).collect();
                // Without the actions a cache must know how many answers to give.
                let legal = match self.lacks {
                    Part::Legal => vec![batch.legal(row).len() as Action],
                    _ => batch.legal(row).to_vec(),
                };
                let weights = if self.lacks == Part::Weights { 0 } else { self.inner.seed };
                let (prior, value) = self.known.entry((observation, legal, weights)).or_insert_with(|| {
                    answers.clear();
                    answers.push(0, batch.legal(row)).copy_from_slice(batch.observation(row));
                    self.inner.evaluate(&mut answers);
                    (answers.prior.clone(), answers.value[0])
                });
                batch.prior.extend_from_slice(prior);
                batch.value.push(*value);
            }
        }
    }

    fn check(lacks: Part) -> Result<(), String> {
        conformance(|inner| Forgetful { inner, lacks, known: HashMap::new() }, |cache, seed| cache.inner.seed = seed)
    }

    #[test]
    fn the_cache_of_answers_conforms_whatever_its_size() {
        for entries in [0, 1, 8, 4096] {
            let renew = |cache: &mut Cached<Hash>, seed| cache.renew(|hash| hash.seed = seed);
            conformance(|inner| Cached::new(inner, entries, 3), renew).unwrap();
        }
    }

    #[test]
    fn a_cache_whose_key_lacks_observation_actions_or_weights_is_found() {
        check(Part::Nothing).unwrap();
        for lacks in [Part::Observation, Part::Legal, Part::Weights] {
            assert!(check(lacks).is_err(), "{lacks:?}");
        }
    }
}
