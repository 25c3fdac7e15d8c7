//! The actor's services on real servers (`scripts/setup`): what is played is stored, and nothing is lost in silence.
#![allow(clippy::unwrap_used)]

mod anew;
mod support;

use fogfall_bus::Bus;
use fogfall_proto::{GameResult, Manifest, PartId, PartOfGame, Role, Stage, Trajectory, Version, WIRE_VERSION};
use fogfall_replay::{RedisLog, RedisLogSettings, RedisServer as RedisAt, ReplayLog};
use fogfall_testkit::{nats::NatsServer, redis_server::RedisServer};
use serde_json::Value;
use support::{Lead, RUN, Service, command, count, get, kuhn};

/// As the run's manifest says.
const LOG_ROWS: u64 = 1_000_000;
const LOG_BYTES: u64 = 64 << 20;
const FIRST: Version = Version { epoch: 1, step: 5 };
const SECOND: Version = Version { epoch: 1, step: 9 };

/// A game of one row that says nothing.
fn game(manifest: &Manifest, sequence: u64) -> Trajectory {
    Trajectory {
        wire: WIRE_VERSION,
        run: manifest.run.clone(),
        rules_hash: manifest.rules_hash(),
        settings_hash: manifest.settings_hash(),
        part: PartId { publisher: 1, sequence },
        part_of_game: PartOfGame::WHOLE,
        slot: 0,
        seed: 0,
        result: GameResult::Finished(1.0),
        decisions: 1,
        evaluations: 0,
        row_count: 1,
        rows: vec![0; manifest.row_layout().row_bytes()],
    }
}

/// All rows of the log.
fn read_all(lead: &Lead, log: &RedisLog) -> Vec<u8> {
    let (mut rows, mut from) = (Vec::new(), 0);
    let row_bytes = kuhn().1.row_layout().row_bytes();
    loop {
        let more = lead.runtime.block_on(log.read(from, 1 << 20)).unwrap();
        if more.is_empty() {
            return rows;
        }
        from += (more.len() / row_bytes) as u64;
        rows.extend(more);
    }
}

#[test]
fn what_an_actor_plays_is_stored_once_and_all_services_end_in_good_order() {
    let (nats, redis, (shape, mut manifest)) = (NatsServer::start(), RedisServer::start(), kuhn());
    // Long searches: the log must still hold all that was played when it is read.
    manifest.settings.insert("simulations".to_owned(), "4000".to_owned());
    // All wait for what is not there yet.
    let mut actor = Service::start(&["--nats", &nats.url(), "--threads=1", "--slots=4"]);
    let (bus, store) = (nats.url(), redis.url());
    let arguments = ["ingest", "--nats", &bus, "--redis", &store];
    let mut ingesters = [(); 2].map(|()| Service::start(&arguments));
    actor.until_said("waiting for the run's manifest");
    ingesters.iter_mut().for_each(|ingest| ingest.until_said("waiting for the run's manifest"));
    let lead = Lead::new(&nats);
    assert_eq!(lead.claim(&manifest), 1);
    ingesters.iter_mut().for_each(|ingest| ingest.until_said("ingesting"));
    actor.until_said("waiting for the run's first weights");
    lead.announce(&shape, FIRST);

    let layout = manifest.row_layout();
    let log = lead.runtime.block_on(RedisLog::open(RedisLogSettings {
        server: RedisAt::at(&redis.url()),
        run: RUN.into(),
        row_bytes: layout.row_bytes(),
        capacity_rows: LOG_ROWS,
        capacity_bytes: LOG_BYTES,
        require_aof: true,
    }));
    let log = log.unwrap();
    let end = || lead.runtime.block_on(log.bounds()).unwrap().end;
    actor.until("rows", |_| end() > 100);
    lead.announce(&shape, SECOND);
    actor.until("rows by the second weights", |_| {
        let newest = lead.runtime.block_on(log.read(end() - 1, 1)).unwrap();
        layout.rows(&newest).next().unwrap().version() == SECOND
    });
    // It can never be taken.
    let stray = Trajectory { run: "another".into(), ..game(&manifest, 0) };
    lead.runtime.block_on(lead.bus.publish(stray.part, stray.encode().into())).unwrap();

    let alive = || lead.runtime.block_on(lead.bus.alive()).unwrap();
    actor.until("members that say what they do", |_| {
        let members = alive();
        members.iter().map(|m| m.beat.role).eq([Role::Actor, Role::Ingester, Role::Ingester])
            && members.iter().all(|m| m.beat.stage == Stage::Working && m.beat.rows > 0 && !m.beat.host.is_empty())
            && members[0].beat.weights == SECOND
            && members[0].beat.rows_per_s > 0.0
    });
    let (code, played) = actor.terminate();
    assert_eq!(code, Some(0), "{}", actor.log());
    let (parts, published, lost) = (count(&played, "parts"), count(&played, "published"), count(&played, "lost"));
    assert_eq!((parts, lost), (published + count(&played, "duplicates"), 0), "{played}");
    ingesters[0].until("an empty bus", |_| lead.parts_on_the_bus() == 0);
    let stored = ingesters.each_mut().map(|ingest| {
        let (code, stored) = ingest.terminate();
        assert_eq!(code, Some(0), "{}", ingest.log());
        stored
    });
    let sum = |name| stored.iter().map(|stored| count(stored, name)).sum::<u64>();
    assert_eq!((sum("stored"), sum("refused")), (parts, 1), "{stored:?}");
    assert_eq!((sum("rows"), end()), (count(&played, "rows"), count(&played, "rows")), "{stored:?}");
    assert_eq!(alive(), [], "all said goodbye");
    let dead = lead.runtime.block_on(lead.bus.dead_letters()).unwrap();
    assert_eq!(dead.iter().map(|d| d.reason.as_str()).collect::<Vec<_>>(), ["run is another, not r-1"]);

    let bytes = read_all(&lead, &log);
    let mut newest = FIRST;
    for row in layout.rows(&bytes) {
        assert!(row.version() == FIRST || row.version() == SECOND);
        newest = newest.max(row.version());
        assert!(row.is_legal(row.action()));
        let policy: f32 = row.policy().sum();
        assert!((policy - 1.0).abs() < 0.01, "{policy}");
    }
    assert_eq!((layout.rows(&bytes).len() as u64, newest), (end(), SECOND));
}

#[test]
fn an_actor_begins_without_weights_if_told_to_and_counts_what_a_dead_bus_makes_it_give_up() {
    let (mut nats, (_, manifest)) = (NatsServer::start(), kuhn());
    let lead = Lead::new(&nats);
    lead.claim(&manifest);
    let mut actor = Service::start(&[
        "--nats",
        &nats.url(),
        "--threads=1",
        "--slots=4",
        "--start-without-weights",
        "--stop-within-s=5",
    ]);
    actor.until_said("playing");
    actor.until("games on the bus", |_| lead.parts_on_the_bus() > 50);
    assert_eq!(actor.record("playing").unwrap()["weights"], "0.0");
    nats.kill();
    actor.until_said("publishing games fails and is tried again");
    let (code, played) = actor.terminate();
    assert_eq!(code, Some(0), "{}", actor.log());
    let (published, lost) = (count(&played, "published"), count(&played, "lost"));
    assert!(lost > 0, "{played}");
    assert_eq!(count(&played, "parts"), published + count(&played, "duplicates") + lost, "{played}");
}

#[test]
fn an_ingester_without_its_log_hands_all_back_when_it_is_stopped_and_the_next_one_stores_it() {
    let (nats, mut redis, (_, manifest)) = (NatsServer::start(), RedisServer::start(), kuhn());
    let lead = Lead::new(&nats);
    lead.claim(&manifest);
    let (bus, store) = (nats.url(), redis.url());
    let arguments = ["ingest", "--nats", &bus, "--redis", &store, "--stop-within-s=5"];
    let mut ingest = Service::start(&arguments);
    ingest.until_said("ingesting");
    redis.kill();
    for sequence in 0..20 {
        let game = game(&manifest, sequence);
        lead.runtime.block_on(lead.bus.publish(game.part, game.encode().into())).unwrap();
    }
    ingest.until_said("storing rows in the replay log fails and is tried again");
    let (code, counts) = ingest.terminate();
    assert_eq!(code, Some(0), "{}", ingest.log());
    assert_eq!((count(&counts, "stored"), lead.parts_on_the_bus()), (0, 20), "{counts}");
    redis.restart();
    let mut ingest = Service::start(&arguments);
    ingest.until("an empty bus", |_| lead.parts_on_the_bus() == 0);
    let (code, counts) = ingest.terminate();
    assert_eq!((code, count(&counts, "stored"), count(&counts, "rows")), (Some(0), 20, 20), "{counts}");
}

#[test]
fn an_actor_is_healthy_without_weights_and_ready_with_them_and_shows_what_it_does() {
    let (nats, (shape, mut manifest)) = (NatsServer::start(), kuhn());
    let tree = [("tree", "generation"), ("node_up", "8")].map(|(key, text)| (key.to_owned(), text.to_owned()));
    manifest.settings.extend(tree);
    let lead = Lead::new(&nats);
    lead.claim(&manifest);
    let mut actor = Service::start(&["--nats", &nats.url(), "--threads=1", "--slots=4", "--metrics-addr=127.0.0.1:0"]);
    actor.until_said("waiting for the run's first weights");
    let at = actor.record("serving").unwrap()["address"].as_str().unwrap().to_owned();
    assert_eq!(get(&at, "/healthz").0, 200);
    assert_eq!(get(&at, "/readyz"), (503, "weights: the run has published none yet\n".to_owned()));
    lead.announce(&shape, FIRST);
    actor.until("ready", |_| get(&at, "/readyz").0 == 200);
    actor.until("games", |_| {
        let status: Value = serde_json::from_str(&get(&at, "/status").1).unwrap();
        status["published"].as_u64() > Some(0) && status["weights"] == "1.5" && status["run"] == RUN
    });
    actor.until("counted games", |_| {
        let metrics = get(&at, "/metrics").1;
        let counted =
            ["fogfall_games_total", "fogfall_search_tree_nodes", "fogfall_search_tree_falls_total"].map(|name| {
                let of_this = format!("{name}{{role=\"actor\",run=\"{RUN}\"}} ");
                let figure = metrics.lines().find_map(|line| line.strip_prefix(&of_this)).unwrap();
                figure.parse::<u64>().unwrap() > 0
            });
        let step = format!("\nfogfall_weights_step{{role=\"actor\",run=\"{RUN}\"}} 5\n");
        counted == [true; 3] && metrics.contains(&step)
    });
    assert_eq!(actor.terminate().0, Some(0), "{}", actor.log());
}

#[test]
fn a_run_of_another_layout_is_refused_with_the_difference() {
    let (nats, (_, mut manifest)) = (NatsServer::start(), kuhn());
    manifest.actions.push("resign".into());
    Lead::new(&nats).claim(&manifest);
    let mut actor = Service::start(&["--nats", &nats.url()]);
    assert_eq!(actor.end(), Some(1));
    let log = actor.log();
    assert!(log.contains("is resign in the run and nothing here"), "{log}");
}

#[test]
fn a_server_that_is_not_there_is_waited_for_and_a_stop_ends_the_wait() {
    let mut actor = Service::start(&["--nats", "nats://127.0.0.1:1"]);
    actor.until_said("connecting to the bus fails and is tried again");
    assert_eq!(actor.terminate().0, Some(0), "{}", actor.log());
}

#[test]
fn settings_are_checked_without_any_server() {
    let code = |arguments: &[&str]| command(arguments).output().unwrap().status.code();
    let good = ["--nats=nats://nowhere:1", "--run=r", "--check-config"];
    assert_eq!(code(&good), Some(0));
    let said = command(&[&good[..], &["--threads=3", "--slots=7"]].concat()).output().unwrap().stdout;
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("memory limit "), "{said}");
    assert!(said.contains("\n  battle: 3 threads, 7 slots and 16384 cached evaluations each, about "), "{said}");
    assert_eq!(code(&[&good[..], &["--slots=0"]].concat()), Some(2));
    assert_eq!(code(&["--check-config"]), Some(2));
    let ingest = [&["ingest"], &good[..]].concat();
    assert_eq!(code(&ingest), Some(2), "the log's server is missing");
    assert_eq!(code(&[&ingest[..], &["--redis=redis://nowhere:2"]].concat()), Some(0));
}
