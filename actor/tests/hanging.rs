//! An actor whose game does not go on says which, and asks to be started again: its `/healthz` fails.
//!
//! No game that ships hangs, so this program is the actor, too: with a game that does, if the environment says so.
#![allow(clippy::unwrap_used)]

use std::process::ExitCode;

use fogfall_game::{GameError, GameSet, GameVisitor, without_rules};
use fogfall_games::KuhnPoker;
use fogfall_testkit::{
    nats::NatsServer,
    stuck::{Gate, Stuck},
};

#[path = "cluster/support.rs"]
#[allow(dead_code, reason = "shared with the tests of all services")]
mod support;

use support::{Lead, RUN, Service, get, kuhn};

/// Makes this program the actor.
const AS_ACTOR: &str = "HANGING_ACTOR";

/// Long after it has begun to play.
static GATE: Gate = Gate::at(20_000);

/// Kuhn poker, and in the midst of it nothing any more.
struct Hanging;

impl GameSet for Hanging {
    fn names() -> Vec<&'static str> {
        vec!["kuhn_poker"]
    }

    fn with<V: GameVisitor>(_: &str, rules: Option<&str>, visitor: V) -> Result<V::Out, GameError> {
        without_rules(Stuck::new(KuhnPoker::new(), &GATE), rules).map(|game| visitor.visit(game))
    }
}

fn main() -> ExitCode {
    if std::env::var_os(AS_ACTOR).is_some() {
        return actor::main::<Hanging>();
    }
    // Arguments are those of tests: parts of names, and flags.
    let asked = |name: &str| std::env::args().skip(1).all(|word| word.starts_with('-') || name.contains(&word));
    if asked("a_game_that_does_not_go_on_is_named_and_makes_the_actor_unhealthy") {
        a_game_that_does_not_go_on_is_named_and_makes_the_actor_unhealthy();
    }
    ExitCode::SUCCESS
}

fn a_game_that_does_not_go_on_is_named_and_makes_the_actor_unhealthy() {
    let (nats, (shape, manifest)) = (NatsServer::start(), kuhn());
    let lead = Lead::new(&nats);
    lead.claim(&manifest);
    lead.announce(&shape, fogfall_proto::Version { epoch: 1, step: 5 });
    let mut this = std::process::Command::new(std::env::current_exe().unwrap());
    this.env(AS_ACTOR, "1");
    let url = nats.url();
    let arguments = ["--threads=2", "--slots=4", "--hung-after-s=1", "--stop-within-s=2", "--metrics-addr=127.0.0.1:0"];
    let mut actor = Service::start_of(this, &[&["--nats", url.as_str()], &arguments[..]].concat());
    actor.until_said("playing");
    let at = actor.record("serving").unwrap()["address"].as_str().unwrap().to_owned();
    actor.until("a failing health check", |_| get(&at, "/healthz").0 == 503);
    let record = actor.record("a game does not go on").unwrap();
    let (thread, seed) = (record["thread"].as_u64().unwrap(), record["seed"].as_str().unwrap());
    let (_, body) = get(&at, "/healthz");
    assert!(body.starts_with(&format!("games: thread {thread} hangs in the game of seed {seed} for ")), "{body}");
    let counter = |name: &str| -> u64 {
        let text = get(&at, "/metrics").1;
        let series = format!("{name}{{role=\"actor\",run=\"{RUN}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&series)?.parse().ok()).unwrap()
    };
    let before = counter("fogfall_games_total");
    actor.until("games of the other thread", |_| counter("fogfall_games_total") > before);
    assert_eq!(counter("fogfall_hung_games_total"), 1);
    // What hangs cannot be waited for.
    assert_eq!(actor.terminate().0, Some(1), "{}", actor.log());
}
