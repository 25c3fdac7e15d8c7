//! The learner on servers: real NATS, real Redis. Who plays there is the actor's to test.

use std::path::Path;

use fogfall_testkit::{nats::NatsServer, redis_server::RedisServer};

use crate::{
    admin::{ANY_PORT, address, get},
    support::{Ended, Learner, Run},
};

struct Servers {
    nats: NatsServer,
    redis: RedisServer,
}

impl Servers {
    fn start() -> Self {
        Self { nats: NatsServer::start(), redis: RedisServer::start() }
    }

    /// What it prints is kept as long as `run` is.
    fn learner(&self, run: &Run, dir: &Path, run_dir: &str, more: &[&str]) -> Learner {
        let mut command = run.command(&["--game", "kuhn_poker", "--run", "k", "--log-rows", "4000"]);
        command.env("FOGFALL_NATS", self.nats.url()).env("FOGFALL_REDIS", self.redis.url());
        command.arg("--run-dir").arg(dir.join(run_dir)).args(["--minutes", "0.02", "--match-every-s", "0"]).args(more);
        run.spawn(command)
    }

    fn train(&self, dir: &Path, run_dir: &str, more: &[&str]) -> Ended {
        self.learner(&Run::kuhn(), dir, run_dir, more).end()
    }
}

#[test]
fn a_run_on_servers_goes_on_and_is_not_begun_anew_by_mistake() {
    let servers = Servers::start();
    let dir = tempfile::tempdir().unwrap();
    let first = servers.train(dir.path(), "one", &[]).well();
    // How to go on is a command line that goes on, there.
    let advice: String = first.out.lines().map(|line| line.trim().trim_end_matches('\\')).collect();
    assert!(advice.contains(&format!("-- --run k --nats {}", servers.nats.url())), "{}", first.out);
    assert!(!advice.contains("--local"), "{}", first.out);
    let lost = servers.train(dir.path(), "two", &[]);
    lost.refused(1, &["the bus holds weights 1.0 of run k", "--resume", "--start-over"]);
    servers.train(dir.path(), "one", &["--resume", "latest"]).well();
    servers.train(dir.path(), "three", &["--start-over", "--ingest", "embedded"]).well();
    let epoch = |run: &str| std::fs::read_to_string(dir.path().join(run).join("epoch")).unwrap().trim().parse::<u32>();
    assert_eq!((epoch("one"), epoch("three")), (Ok(2), Ok(3)));
    let other = servers.train(dir.path(), "one", &["--resume", "latest", "--run", "other"]);
    assert_ne!(other.code, Some(0), "a checkpoint is of one run");
}

#[test]
fn a_run_whose_log_was_lost_goes_on_with_what_is_there() {
    let servers = Servers::start();
    let dir = tempfile::tempdir().unwrap();
    servers.train(dir.path(), "one", &[]).well();
    assert_eq!(servers.redis.command("FLUSHALL"), "+OK");
    servers.train(dir.path(), "one", &["--resume", "latest"]).well();
    assert_eq!(servers.redis.command("HGET fogfall:{k}:log end"), "$1"); // it has begun again, at 0
}

#[test]
fn servers_that_are_not_there_are_waited_for_and_a_stop_ends_the_wait() {
    let (mut servers, run) = (Servers::start(), Run::kuhn());
    let dir = tempfile::tempdir().unwrap();
    let waits = |learner: &mut Learner, what: &str| {
        let says = format!("{what} fails and is tried again");
        learner.until(&says, |learner| learner.err().contains(&says));
    };
    servers.redis.kill();
    let mut learner = servers.learner(&run, dir.path(), "one", &[]);
    waits(&mut learner, "opening the replay log");
    servers.nats.kill();
    servers.redis.restart();
    waits(&mut learner, "connecting to the bus");
    servers.nats.restart();
    learner.end().well();
    servers.nats.kill();
    let mut learner = servers.learner(&run, dir.path(), "one", &["--resume", "latest", "--json", ANY_PORT]);
    waits(&mut learner, "connecting to the bus");
    let at = address(&mut learner);
    assert_eq!(get(&at, "/healthz").0, 200, "nothing is wrong with it");
    learner.until("it says what it waits for", |_| {
        let (code, missing) = get(&at, "/readyz");
        code == 503 && missing.starts_with("run: connecting to the bus fails and is tried again: ")
    });
    learner.signal("TERM");
    learner.end().well();
}

#[test]
fn a_server_that_does_not_let_the_learner_in_ends_it_at_once() {
    let nats = NatsServer::start_with(r#"authorization { user: "learner", password: "right" }"#);
    let servers = Servers { nats, redis: RedisServer::start() };
    let dir = tempfile::tempdir().unwrap();
    let refused = servers.train(dir.path(), "one", &["--nats-user", "learner", "--nats-password", "wrong"]);
    refused.refused(1, &["does not let this program in: authorization violation"]);
}

#[test]
fn where_a_run_lives_is_said_once_and_whole() {
    let run = Run::kuhn();
    let start = |arguments: &[&str]| run.spawn(run.command(arguments)).end();
    start(&["--game", "kuhn_poker"]).refused(2, &["give --local, or --run with --nats and --redis"]);
    start(&["--game", "kuhn_poker", "--run", "k", "--nats", "nats://x"])
        .refused(2, &["--run needs --nats and --redis"]);
    start(&["--game", "kuhn_poker", "--run", "k", "--local"]).refused(2, &["--local needs no server"]);
}
