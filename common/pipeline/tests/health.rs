//! A stage whose loop does not go round any more shows, and one that has ended does not.
#![allow(clippy::unwrap_used)]

use std::{
    future::pending,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use fogfall_bus::{Bus, MemoryBus, MemoryBusSettings};
use fogfall_pipeline::{Intake, STUCK_AFTER, Stages, Storing};
use fogfall_proto::{GameResult, Manifest, PartId, PartOfGame, Trajectory, WIRE_VERSION};
use fogfall_replay::{
    Appended, Bounds, BoxFuture, FileLog, FileLogSettings, LimiterSettings, LogCounts, ReplayError, ReplayLog,
    SampleToInsert, Window,
};
use fogfall_service::shutdown::Stop;
use tokio::runtime::Runtime;

/// However busy the machine, a loop that goes on goes round within this time.
const LONG: Duration = Duration::from_secs(60);

fn manifest() -> Manifest {
    Manifest {
        wire: WIRE_VERSION,
        run: "r".into(),
        game: "g".into(),
        rules: None,
        observation: vec![],
        actions: vec!["a".into()],
        hidden: vec![],
        width: 8,
        blocks: 1,
        tower: None,
        settings: Default::default(),
        log: Default::default(),
    }
}

fn game() -> Trajectory {
    let manifest = manifest();
    Trajectory {
        wire: WIRE_VERSION,
        run: manifest.run.clone(),
        rules_hash: manifest.rules_hash(),
        settings_hash: manifest.settings_hash(),
        part: PartId { publisher: 1, sequence: 0 },
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

/// A log that never comes back from an append, and says that it was asked.
struct Silent {
    log: FileLog,
    asked: Sender<()>,
}

impl ReplayLog for Silent {
    fn append<'a>(&'a self, _: PartId, _: &'a [u8]) -> BoxFuture<'a, Result<Appended, ReplayError>> {
        self.asked.send(()).unwrap();
        Box::pin(pending())
    }

    fn note(&self, part: PartId) -> BoxFuture<'_, Result<Appended, ReplayError>> {
        self.log.note(part)
    }

    fn bounds(&self) -> BoxFuture<'_, Result<Bounds, ReplayError>> {
        ReplayLog::bounds(&self.log)
    }

    fn read(&self, from: u64, max_bytes: usize) -> BoxFuture<'_, Result<Vec<u8>, ReplayError>> {
        self.log.read(from, max_bytes)
    }

    fn sync(&self) -> BoxFuture<'_, Result<(), ReplayError>> {
        self.log.sync()
    }

    fn counts(&self) -> LogCounts {
        self.log.counts()
    }
}

/// Stages of a process, each of which does one thing after another.
struct House {
    stages: Stages,
    stop: Stop,
    threads: Vec<JoinHandle<()>>,
    /// The log was asked to append.
    asked: Receiver<()>,
    _dir: tempfile::TempDir,
    _runtime: Runtime,
}

impl House {
    fn open() -> Self {
        let runtime = Runtime::new().unwrap();
        let bus: Arc<dyn Bus> = Arc::new(MemoryBus::new(MemoryBusSettings::default()));
        let (dir, (asked_of, asked)) = (tempfile::tempdir().unwrap(), unbounded());
        let layout = manifest().row_layout();
        let settings = FileLogSettings {
            dir: dir.path().to_owned(),
            run: "r".into(),
            row_bytes: layout.row_bytes(),
            capacity_rows: 8_000,
            capacity_bytes: 1 << 24,
        };
        let log = FileLog::open(settings).unwrap().0;
        let log: Arc<dyn ReplayLog> = Arc::new(Silent { log, asked: asked_of });
        let limits = LimiterSettings {
            samples_per_insert: 1.0,
            min_size_to_sample: 1,
            error_buffer: 10.0,
            largest_insert: 1,
            largest_sample: 1,
            capacity: 100,
        };
        let window = Window::new(layout, 100, 1 << 20, 0).unwrap();
        let intake = Arc::new(Intake::new(window, SampleToInsert::new(limits).unwrap()));
        let (stages, stop) = (Stages::new(runtime.handle().clone(), bus), Stop::new());
        let (games, finished) = bounded(1);
        let storing = Storing { manifest: manifest(), log: Arc::clone(&log), stale_after_steps: 0 };
        let threads = vec![
            stages.publish(finished, Stop::new()).unwrap(),
            stages.ingest_beside_others(storing, stop.clone()).unwrap(),
            stages.follow(log, intake, stop.clone()).unwrap(),
        ];
        stop.then(move || drop(games));
        Self { stages, stop, threads, asked, _dir: dir, _runtime: runtime }
    }

    /// True if the stage has gone round since then.
    fn went_round(&self, stage: &str, since: Instant) -> bool {
        self.stages.vitals.ages(since + LONG)[stage] < LONG
    }
}

#[test]
fn stages_that_have_nothing_to_do_go_round_and_are_forgotten_once_they_have_ended() {
    let house = House::open();
    while house.stages.vitals.ages(Instant::now()).len() < 3 {
        std::thread::yield_now();
    }
    let began = Instant::now();
    for stage in ["publish", "ingest", "follow"] {
        while !house.went_round(stage, began) {
            assert!(began.elapsed() < LONG, "{stage} does not go round");
            std::thread::yield_now();
        }
    }
    assert!(house.stages.vitals.stalled(Instant::now()).is_empty());
    house.stop.request("end");
    house.threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(house.stages.vitals.ages(Instant::now()).is_empty());
    assert!(house.stages.vitals.stalled(Instant::now() + 2 * STUCK_AFTER).is_empty(), "they need not go round");
}

#[test]
fn an_ingest_stage_whose_log_never_comes_back_is_not_healthy_while_others_are() {
    let house = House::open();
    let (bus, runtime, game) = (&house.stages.bus, &house.stages.runtime, game());
    runtime.block_on(bus.publish(game.part, game.encode().into())).unwrap();
    house.asked.recv().unwrap();
    let hangs_since = Instant::now();
    while !house.went_round("follow", hangs_since) || !house.went_round("publish", hangs_since) {
        assert!(hangs_since.elapsed() < LONG);
        std::thread::yield_now();
    }
    assert!(!house.went_round("ingest", hangs_since));
    let beyond = hangs_since + STUCK_AFTER + Duration::from_millis(1);
    let stalled = house.stages.vitals.stalled(beyond);
    assert!(stalled.len() == 1 && stalled[0].starts_with("ingest: no beat for "), "{stalled:?}");
    assert!(house.stages.vitals.stalled(hangs_since).is_empty(), "not at once");
}

#[test]
fn an_ingest_stage_tells_for_how_long_it_has_had_nothing_to_do() {
    let house = House::open();
    let counts = &house.stages.counts;
    while counts.ingesting().since.is_none() {
        std::thread::yield_now();
    }
    let game = game();
    house.stages.runtime.block_on(house.stages.bus.publish(game.part, game.encode().into())).unwrap();
    house.asked.recv().unwrap();
    let waited = counts.ingesting();
    assert!(waited.since.is_none(), "it works");
    assert!(waited.total > Duration::ZERO);
}
