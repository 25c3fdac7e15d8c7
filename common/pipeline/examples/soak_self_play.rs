//! Memory of self-play over many games of `battle`, by default settings, on one thread: what the process holds must not
//! grow with the games played. New weights come every few hundred games, as from a learner. Figures for a page, not a
//! test: nothing fails.
//!
//! `cargo run -p fogfall-pipeline --example soak_self_play [-- GAMES]`: 10,000 games by default; a line each tenth.
#![allow(clippy::print_stdout)]

use std::{sync::Arc, time::Instant};

use fogfall_game::Game;
use fogfall_games::Battle;
use fogfall_net::{Net, NetError, NetEvaluator, Shape, Weights};
use fogfall_pipeline::{PlayFlags, SearchFlags};
use fogfall_proto::{Version, WIRE_VERSION};
use fogfall_search::Cached;
use fogfall_selfplay::{Origin, Worker};

/// The learner's defaults.
const SLOTS: usize = 32;
const CACHE_ENTRIES: usize = 16_384;
const WIDTH: usize = 128;
const BLOCKS: usize = 2;
/// Games from one weights version to the next.
const GENERATION: u64 = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let games: u64 = std::env::args().nth(1).map_or(Ok(10_000), |text| text.parse())?;
    let game = Arc::new(Battle::new(None)?);
    let info = game.info();
    let evaluator = |seed| -> Result<_, NetError> {
        let net = Net::new(&Weights::random(Shape::new(info, WIDTH, BLOCKS), seed)?);
        Ok(Cached::new(NetEvaluator::new(Arc::new(net)), CACHE_ENTRIES, info.num_actions()))
    };
    let settings = PlayFlags::default().play(&SearchFlags::default(), info);
    let origin =
        Origin { wire: WIRE_VERSION, run: "soak".into(), rules_hash: 0, settings_hash: 0, publisher: 0, seed: 1 };
    let version = |step| Version { epoch: 1, step };
    let mut worker = Worker::new(Arc::clone(&game), settings, origin, SLOTS, version(0), evaluator(0)?);
    let mut finished = Vec::new();
    let (began, mut first, mut steps) = (Instant::now(), None, 0);
    let mut next_line = games / 10;
    println!("{:>8} {:>10} {:>8} {:>8}", "games", "moves", "RSS MiB", "s");
    while worker.counts().games < games {
        worker.round(&mut finished);
        finished.clear();
        let counts = worker.counts();
        if counts.games / GENERATION > steps {
            steps = counts.games / GENERATION;
            worker.renew(version(steps), evaluator(steps)?);
        }
        if counts.games >= next_line {
            let rss = rss_mib()?;
            first.get_or_insert(rss);
            println!("{:>8} {:>10} {rss:>8.2} {:>8.1}", counts.games, counts.decisions, began.elapsed().as_secs_f64());
            next_line += games / 10;
        }
    }
    let growth = rss_mib()? - first.unwrap_or_default();
    println!("RSS grew by {growth:.2} MiB from game {} to game {games}, over {steps} weights versions", games / 10);
    Ok(())
}

/// Resident memory of this process. It holds two evaluators while games end with old weights, so it breathes a little.
fn rss_mib() -> Result<f64, std::io::Error> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.map(|kib| kib / 1024.0).ok_or_else(|| std::io::Error::other("no VmRSS in /proc/self/status"))
}
