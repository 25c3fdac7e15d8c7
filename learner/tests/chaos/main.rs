//! Chaos with real processes: actors, ingesters, a learner, NATS and Redis are killed and paused at random, from a seed, and
//! started again; afterwards an audit finds nothing lost, nothing stored twice, and no counter off. Two mutants that lose
//! parts on purpose show that it would.
//!
//! What is stored survives `kill -9` because it was handed to the system before it was acknowledged. A loss of power is
//! another matter and not tried here.
//!
//! `scripts/test` runs these tests, `scripts/test --long` for ten minutes. By hand:
//!
//! ```text
//! cargo build --package actor --example audited
//! FOGFALL_CHAOS_SEED=7 FOGFALL_CHAOS_SECONDS=60 cargo test --package learner --test chaos -- --ignored --nocapture
//! ```
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod cluster;
mod ledger;
mod watch;

use std::{env, thread, time::Duration};

use fogfall_testkit::chaos::{draw, inflict};

use crate::cluster::Cluster;

/// Seed of the faults if `FOGFALL_CHAOS_SEED` does not say.
const SEED: u64 = 1;
/// Length of the chaos if `FOGFALL_CHAOS_SECONDS` does not say.
const SECONDS: u64 = 60;
/// No fault lasts longer: half as long again as the bus waits before it hands a part out again.
const LONGEST: Duration = Duration::from_secs(45);

/// A whole number from the environment.
fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, no number")))
}

#[expect(clippy::print_stderr, reason = "shown when a test fails")]
fn say(text: &str) {
    eprintln!("chaos: {text}");
}

#[test]
#[ignore = "takes minutes and needs the audited actor: scripts/test runs it"]
fn nothing_is_lost_or_stored_twice_whoever_is_killed_or_paused() {
    let seed = number("FOGFALL_CHAOS_SEED", SEED);
    let over = Duration::from_secs(number("FOGFALL_CHAOS_SECONDS", SECONDS));
    let mut cluster = Cluster::start(None);
    cluster.await_flow("the beginning");
    let mut victims = cluster.victims();
    let faults = draw(seed, victims.len(), over, LONGEST.min(over / 10));
    say(&format!("seed {seed}, {} s, {} faults:", over.as_secs(), faults.len()));
    for fault in &faults {
        say(&format!("  {fault}, {}", victims[fault.victim].name()));
    }
    assert_eq!(inflict(&faults, &mut victims), None, "seed {seed}");
    cluster.await_flow("the chaos");
    let differences = cluster.stop_and_audit();
    assert!(differences.is_empty(), "seed {seed}:\n{}", differences.join("\n"));
}

#[test]
#[ignore = "takes a while and needs the audited actor: scripts/test runs it"]
fn an_ingester_that_acknowledges_before_it_writes_is_caught_when_redis_is_killed() {
    let mut cluster = Cluster::start(Some("ack-first"));
    cluster.await_flow("the beginning");
    let rows = cluster.rows_stored();
    cluster.kill_redis();
    // Games go on coming, and can be stored nowhere.
    thread::sleep(Duration::from_secs(2));
    cluster.restart_redis();
    cluster.await_rows(rows + 1);
    let differences = cluster.stop_and_audit();
    let lost = |line: &String| line.ends_with("parts were acknowledged and are not stored");
    assert!(differences.iter().any(lost), "{differences:#?}");
}

#[test]
#[ignore = "takes a while and needs the audited actor: scripts/test runs it"]
fn a_single_part_that_is_dropped_is_caught() {
    let mut cluster = Cluster::start(Some("drop-one"));
    cluster.await_flow("the beginning");
    let differences = cluster.stop_and_audit();
    assert_eq!(differences.first().map(String::as_str), Some("1 parts were acknowledged and are not stored"));
}
