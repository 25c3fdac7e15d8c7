//! Tests of the trainer as a whole: it learns, it can be stopped and resumed, nothing breaks it, and its network is the
//! one that plays.
#![allow(clippy::unwrap_used)]

use std::{ops::Range, sync::Arc};

use fogfall_game::{Layout, Planes, Rng, stream};
use fogfall_net::{Net, NetEvaluator, Shape, Weights};
use rand::RngExt;

use super::{
    Batch, Device, Optimizer, StepReport, TrainSettings, Trainer, TrainerState,
    model::{Model, numbers},
    set_threads,
};

const OBSERVATION: usize = 7;
const ACTIONS: usize = 5;

fn shape(width: usize, blocks: usize) -> Shape {
    let observation = Layout::new([("seen", 4), ("past", 3)]);
    Shape { observation, actions: (0..ACTIONS).map(|a| format!("a{a}")).collect(), width, blocks, tower: None }
}

/// The same with convolutions over the first six numbers.
fn tower_shape(channels: usize, blocks: usize) -> Shape {
    shape(16, 1).with_tower(Some(Planes { channels: 1, height: 2, width: 3 }), channels, blocks)
}

fn settings() -> TrainSettings {
    TrainSettings { learning_rate: 3e-3, warmup_steps: 5, ..TrainSettings::default() }
}

fn trainer(settings: &TrainSettings) -> Trainer {
    set_threads(1);
    Trainer::new(&Weights::random(shape(16, 2), 1).unwrap(), settings, Device::CPU)
}

/// Random rows with one to five legal actions each.
fn batch(rows: usize, seed: u64) -> Batch {
    let mut rng: Rng = stream(seed, &[]);
    let mut batch = Batch { rows, ..Batch::default() };
    for _ in 0..rows {
        batch.observation.extend((0..OBSERVATION).map(|_| rng.random_range(-1f32..1.0)));
        let sure = rng.random_range(0..ACTIONS);
        let legal: Vec<bool> = (0..ACTIONS).map(|a| a == sure || rng.random_range(0..2) == 0).collect();
        let label: Vec<f32> = legal.iter().map(|&legal| if legal { rng.random::<f32>() } else { 0.0 }).collect();
        let sum: f32 = label.iter().sum();
        batch.policy.extend(label.iter().map(|x| x / sum));
        batch.legal.extend(legal);
        batch.value.push(rng.random_range(-1f32..1.0));
        batch.policy_weight.push(1.0);
        batch.value_weight.push(rng.random_range(0.5f32..1.5));
    }
    batch
}

/// One step each on batches of these numbers.
fn run(trainer: &mut Trainer, batches: Range<u64>) -> Vec<StepReport> {
    batches.map(|seed| trainer.step(&batch(8, seed))).collect()
}

#[test]
fn it_memorises_one_batch() {
    let batch = batch(16, 3);
    for optimizer in [Optimizer::AdamW, Optimizer::Adam, Optimizer::Sgd] {
        let learning_rate = if optimizer == Optimizer::Sgd { 0.03 } else { 3e-3 };
        let mut trainer = trainer(&TrainSettings { optimizer, learning_rate, weight_decay: 0.0, ..settings() });
        let first = trainer.step(&batch);
        let last = (0..1500).map(|_| trainer.step(&batch)).last().unwrap();
        assert!(first.loss.value > 0.1 && first.policy_divergence > 0.05, "{optimizer:?}: {first:?}");
        assert!(last.loss.value < 1e-3 && last.policy_divergence < 1e-3, "{optimizer:?}: {last:?}");
        assert!(last.policy_agreement > 0.9, "{optimizer:?}: {last:?}");
    }
}

#[test]
fn the_first_report_is_the_untrained_network() {
    let rows = batch(64, 4);
    let report = trainer(&settings()).step(&rows);
    // Nearly uniform over the legal actions: the entropy is the mean of ln(number of legal actions).
    let legal = rows.legal.chunks(ACTIONS).map(|row| row.iter().filter(|&&legal| legal).count());
    let entropy = legal.map(|count| (count as f64).ln()).sum::<f64>() / 64.0;
    assert!((report.policy_entropy - entropy).abs() < 1e-2, "{report:?}, wanted {entropy}");
    // Values of nearly 0: the error is the weighted mean of the squared labels.
    let weights: f32 = rows.value_weight.iter().sum();
    let error: f32 = rows.value.iter().zip(&rows.value_weight).map(|(value, weight)| value * value * weight).sum();
    assert!((report.loss.value - f64::from(error / weights)).abs() < 2e-2, "{report:?}");
    let sum = report.loss.value + report.loss.policy + 1e-4 * report.loss.weights;
    assert!((report.loss.total - sum).abs() < 1e-9);
    assert_eq!((report.step, report.learning_rate), (1, 3e-3 / 5.0));
    assert!(!report.skipped);
}

#[test]
fn resumed_equals_unbroken_bit_for_bit() {
    for optimizer in [Optimizer::AdamW, Optimizer::Adam, Optimizer::Sgd] {
        let settings = TrainSettings { optimizer, ..settings() };
        let mut unbroken = trainer(&settings);
        run(&mut unbroken, 0..20);
        let (state, tensors) = unbroken.save();

        let state: TrainerState = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
        let mut resumed = Trainer::resume(&state, &tensors, &settings, Device::CPU).unwrap();
        assert_eq!(resumed.save(), (state, tensors));

        assert_eq!(run(&mut resumed, 20..40), run(&mut unbroken, 20..40), "{optimizer:?}");
        assert_eq!(resumed.save(), unbroken.save(), "{optimizer:?}");
    }
}

#[test]
fn a_changed_optimizer_goes_on_from_moments_of_its_kind_only() {
    let adamw = settings();
    let mut before = trainer(&adamw);
    run(&mut before, 0..3);
    let (state, tensors) = before.save();
    let resume = |optimizer| {
        let settings = TrainSettings { optimizer, ..adamw.clone() };
        let trainer = Trainer::resume(&state, &tensors, &settings, Device::CPU).unwrap();
        assert_eq!(trainer.weights().unwrap(), before.weights().unwrap());
        trainer.save().0
    };
    assert_eq!((resume(Optimizer::Adam).optimizer_steps, resume(Optimizer::Adam).step), (3, 3));
    assert_eq!((resume(Optimizer::Sgd).optimizer_steps, resume(Optimizer::Sgd).step), (0, 3));
}

#[test]
fn a_damaged_state_is_refused() {
    let (state, tensors) = trainer(&settings()).save();
    let error = |state: &TrainerState, tensors: &[u8]| {
        format!("{:#}", Trainer::resume(state, tensors, &settings(), Device::CPU).unwrap_err())
    };
    assert!(error(&state, &tensors[..tensors.len() - 1]).contains("cut off or damaged"));
    let wider = TrainerState { shape: shape(17, 2), ..state.clone() };
    assert!(error(&wider, &tensors).contains(&format!("not {}", wider.shape.num_parameters())));
    let mut broken = tensors.clone();
    let end = broken.len();
    broken[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(error(&state, &broken).contains("not finite"));
}

#[test]
fn a_batch_that_is_not_finite_leaves_everything_as_it_was() {
    let mut trainer = trainer(&settings());
    run(&mut trainer, 0..3);
    let (before, tensors) = trainer.save();
    let good = batch(8, 9);
    let spoilt: [fn(&mut Batch); 5] = [
        |batch| batch.observation[3] = f32::NAN,
        |batch| batch.observation[3] = f32::INFINITY,
        |batch| batch.value[0] = f32::NAN,
        |batch| batch.value[7] = 1e30, // its square is infinite
        |batch| batch.policy[0] = f32::NAN,
    ];
    for (count, spoil) in (1..).zip(spoilt) {
        let mut bad = good.clone();
        spoil(&mut bad);
        let report = trainer.step(&bad);
        assert!(report.skipped && report.step == 3, "{report:?}");
        let (after, same) = trainer.save();
        assert_eq!((after.step, after.optimizer_steps, after.skipped), (3, before.optimizer_steps, count));
        assert_eq!(same, tensors);
    }
    let report = trainer.step(&good);
    assert!(!report.skipped && report.step == 4);
    assert_ne!(trainer.save().1, tensors);
}

#[test]
fn a_long_gradient_is_scaled_down_to_the_limit() {
    // Plain SGD: the step's length is rate * norm of the gradient used.
    let settings = TrainSettings {
        optimizer: Optimizer::Sgd,
        momentum: 0.0,
        weight_decay: 0.0,
        learning_rate: 0.5,
        warmup_steps: 0,
        ..settings()
    };
    let length = |clip_norm: f64| {
        let mut trainer = trainer(&TrainSettings { clip_norm, ..settings.clone() });
        let before = trainer.weights().unwrap();
        let report = trainer.step(&batch(8, 1));
        let after = trainer.weights().unwrap();
        let numbers = |weights: &Weights| weights.tensors().values().flat_map(|t| t.data.clone()).collect::<Vec<f32>>();
        let moved = numbers(&before).into_iter().zip(numbers(&after));
        let length = moved.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
        (length, report)
    };
    let (length_free, free) = length(f64::INFINITY);
    assert!(!free.clipped && free.gradient_norm > 0.02, "{free:?}");
    assert!((length_free - 0.5 * free.gradient_norm).abs() < 1e-5);
    let (length_clipped, clipped) = length(0.01);
    assert!(clipped.clipped && clipped.gradient_norm == free.gradient_norm);
    assert!((length_clipped - 0.5 * 0.01).abs() < 1e-5, "{length_clipped}");
}

#[test]
fn averaged_weights_follow_the_weights_by_the_decay_rule() {
    let mut trainer = trainer(&TrainSettings { average_decay: 0.25, ..settings() });
    let name = "block.1.fc1.weight";
    let number = |weights: Weights| weights.data(name)[5];
    let start = number(trainer.weights().unwrap());
    assert_eq!(number(trainer.averaged().unwrap()), start);
    trainer.step(&batch(8, 1));
    let first = number(trainer.weights().unwrap());
    let average = start * (2.0 / 11.0) + first * (9.0 / 11.0); // decay 2/11 at step 1
    assert!((number(trainer.averaged().unwrap()) - average).abs() < 1e-6);
    trainer.step(&batch(8, 2));
    let second = number(trainer.weights().unwrap());
    assert_ne!(first, second);
    let average = average * 0.25 + second * 0.75; // decay min(0.25, 3/12) at step 2
    assert!((number(trainer.averaged().unwrap()) - average).abs() < 1e-6);
}

#[test]
fn biases_and_norms_do_not_decay() {
    let empty = Batch { policy_weight: vec![0.0; 8], value_weight: vec![0.0; 8], ..batch(8, 1) };
    for optimizer in [Optimizer::AdamW, Optimizer::Sgd] {
        let decaying = TrainSettings { optimizer, weight_decay: 0.1, learning_rate: 0.1, ..settings() };
        let weights = Weights::random(tower_shape(16, 1), 1).unwrap();
        let mut trainer = Trainer::new(&weights, &decaying, Device::CPU);
        let before = trainer.weights().unwrap();
        let report = trainer.step(&empty);
        assert!(!report.skipped && report.loss.policy == 0.0 && report.loss.value == 0.0);
        let after = trainer.weights().unwrap();
        for (name, tensor) in before.tensors() {
            let same = tensor.data == after.data(name);
            assert_eq!(same, tensor.dims.len() == 1, "{optimizer:?} {name}"); // only matrices and kernels decay
        }
    }
}

/// Both forward passes on random observations: the largest difference of a logit or value.
fn difference(weights: &Weights) -> f32 {
    let rows = batch(33, 5);
    let model = Model::new(weights, Device::CPU);
    let observation = tch::Tensor::from_slice(&rows.observation).view([33, -1]);
    let heads = model.forward(&observation);
    let theirs = [numbers(&heads.logits.reshape(-1)), numbers(&heads.value)].concat();

    let (logits, value) = NetEvaluator::new(Arc::new(Net::new(weights))).outputs(&rows.observation);
    let ours = [logits, value].concat();
    assert_eq!(ours.len(), theirs.len());
    ours.iter().zip(theirs).map(|(ours, theirs)| (ours - theirs).abs()).fold(0.0, f32::max)
}

#[test]
fn the_trained_network_is_the_one_that_plays() {
    set_threads(1);
    let towers = [tower_shape(16, 0), tower_shape(48, 2)];
    for shape in [shape(16, 2), shape(33, 0), shape(128, 3)].into_iter().chain(towers) {
        let random = Weights::random(shape.clone(), 7).unwrap();
        assert!(difference(&random) < 1e-5, "random weights of {shape:?}");
        let mut trainer = Trainer::new(&random, &settings(), Device::CPU);
        run(&mut trainer, 0..100);
        assert!(difference(&trainer.weights().unwrap()) < 1e-5, "trained weights of {shape:?}");
        assert!(difference(&trainer.averaged().unwrap()) < 1e-5, "averaged weights of {shape:?}");
    }
}
