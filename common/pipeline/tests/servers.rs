//! The way from games to the log over real servers (`scripts/setup`): in order, and each game once, whatever ends in between.
#![allow(clippy::unwrap_used)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crossbeam_channel::bounded;
use fogfall_bus::{Bus, NatsBus, NatsLimits, NatsSettings};
use fogfall_pipeline::{Intake, Stages, Storing};
use fogfall_proto::{GameResult, Manifest, NamedLen, PartId, PartOfGame, Row, Trajectory, WIRE_VERSION};
use fogfall_replay::{
    LimiterSettings, RedisLog, RedisLogSettings, RedisServer as RedisAt, ReplayLog, SampleToInsert, Window,
};
use fogfall_service::shutdown::Stop;
use fogfall_testkit::{nats::NatsServer, redis_server::RedisServer};
use tokio::runtime::Runtime;

/// What is waited for longer than this does not come.
const DEADLINE: Duration = Duration::from_secs(120);

fn manifest() -> Manifest {
    Manifest {
        wire: WIRE_VERSION,
        run: "r".into(),
        game: "g".into(),
        rules: None,
        observation: vec![NamedLen { name: "number".into(), len: 1 }],
        actions: vec!["a".into()],
        hidden: vec![],
        width: 8,
        blocks: 1,
        tower: None,
        settings: Default::default(),
        log: Default::default(),
    }
}

/// A game of one row that carries its number.
fn game(sequence: u64) -> Trajectory {
    let manifest = manifest();
    let mut rows = Vec::new();
    let row = Row {
        observation: vec![sequence as f32],
        legal: vec![0],
        policy: vec![1.0],
        prior: vec![1.0],
        visits: vec![1],
        ..Row::default()
    };
    manifest.row_layout().write(&row, &mut rows);
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
        rows,
    }
}

fn connect(runtime: &Runtime, nats: &NatsServer, store_bytes: u64) -> Arc<dyn Bus> {
    let settings = NatsSettings {
        urls: vec![nats.url()],
        set_up: true,
        limits: NatsLimits { store_bytes, ..NatsLimits::default() },
        answer_within: Duration::from_secs(2),
        ..NatsSettings::default()
    };
    Arc::new(runtime.block_on(NatsBus::connect(&settings, "r")).unwrap())
}

fn open(runtime: &Runtime, redis: &RedisServer) -> Arc<dyn ReplayLog> {
    let settings = RedisLogSettings {
        server: RedisAt::at(&redis.url()),
        run: "r".into(),
        row_bytes: manifest().row_layout().row_bytes(),
        capacity_rows: 100_000,
        capacity_bytes: 64 << 20,
        require_aof: true,
    };
    Arc::new(runtime.block_on(RedisLog::open(settings)).unwrap())
}

fn stages(runtime: &Runtime, bus: &Arc<dyn Bus>) -> Stages {
    Stages::new(runtime.handle().clone(), Arc::clone(bus))
}

fn storing(log: &Arc<dyn ReplayLog>) -> Storing {
    Storing { manifest: manifest(), log: Arc::clone(log), stale_after_steps: 0 }
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < DEADLINE, "{what} did not happen");
        std::thread::yield_now();
    }
}

fn intake() -> Arc<Intake> {
    let settings = LimiterSettings {
        samples_per_insert: 1.0,
        min_size_to_sample: 1,
        error_buffer: 1e6,
        largest_insert: 1,
        largest_sample: 1,
        capacity: 1_000,
    };
    let window = Window::new(manifest().row_layout(), 1_000, 1 << 20, 0).unwrap();
    Arc::new(Intake::new(window, SampleToInsert::new(settings).unwrap()))
}

/// The numbers of all games in the log, as they lie there.
fn numbers(runtime: &Runtime, log: &dyn ReplayLog) -> Vec<u64> {
    let rows = runtime.block_on(log.read(0, usize::MAX >> 1)).unwrap();
    let layout = manifest().row_layout();
    layout.rows(&rows).map(|row| row.observation().next().unwrap() as u64).collect()
}

/// Stores games as an ingester would that has just started.
fn append(runtime: &Runtime, redis: &RedisServer, sequences: std::ops::Range<u64>) {
    let log = open(runtime, redis);
    for game in sequences.map(game) {
        runtime.block_on(log.append(game.part, &game.rows)).unwrap();
    }
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Relaxed)
}

#[test]
fn a_game_overtakes_none_but_those_on_their_way_with_it() {
    let (runtime, nats) = (Runtime::new().unwrap(), NatsServer::start());
    let bus = connect(&runtime, &nats, 64 << 20);
    let stages = stages(&runtime, &bus);
    let (games, finished) = bounded(16);
    let publish = stages.publish(finished, Stop::new()).unwrap();
    (0..500).for_each(|sequence| games.send(game(sequence)).unwrap());
    drop(games);
    publish.join().unwrap();
    let mut seen = Vec::new();
    while seen.len() < 500 {
        let parts = runtime.block_on(bus.pull(usize::MAX, DEADLINE)).unwrap();
        assert!(!parts.is_empty(), "{} games", seen.len());
        seen.extend(parts.iter().map(|part| part.part.sequence));
    }
    assert!(seen.iter().enumerate().all(|(at, sequence)| sequence.abs_diff(at as u64) < 64), "{seen:?}");
    seen.sort_unstable();
    assert_eq!(seen, (0..500).collect::<Vec<_>>());
    assert_eq!((get(&stages.counts.produced), get(&stages.counts.published)), (500, 500));
}

#[test]
fn a_bus_that_is_full_holds_publishers_up_and_no_game_is_lost() {
    let (runtime, nats, redis) = (Runtime::new().unwrap(), NatsServer::start(), RedisServer::start());
    let (bus, log) = (connect(&runtime, &nats, 40 << 10), open(&runtime, &redis)); // some hundred games
    let (publisher, ingester) = (stages(&runtime, &bus), stages(&runtime, &bus));
    let (games, finished) = bounded(16);
    let publish = publisher.publish(finished, Stop::new()).unwrap();
    let play = std::thread::spawn(move || (0..1000).for_each(|sequence| games.send(game(sequence)).unwrap()));
    wait_for("a full bus", || get(&publisher.counts.publish_retries) > 2);
    assert!(get(&publisher.counts.published) < 500);
    assert!(publisher.troubles.now().is_empty(), "a full bus is no trouble");
    let stop = Stop::new();
    let ingest = ingester.ingest_beside_others(storing(&log), stop.clone()).unwrap();
    play.join().unwrap();
    publish.join().unwrap();
    wait_for("all games", || get(&ingester.counts.stored) == 1000);
    stop.request("end");
    ingest.join().unwrap();
    let counts = &publisher.counts;
    assert_eq!((get(&counts.published) + get(&counts.publish_duplicates), get(&counts.publish_lost)), (1000, 0));
    let mut stored = numbers(&runtime, &*log);
    stored.sort_unstable();
    assert_eq!(stored, (0..1000).collect::<Vec<_>>());
}

#[test]
fn each_game_is_stored_once_by_two_ingesters_while_both_servers_are_killed() {
    let runtime = Runtime::new().unwrap();
    let (mut nats, mut redis) = (NatsServer::start(), RedisServer::start());
    let bus = connect(&runtime, &nats, 64 << 20);
    let publisher = stages(&runtime, &bus);
    let ingesters = [(); 2].map(|()| stages(&runtime, &connect(&runtime, &nats, 64 << 20)));
    let (games, finished) = bounded(16);
    let (stop, publish) = (Stop::new(), publisher.publish(finished, Stop::new()).unwrap());
    let logs = [(); 2].map(|()| open(&runtime, &redis));
    let threads: Vec<_> = ingesters
        .iter()
        .zip(&logs)
        .map(|(ingester, log)| ingester.ingest_beside_others(storing(log), stop.clone()).unwrap())
        .collect();
    let play = std::thread::spawn(move || (0..3000).for_each(|sequence| games.send(game(sequence)).unwrap()));
    let stored = || ingesters.iter().map(|ingester| get(&ingester.counts.stored)).sum::<u64>();
    wait_for("games", || stored() > 300);
    redis.restart();
    wait_for("more games", || stored() > 900);
    nats.restart();
    play.join().unwrap();
    publish.join().unwrap();
    wait_for("an empty bus", || runtime.block_on(bus.fill()).is_ok_and(|fill| fill.parts == 0));
    stop.request("end");
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let mut numbers = numbers(&runtime, &*open(&runtime, &redis));
    numbers.sort_unstable();
    assert_eq!(numbers, (0..3000).collect::<Vec<_>>());
    // An answer of Redis that was lost makes a duplicate of what its ingester had stored.
    assert!(stored() <= 3000 && get(&publisher.counts.publish_lost) == 0);
}

#[test]
fn a_log_that_loses_all_leaves_the_window_its_rows_and_is_followed_anew() {
    let (runtime, nats, mut redis) = (Runtime::new().unwrap(), NatsServer::start(), RedisServer::start());
    let (bus, intake) = (connect(&runtime, &nats, 64 << 20), intake());
    let stages = stages(&runtime, &bus);
    append(&runtime, &redis, 0..5);
    let stop = Stop::new();
    let follow = stages.follow(open(&runtime, &redis), Arc::clone(&intake), stop.clone()).unwrap();
    let held = |rows: u64| intake.lock().window.inserted_total() == rows;
    let losses = || get(&stages.counts.log_losses);
    wait_for("five rows", || held(5));

    assert_eq!(redis.command("FLUSHALL"), "+OK");
    wait_for("a loss", || losses() == 1);
    append(&runtime, &redis, 5..7);
    wait_for("seven rows", || held(7));

    // The new log is longer than the old one before anybody looks.
    redis.restart_empty();
    append(&runtime, &redis, 7..30);
    wait_for("thirty rows", || held(30));
    assert_eq!(losses(), 2);
    append(&runtime, &redis, 30..32);
    wait_for("two rows more", || held(32));
    stop.request("end");
    follow.join().unwrap();

    let state = intake.lock();
    let mut numbers: Vec<u64> = state.window.rows().map(|row| row.observation().next().unwrap() as u64).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..32).collect::<Vec<_>>());
    assert_eq!((losses(), get(&stages.counts.followed_rows), get(&stages.counts.skipped_rows)), (2, 32, 0));
}

#[test]
fn an_ingester_keeps_games_on_the_bus_while_redis_has_no_memory_and_stores_them_when_it_has() {
    let (runtime, nats, redis) = (Runtime::new().unwrap(), NatsServer::start(), RedisServer::start());
    let (bus, log) = (connect(&runtime, &nats, 64 << 20), open(&runtime, &redis));
    let stages = stages(&runtime, &bus);
    let publish = |sequences: std::ops::Range<u64>| {
        for sequence in sequences {
            let game = game(sequence);
            runtime.block_on(bus.publish(game.part, game.encode().into())).unwrap();
        }
    };
    let stop = Stop::new();
    publish(0..20);
    let ingest = stages.ingest_beside_others(storing(&log), stop.clone()).unwrap();
    wait_for("games", || get(&stages.counts.stored) == 20);
    assert_eq!(redis.command("CONFIG SET maxmemory 1kb"), "+OK");
    publish(20..40);
    wait_for("a trouble", || {
        let troubles = stages.troubles.now();
        troubles.iter().any(|t| t.what == "storing rows in the replay log" && t.reason.contains("out of memory"))
    });
    assert_eq!(runtime.block_on(bus.fill()).unwrap().parts, 20); // none is settled
    assert_eq!(redis.command("CONFIG SET maxmemory 0"), "+OK");
    wait_for("all games", || get(&stages.counts.stored) == 40);
    stop.request("end");
    ingest.join().unwrap();
    let mut stored = numbers(&runtime, &*log);
    stored.sort_unstable();
    assert_eq!(stored, (0..40).collect::<Vec<_>>());
    assert!(stages.troubles.now().is_empty());
}
