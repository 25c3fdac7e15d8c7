//! Tests of the train stage.

use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use fogfall_bus::{MemoryBus, MemoryBusSettings};
use fogfall_game::Game;
use fogfall_games::{KuhnPoker, Shipped};
use fogfall_pipeline::STUCK_AFTER;
use fogfall_replay::{LimiterSettings, SampleToInsert, Window};
use fogfall_service::admin::Vitals;
use tokio::runtime::Runtime;

use super::*;
use crate::{beginning::Beginning, cli, resume::RoundState, run_dir::RunDir};

/// Has no rows, says when it is asked for some, and answers when it may.
struct Held {
    asked: Sender<()>,
    go_on: Receiver<()>,
}

impl Supply for Held {
    fn wants_weights(&self, steps_since: Option<u64>) -> bool {
        steps_since.is_none()
    }

    fn ready(&mut self, _: &Trainer, _: &Stop, _: &dyn Fn()) -> anyhow::Result<bool> {
        self.asked.send(())?;
        self.go_on.recv()?;
        Ok(false)
    }

    fn used_batch(&mut self) {}

    fn for_checkpoint(&self) -> anyhow::Result<RoundState> {
        Ok(RoundState::default())
    }
}

fn intake(beginning: &Beginning) -> Arc<Intake> {
    let limits = LimiterSettings {
        samples_per_insert: 1.0,
        min_size_to_sample: 1,
        error_buffer: 10.0,
        largest_insert: 1,
        largest_sample: 1,
        capacity: 100,
    };
    let window = Window::new(beginning.manifest.row_layout(), 100, 1 << 20, 0).unwrap();
    Arc::new(Intake::new(window, SampleToInsert::new(limits).unwrap()))
}

#[test]
fn a_train_loop_that_hangs_in_what_it_waits_for_is_not_healthy_and_says_what_it_did_meanwhile() {
    let (dir, game, runtime) = (tempfile::tempdir().unwrap(), KuhnPoker::new(), Runtime::new().unwrap());
    let path = dir.path().join("run");
    let arguments = ["learner", "--local", "--game=kuhn_poker", "--width=8", "--blocks=1", "--run-dir"];
    let matches = cli::command::<Shipped>().get_matches_from(arguments.iter().copied().chain(path.to_str()));
    let order = cli::order::<Shipped>(&matches, []).unwrap();
    let dir = RunDir::open(&path, false).unwrap();
    let beginning = Beginning::of(game.info(), &order, &dir).unwrap();
    let bus = MemoryBus::new(MemoryBusSettings::default());
    runtime.block_on(bus.claim(&beginning.manifest, 0)).unwrap();
    let ((asked, is_asked), (answer, go_on)) = (bounded(1), bounded(1));
    let (vitals, board, intake, stop) = (Vitals::new(), Board::default(), intake(&beginning), Stop::new());
    let thread = TrainLoop {
        settings: TrainLoopSettings::of(&order, game.info()).unwrap(),
        saver: Saver::open(&dir, &beginning, &order.flags, &intake).unwrap(),
        trainer: beginning.trainer,
        epoch: 1,
        ordinal: 0,
        supply: Box::new(Held { asked, go_on }),
        intake,
        bus: Arc::new(bus),
        runtime: runtime.handle().clone(),
        board: board.clone(),
        times: StepTimes::default(),
        step_log: None,
        heartbeat: vitals.heartbeat("train loop", STUCK_AFTER),
    }
    .start(&stop)
    .unwrap();

    is_asked.recv().unwrap();
    let held = Instant::now();
    let stalled = vitals.stalled(held + STUCK_AFTER + Duration::from_millis(1));
    assert!(stalled.len() == 1 && stalled[0].starts_with("train loop: no beat for "), "{stalled:?}");
    answer.send(()).unwrap();
    is_asked.recv().unwrap();
    let age = vitals.ages(held + STUCK_AFTER)["train loop"];
    assert!(age <= STUCK_AFTER + Duration::from_millis(1), "it has gone round since: {age:?}");
    let told = board.lock().clone();
    assert!(told.train_seconds.wait > 0.0 && told.train_seconds.publish > 0.0, "{:?}", told.train_seconds);
    assert!(told.weights_bytes > 0 && told.weights_published == 1);
    stop.request("for a test");
    answer.send(()).unwrap();
    drop(thread.join().unwrap().unwrap());
    assert!(vitals.stalled(held + 2 * STUCK_AFTER).is_empty(), "a loop that has ended need not go round");
}
