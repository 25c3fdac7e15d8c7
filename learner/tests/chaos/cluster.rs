//! A run of Kuhn poker on real servers: two actors and two ingesters with journals, one learner, NATS and Redis, all of
//! them processes under supervision.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    thread,
    time::Duration,
};

use fogfall_bus::{Bus, NatsBus, NatsSettings};
use fogfall_testkit::{
    nats::NatsServer,
    redis_server::RedisServer,
    supervise::{Supervised, Victim, command, get, until},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    ledger::{self, Log, Starts},
    say,
    watch::Watch,
};

const RUN: &str = "chaos";
/// Rows in the replay log: more than a minute brings, fewer than ten.
const LOG_ROWS: u64 = 100_000;
/// Least time between two games of an actor.
const PACE_MS: &str = "4";
/// What is waited for longer than this does not come.
const PATIENCE: Duration = Duration::from_secs(180);
/// A process has `--stop-within-s` for its end, and ends itself with an error when they are over; one that is there after
/// this time hangs.
const HANGS_AFTER: Duration = Duration::from_secs(60);

/// Settings of a learner that a busy machine can bear.
const SMALL: &[&str] = &[
    "--device=cpu",
    "--width=16",
    "--blocks=1",
    "--simulations=8",
    "--batch-rows=32",
    "--min-rows=64",
    "--window-rows=2000",
    "--replay-ratio=2",
    "--publish-steps=50",
    "--stale-after-steps=0",
    "--checkpoint-s=1",
    "--metrics-every-s=1",
    "--match-every-s=0",
    "--exact-every-s=0",
];

/// The run.
pub struct Cluster {
    // In this order they are dropped: those who ask before those who are asked.
    watch: Watch,
    actors: Vec<Supervised>,
    ingesters: Vec<Supervised>,
    learner: Supervised,
    nats: NatsServer,
    redis: RedisServer,
    bus: Arc<NatsBus>,
    runtime: Runtime,
    starts: Starts,
    /// Everything that the processes write. Kept if the test fails.
    folder: Option<TempDir>,
}

impl Cluster {
    /// Starts all of it. A mutant's name is given to the ingesters: to both that acknowledge first, to one that drops.
    pub fn start(mutant: Option<&'static str>) -> Self {
        let folder = tempfile::Builder::new().prefix("fogfall-chaos-").tempdir().unwrap();
        let (nats, redis) = (NatsServer::start(), RedisServer::start());
        let (path, bus_url, log_url) = (folder.path(), nats.url(), redis.url());
        let starts = Starts::default();
        let learner = Supervised::start("learner", path, Box::new(learner(path, &bus_url, &log_url, &starts)));
        let start = |name: String, arguments: Vec<String>, mutant: Option<&'static str>| {
            let make = Box::new(audited(path, name.clone(), arguments, mutant));
            Supervised::start(&name, path, make)
        };
        let run = ["--nats", &bus_url, "--run", RUN, "--json", "--metrics-addr=127.0.0.1:0"].map(str::to_owned);
        let player = [run.to_vec(), vec!["--threads=1".into(), "--slots=4".into()]].concat();
        let stores = ["ingest", "--redis", &log_url].map(str::to_owned);
        let ingester = [stores.to_vec(), run.to_vec()].concat();
        let actors = (0..2).map(|i| start(format!("actor-{i}"), player.clone(), None)).collect();
        let mutant_of = |i| mutant.filter(|&mutant| mutant != "drop-one" || i == 0);
        let ingesters = (0..2).map(|i| start(format!("ingest-{i}"), ingester.clone(), mutant_of(i))).collect();
        let runtime = Runtime::new().unwrap();
        let settings = NatsSettings { urls: vec![bus_url], ..NatsSettings::default() };
        let bus = Arc::new(runtime.block_on(NatsBus::connect(&settings, RUN)).unwrap());
        let watch = Watch::start(&bus, runtime.handle());
        Self { watch, actors, ingesters, learner, nats, redis, bus, runtime, starts, folder: Some(folder) }
    }

    /// All that can be killed and paused.
    pub fn victims(&mut self) -> Vec<&mut dyn Victim> {
        let mut victims: Vec<&mut dyn Victim> = vec![&mut self.learner, &mut self.nats, &mut self.redis];
        victims.extend(self.actors.iter_mut().chain(&mut self.ingesters).map(|process| process as &mut dyn Victim));
        victims
    }

    pub fn kill_redis(&mut self) {
        self.redis.kill();
    }

    pub fn restart_redis(&mut self) {
        self.redis.restart();
    }

    fn path(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    fn log(&self) -> Log<'_> {
        let manifest = self.runtime.block_on(self.bus.manifest()).unwrap().expect("the learner has begun the run");
        Log::open(&manifest, LOG_ROWS, &self.redis, &self.runtime)
    }

    /// Rows ever stored.
    pub fn rows_stored(&self) -> u64 {
        self.log().end()
    }

    /// Waits until so many rows have been stored.
    pub fn await_rows(&self, rows: u64) {
        assert!(until(PATIENCE, || self.rows_stored() >= rows), "no {rows} rows are stored");
    }

    /// Waits until all are healthy, every actor publishes, rows are stored, and the learner trains.
    pub fn await_flow(&mut self, after: &str) {
        let mut before: Option<Vec<(String, u64)>> = None;
        let mut last = Vec::new();
        let flows = until(PATIENCE, || {
            let processes = self.actors.iter_mut().chain(&mut self.ingesters).chain([&mut self.learner]);
            if let Some((name, status)) = processes.filter_map(|p| Some((p.name().to_owned(), p.ended()?))).next() {
                panic!("{name} ended by itself: {status}");
            }
            last = self.progress();
            let all = last.iter().all(|(_, done)| done.is_some());
            let now: Vec<_> = last.iter().map(|(name, done)| (name.clone(), done.unwrap_or(0))).collect();
            let base = if all { before.get_or_insert_with(|| now.clone()) } else { return false };
            base.iter().zip(&now).all(|((_, old), (_, new))| new > old)
        });
        assert!(flows, "after {after} something does not go on: {before:?}, then {last:?}");
    }

    /// What each has done so far; none of who is not well.
    fn progress(&self) -> Vec<(String, Option<u64>)> {
        let of = |process: &Supervised, key: &str| {
            let done = || {
                let address = process.record("serving")?["address"].as_str()?.to_owned();
                get(&address, "/healthz").filter(|(code, _)| *code == 200)?;
                let status: Value = serde_json::from_str(&get(&address, "/status")?.1).ok()?;
                status[key].as_u64()
            };
            (format!("{} {key}", process.name()), done())
        };
        let mut all: Vec<_> = self.actors.iter().map(|actor| of(actor, "published")).collect();
        all.push(of(&self.learner, "step"));
        all.push(of(&self.learner, "rows"));
        // Either ingester may have nothing to do.
        let stored = self.ingesters.iter().map(|ingester| of(ingester, "stored").1).sum::<Option<u64>>();
        all.push(("ingesters stored".into(), stored));
        all
    }

    /// Ends all of it in good order, and compares what they say with what is there.
    pub fn stop_and_audit(&mut self) -> Vec<String> {
        let mut differences = Vec::new();
        self.actors.iter_mut().for_each(|actor| differences.extend(stop(actor)));
        let empty = until(PATIENCE, || self.runtime.block_on(self.bus.fill()).is_ok_and(|fill| fill.parts == 0));
        if !empty {
            differences.push(format!("the bus is not empty: {:?}", self.runtime.block_on(self.bus.fill())));
        }
        self.ingesters.iter_mut().for_each(|ingester| differences.extend(stop(ingester)));
        differences.extend(stop(&mut self.learner));
        let newest = self.runtime.block_on(self.bus.newest()).unwrap().map(|head| head.version);
        let dead = self.runtime.block_on(self.bus.dead_letters()).unwrap();
        differences.extend(dead.into_iter().map(|letter| format!("{} was put aside: {}", letter.part, letter.reason)));
        let processes: Vec<_> = self.actors.iter().chain(&self.ingesters).collect();
        let lives = ledger::lives(self.path(), &processes);
        differences.extend(ledger::compare(&lives, &self.log()));
        let seen = self.watch.end();
        let end = self.rows_stored();
        differences.extend(ledger::learner(&self.learner, &self.starts, &seen, newest, end));
        say(&ledger::summary(&lives, &self.starts, &seen, end));
        differences
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.watch.end();
        if thread::panicking()
            && let Some(folder) = self.folder.take()
        {
            say(&format!("logs and journals are in {}", folder.keep().display()));
        }
    }
}

/// Ends a process; how that went wrong, if it did.
fn stop(process: &mut Supervised) -> Option<String> {
    let status = process.terminate(HANGS_AFTER);
    let name = process.name();
    match status {
        Some(status) if status.success() => None,
        Some(status) => Some(format!("{name} did not end well: {status}")),
        None => Some(format!("{name} hangs: it has not ended after {} s", HANGS_AFTER.as_secs())),
    }
}

/// The commands of a learner's lives: the first begins the run, the others go on from its last checkpoint.
fn learner(folder: &Path, nats: &str, redis: &str, starts: &Starts) -> impl Fn(u32) -> Command + use<> {
    let (run_dir, starts) = (folder.join("run"), starts.clone());
    let servers = ["--nats", nats, "--redis", redis].map(str::to_owned);
    move |_| {
        let mut command = command(Path::new(env!("CARGO_BIN_EXE_learner")));
        let run = ["--game=kuhn_poker", "--run", RUN, "--json", "--metrics-addr=127.0.0.1:0"];
        command
            .args(run)
            .args(["--log-rows", &LOG_ROWS.to_string()])
            .args(&servers)
            .args(SMALL)
            .arg("--run-dir")
            .arg(&run_dir);
        command.env("FOGFALL_LOG", "info,learner=debug");
        let checkpoint = ledger::latest_checkpoint(&run_dir);
        if checkpoint.is_some() {
            command.args(["--resume", "latest"]);
        }
        starts.note(checkpoint);
        command
    }
}

/// The commands of the lives of an actor with a journal.
fn audited(
    folder: &Path,
    name: String,
    arguments: Vec<String>,
    mutant: Option<&'static str>,
) -> impl Fn(u32) -> Command + use<> {
    let (program, folder) = (audited_program(), folder.to_owned());
    move |life| {
        let mut command = command(&program);
        command.args(&arguments).env("AUDIT_PACE_MS", PACE_MS);
        command.env("AUDIT_JOURNAL", ledger::journal(&folder, &name, life));
        if let Some(mutant) = mutant {
            command.env("AUDIT_MUTANT", mutant);
        }
        command
    }
}

/// The actor with a journal, built beside the learner.
fn audited_program() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_learner")).with_file_name("examples").join("audited");
    assert!(program.is_file(), "build it first: cargo build --package actor --example audited");
    program
}
