//! Measures how long it takes until many actors, each with a connection of its own, hold weights that a learner
//! announces, and how much memory the NATS server needs for it. Not a test: it asserts only that nobody holds wrong weights.
//!
//! `cargo run -p fogfall-bus --example fan_out -- [ACTORS] [MIB]`

use std::sync::Arc;
use std::time::{Duration, Instant};

use fogfall_bus::{Bus, BusError, NatsBus, NatsLimits, NatsSettings};
use fogfall_proto::{Version, WeightsHead, digest};
use fogfall_testkit::bus::manifest;
use fogfall_testkit::nats::NatsServer;

/// Longest time for everything.
const WITHIN: Duration = Duration::from_secs(120);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::print_stdout)] // what an example is for
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let actors: usize = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let mib: usize = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let server = NatsServer::start();
    let limits = NatsLimits { store_bytes: 64 << 20, ..NatsLimits::default() };
    let settings = NatsSettings { urls: vec![server.url()], limits, ..NatsSettings::default() };
    let learner = NatsBus::connect(&NatsSettings { set_up: true, ..settings.clone() }, "r").await?;
    let epoch = learner.claim(&manifest(), 0).await?;

    let began = Instant::now();
    let mut waiting = Vec::new();
    for _ in 0..actors {
        let actor = NatsBus::connect(&settings, "r").await?;
        waiting.push(tokio::spawn(async move {
            let head = actor.newer_than(None, WITHIN).await?.ok_or(BusError::Unanswered { what: "hear of weights" })?;
            let blob = actor.fetch(&head).await?; // checked against its digest
            Ok::<_, BusError>((head.version, blob.len(), Instant::now()))
        }));
    }
    println!("{actors} actors connected in {:.1} s", began.elapsed().as_secs_f64());

    let blob: Arc<[u8]> = (0..mib << 20).map(|i| (i * 31 + i / 256) as u8).collect();
    let version = Version { epoch, step: 1 };
    let head = WeightsHead { version, ordinal: 1, bytes: blob.len() as u64, digest: digest(&blob) };
    let announced = Instant::now();
    learner.announce(epoch, head, blob).await?;
    println!("{mib} MiB announced in {:.3} s", announced.elapsed().as_secs_f64());

    let mut last = Duration::ZERO;
    for actor in waiting {
        let (held, len, at) = actor.await??;
        assert_eq!((held, len), (version, mib << 20));
        last = last.max(at.duration_since(announced));
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid().unwrap_or(0)))?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    println!(
        "all {actors} hold them after {:.1} s; the server's peak memory: {}",
        last.as_secs_f64(),
        &peak[6..].trim()
    );
    Ok(())
}
