//! How many positions a second the network evaluates on one thread, by size and batch. No search, no game.
//!
//! `cargo run --release -p fogfall-net --example bare_rate [-- SECONDS_PER_LINE]`
#![allow(clippy::print_stdout)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use fogfall_game::{Action, Layout, stream};
use fogfall_net::{Net, NetError, NetEvaluator, Shape, Weights};
use fogfall_search::{EvalBatch, Evaluator};
use rand::RngExt;

const OBSERVATION: usize = 220;
const ACTIONS: usize = 60;

fn main() -> Result<(), NetError> {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0.5);
    println!("observation {OBSERVATION}, actions {ACTIONS}, one thread; thousand positions/s");
    println!("{:>5} {:>6} {:>6} {:>6} {:>10} {:>10}", "width", "blocks", "batch", "legal", "positions", "GFLOP/s");
    for (width, blocks) in [(128, 2), (256, 4)] {
        let shape = Shape {
            observation: Layout::new([("all", OBSERVATION)]),
            actions: (0..ACTIONS).map(|action| format!("action {action}")).collect(),
            width,
            blocks,
        };
        let flop = 2.0 * shape.num_parameters() as f64;
        let net = Arc::new(Net::new(&Weights::random(shape, 1)?));
        for (rows, legal) in [(1, 10), (8, 10), (32, 10), (64, 10), (128, 10), (32, ACTIONS)] {
            let rate = rate(&net, rows, legal, Duration::from_secs_f64(seconds));
            let (thousands, gflops) = (rate / 1e3, rate * flop / 1e9);
            println!("{width:>5} {blocks:>6} {rows:>6} {legal:>6} {thousands:>10.1} {gflops:>10.1}");
        }
    }
    Ok(())
}

/// Positions a second, the best of ten stretches: what the machine can do when nobody else uses it.
fn rate(net: &Arc<Net>, rows: usize, legal: usize, time: Duration) -> f64 {
    let mut evaluator = NetEvaluator::new(Arc::clone(net));
    let mut batch = batch(rows, legal);
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

fn batch(rows: usize, legal: usize) -> EvalBatch {
    let mut rng = stream(1, &[]);
    let mut batch = EvalBatch::new(OBSERVATION);
    let actions: Vec<Action> = (0..legal).map(|action| action as Action).collect();
    for lane in 0..rows {
        batch.push(lane as u32, &actions).fill_with(|| rng.random_range(-1.0..1.0));
    }
    batch
}
