//! All stages joined on one machine, over a bus that repeats, loses answers and delays: nothing is lost, nothing counted
//! twice, and training and self-play keep their ratio.
#![allow(clippy::unwrap_used)]

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use crossbeam_channel::bounded;
use fogfall_bus::{Bus, Faults, MemoryBus, MemoryBusSettings};
use fogfall_game::Game;
use fogfall_games::KuhnPoker;
use fogfall_net::{Net, Shape, Weights};
use fogfall_pipeline::{Intake, Outlet, SelfPlay, SelfPlaySettings, Stages, Storing, VersionedNet, WeightsCell};
use fogfall_proto::{
    GameResult, Manifest, NamedLen, PartId, PartOfGame, Trajectory, Version, WIRE_VERSION, WeightsHead, digest,
};
use fogfall_replay::{FileLog, FileLogSettings, LimiterSettings, ReplayLog, SampleToInsert, Window};
use fogfall_search::Budget;
use fogfall_selfplay::{Origin, PlaySettings};
use fogfall_service::shutdown::Stop;

const RATIO: f64 = 2.0;
const BATCH: u64 = 16;
const LONGEST_GAME: u64 = 3;

fn manifest(game: &KuhnPoker) -> Manifest {
    let info = game.info();
    let named = |layout: &fogfall_game::Layout| {
        layout.fields().iter().map(|f| NamedLen { name: f.name.clone(), len: f.len }).collect()
    };
    Manifest {
        wire: WIRE_VERSION,
        run: "test".into(),
        game: info.name.clone(),
        rules: None,
        observation: named(&info.observation),
        actions: info.actions.clone(),
        hidden: named(&info.hidden),
        width: 8,
        blocks: 1,
        tower: None,
        settings: Default::default(),
        log: Default::default(),
    }
}

fn limiter() -> LimiterSettings {
    let mut settings = LimiterSettings {
        samples_per_insert: RATIO,
        min_size_to_sample: 100,
        error_buffer: 0.0,
        largest_insert: LONGEST_GAME,
        largest_sample: BATCH,
        capacity: 10_000,
    };
    settings.error_buffer = settings.least_error_buffer();
    settings
}

fn weights(shape: &Shape, step: u64) -> (WeightsHead, Arc<[u8]>) {
    let blob: Arc<[u8]> = Weights::random(shape.clone(), step).unwrap().to_bytes().into();
    let head = WeightsHead {
        version: Version { epoch: 1, step },
        ordinal: step,
        bytes: blob.len() as u64,
        digest: digest(&blob),
    };
    (head, blob)
}

/// Waits for something that other threads bring about.
fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::yield_now();
    }
}

#[test]
fn nothing_is_lost_or_counted_twice_from_slot_to_window() {
    let game = Arc::new(KuhnPoker::new());
    let manifest = manifest(&game);
    let shape = Shape::new(game.info(), 8, 1);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let faults = Faults {
        seed: 5,
        duplicate: 0.2,
        lost_answer: 0.2,
        lost_settlement: 0.2,
        delay: 0.1,
        delay_by: Duration::from_millis(2),
    };
    let settings = MemoryBusSettings {
        capacity_bytes: 1 << 16,
        settle_within: Duration::from_millis(20),
        keep_weights: 2,
        faults,
        ..MemoryBusSettings::default()
    };
    let bus: Arc<dyn Bus> = Arc::new(MemoryBus::new(settings));
    assert_eq!(runtime.block_on(bus.claim(&manifest, 0)).unwrap(), 1);
    let dir = tempfile::tempdir().unwrap();
    let layout = manifest.row_layout();
    let log_settings = FileLogSettings {
        dir: dir.path().to_owned(),
        run: "test".into(),
        row_bytes: layout.row_bytes(),
        capacity_rows: 1 << 20,
        capacity_bytes: 1 << 30,
    };
    let log = Arc::new(FileLog::open(log_settings).unwrap().0);
    let window = Window::new(layout, 10_000, 1 << 30, 0).unwrap();
    let intake = Arc::new(Intake::new(window, SampleToInsert::new(limiter()).unwrap()));
    let first = Arc::new(Net::new(&Weights::random(shape.clone(), 0).unwrap()));
    let cell = Arc::new(WeightsCell::new(VersionedNet { version: Version { epoch: 1, step: 0 }, net: first }));

    let (play_stop, give_up, ingest_stop, follow_stop) = (Stop::new(), Stop::new(), Stop::new(), Stop::new());
    let stages = Stages::new(runtime.handle().clone(), Arc::clone(&bus));
    let counts = Arc::clone(&stages.counts);
    let dyn_log: Arc<dyn ReplayLog> = Arc::clone(&log) as Arc<dyn ReplayLog>;
    let follow = stages.follow(Arc::clone(&dyn_log), Arc::clone(&intake), follow_stop.clone()).unwrap();
    let storing = Storing { manifest: manifest.clone(), log: dyn_log, stale_after_steps: 1_000 };
    let ingest = stages.ingest(storing, Some(Arc::clone(&intake)), ingest_stop.clone()).unwrap();
    let watch = stages.watch_weights(shape.clone(), Arc::clone(&cell), play_stop.clone()).unwrap();
    let (sender, receiver) = bounded(4);
    let publish = stages.publish(receiver, give_up.clone()).unwrap();
    let play = SelfPlaySettings {
        play: PlaySettings::new(game.info(), Budget::Simulations(4)),
        threads: 2,
        slots: 4,
        cache_entries: 0,
    };
    let origin = Origin {
        wire: WIRE_VERSION,
        run: "test".into(),
        rules_hash: manifest.rules_hash(),
        settings_hash: manifest.settings_hash(),
        publisher: 9,
        seed: 1,
    };
    let outlet = Outlet { games: sender, give_up: give_up.clone() };
    let self_play = SelfPlay::start(&game, &play, &origin, &cell, &outlet, &play_stop).unwrap();
    drop(outlet);

    // Somebody else's game on the same bus.
    let stranger = Trajectory {
        wire: WIRE_VERSION,
        run: "other".into(),
        rules_hash: 0,
        settings_hash: 0,
        part: PartId { publisher: 1, sequence: 0 },
        part_of_game: PartOfGame::WHOLE,
        slot: 0,
        seed: 0,
        result: GameResult::Finished(0.0),
        decisions: 0,
        evaluations: 0,
        row_count: 0,
        rows: Vec::new(),
    };
    wait_for("the stranger's publication", || {
        runtime.block_on(bus.publish(stranger.part, stranger.encode().into())).is_ok()
    });

    // Train for 100 batches, with new weights in between; the limiter holds both sides.
    for step in 1..=100_u64 {
        wait_for("a batch", || intake.wait_to_sample(BATCH, Duration::from_secs(1)));
        {
            let mut state = intake.lock();
            let mut slots = Vec::new();
            let mut rng = fogfall_game::stream(step, &[]);
            state.window.sample(&mut rng, BATCH as usize, &mut slots).unwrap();
            let versions = slots.iter().map(|&slot| state.window.row(slot).version().step);
            assert!(versions.max() < Some(step), "no row is newer than the newest weights");
            // What was stored when the limiter closed may still come in: a game a bus portion, and what follows it.
            let over = state.limiter.diff() - state.limiter.max_diff();
            assert!(over <= RATIO * 4.0 * LONGEST_GAME as f64, "self-play is {over} rows ahead");
        }
        intake.sampled(BATCH);
        if step % 25 == 0 {
            let (head, blob) = weights(&shape, step);
            runtime.block_on(bus.announce(1, head, blob)).unwrap();
        }
    }
    wait_for("the newest weights", || cell.newest().version.step == 100);

    play_stop.request("test");
    assert!(self_play.join());
    publish.join().unwrap();
    ingest_stop.request("test");
    ingest.join().unwrap();
    follow_stop.request("test");
    follow.join().unwrap();
    watch.join().unwrap();

    let (played, get) = (self_play.stats(), |counter: &std::sync::atomic::AtomicU64| counter.load(Relaxed));
    assert_eq!(played.lost + get(&counts.publish_lost), 0);
    assert_eq!(played.counts.parts, played.counts.games, "games of poker are short");
    assert_eq!(get(&counts.produced), played.counts.parts);
    assert_eq!(get(&counts.published) + get(&counts.publish_duplicates), played.counts.parts);
    assert_eq!(get(&counts.stored), played.counts.parts, "each part is stored once");
    assert_eq!(get(&counts.stored_rows), played.counts.rows);
    assert_eq!(get(&counts.followed_rows), played.counts.rows);
    assert_eq!(runtime.block_on(log.bounds()).unwrap().rows(), played.counts.rows);
    let state = intake.lock();
    assert_eq!(state.window.inserted_total(), played.counts.rows);
    assert_eq!(state.limiter.counts().inserts, played.counts.rows);
    assert_eq!(state.limiter.counts().samples, 100 * BATCH);
    assert!(get(&counts.store_duplicates) > 0, "the bus did repeat");
    assert!(get(&counts.publish_duplicates) > 0, "the bus did lose answers");
    let dead = runtime.block_on(bus.dead_letters()).unwrap();
    assert!(get(&counts.refused) >= 1 && dead.iter().all(|d| d.part == stranger.part), "{dead:?}");
    assert!(dead[0].reason.contains("run is other, not test"), "{}", dead[0].reason);
}
