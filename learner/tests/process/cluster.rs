//! The learner on servers: real NATS, real Redis. Who plays there is the actor's to test.

use std::path::Path;

use fogfall_testkit::{nats::NatsServer, redis_server::RedisServer};

use crate::support::{Ended, Run};

struct Servers {
    nats: NatsServer,
    redis: RedisServer,
}

impl Servers {
    fn learner(&self, dir: &Path, run_dir: &str, more: &[&str]) -> Ended {
        let run = Run::kuhn();
        let mut command = run.command(&["--game", "kuhn_poker", "--run", "k", "--log-rows", "4000"]);
        command.env("FOGFALL_NATS", self.nats.url()).env("FOGFALL_REDIS", self.redis.url());
        command.arg("--run-dir").arg(dir.join(run_dir)).args(["--minutes", "0.02", "--match-every-s", "0"]).args(more);
        run.spawn(command).end()
    }
}

#[test]
fn a_run_on_servers_goes_on_and_is_not_begun_anew_by_mistake() {
    let servers = Servers { nats: NatsServer::start(), redis: RedisServer::start() };
    let dir = tempfile::tempdir().unwrap();
    let first = servers.learner(dir.path(), "one", &[]).well();
    // How to go on is a command line that goes on, there.
    let advice: String = first.out.lines().map(|line| line.trim().trim_end_matches('\\')).collect();
    assert!(advice.contains(&format!("-- --run k --nats {}", servers.nats.url())), "{}", first.out);
    assert!(!advice.contains("--local"), "{}", first.out);
    let lost = servers.learner(dir.path(), "two", &[]);
    lost.refused(1, &["the bus holds weights 1.0 of run k", "--resume", "--start-over"]);
    servers.learner(dir.path(), "one", &["--resume", "latest"]).well();
    servers.learner(dir.path(), "three", &["--start-over", "--ingest", "embedded"]).well();
    let epoch = |run: &str| std::fs::read_to_string(dir.path().join(run).join("epoch")).unwrap().trim().parse::<u32>();
    assert_eq!((epoch("one"), epoch("three")), (Ok(2), Ok(3)));
    let other = servers.learner(dir.path(), "one", &["--resume", "latest", "--run", "other"]);
    assert_ne!(other.code, Some(0), "a checkpoint is of one run");
}

#[test]
fn a_run_whose_log_was_lost_goes_on_with_what_is_there() {
    let servers = Servers { nats: NatsServer::start(), redis: RedisServer::start() };
    let dir = tempfile::tempdir().unwrap();
    servers.learner(dir.path(), "one", &[]).well();
    assert_eq!(servers.redis.command("FLUSHALL"), "+OK");
    servers.learner(dir.path(), "one", &["--resume", "latest"]).well();
    assert_eq!(servers.redis.command("HGET fogfall:{k}:log end"), "$1"); // it has begun again, at 0
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
