//! Tests of what the reporter says of a run's health.

use std::sync::Mutex;

use fogfall_bus::{MemoryBus, MemoryBusSettings};
use fogfall_games::Shipped;
use fogfall_pipeline::Hung;
use fogfall_replay::{LimiterSettings, SampleToInsert, Window};
use fogfall_selfplay::WorkerCounts;
use tokio::runtime::Runtime;

use super::*;
use crate::{cli, run_dir::RunDir};

/// What self-play seems to do.
#[derive(Clone, Default)]
struct Seen {
    stats: SelfPlayStats,
    hung: Vec<Hung>,
}

struct Bench {
    seen: Arc<Mutex<Seen>>,
    vitals: Vitals,
    reporter: Reporter,
    _dir: tempfile::TempDir,
}

fn bench(threads: usize, runtime: &Runtime) -> Bench {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["learner", "--local", "--game=kuhn_poker", "--width=8", "--blocks=1", "--run-dir"];
    let path = dir.path().join("run");
    let matches = cli::command::<Shipped>().get_matches_from(arguments.iter().copied().chain(path.to_str()));
    let order = cli::order::<Shipped>(&matches, []).unwrap();
    let run_dir = RunDir::open(&path, false).unwrap();
    let game = fogfall_games::KuhnPoker::new();
    let beginning = Beginning::of(fogfall_game::Game::info(&game), &order, &run_dir).unwrap();
    let limits = LimiterSettings {
        samples_per_insert: 1.0,
        min_size_to_sample: 5,
        error_buffer: 10.0,
        largest_insert: 1,
        largest_sample: 1,
        capacity: 100,
    };
    let layout = beginning.manifest.row_layout();
    let window = Window::new(layout, 100, 1 << 20, 0).unwrap();
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let (stats, hung) = (Arc::clone(&seen), Arc::clone(&seen));
    let sources = Sources {
        manifest: beginning.manifest,
        totals: Totals::default(),
        flags: order.flags,
        remark: String::new(),
        threads,
        steps_wanted: None,
        lasts: None,
        intake: Arc::new(Intake::new(window, SampleToInsert::new(limits).unwrap())),
        stages: Stages::new(runtime.handle().clone(), Arc::new(MemoryBus::new(MemoryBusSettings::default()))),
        play: PlayMeter {
            stats: Arc::new(move || stats.lock().unwrap().stats),
            hung: Arc::new(move |_| hung.lock().unwrap().hung.clone()),
            totals: Arc::new(Totals::default),
        },
        board: Board::default(),
        fill: None,
    };
    let vitals = Vitals::new();
    let filled = Reporter::window_filled(&vitals);
    let reporter = Reporter::new(sources, &vitals, filled);
    Bench { seen, vitals, reporter, _dir: dir }
}

/// Some time passes: heartbeats are in whole milliseconds.
fn pass() -> Instant {
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(3) {}
    began
}

#[test]
fn self_play_that_neither_plays_nor_waits_makes_the_learner_unhealthy() {
    let runtime = Runtime::new().unwrap();
    let Bench { seen, vitals, mut reporter, _dir } = bench(2, &runtime);
    let stalled = |since: Instant| vitals.stalled(since + STUCK_AFTER);
    reporter.look();
    let began = pass();
    reporter.look(); // nothing was done
    assert!(stalled(began).iter().any(|line| line.starts_with("self-play: no beat for ")), "{:?}", stalled(began));
    let began = pass();
    seen.lock().unwrap().stats.counts = WorkerCounts { batches: 1, ..WorkerCounts::default() };
    reporter.look();
    assert!(stalled(began).is_empty(), "{:?}", stalled(began));
    let began = pass();
    seen.lock().unwrap().stats.waiting = 2;
    reporter.look();
    assert!(stalled(began).is_empty(), "whoever waits for room does not hang");
    seen.lock().unwrap().hung = vec![Hung { thread: 1, seed: 5, lasts: Duration::from_secs(130) }];
    let status = reporter.look();
    assert_eq!(status.hung_games, 1);
    assert_eq!(
        vitals.stalled(Instant::now()),
        ["games: thread 1 hangs in the game of seed 0000000000000005 for 130 s"]
    );
}

#[test]
fn a_learner_that_does_not_play_is_not_asked_to_and_says_what_it_lacks() {
    let runtime = Runtime::new().unwrap();
    let Bench { vitals, mut reporter, _dir, .. } = bench(0, &runtime);
    reporter.look();
    assert!(vitals.stalled(Instant::now() + 2 * STUCK_AFTER).is_empty());
    assert_eq!(vitals.missing(), ["window: too few rows to train on yet"]);
}
