//! The forward pass: against numbers found by hand, against a plain program in double precision, and bit for bit
//! against itself in other batches.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, sync::Arc};

use fogfall_game::{Action, Layout, Planes, Rng, stream};
use fogfall_net::{Net, NetEvaluator, Shape, Tensor, Tower, Weights};
use fogfall_search::{EvalBatch, Evaluator};
use rand::RngExt;

fn shape(observation: usize, actions: usize, width: usize, blocks: usize) -> Shape {
    let observation = Layout::new([("all", observation)]);
    Shape { observation, actions: (0..actions).map(|a| format!("a{a}")).collect(), width, blocks, tower: None }
}

/// With a tower over `planes`, behind which the observation has `rest` numbers.
fn tower_shape(planes: Planes, rest: usize, channels: usize, blocks: usize) -> Shape {
    shape(planes.numbers() + rest, 5, 32, 1).with_tower(Some(planes), channels, blocks)
}

/// Boards of all kinds: one cell, one row, one column, long and square ones, with and without numbers behind the planes.
fn towers() -> Vec<Shape> {
    let kinds =
        [(1, 1, 1, 0, 16, 1), (3, 1, 4, 2, 16, 0), (2, 5, 1, 1, 16, 2), (2, 6, 7, 0, 32, 2), (4, 3, 3, 7, 64, 1)];
    let tower = |(planes, height, width, rest, channels, blocks)| {
        tower_shape(Planes { channels: planes, height, width }, rest, channels, blocks)
    };
    kinds.into_iter().map(tower).collect()
}

/// Weights without structure: as if trained for long, all biases, scales and heads of a full size.
fn trained(shape: Shape, seed: u64) -> Weights {
    let mut rng = stream(seed, &[]);
    let tensor = |p: fogfall_net::Parameter| {
        let fan_in = p.dims[1..].iter().product::<usize>() as f32;
        let draw = |_| match p.dims.len() {
            1 => rng.random_range(-1.0..1.0),
            _ => rng.random_range(-1.0..1.0) * (3.0 / fan_in).sqrt(),
        };
        let data = (0..p.dims.iter().product::<usize>()).map(draw).collect();
        (p.name, Tensor { dims: p.dims, data })
    };
    let tensors = shape.parameters().into_iter().map(tensor).collect();
    Weights::new(shape, tensors).unwrap()
}

fn evaluator(weights: &Weights) -> NetEvaluator {
    NetEvaluator::new(Arc::new(Net::new(weights)))
}

fn numbers(len: usize, rng: &mut Rng) -> Vec<f32> {
    (0..len).map(|_| if rng.random_bool(0.5) { 0.0 } else { rng.random_range(-1.0..1.0) }).collect()
}

/// The features of an observation: itself, or what the tower makes of it. Boards are `[cells][channels]`.
fn plain_features(weights: &Weights, observation: Vec<f64>, norm: &dyn Fn(&str, &[f64]) -> Vec<f64>) -> Vec<f64> {
    let Some(tower) = weights.shape().tower else { return observation };
    let (height, width) = (tower.planes.height as i32, tower.planes.width as i32);
    let cells = (height * width) as usize;
    let convolution = |name: &str, board: &[Vec<f64>], reach: i32| -> Vec<Vec<f64>> {
        let (weight, bias) = (weights.data(&format!("{name}.weight")), weights.data(&format!("{name}.bias")));
        let (inputs, side) = (board[0].len(), 2 * reach + 1);
        let at = |cell: usize, output: usize| -> f64 {
            let mut sum = f64::from(bias[output]);
            for (input, dy, dx) in
                (0..inputs).flat_map(|i| (0..side).flat_map(move |y| (0..side).map(move |x| (i, y, x))))
            {
                let (y, x) = (cell as i32 / width + dy - reach, cell as i32 % width + dx - reach);
                if (0..height).contains(&y) && (0..width).contains(&x) {
                    let number = weight[(((output * inputs + input) as i32 * side + dy) * side + dx) as usize];
                    sum += f64::from(number) * board[(y * width + x) as usize][input];
                }
            }
            sum
        };
        (0..cells).map(|cell| (0..bias.len()).map(|output| at(cell, output)).collect()).collect()
    };
    let relu = |board: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
        board.into_iter().map(|cell| cell.into_iter().map(|x| x.max(0.0)).collect()).collect()
    };
    let normed =
        |name: &str, board: &[Vec<f64>]| -> Vec<Vec<f64>> { board.iter().map(|cell| norm(name, cell)).collect() };
    let planes = |cell: usize| (0..tower.planes.channels).map(|plane| observation[plane * cells + cell]).collect();
    let mut t = convolution("tower.input", &(0..cells).map(planes).collect::<Vec<_>>(), 1);
    for block in 0..tower.blocks {
        let inner = relu(convolution(&format!("tower.{block}.conv1"), &normed(&format!("tower.{block}.norm"), &t), 1));
        let added = convolution(&format!("tower.{block}.conv2"), &inner, 1);
        t.iter_mut().flatten().zip(added.into_iter().flatten()).for_each(|(t, added)| *t += added);
    }
    let squeezed = relu(convolution("tower.squeeze", &normed("tower.norm", &t), 0));
    let channel = |channel: usize| squeezed.iter().map(move |cell| cell[channel]);
    (0..Tower::SQUEEZED).flat_map(channel).chain(observation[tower.planes.numbers()..].iter().copied()).collect()
}

/// The function as it is defined, in double precision: logits and value of one observation.
fn plain(weights: &Weights, observation: &[f32]) -> (Vec<f64>, f64) {
    let affine = |name: &str, x: &[f64]| -> Vec<f64> {
        let (weight, bias) = (weights.data(&format!("{name}.weight")), weights.data(&format!("{name}.bias")));
        let line = |line: &[f32]| line.iter().zip(x).map(|(&w, x)| f64::from(w) * x).sum::<f64>();
        weight.chunks(x.len()).zip(bias).map(|(w, &b)| line(w) + f64::from(b)).collect()
    };
    let norm = |name: &str, x: &[f64]| -> Vec<f64> {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
        let (scale, shift) = (weights.data(&format!("{name}.weight")), weights.data(&format!("{name}.bias")));
        let one =
            |((x, &g), &b): ((&f64, &f32), &f32)| (x - mean) / (variance + 1e-5).sqrt() * f64::from(g) + f64::from(b);
        x.iter().zip(scale).zip(shift).map(one).collect()
    };
    let observation: Vec<f64> = observation.iter().map(|&x| f64::from(x)).collect();
    let mut x = affine("input", &plain_features(weights, observation, &norm));
    for block in 0..weights.shape().blocks {
        let hidden = affine(&format!("block.{block}.fc1"), &norm(&format!("block.{block}.norm"), &x));
        let hidden: Vec<f64> = hidden.into_iter().map(|x| x.max(0.0)).collect();
        let added = affine(&format!("block.{block}.fc2"), &hidden);
        x.iter_mut().zip(added).for_each(|(x, added)| *x += added);
    }
    let h = norm("norm", &x);
    (affine("policy", &h), affine("value", &h)[0])
}

#[test]
fn a_tiny_network_gives_what_was_computed_by_hand() {
    let tensor = |name: &str, dims: &[usize], data: &[f32]| {
        (name.to_owned(), Tensor { dims: dims.to_vec(), data: data.to_vec() })
    };
    let tensors = BTreeMap::from([
        tensor("input.weight", &[2, 2], &[1.0, 2.0, 0.0, 1.0]),
        tensor("input.bias", &[2], &[1.0, 0.0]),
        tensor("block.0.norm.weight", &[2], &[2.0, 1.0]),
        tensor("block.0.norm.bias", &[2], &[0.5, 0.0]),
        tensor("block.0.fc1.weight", &[2, 2], &[1.0, 1.0, 0.0, 1.0]),
        tensor("block.0.fc1.bias", &[2], &[0.0, 0.25]),
        tensor("block.0.fc2.weight", &[2, 2], &[0.0, 1.0, 2.0, 1.0]),
        tensor("block.0.fc2.bias", &[2], &[0.0, 3.0]),
        tensor("norm.weight", &[2], &[1.0, 3.0]),
        tensor("norm.bias", &[2], &[0.0, 1.0]),
        tensor("policy.weight", &[3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]),
        tensor("policy.bias", &[3], &[0.0, 0.0, 0.5]),
        tensor("value.weight", &[1, 2], &[2.0, 1.0]),
        tensor("value.bias", &[1], &[0.125]),
    ]);
    let weights = Weights::new(shape(2, 3, 2, 1), tensors).unwrap();
    // obs (1, 1): x = (1 + 2 + 1, 1) = (4, 1), mean 2.5, deviations (1.5, -1.5), normed (1, -1)
    // norm 0: (1 * 2 + 0.5, -1 * 1) = (2.5, -1)
    // fc1: (2.5 - 1, -1 + 0.25) = (1.5, -0.75), relu (1.5, 0)
    // fc2: (0, 2 * 1.5 + 3) = (0, 6); x = (4, 7), mean 5.5, normed (-1, 1)
    // norm: (-1, 1 * 3 + 1) = (-1, 4)
    // policy: (-1, 4, -1 + 4 + 0.5 = 3.5); value: -2 + 4 + 0.125 = 2.125
    // epsilon: 1 / sqrt(2.25 + 1e-5) is 2e-6 off 1 / 1.5, so all agree to 1e-4.
    let mut evaluator = evaluator(&weights);
    let (logits, values) = evaluator.outputs(&[1.0, 1.0]);
    for (found, wanted) in logits.iter().chain(&values).zip([-1.0, 4.0, 3.5, 2.125]) {
        assert!((found - wanted).abs() < 1e-4, "{logits:?} {values:?}");
    }

    let mut batch = EvalBatch::new(2);
    batch.push(0, &[0, 2]).copy_from_slice(&[1.0, 1.0]);
    evaluator.evaluate(&mut batch);
    // logits -1 and 3.5: 1 / (1 + e^4.5) = 1 / (1 + 90.0171) = 0.0109869
    let (prior, value) = batch.answer(0);
    assert!((prior[0] - 0.010_986_9).abs() < 1e-5 && (prior[1] - 0.989_013_1).abs() < 1e-5, "{prior:?}");
    assert!((value - 2.125).abs() < 1e-4);
}

#[test]
fn all_sizes_agree_with_the_plain_program() {
    let flat = [(1, 1, 1, 0), (2, 2, 3, 1), (7, 3, 17, 2), (220, 60, 128, 2), (1500, 60, 64, 1), (257, 3, 256, 4)];
    let flat = flat.map(|(observation, actions, width, blocks)| shape(observation, actions, width, blocks));
    for shape in flat.into_iter().chain(towers()) {
        let (observation, actions) = (shape.observation_len(), shape.num_actions());
        for weights in [trained, |shape, seed| Weights::random(shape, seed).unwrap()] {
            let weights = weights(shape.clone(), 5);
            let observations = numbers(3 * observation, &mut stream(6, &[]));
            let (logits, values) = evaluator(&weights).outputs(&observations);
            for (row, observation) in observations.chunks(observation).enumerate() {
                let (wanted, value) = plain(&weights, observation);
                let found = logits[row * actions..(row + 1) * actions].iter().chain([&values[row]]);
                for (&found, wanted) in found.zip(wanted.into_iter().chain([value])) {
                    let error = (f64::from(found) - wanted).abs();
                    assert!(error <= 1e-5 * wanted.abs().max(1.0), "{found}, wanted {wanted}: {:?}", weights.shape());
                }
            }
        }
    }
}

#[test]
fn a_row_has_the_same_bits_alone_and_in_any_batch() {
    let flat = [(2, 3, 64), (7, 3, 64), (200, 60, 128), (257, 60, 256), (1500, 3, 64), (513, 60, 100)];
    let flat = flat.map(|(observation, actions, width)| shape(observation, actions, width, 2));
    for shape in flat.into_iter().chain(towers()) {
        let (observation, actions) = (shape.observation_len(), shape.num_actions());
        let weights = trained(shape, 7);
        let mut evaluator = evaluator(&weights);
        let observations = numbers(70 * observation, &mut stream(8, &[]));
        let bits = |(logits, values): (Vec<f32>, Vec<f32>)| -> Vec<(Vec<u32>, u32)> {
            let logits = logits.chunks(actions).map(|row| row.iter().map(|x| x.to_bits()).collect());
            logits.zip(values.iter().map(|x| x.to_bits())).collect()
        };
        let alone: Vec<_> =
            observations.chunks(observation).map(|row| bits(evaluator.outputs(row)).remove(0)).collect();
        for rows in 1..=70 {
            // The last rows: they lie elsewhere in every batch.
            let first = 70 - rows;
            let found = bits(evaluator.outputs(&observations[first * observation..]));
            assert!(found == alone[first..], "{rows} rows of {:?}", weights.shape());
        }
    }
}

#[test]
fn an_evaluator_goes_on_with_a_network_of_another_size() {
    let boards = towers();
    let observations = |shape: &Shape| numbers(5 * shape.observation_len(), &mut stream(8, &[]));
    let mut wandering = evaluator(&trained(boards[0].clone(), 7));
    for shape in boards {
        let weights = trained(shape, 7);
        wandering.set_net(Arc::new(Net::new(&weights)));
        let observations = observations(weights.shape());
        assert_eq!(wandering.outputs(&observations), evaluator(&weights).outputs(&observations));
    }
}

/// A batch of random rows with 1 to all actions legal.
fn batch(observation: usize, actions: usize, rows: usize, seed: u64) -> EvalBatch {
    let mut rng = stream(seed, &[]);
    let mut batch = EvalBatch::new(observation);
    for lane in 0..rows {
        let kept = rng.random_range(0..actions);
        let legal: Vec<Action> =
            (0..actions).filter(|&a| a == kept || rng.random_bool(0.3)).map(|a| a as Action).collect();
        let observation = numbers(observation, &mut rng);
        batch.push(lane as u32, &legal).copy_from_slice(&observation);
    }
    batch
}

#[test]
fn answers_have_the_same_bits_alone_and_across_chunks() {
    let mut evaluator = evaluator(&trained(shape(30, 61, 32, 1), 9));
    let mut together = batch(30, 61, 200, 10);
    evaluator.evaluate(&mut together);
    for row in 0..together.len() {
        let mut alone = EvalBatch::new(30);
        alone.push(0, together.legal(row)).copy_from_slice(together.observation(row));
        evaluator.evaluate(&mut alone);
        assert_eq!(alone.answer(0), together.answer(row), "row {row}");
    }
}

#[test]
fn priors_are_the_softmax_of_the_legal_logits() {
    let weights = trained(shape(30, 61, 32, 1), 11);
    let mut evaluator = evaluator(&weights);
    let mut batch = batch(30, 61, 50, 12);
    evaluator.evaluate(&mut batch);
    for row in 0..batch.len() {
        let (logits, value) = plain(&weights, batch.observation(row));
        let weight = |&action: &Action| logits[action as usize].exp();
        let sum: f64 = batch.legal(row).iter().map(weight).sum();
        let (prior, found) = batch.answer(row);
        assert!((prior.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        for (&prior, action) in prior.iter().zip(batch.legal(row)) {
            assert!((f64::from(prior) - weight(action) / sum).abs() < 1e-5);
        }
        assert!((f64::from(found) - value).abs() < 1e-5 * value.abs().max(1.0));
    }
}

#[test]
fn an_untrained_network_is_nearly_uniform_with_value_near_0() {
    let mut evaluator = evaluator(&Weights::random(shape(30, 61, 128, 2), 13).unwrap());
    let mut batch = batch(30, 61, 50, 14);
    evaluator.evaluate(&mut batch);
    for row in 0..batch.len() {
        let (prior, value) = batch.answer(row);
        assert!(prior.iter().all(|p| (p * prior.len() as f32 - 1.0).abs() < 0.1), "{prior:?}");
        assert!(value.abs() < 0.1);
    }
}

#[test]
fn large_differences_of_logits_and_overflow_give_finite_answers() {
    let grown = |by: f32| {
        let weights = trained(shape(30, 61, 32, 1), 15);
        let mut tensors = weights.tensors().clone();
        for name in ["policy.weight", "value.weight"] {
            tensors.get_mut(name).unwrap().data.iter_mut().for_each(|x| *x *= by);
        }
        let mut batch = batch(30, 61, 20, 16);
        evaluator(&Weights::new(weights.shape().clone(), tensors).unwrap()).evaluate(&mut batch);
        batch
    };
    let large = grown(1e6);
    for row in 0..large.len() {
        let (prior, value) = large.answer(row);
        assert_eq!(prior.iter().filter(|&&p| p == 1.0).count(), 1, "{prior:?}");
        assert!(value.is_finite());
    }
    let overflown = grown(3e38);
    for row in 0..overflown.len() {
        let (prior, value) = overflown.answer(row);
        assert!((prior.iter().sum::<f32>() - 1.0).abs() < 1e-5 && value.is_finite(), "{prior:?} {value}");
    }
}

#[test]
fn an_evaluator_goes_on_with_another_network_and_answers_nothing_to_nobody() {
    let weights = [17, 18].map(|seed| trained(shape(30, 61, 32, 1), seed));
    let mut changed = evaluator(&weights[0]);
    let observation = numbers(30, &mut stream(19, &[]));
    let before = changed.outputs(&observation);
    changed.set_net(Arc::new(Net::new(&weights[1])));
    assert_ne!(changed.outputs(&observation), before);
    assert_eq!(changed.outputs(&observation), evaluator(&weights[1]).outputs(&observation));
    changed.evaluate(&mut EvalBatch::new(30));
    assert_eq!(changed.outputs(&[]), (vec![], vec![]));
}
