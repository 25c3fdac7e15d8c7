//! `learner status` on real servers: it sees who is there, says what holds the run back, and its exit code says whether
//! somebody should look.

use fogfall_testkit::{nats::NatsServer, redis_server::RedisServer};
use serde_json::Value;

use crate::support::{Ended, Run};

struct Servers {
    nats: NatsServer,
    redis: RedisServer,
    run: Run,
}

impl Servers {
    fn start() -> Self {
        Self { nats: NatsServer::start(), redis: RedisServer::start(), run: Run::kuhn() }
    }

    fn status(&self, more: &[&str]) -> Ended {
        let mut command = self.run.command(&["status", "--run", "k"]);
        command.env("FOGFALL_NATS", self.nats.url()).env("FOGFALL_REDIS", self.redis.url()).args(more);
        self.run.spawn(command).end()
    }

    fn record(&self) -> (Option<i32>, Value) {
        let ended = self.status(&["--json"]);
        let record = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {}\n{}", ended.out, ended.err));
        (ended.code, record)
    }
}

#[test]
fn an_operator_sees_a_learner_without_actors_and_later_that_it_has_gone() {
    let mut servers = Servers::start();
    let before = servers.status(&[]);
    assert_eq!(before.code, Some(1), "what the run needs is not there yet: {}", before.out);
    assert!(before.out.contains("not begun"), "{}", before.out);

    let mut command = servers.run.command(&["--game", "kuhn_poker", "--run", "k", "--log-rows", "4000"]);
    command.env("FOGFALL_NATS", servers.nats.url()).env("FOGFALL_REDIS", servers.redis.url());
    command.args(["--run-dir", "run", "--device", "cpu", "--match-every-s", "0", "--ingest", "embedded"]);
    let mut learner = servers.run.spawn(command);
    let mut seen = (None, Value::Null);
    learner.until("a learner that waits", |_| {
        seen = servers.record();
        seen.1["members"][0]["beat"]["training"].is_object()
    });
    let (code, record) = seen;
    assert_eq!(code, Some(3), "{record}");
    assert_eq!(record["needs"], serde_json::json!(["no actor is alive"]), "{record}");
    assert_eq!(record["holds_back"], "the learner waits for rows: no actor is alive");
    assert_eq!((&record["game"], &record["log"]["end"]), (&"kuhn_poker".into(), &0.into()));
    assert_eq!(record["weights"]["version"]["step"], 0);
    let still = servers.status(&["--until-moving", "1"]);
    assert_eq!(still.code, Some(1), "{}", still.err);
    let reason =
        "the run does not move: within 1 s, no row has come into the replay log, and the learner has taken no train";
    assert!(still.err.contains(reason), "{}", still.err);
    let screen = servers.status(&[]).out;
    assert!(screen.lines().count() <= 24 && screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    for part in ["k, kuhn_poker", "actors     none alive", "ingesters  the learner ingests", "of 4,000 rows"] {
        assert!(screen.contains(part), "{part} is not in\n{screen}");
    }

    servers.redis.kill();
    let blind = servers.status(&[]);
    assert_eq!(blind.code, Some(1), "{}", blind.out);
    assert!(blind.out.contains("replay log cannot be asked: "), "{}", blind.out);
    assert!(blind.out.contains("actors     none alive"), "the rest is shown: {}", blind.out);
    servers.redis.restart();

    learner.signal("TERM");
    learner.end().well();
    let (code, record) = servers.record();
    assert_eq!((code, &record["members"]), (Some(3), &serde_json::json!([])), "it said goodbye: {record}");
    assert_eq!(record["holds_back"], "nobody trains: no learner is alive");
    servers.nats.kill();
    let dark = servers.status(&[]);
    assert_eq!(dark.code, Some(1));
    assert!(dark.out.contains("cannot be asked: cannot connect to"), "{}", dark.out);
    assert!(dark.out.contains("of 4,000 rows"), "redis is asked all the same: {}", dark.out);
}

#[test]
fn what_is_missing_is_said_and_settings_of_a_shared_environment_are_no_mistake() {
    let run = Run::kuhn();
    let mut command = run.command(&["status", "--watch", "x"]);
    command.env("FOGFALL_SIMULATIONS", "8");
    run.spawn(command).end().refused(2, &["--nats is missing", "--run is missing", "watch"]);
}
