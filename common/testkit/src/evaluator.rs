//! What any [`Evaluator`] must do: one prior a legal action, summing to 1; finite values; the same bits for a row
//! alone as for the row in any batch.

use fogfall_game::{Game, Turn, stream};
use fogfall_search::{EvalBatch, Evaluator};
use rand::RngExt;

/// Positions asked about.
const ROWS: usize = 67; // no multiple of a kernel's width

/// Runs the suite on positions of `game`.
///
/// # Panics
/// On the first promise that is not kept.
pub fn conformance<G: Game>(game: &G, evaluator: &mut dyn Evaluator) {
    let mut batch = positions(game, ROWS, 1);
    answers_are_complete(evaluator, &mut batch);
    a_row_alone_equals_the_row_in_a_batch(evaluator, &batch);
    an_empty_batch_is_answered_by_nothing(evaluator, batch.observation_len);
    // Asked again, after other questions.
    let mut again = positions(game, ROWS, 1);
    evaluator.evaluate(&mut again);
    assert_eq!(bits(&again), bits(&batch), "the same questions get other answers the second time");
}

/// Questions about positions met in random play, with a made-up playout result each.
pub fn positions<G: Game>(game: &G, rows: usize, seed: u64) -> EvalBatch {
    let mut batch = EvalBatch::new(game.info().observation_len());
    batch.want_rollouts = true;
    let mut rng = stream(seed, &[]);
    let mut legal = Vec::new();
    while batch.len() < rows {
        let mut state = game.start(&mut rng);
        game.settle(&mut state, &mut rng);
        while let Turn::Player(seat) = game.turn(&state) {
            game.legal(&state, &mut legal);
            if batch.len() < rows && rng.random::<f32>() < 0.5 {
                let lane = batch.len() as u32;
                game.observe(&state, seat, batch.push(lane, &legal));
                batch.rollout.push(rng.random_range(-1.0..1.0));
            }
            game.advance(&mut state, legal[rng.random_range(0..legal.len())], &mut rng);
        }
    }
    batch
}

fn answers_are_complete(evaluator: &mut dyn Evaluator, batch: &mut EvalBatch) {
    let (observation, legal, lane) = (batch.observation.clone(), batch.legal.clone(), batch.lane.clone());
    evaluator.evaluate(batch);
    assert!(observation == batch.observation && legal == batch.legal && lane == batch.lane, "the questions changed");
    assert_eq!(batch.prior.len(), batch.legal.len(), "one prior a legal action");
    assert_eq!(batch.value.len(), batch.len(), "one value a row");
    for row in 0..batch.len() {
        let (prior, value) = batch.answer(row);
        let sum: f64 = prior.iter().map(|&p| f64::from(p)).sum();
        assert!(prior.iter().all(|&p| (0.0..=1.0).contains(&p)), "row {row}: priors {prior:?}");
        assert!((sum - 1.0).abs() < 1e-5, "row {row}: priors sum to {sum}");
        assert!(value.is_finite(), "row {row}: value {value}");
    }
}

fn a_row_alone_equals_the_row_in_a_batch(evaluator: &mut dyn Evaluator, batch: &EvalBatch) {
    let reversed: Vec<usize> = (0..batch.len()).rev().collect();
    let alone: Vec<Vec<usize>> = (0..batch.len()).map(|row| vec![row]).collect();
    for rows in alone.iter().chain([&reversed]) {
        let mut part = EvalBatch::new(batch.observation_len);
        part.want_rollouts = batch.want_rollouts;
        for &row in rows {
            part.push(batch.lane[row], batch.legal(row)).copy_from_slice(batch.observation(row));
            part.rollout.push(batch.rollout[row]);
        }
        evaluator.evaluate(&mut part);
        for (place, &row) in rows.iter().enumerate() {
            let ((prior, value), (expected, expected_value)) = (part.answer(place), batch.answer(row));
            assert!(
                prior.iter().map(|p| p.to_bits()).eq(expected.iter().map(|p| p.to_bits()))
                    && value.to_bits() == expected_value.to_bits(),
                "row {row} in a batch of {}: {prior:?} {value}, in one of {}: {expected:?} {expected_value}",
                rows.len(),
                batch.len()
            );
        }
    }
}

fn an_empty_batch_is_answered_by_nothing(evaluator: &mut dyn Evaluator, observation_len: usize) {
    let mut empty = EvalBatch::new(observation_len);
    evaluator.evaluate(&mut empty);
    assert!(empty.prior.is_empty() && empty.value.is_empty(), "an empty batch got answers");
}

fn bits(batch: &EvalBatch) -> Vec<u32> {
    batch.prior.iter().chain(&batch.value).map(|number| number.to_bits()).collect()
}
