//! How many positions a second the network evaluates on one thread, by size and batch, with and without convolutions. No
//! search, no game.
//!
//! `cargo run --release -p fogfall-net --example bare_rate [-- SECONDS_PER_LINE]`
#![allow(clippy::print_stdout)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use fogfall_game::{Action, Layout, Planes, stream};
use fogfall_net::{Net, NetError, NetEvaluator, Shape, Weights};
use fogfall_search::{EvalBatch, Evaluator};
use rand::RngExt;

fn main() -> Result<(), NetError> {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0.5);
    println!("one thread, thousand positions/s");
    println!("{:>32} {:>6} {:>6} {:>10} {:>10}", "network", "batch", "legal", "positions", "GFLOP/s");
    let flat = |width, blocks| (format!("{width} x {blocks}"), shape(220, 60, width, blocks));
    let board = |height, width, channels, blocks| {
        let planes = Planes { channels: 2, height, width };
        let shape = shape(planes.numbers(), width, 128, 1).with_tower(Some(planes), channels, blocks);
        (format!("{height} x {width} cells, {channels} x {blocks}"), shape)
    };
    for (name, shape) in
        [flat(128, 2), flat(256, 4), board(6, 7, 16, 2), board(6, 7, 32, 3), board(8, 8, 32, 3), board(8, 8, 64, 5)]
    {
        let (actions, flop) = (shape.num_actions(), flop(&shape));
        let net = Arc::new(Net::new(&Weights::random(shape, 1)?));
        for (rows, legal) in [(1, 7), (8, 7), (32, 7), (64, 7), (128, 7), (32, actions)] {
            let rate = rate(&net, rows, legal, Duration::from_secs_f64(seconds));
            let (thousands, gflops) = (rate / 1e3, rate * flop / 1e9);
            println!("{name:>32} {rows:>6} {legal:>6} {thousands:>10.1} {gflops:>10.1}");
        }
    }
    Ok(())
}

fn shape(observation: usize, actions: usize, width: usize, blocks: usize) -> Shape {
    let actions = (0..actions).map(|action| format!("action {action}")).collect();
    Shape { observation: Layout::new([("all", observation)]), actions, width, blocks, tower: None }
}

/// Multiplications and additions of a position: two for each number of a matrix, and of a kernel for each cell.
fn flop(shape: &Shape) -> f64 {
    let cells = shape.tower.map_or(0, |tower| tower.planes.height * tower.planes.width);
    let uses = |dims: &[usize]| if dims.len() == 4 { cells } else { 1 };
    shape.parameters().iter().map(|p| 2.0 * (uses(&p.dims) * p.dims.iter().product::<usize>()) as f64).sum()
}

/// Positions a second, the best of ten stretches: what the machine can do when nobody else uses it.
fn rate(net: &Arc<Net>, rows: usize, legal: usize, time: Duration) -> f64 {
    let mut evaluator = NetEvaluator::new(Arc::clone(net));
    let mut batch = batch(net.shape().observation_len(), rows, legal);
    evaluator.evaluate(&mut batch);
    let mut best = 0.0f64;
    for _ in 0..10 {
        let start = Instant::now();
        let mut rounds = 0;
        while start.elapsed() < time / 10 {
            for _ in 0..10 {
                batch.prior.clear();
                batch.value.clear();
                evaluator.evaluate(&mut batch);
            }
            rounds += 10;
        }
        best = best.max((rows * rounds) as f64 / start.elapsed().as_secs_f64());
    }
    best
}

fn batch(observation: usize, rows: usize, legal: usize) -> EvalBatch {
    let mut rng = stream(1, &[]);
    let mut batch = EvalBatch::new(observation);
    let actions: Vec<Action> = (0..legal).map(|action| action as Action).collect();
    for lane in 0..rows {
        batch.push(lane as u32, &actions).fill_with(|| rng.random_range(-1.0..1.0));
    }
    batch
}
