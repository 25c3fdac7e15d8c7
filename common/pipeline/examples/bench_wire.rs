//! What packing makes of rows and of weights: bytes and CPU time. Figures for a page, not a test: nothing fails.
//!
//! `cargo run -p fogfall-pipeline --example bench_wire`: games are played by default settings with an untrained network of
//! the learner's default size. Time is CPU time of this thread, the least of several passes over all games.
#![allow(clippy::print_stdout)]

use std::{hint::black_box, sync::Arc};

use fogfall_game::Game;
use fogfall_games::{Battle, KuhnPoker};
use fogfall_net::{Net, NetEvaluator, Shape, Weights};
use fogfall_pipeline::{PlayFlags, SearchFlags};
use fogfall_proto::{Trajectory, Version, WIRE_VERSION};
use fogfall_search::Cached;
use fogfall_selfplay::{Origin, Worker};
use rustix::time::{ClockId, clock_gettime};
use zstd::bulk::{Compressor, Decompressor};

const GAMES: usize = 200;
const PASSES: usize = 15;
const LEVELS: [i32; 4] = [1, -1, -3, -7];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    show(&play(Battle::new(None)?)?)?;
    show(&play(KuhnPoker::new())?)?;
    let blob = Weights::random(Shape::new(Battle::new(None)?.info(), 128, 2), 1)?.to_bytes();
    let level = 1;
    let Packed { bytes, pack_us, .. } = zstd_at(level, &[&blob])?;
    let (share, mb_per_s) = (bytes as f64 / blob.len() as f64, blob.len() as f64 / pack_us);
    println!("weights of {} bytes: zstd {level} leaves {share:.2} of them, at {mb_per_s:.0} MB/s", blob.len());
    Ok(())
}

/// Games by default settings.
fn play<G: Game>(game: G) -> Result<Vec<Trajectory>, Box<dyn std::error::Error>> {
    let game = Arc::new(game);
    let info = game.info();
    let net = Net::new(&Weights::random(Shape::new(info, 128, 2), 1)?);
    let evaluator = Cached::new(NetEvaluator::new(Arc::new(net)), 16_384, info.num_actions());
    let settings = PlayFlags::default().play(&SearchFlags::default(), info);
    let run = info.name.clone();
    let origin = Origin { wire: WIRE_VERSION, run, rules_hash: 0, settings_hash: 0, publisher: 0, seed: 1 };
    let mut worker = Worker::new(Arc::clone(&game), settings, origin, 32, Version::default(), evaluator);
    let mut games = Vec::new();
    while games.len() < GAMES {
        worker.round(&mut games);
    }
    Ok(games)
}

fn show(games: &[Trajectory]) -> Result<(), Box<dyn std::error::Error>> {
    let rows = games.iter().map(|game| f64::from(game.row_count)).sum::<f64>();
    let bytes: usize = games.iter().map(|game| game.rows.len()).sum();
    let per_row = |n: f64| n / rows;
    println!(
        "{}: {} games, {:.1} rows a game, {:.0} bytes a row",
        games[0].run,
        games.len(),
        rows / games.len() as f64,
        per_row(bytes as f64)
    );
    println!("  {:<34}{:>12}{:>12}{:>12}", "a row", "bytes", "us in", "us out");
    let line = |name: &str, packed: &Packed| {
        let Packed { bytes, pack_us, unpack_us } = packed;
        let (bytes, pack, unpack) = (per_row(*bytes as f64), per_row(*pack_us), per_row(*unpack_us));
        println!("  {name:<34}{bytes:>12.0}{pack:>12.2}{unpack:>12.2}");
    };
    let whole: Vec<&[u8]> = games.iter().map(|game| &game.rows[..]).collect();
    let dense: Vec<Vec<u8>> = whole.iter().map(|rows| without_zeros(rows)).collect();
    let dense: Vec<&[u8]> = dense.iter().map(Vec::as_slice).collect();
    for level in LEVELS {
        line(&format!("zstd {level}"), &zstd_at(level, &whole)?);
    }
    let left: usize = dense.iter().map(|words| words.len()).sum();
    println!("  {:<34}{:>12.0}", "zeros left out", per_row(left as f64));
    for level in LEVELS {
        line(&format!("zstd {level} alone, zeros left out"), &zstd_at(level, &dense)?);
    }
    for wire in [WIRE_VERSION - 1, WIRE_VERSION] {
        line(&format!("message of version {wire}, all of it"), &messages(wire, games));
    }
    Ok(())
}

/// The words that are not 0 behind a mask of them, as `proto/src/packing.rs` has them.
fn without_zeros(rows: &[u8]) -> Vec<u8> {
    let (mut masks, mut words) = (Vec::new(), Vec::new());
    for block in rows.chunks(256) {
        let mut mask = 0_u64;
        for (i, word) in block.chunks_exact(4).enumerate().filter(|(_, word)| *word != [0; 4]) {
            mask |= 1 << i;
            words.extend_from_slice(word);
        }
        masks.extend(mask.to_le_bytes());
    }
    [masks, words].concat()
}

/// What packing left and took.
struct Packed {
    bytes: usize,
    pack_us: f64,
    unpack_us: f64,
}

fn zstd_at(level: i32, parts: &[&[u8]]) -> Result<Packed, Box<dyn std::error::Error>> {
    let (mut compressor, mut decompressor) = (Compressor::new(level)?, Decompressor::new()?);
    let packed: Vec<Vec<u8>> = parts.iter().map(|part| compressor.compress(part)).collect::<Result<_, _>>()?;
    let pack = || parts.iter().for_each(|part| drop(black_box(compressor.compress(part))));
    let pack_us = least_us(pack);
    let mut room = Vec::with_capacity(parts.iter().map(|part| part.len()).max().unwrap_or(0));
    let unpack_us = least_us(|| {
        for packed in &packed {
            black_box(decompressor.decompress_to_buffer(packed, &mut room)).expect("it was just packed");
        }
    });
    Ok(Packed { bytes: packed.iter().map(Vec::len).sum(), pack_us, unpack_us })
}

fn messages(wire: u16, games: &[Trajectory]) -> Packed {
    let games: Vec<Trajectory> = games.iter().map(|game| Trajectory { wire, ..game.clone() }).collect();
    let messages: Vec<Vec<u8>> = games.iter().map(Trajectory::encode).collect();
    let pack_us = least_us(|| games.iter().for_each(|game| drop(black_box(game.encode()))));
    let unpack_us = least_us(|| messages.iter().for_each(|message| drop(black_box(Trajectory::decode(message)))));
    Packed { bytes: messages.iter().map(Vec::len).sum(), pack_us, unpack_us }
}

/// CPU time of this thread, us.
fn least_us(mut pass: impl FnMut()) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
    };
    let times = (0..PASSES).map(|_| {
        let start = now();
        pass();
        now() - start
    });
    times.fold(f64::INFINITY, f64::min)
}
