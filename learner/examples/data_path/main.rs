//! What a row costs on its way from a finished game to a batch, in CPU time of every process that has a hand in it, and what
//! a train step costs beside it. One JSON object a line; `scripts/bench data` runs it and shows its figures beside others'.
//!
//! Servers are real and of this machine. The stages run one after another, so what a process takes in the meantime is the
//! stage's. Rows are battle's, of games played here, and others of 2 KiB without a zero, which nothing can pack.
#![allow(clippy::print_stdout)]

mod meter;
mod raw;
mod rows;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use anyhow::{Context, ensure};
use crossbeam_channel::bounded;
use fogfall_bus::{Bus, NatsBus, NatsSettings};
use fogfall_net::Weights;
use fogfall_pipeline::{Intake, Stages, Storing};
use fogfall_proto::RowLayout;
use fogfall_replay::{LimiterSettings, RedisLog, RedisLogSettings, RedisServer, ReplayLog, SampleToInsert, Window};
use fogfall_service::shutdown::Stop;
use fogfall_testkit::{nats::NatsServer, redis_server::RedisServer as Redis};
use learner::{
    batch::{Picked, fill},
    train::{Batch, Device, TrainSettings, Trainer, set_threads},
};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tch::Tensor;
use tokio::runtime::Runtime;

use self::{meter::Meter, raw::Raw, rows::Games};

/// Rows that go the whole way.
const ROWS: u64 = 150_000;
/// Rows in a batch, and batches.
const BATCH: usize = 1024;
const BATCHES: usize = 300;
/// Train steps of the learner's usual batch, in blocks by turns beside a busy pipeline and beside nothing.
const STEP_ROWS: usize = 512;
const BLOCKS: usize = 30;
const BLOCK_STEPS: usize = 10;
/// Rows sampled for each row stored.
const REPLAY_RATIO: usize = 8;
/// How often a stage's end is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(2);

fn main() -> anyhow::Result<()> {
    set_threads(1);
    for games in [Games::of_battle()?, Games::of_2_kib()] {
        Path::new(games)?.run()?;
    }
    Ok(())
}

/// The way of one kind of rows.
struct Path {
    games: Games,
    layout: RowLayout,
    runtime: Runtime,
    stages: Stages,
    log: Arc<dyn ReplayLog>,
    intake: Arc<Intake>,
    raw: Raw,
    meter: Meter,
    /// Kept running.
    _servers: (NatsServer, Redis),
}

impl Path {
    fn new(games: Games) -> anyhow::Result<Self> {
        let (nats, redis) = (NatsServer::start(), Redis::start());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let layout = games.manifest.row_layout();
        let settings = NatsSettings { urls: vec![nats.url()], set_up: true, ..NatsSettings::default() };
        let bus: Arc<dyn Bus> = Arc::new(runtime.block_on(NatsBus::connect(&settings, &games.manifest.run))?);
        let log = RedisLog::open(RedisLogSettings {
            server: RedisServer::at(&redis.url()),
            run: games.manifest.run.clone(),
            row_bytes: layout.row_bytes(),
            capacity_rows: ROWS * 5 / 4,
            capacity_bytes: u64::MAX,
            require_aof: true,
        });
        let log: Arc<dyn ReplayLog> = Arc::new(runtime.block_on(log)?);
        let stages = Stages::new(runtime.handle().clone(), bus);
        Ok(Self {
            intake: intake(layout, 0)?,
            raw: Raw::connect(redis.port(), layout)?,
            meter: Meter::new(
                games.name,
                layout,
                &[("nats-server", nats.pid().context("it runs")?), ("redis-server", redis.pid())],
            ),
            games,
            layout,
            runtime,
            stages,
            log,
            _servers: (nats, redis),
        })
    }

    fn run(mut self) -> anyhow::Result<()> {
        self.fill()?;
        // The server does it by itself when the file has grown enough: now, and not in the midst of a stage.
        let held = self.runtime.block_on(self.log.bounds())?.rows();
        self.meter.measure("rewrite of the file, a row held", held, |_| self.raw.rewrite_file())?;
        self.publish()?;
        self.ingest()?;
        self.follow()?;
        self.sample()?;
        self.read_raw()?;
        self.train()
    }

    /// Fills the log, as it is in a long run: what comes takes the place of what goes.
    fn fill(&mut self) -> anyhow::Result<()> {
        self.runtime.block_on(async {
            for number in 0..self.games_sent() {
                let game = self.games.game(number);
                self.log.append(game.part, &game.rows).await?;
            }
            anyhow::Ok(())
        })?;
        self.intake = intake(self.layout, self.runtime.block_on(self.log.bounds())?.end)?;
        Ok(())
    }

    fn publish(&self) -> anyhow::Result<()> {
        self.meter.measure("publish", self.rows_sent(), |meter| {
            let (games, finished) = bounded(16);
            let publish = self.stages.publish(finished, Stop::new())?;
            for number in self.games_sent()..2 * self.games_sent() {
                games.send(self.games.game(number)).context("the stage takes games")?;
            }
            drop(games);
            let counts = &self.stages.counts;
            while counts.published.load(Relaxed) < self.games_sent() {
                std::thread::sleep(LOOK_EVERY);
            }
            meter.note_threads();
            join(publish)
        })
    }

    fn ingest(&self) -> anyhow::Result<()> {
        self.meter.measure("ingest", self.rows_sent(), |meter| {
            let stop = Stop::new();
            let manifest = self.games.manifest.clone();
            let storing = Storing { manifest, log: Arc::clone(&self.log), stale_after_steps: 10_000 };
            let ingest = self.stages.ingest_beside_others(storing, stop.clone())?;
            self.wait_for(&self.stages.counts.stored, self.games_sent());
            meter.note_threads();
            stop.request("all is stored");
            join(ingest)
        })
    }

    fn follow(&self) -> anyhow::Result<()> {
        self.meter.measure("follow", self.rows_sent(), |meter| {
            let stop = Stop::new();
            let follow = self.stages.follow(Arc::clone(&self.log), Arc::clone(&self.intake), stop.clone())?;
            self.wait_for(&self.stages.counts.followed_rows, self.rows_sent());
            meter.note_threads();
            stop.request("all is there");
            join(follow)
        })
    }

    /// The learner's own batches, as plain numbers and as tensors.
    fn sample(&self) -> anyhow::Result<()> {
        let (mut batch, mut slots, mut rng) = (Batch::default(), Vec::new(), Xoshiro256PlusPlus::seed_from_u64(1));
        let rows = (BATCH * BATCHES) as u64;
        self.meter.measure("sample to flat arrays", rows, |_| {
            for _ in 0..BATCHES {
                self.draw(BATCH, &mut rng, &mut slots, &mut batch)?;
            }
            Ok(())
        })?;
        self.meter.measure("flat arrays to tensors", rows, |_| {
            for _ in 0..BATCHES {
                ensure!(tensors(&batch).iter().all(|tensor| tensor.numel() >= BATCH), "a batch has {BATCH} rows");
            }
            Ok(())
        })
    }

    fn draw(
        &self,
        rows: usize,
        rng: &mut Xoshiro256PlusPlus,
        slots: &mut Vec<u32>,
        batch: &mut Batch,
    ) -> anyhow::Result<()> {
        let mut state = self.intake.lock();
        state.window.sample(rng, rows, slots)?;
        let picked = slots.iter().map(|&slot| Picked { row: state.window.row(slot), weight: 1.0, symmetry: None });
        fill(batch, self.layout, 0.5, picked);
        Ok(())
    }

    /// A learner without a window: strips of rows straight from Redis.
    fn read_raw(&mut self) -> anyhow::Result<()> {
        let rows = (BATCH * BATCHES) as u64;
        let held =
            self.raw.lay_down(&(0..self.games_sent()).flat_map(|n| self.games.game(n).rows).collect::<Vec<u8>>())?;
        let mut batch = Batch::default();
        for strip in [1, 64] {
            for to_batches in [false, true] {
                let what = format!("raw redis, strips of {strip} to {}", if to_batches { "tensors" } else { "bytes" });
                let (raw, layout) = (&mut self.raw, self.layout);
                self.meter.measure(&what, rows, |_| {
                    for number in 0..BATCHES as u64 {
                        let bytes = raw.strips(BATCH, strip, held, number)?;
                        if to_batches {
                            let picked = layout.rows(bytes).map(|row| Picked { row, weight: 1.0, symmetry: None });
                            fill(&mut batch, layout, 0.5, picked);
                            ensure!(tensors(&batch).len() == 6, "a batch is six tensors");
                        }
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// CPU time of this thread for a train step on one batch, and for one while rows are stored, followed and sampled.
    fn train(&self) -> anyhow::Result<()> {
        let weights = Weights::random(self.games.shape.clone(), 1)?;
        let mut trainer = Trainer::new(&weights, &TrainSettings::default(), Device::CPU);
        let (mut batch, mut slots, mut rng) = (Batch::default(), Vec::new(), Xoshiro256PlusPlus::seed_from_u64(2));
        self.draw(STEP_ROWS, &mut rng, &mut slots, &mut batch)?;
        let (stop, owed) = (Stop::new(), Arc::new(AtomicU64::new(0)));
        let follow = self.stages.follow(Arc::clone(&self.log), Arc::clone(&self.intake), stop.clone())?;
        let storing = self.store_owed(&owed, &stop);
        let (mut bare, mut busy, mut sampling) = (0.0, 0.0, 0.0);
        for block in 0..2 * BLOCKS {
            for _ in 0..BLOCK_STEPS {
                let drawn = meter::thread_cpu_s();
                if block % 2 == 1 {
                    owed.fetch_add((STEP_ROWS / REPLAY_RATIO) as u64, Relaxed);
                    self.draw(STEP_ROWS, &mut rng, &mut slots, &mut batch)?;
                }
                let began = meter::thread_cpu_s();
                ensure!(!trainer.step(&batch).skipped, "a step learns");
                *(if block % 2 == 1 { &mut busy } else { &mut bare }) += meter::thread_cpu_s() - began;
                sampling += began - drawn;
            }
        }
        stop.request("enough");
        join(follow)?;
        ensure!(storing.join().is_ok(), "rows could not be stored");
        self.meter.say_steps(BLOCKS * BLOCK_STEPS, bare, busy, sampling);
        Ok(())
    }

    /// Stores as many rows as are owed, game by game.
    fn store_owed(&self, owed: &Arc<AtomicU64>, stop: &Stop) -> std::thread::JoinHandle<()> {
        let (games, log, handle) = (self.games.clone(), Arc::clone(&self.log), self.runtime.handle().clone());
        let (owed, stop, first) = (Arc::clone(owed), stop.clone(), 2 * self.games_sent());
        std::thread::spawn(move || {
            for number in first.. {
                let game = games.game(number);
                let rows = u64::from(game.row_count);
                while owed.load(Relaxed) < rows {
                    if stop.wait(LOOK_EVERY) {
                        return;
                    }
                }
                owed.fetch_sub(rows, Relaxed);
                handle.block_on(log.append(game.part, &game.rows)).expect("the log takes rows");
            }
        })
    }

    /// Games that are measured, after as many that fill the log.
    fn games_sent(&self) -> u64 {
        self.games.games_with(ROWS)
    }

    fn rows_sent(&self) -> u64 {
        self.games.rows_of(self.games_sent())
    }

    fn wait_for(&self, counter: &AtomicU64, least: u64) {
        while counter.load(Relaxed) < least {
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// A window that follows a log from a position and holds nobody up.
fn intake(layout: RowLayout, start: u64) -> anyhow::Result<Arc<Intake>> {
    let limiter = LimiterSettings {
        samples_per_insert: 1.0,
        min_size_to_sample: 1,
        error_buffer: 1e9,
        largest_insert: 1,
        largest_sample: 1,
        capacity: ROWS * 2,
    };
    let window = Window::new(layout, ROWS as usize * 2, u64::MAX, start)?;
    Ok(Arc::new(Intake::new(window, SampleToInsert::new(limiter)?)))
}

fn tensors(batch: &Batch) -> [Tensor; 6] {
    [
        Tensor::from_slice(&batch.observation),
        Tensor::from_slice(&batch.legal),
        Tensor::from_slice(&batch.policy),
        Tensor::from_slice(&batch.value),
        Tensor::from_slice(&batch.policy_weight),
        Tensor::from_slice(&batch.value_weight),
    ]
}

fn join(thread: std::thread::JoinHandle<()>) -> anyhow::Result<()> {
    ensure!(thread.join().is_ok(), "a stage has died");
    Ok(())
}
