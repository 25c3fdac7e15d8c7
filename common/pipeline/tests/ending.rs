//! What is on its way from the channel to the window when a run ends, and what can never be stored.
#![allow(clippy::unwrap_used)]

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicU64, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use crossbeam_channel::bounded;
use fogfall_bus::{Bus, MemoryBus, MemoryBusSettings};
use fogfall_pipeline::{Intake, Stages, Storing};
use fogfall_proto::{
    GameResult, Manifest, NamedLen, PartId, PartOfGame, Row, Trajectory, Version, WIRE_VERSION, WeightsHead, digest,
};
use fogfall_replay::{Appended, FileLog, FileLogSettings, LimiterSettings, ReplayLog, SampleToInsert, Window};
use fogfall_service::shutdown::Stop;
use tokio::runtime::Runtime;

/// Rows of each game.
const ROWS: u32 = 3;

fn manifest() -> Manifest {
    Manifest {
        wire: WIRE_VERSION,
        run: "r".into(),
        game: "g".into(),
        rules: None,
        observation: vec![NamedLen { name: "all".into(), len: 2 }],
        actions: vec!["a".into(), "b".into()],
        hidden: vec![],
        width: 8,
        blocks: 1,
        tower: None,
        settings: Default::default(),
        log: Default::default(),
    }
}

fn game(sequence: u64, rows: u32) -> Trajectory {
    let manifest = manifest();
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
        decisions: rows,
        evaluations: 0,
        row_count: rows,
        rows: vec![sequence as u8; manifest.row_layout().row_bytes() * rows as usize],
    }
}

fn bus() -> Arc<dyn Bus> {
    // Room for five games.
    let capacity_bytes = 5 * game(u64::MAX, ROWS).encode().len() as u64;
    Arc::new(MemoryBus::new(MemoryBusSettings { capacity_bytes, ..MemoryBusSettings::default() }))
}

fn log(dir: &Path) -> Arc<dyn ReplayLog> {
    let row_bytes = manifest().row_layout().row_bytes();
    let settings = FileLogSettings {
        dir: dir.to_owned(),
        run: "r".into(),
        row_bytes,
        capacity_rows: 8_000,
        capacity_bytes: 1 << 24,
    };
    Arc::new(FileLog::open(settings).unwrap().0)
}

fn storing(log: &Arc<dyn ReplayLog>) -> Storing {
    Storing { manifest: manifest(), log: Arc::clone(log), stale_after_steps: 0 }
}

/// An intake that takes `least` rows and a few more before it wants rows to be sampled.
fn intake(least: u64) -> Arc<Intake> {
    let mut settings = LimiterSettings {
        samples_per_insert: 1.0,
        min_size_to_sample: least,
        error_buffer: 0.0,
        largest_insert: u64::from(ROWS),
        largest_sample: 1,
        capacity: 1_000,
    };
    settings.error_buffer = settings.least_error_buffer(); // max(1, (3 + 1) / 2, 3 - 1) = 2
    let window = Window::new(manifest().row_layout(), 1_000, 1 << 20, 0).unwrap();
    Arc::new(Intake::new(window, SampleToInsert::new(settings).unwrap()))
}

fn stages(runtime: &Runtime, bus: &Arc<dyn Bus>) -> Stages {
    Stages::new(runtime.handle().clone(), Arc::clone(bus))
}

fn await_count(counter: &AtomicU64, least: u64) {
    let began = Instant::now();
    while counter.load(Relaxed) < least {
        assert!(began.elapsed() < Duration::from_secs(60), "{} of {least}", counter.load(Relaxed));
        std::thread::yield_now();
    }
}

#[test]
fn what_was_finished_when_a_run_ends_is_stored_although_the_limiter_holds_play_up() {
    let runtime = Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (bus, log, intake) = (bus(), log(dir.path()), intake(10));
    let stages = stages(&runtime, &bus);
    let (give_up, ingest_stop, follow_stop) = (Stop::new(), Stop::new(), Stop::new());
    let (games, finished) = bounded(2);
    let publish = stages.publish(finished, give_up).unwrap();
    let ingest = stages.ingest(storing(&log), Some(Arc::clone(&intake)), ingest_stop.clone()).unwrap();
    let follow = stages.follow(Arc::clone(&log), Arc::clone(&intake), follow_stop.clone()).unwrap();
    let play = std::thread::spawn(move || (0..50).for_each(|sequence| games.send(game(sequence, ROWS)).unwrap()));

    // At most 10 + 2 rows balance without samples, and a game may overshoot by two.
    await_count(&stages.counts.publish_retries, 1);
    await_count(&stages.counts.followed_rows, 10);
    assert!(stages.counts.stored_rows.load(Relaxed) <= 14);

    intake.open();
    play.join().unwrap();
    publish.join().unwrap();
    ingest_stop.request("end");
    ingest.join().unwrap();
    follow_stop.request("end");
    follow.join().unwrap();
    let counts = &stages.counts;
    for counter in [&counts.produced, &counts.published, &counts.stored] {
        assert_eq!(counter.load(Relaxed), 50);
    }
    assert_eq!((counts.stored_rows.load(Relaxed), counts.followed_rows.load(Relaxed)), (150, 150));
    let state = intake.lock();
    assert_eq!((state.window.next(), state.limiter.counts().inserts), (150, 150));
    assert_eq!(runtime.block_on(log.bounds()).unwrap().end, 150);
}

#[test]
fn games_that_can_never_be_stored_are_put_aside_and_hold_nothing_up() {
    let runtime = Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let row_bytes = manifest().row_layout().row_bytes();
    let settings = FileLogSettings {
        dir: dir.path().to_owned(),
        run: "r".into(),
        row_bytes,
        capacity_rows: 32, // parts of at most 4 rows
        capacity_bytes: 1 << 20,
    };
    let log: Arc<dyn ReplayLog> = Arc::new(FileLog::open(settings).unwrap().0);
    let (bus, intake) = (bus(), intake(10));
    let stages = stages(&runtime, &bus);
    let stop = Stop::new();
    let ingest = stages.ingest(storing(&log), Some(Arc::clone(&intake)), stop.clone()).unwrap();
    let (games, finished) = bounded(2);
    let publish = stages.publish(finished, Stop::new()).unwrap();
    games.send(game(0, 5)).unwrap(); // too long for the log
    games.send(Trajectory { run: "other".into(), ..game(1, ROWS) }).unwrap();
    games.send(game(2, ROWS)).unwrap();
    drop(games);
    publish.join().unwrap();
    await_count(&stages.counts.stored, 1);
    stop.request("end");
    ingest.join().unwrap();
    assert_eq!((stages.counts.refused.load(Relaxed), stages.counts.stored_rows.load(Relaxed)), (2, 3));
    let reasons: Vec<_> = runtime.block_on(bus.dead_letters()).unwrap().into_iter().map(|dead| dead.reason).collect();
    assert!(reasons[0].contains("is too large") && reasons[1] == "run is other, not r", "{reasons:?}");
    assert_eq!(runtime.block_on(bus.fill()).unwrap().parts, 0);
    assert!(stages.troubles.now().is_empty());
}

#[test]
fn an_ingester_beside_others_leaves_them_what_it_has_not_in_hand_when_it_ends() {
    let runtime = Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (bus, log) = (bus(), log(dir.path()));
    let stages = stages(&runtime, &bus);
    let publish = |sequence| {
        let game = game(sequence, ROWS);
        runtime.block_on(bus.publish(game.part, game.encode().into())).unwrap();
    };
    let stop = Stop::new();
    let ingest = stages.ingest_beside_others(storing(&log), stop.clone()).unwrap();
    (0..3).for_each(publish);
    await_count(&stages.counts.stored, 3);
    stop.request("end");
    ingest.join().unwrap();
    (3..5).for_each(publish);
    stages.ingest_beside_others(storing(&log), stop).unwrap().join().unwrap();
    let fill = runtime.block_on(bus.fill()).unwrap();
    assert_eq!((stages.counts.stored.load(Relaxed), fill.parts, fill.unsettled), (3, 2, 0));
}

#[test]
fn games_that_come_when_time_is_over_are_counted_as_lost_and_not_tried() {
    let runtime = Runtime::new().unwrap();
    let bus = bus();
    let stages = stages(&runtime, &bus);
    let (games, finished) = bounded(3);
    let give_up = Stop::new();
    give_up.request("out of time");
    (0..3).for_each(|sequence| games.send(game(sequence, ROWS)).unwrap());
    drop(games);
    stages.publish(finished, give_up).unwrap().join().unwrap();
    assert_eq!((stages.counts.produced.load(Relaxed), stages.counts.publish_lost.load(Relaxed)), (3, 3));
    assert_eq!(runtime.block_on(bus.fill()).unwrap().parts, 0);
}

#[test]
fn games_by_weights_too_far_behind_the_newest_are_noted_but_not_stored() {
    let runtime = Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (bus, log) = (bus(), log(dir.path()));
    let stages = stages(&runtime, &bus);
    let blob: Arc<[u8]> = [7; 64].into();
    let version = Version { epoch: 2, step: 500 };
    let head = WeightsHead { version, ordinal: 1, bytes: 64, digest: digest(&blob) };
    runtime.block_on(bus.claim(&manifest(), 1)).unwrap();
    runtime.block_on(bus.announce(2, head, blob)).unwrap();
    // Of an epoch before, from which this one went back: it is ahead of the newest, not behind.
    for (sequence, (epoch, step)) in [(2, 400), (2, 399), (1, 900)].into_iter().enumerate() {
        let (mut rows, layout) = (Vec::new(), manifest().row_layout());
        let zeros = vec![0.0; 2];
        let row = Row {
            version: Version { epoch, step },
            observation: zeros.clone(),
            legal: vec![0, 1],
            policy: zeros.clone(),
            prior: zeros,
            visits: vec![0; 2],
            ..Row::default()
        };
        layout.write(&row, &mut rows);
        let game = Trajectory { rows, ..game(sequence as u64, 1) };
        runtime.block_on(bus.publish(game.part, game.encode().into())).unwrap();
    }
    let stop = Stop::new();
    let storing = Storing { stale_after_steps: 100, ..storing(&log) };
    let ingest = stages.ingest(storing, None, stop.clone()).unwrap();
    await_count(&stages.counts.stored, 2);
    stop.request("end");
    ingest.join().unwrap();
    assert_eq!((stages.counts.stored_rows.load(Relaxed), stages.counts.stale.load(Relaxed)), (2, 1));
    assert_eq!(runtime.block_on(bus.fill()).unwrap().parts, 0);
    assert!(runtime.block_on(bus.dead_letters()).unwrap().is_empty());
    let stale = game(1, 1);
    assert_eq!(runtime.block_on(log.append(stale.part, &stale.rows)).unwrap(), Appended::Duplicate); // noted
}
