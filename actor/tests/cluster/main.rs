//! The actor's services on real servers (`scripts/setup`): what is played is stored, and nothing is lost in silence.
#![allow(clippy::unwrap_used)]

mod support;

use fogfall_bus::Bus;
use fogfall_proto::{GameResult, Manifest, PartId, Trajectory, Version, WIRE_VERSION};
use fogfall_replay::{RedisLog, RedisLogSettings, RedisServer as RedisAt, ReplayLog};
use fogfall_testkit::{nats::NatsServer, redis_server::RedisServer};
use support::{Lead, RUN, Service, command, count, kuhn};

const LOG_ROWS: u64 = 1_000_000;
const LOG_BYTES: u64 = 64 << 20;
const FIRST: Version = Version { epoch: 1, step: 5 };
const SECOND: Version = Version { epoch: 1, step: 9 };

/// What can never be taken: a game of another run.
fn stray(manifest: &Manifest) -> Trajectory {
    Trajectory {
        wire: WIRE_VERSION,
        run: "another".into(),
        rules_hash: manifest.rules_hash(),
        settings_hash: manifest.settings_hash(),
        part: PartId { publisher: 1, sequence: 0 },
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
fn what_an_actor_plays_is_stored_once_and_both_services_end_in_good_order() {
    let (nats, redis, (shape, manifest)) = (NatsServer::start(), RedisServer::start(), kuhn());
    let (rows, bytes) = (LOG_ROWS.to_string(), LOG_BYTES.to_string());
    // Both wait for all that is not there yet.
    let mut actor = Service::start(&["--nats", &nats.url(), "--threads=1", "--slots=4"]);
    let mut ingest = Service::start(&[
        "ingest",
        "--nats",
        &nats.url(),
        "--redis",
        &redis.url(),
        "--log-rows",
        &rows,
        "--log-bytes",
        &bytes,
    ]);
    actor.until_said("waiting for the run's manifest");
    ingest.until_said("waiting for the run's manifest");
    let lead = Lead::new(&nats);
    assert_eq!(lead.claim(&manifest), 1);
    ingest.until_said("ingesting");
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
    let stray = stray(&manifest);
    lead.runtime.block_on(lead.bus.publish(stray.part, stray.encode().into())).unwrap();

    let (code, played) = actor.terminate();
    assert_eq!(code, Some(0), "{}", actor.log());
    let (games, published, lost) = (count(&played, "games"), count(&played, "published"), count(&played, "lost"));
    assert_eq!((games, lost), (published + count(&played, "duplicates"), 0), "{played}");
    ingest.until("an empty bus", |_| lead.parts_on_the_bus() == 0);
    let (code, stored) = ingest.terminate();
    assert_eq!(code, Some(0), "{}", ingest.log());
    assert_eq!((count(&stored, "stored"), count(&stored, "refused")), (games, 1), "{stored}");
    assert_eq!((count(&stored, "rows"), end()), (count(&played, "rows"), count(&played, "rows")), "{stored}");
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
    assert_eq!(count(&played, "games"), published + count(&played, "duplicates") + lost, "{played}");
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
    assert_eq!(code(&[&good[..], &["--slots=0"]].concat()), Some(2));
    assert_eq!(code(&["--check-config"]), Some(2));
    let ingest = [&["ingest"], &good[..]].concat();
    assert_eq!(code(&ingest), Some(2), "the log's server is missing");
    assert_eq!(code(&[&ingest[..], &["--redis=redis://nowhere:2"]].concat()), Some(0));
}
