//! `learner --local`: every stage of the house in one process, joined by a bus in memory and a replay log in files.

use std::{sync::Arc, thread::JoinHandle, time::Duration};

use anyhow::{Context, bail};
use crossbeam_channel::bounded;
use fogfall_bus::{Bus, MemoryBus, MemoryBusSettings};
use fogfall_game::{Game, GameVisitor, mix};
use fogfall_net::{Net, Shape, Weights};
use fogfall_pipeline::{Intake, SelfPlay, SelfPlaySettings, StageCounts, Stages, VersionedNet, WeightsCell};
use fogfall_proto::{Manifest, Version};
use fogfall_replay::{FileLog, FileLogSettings, LimiterSettings, ReplayLog, SampleToInsert, Window};
use fogfall_selfplay::Origin;
use fogfall_service::{admin::Vitals, shutdown::Stop};
use tokio::runtime::Runtime;

use crate::{
    board::Board,
    checkpoint::{CheckpointStore, KeepPolicy},
    cli::{Flags, Order},
    evaluation::{Evaluation, EvaluationSettings},
    output::Output,
    reporter::{Reporter, Sources},
    resume::{self, RunState, Totals},
    run_dir::{self, RunDir},
    train::{self, Device, TrainSettings, Trainer},
    train_loop::{Ended, TRAINER_FILE, TrainLoop, TrainLoopSettings},
};

/// Finished games that may wait for the publish stage.
const FINISHED_GAMES: usize = 16;
/// Trajectories that may wait on the bus.
const BUS_BYTES: u64 = 4 << 20;
/// Bytes read from the log at a time when the window is filled.
const FILL_BYTES: usize = 16 << 20;
/// How often the run is looked at.
const TICK: Duration = Duration::from_millis(250);
/// A train loop that does not go round for so long is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(120);
/// Streams below the run's seed.
const SELFPLAY_STREAM: u64 = 1;
const MATCH_STREAM: u64 = 2;
const WEIGHTS_STREAM: u64 = 3;

/// The run asked for by an order.
pub struct Local {
    /// The order.
    pub order: Order,
    /// Asked to stop by signals.
    pub stop: Stop,
}

impl GameVisitor for Local {
    type Out = anyhow::Result<()>;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        run(&game, self.order, &self.stop)
    }
}

/// What a run begins with: fresh, or where a checkpoint left it.
struct Beginning {
    manifest: Manifest,
    shape: Shape,
    trainer: Trainer,
    /// What an untrained opponent plays with.
    untrained: Weights,
    ordinal: u64,
    totals: Totals,
    limiter: fogfall_replay::LimiterCounts,
    above: u32,
    notices: Vec<String>,
}

fn run<G: Game>(game: &Arc<G>, order: Order, stop: &Stop) -> anyhow::Result<()> {
    let dir = RunDir::open(&order.run_dir, order.checkpoint.is_some())?;
    let beginning = begin(&**game, &order, &dir)?;
    let board = Board::default();
    for notice in &beginning.notices {
        board.notice(notice.clone());
    }
    let flags = &order.flags;
    let (log, intake) = open_replay(game.info().max_decisions, &beginning, &dir, flags, &board)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let bus: Arc<dyn Bus> =
        Arc::new(MemoryBus::new(MemoryBusSettings { capacity_bytes: BUS_BYTES, ..MemoryBusSettings::default() }));
    let epoch = runtime.block_on(bus.claim(&beginning.manifest, beginning.above))?;
    dir.note_epoch(epoch)?;

    let vitals = Vitals::new();
    let pipeline = Pipeline::start(game, &beginning, flags, epoch, &runtime, &bus, &log, &intake)?;
    let evaluation_stop = Stop::new();
    let evaluation = start_evaluation(game, &beginning, flags, &pipeline.weights, &board, &evaluation_stop)?;
    let sources = Sources {
        manifest: beginning.manifest.clone(),
        totals: beginning.totals,
        flags: flags.clone(),
        threads: pipeline.threads,
        steps_wanted: order.end.steps,
        lasts: order.end.after,
        intake: Arc::clone(&intake),
        counts: Arc::clone(&pipeline.stages.counts),
        self_play: Arc::clone(&pipeline.self_play),
        board: board.clone(),
    };
    let mut reporter = Reporter::new(sources, &vitals);
    let mut output = Output::start(&order, &dir, &vitals)?;
    let train_stop = Stop::new();
    let train = start_training(
        game,
        beginning,
        &order,
        &dir,
        epoch,
        &runtime,
        &bus,
        &intake,
        &board,
        &vitals,
        &reporter,
        &train_stop,
    )?;

    let mut fault = None;
    while !stop.wait(TICK) {
        let status = reporter.look();
        output.show(&status, &board);
        if train.is_finished() {
            break;
        }
        if pipeline.self_play.has_died(&pipeline.play_stop) {
            fault = Some("a self-play thread has died; its panic is in the log");
            break;
        }
        if order.end.after.is_some_and(|after| reporter.elapsed() >= after) {
            break;
        }
    }
    reporter.stopping();
    output.show(&reporter.look(), &board);
    evaluation_stop.request("the run ends");
    let played = pipeline.stop(stop);
    train_stop.request("the run ends");
    let trained = train.join().map_err(|_| anyhow::anyhow!("the train thread has died; its panic is in the log"));
    if let Some(evaluation) = evaluation {
        // A panic there is in the log and spoils no training.
        let _ = evaluation.join();
    }
    runtime.block_on(log.sync())?;
    output.finish(&reporter.finished(), &board, &dir)?;
    let _: Ended = trained??;
    if let Some(fault) = fault {
        bail!("{fault}");
    }
    if !played {
        bail!("a stage has died; its panic is in the log");
    }
    Ok(())
}

fn begin(game: &impl Game, order: &Order, dir: &RunDir) -> anyhow::Result<Beginning> {
    let (info, flags) = (game.info(), &order.flags);
    let shape = Shape::new(info, flags.network.width, flags.network.blocks);
    let stored = order.checkpoint.as_ref();
    let run = stored.map_or_else(|| dir.run_id(), |c| c.state.manifest.run.clone());
    let manifest = resume::manifest(run, info, &flags.network, flags.play_texts());
    let mut notices = Vec::new();
    if let Some(warning) = flags.search.search(info).leak_warning(info) {
        notices.push(warning);
    }
    let settings = train_settings(flags)?;
    let device = Device::parse(&flags.run.device)?;
    train::set_threads(flags.run.train_threads);
    let untrained_file = dir.path().join("untrained.safetensors");
    let (trainer, untrained) = match stored {
        Some(checkpoint) => {
            let state = &checkpoint.state;
            let changed = resume::check(state, &manifest, &flags.texts(), Flags::keys(), order.change)?;
            notices.extend(changed.iter().map(|change| format!("changed on resume: {change}")));
            let tensors = checkpoint.files.get(TRAINER_FILE).context("the checkpoint has no trainer file")?;
            let trainer = Trainer::resume(&state.trainer, tensors, &settings, device)?;
            let bytes = std::fs::read(&untrained_file);
            let bytes = bytes.with_context(|| format!("cannot read {}", untrained_file.display()))?;
            (trainer, Weights::from_bytes(&bytes)?)
        }
        None => {
            let weights = first_weights(order, &shape, &mut notices)?;
            run_dir::replace(&untrained_file, &weights.to_bytes())?;
            if let Some(rules) = &info.rules {
                run_dir::replace(&dir.rules(), rules.as_bytes())?;
            }
            (Trainer::new(&weights, &settings, device), weights)
        }
    };
    let epoch = stored.map_or(0, |c| c.state.version.epoch);
    Ok(Beginning {
        manifest,
        shape,
        trainer,
        untrained,
        ordinal: stored.map_or(0, |c| c.state.ordinal),
        totals: stored.map_or_else(Totals::default, |c| c.state.totals),
        limiter: stored.map_or_else(Default::default, |c| c.state.limiter),
        above: dir.last_epoch()?.max(epoch),
        notices,
    })
}

fn first_weights(order: &Order, shape: &Shape, notices: &mut Vec<String>) -> anyhow::Result<Weights> {
    let seed = mix(order.flags.run.seed, WEIGHTS_STREAM);
    let Some(file) = &order.init_from else { return Ok(Weights::random(shape.clone(), seed)?) };
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let old = Weights::from_bytes(&bytes).with_context(|| format!("{} cannot be used", file.display()))?;
    let transfer = old.transfer(shape, seed).with_context(|| format!("{} cannot be used", file.display()))?;
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    notices.push(format!(
        "started from {}: {} parts taken over, new: {}, dropped: {}",
        file.display(),
        transfer.mapped.len(),
        list(&transfer.fresh),
        list(&transfer.dropped)
    ));
    Ok(transfer.weights)
}

fn train_settings(flags: &Flags) -> anyhow::Result<TrainSettings> {
    let train = &flags.train;
    Ok(TrainSettings {
        value_weight: train.value_weight,
        policy_weight: train.policy_weight,
        weight_decay: train.weight_decay,
        optimizer: train.optimizer.parse()?,
        momentum: train.momentum,
        learning_rate: train.learning_rate,
        warmup_steps: train.warmup_steps,
        schedule: train.schedule.parse()?,
        schedule_steps: train.schedule_steps,
        schedule_factor: train.schedule_factor,
        clip_norm: train.clip_norm,
        average_decay: train.average_decay,
        ..TrainSettings::default()
    })
}

/// Opens the log and fills the window with its tail.
fn open_replay(
    longest_game: usize,
    beginning: &Beginning,
    dir: &RunDir,
    flags: &Flags,
    board: &Board,
) -> anyhow::Result<(Arc<FileLog>, Arc<Intake>)> {
    let layout = beginning.manifest.row_layout();
    let (log, recovery) = FileLog::open(FileLogSettings {
        dir: dir.replay(),
        run: beginning.manifest.run.clone(),
        row_bytes: layout.row_bytes(),
        capacity_rows: flags.replay.log_rows,
        capacity_bytes: flags.replay.log_bytes.0,
    })?;
    if recovery.torn_bytes > 0 || recovery.damaged_rows > 0 {
        board.notice(format!(
            "the replay log was cut off: {} bytes of an unfinished game and {} damaged rows were dropped",
            recovery.torn_bytes, recovery.damaged_rows
        ));
    }
    let capacity = flags.replay.window_rows;
    let start = recovery.bounds.first.max(recovery.bounds.end.saturating_sub(capacity as u64));
    let mut window = Window::new(layout, capacity, flags.replay.window_bytes.0, start)
        .context("window_rows and window_bytes do not fit together")?;
    let mut settings = LimiterSettings {
        samples_per_insert: flags.replay.replay_ratio,
        min_size_to_sample: flags.replay.min_rows,
        error_buffer: 0.0,
        largest_insert: longest_game.max(1) as u64,
        largest_sample: flags.train.batch_rows as u64,
        capacity: capacity as u64,
    };
    // Twice the least that cannot come to a standstill: both sides run freely for a moment.
    settings.error_buffer = 2.0 * settings.least_error_buffer();
    let mut limiter = SampleToInsert::restore(settings, beginning.limiter)
        .context("min_rows, window_rows and replay_ratio do not fit together")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    loop {
        let rows = runtime.block_on(log.read(window.next(), FILL_BYTES))?;
        if rows.is_empty() {
            break;
        }
        window.follow(&rows)?;
    }
    if !window.is_empty() {
        limiter.rebase(window.len() as u64);
    }
    Ok((Arc::new(log), Arc::new(Intake::new(window, limiter))))
}

/// The stages from self-play to window, and the weights' way back.
struct Pipeline {
    stages: Stages,
    self_play: Arc<SelfPlay>,
    weights: Arc<WeightsCell>,
    threads: usize,
    play_stop: Stop,
    give_up: Stop,
    ingest_stop: Stop,
    follow_stop: Stop,
    publish: JoinHandle<()>,
    ingest: JoinHandle<()>,
    follow: JoinHandle<()>,
    watch: JoinHandle<()>,
}

impl Pipeline {
    #[expect(clippy::too_many_arguments, reason = "it joins all of these")]
    fn start<G: Game>(
        game: &Arc<G>,
        beginning: &Beginning,
        flags: &Flags,
        epoch: u32,
        runtime: &Runtime,
        bus: &Arc<dyn Bus>,
        log: &Arc<FileLog>,
        intake: &Arc<Intake>,
    ) -> anyhow::Result<Self> {
        let stages = Stages {
            runtime: runtime.handle().clone(),
            bus: Arc::clone(bus),
            counts: Arc::new(StageCounts::default()),
        };
        let version = Version { epoch, step: beginning.trainer.steps() };
        let net = Arc::new(Net::new(&beginning.trainer.averaged()?));
        let weights = Arc::new(WeightsCell::new(VersionedNet { version, net }));
        let (play_stop, give_up, ingest_stop, follow_stop) = (Stop::new(), Stop::new(), Stop::new(), Stop::new());
        let log: Arc<dyn ReplayLog> = Arc::clone(log) as Arc<dyn ReplayLog>;
        let manifest = &beginning.manifest;
        let follow = stages.follow(Arc::clone(&log), Arc::clone(intake), follow_stop.clone())?;
        let ingest = stages.ingest(manifest.clone(), log, Some(Arc::clone(intake)), ingest_stop.clone())?;
        let watch = stages.watch_weights(beginning.shape.clone(), Arc::clone(&weights), play_stop.clone())?;
        let (sender, receiver) = bounded(FINISHED_GAMES);
        let publish = stages.publish(receiver, give_up.clone())?;
        let threads = match flags.run.selfplay_threads {
            0 => std::thread::available_parallelism()?.get(),
            n => n,
        };
        let settings = SelfPlaySettings {
            play: flags.play.play(&flags.search, game.info()),
            threads,
            slots: flags.run.slots,
            cache_entries: flags.run.cache_entries,
        };
        let origin = Origin {
            run: manifest.run.clone(),
            rules_hash: manifest.rules_hash(),
            settings_hash: manifest.settings_hash(),
            publisher: std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), epoch),
            seed: mix(mix(flags.run.seed, SELFPLAY_STREAM), u64::from(epoch)),
        };
        let self_play = Arc::new(SelfPlay::start(game, &settings, &origin, &weights, &sender, &play_stop)?);
        Ok(Self {
            stages,
            self_play,
            weights,
            threads,
            play_stop,
            give_up,
            ingest_stop,
            follow_stop,
            publish,
            ingest,
            follow,
            watch,
        })
    }

    /// Ends stage after stage, each after it has passed on what it had; false if one has died.
    fn stop(self, stop: &Stop) -> bool {
        // What the bus does not take in half of the time left is given up and counted.
        let patience = stop.time_left().map_or(Duration::from_secs(10), |left| left / 2);
        self.play_stop.request("the run ends");
        let mut all = self.self_play.join();
        let give_up = self.give_up.clone();
        self.ingest_stop.request("the run ends");
        let timer = std::thread::spawn(move || {
            if !give_up.wait(patience) {
                give_up.request("out of time");
            }
        });
        all &= self.publish.join().is_ok();
        self.give_up.request("all is published");
        all &= timer.join().is_ok();
        all &= self.ingest.join().is_ok();
        self.follow_stop.request("the run ends");
        all &= self.follow.join().is_ok();
        all & self.watch.join().is_ok()
    }
}

fn start_evaluation<G: Game>(
    game: &Arc<G>,
    beginning: &Beginning,
    flags: &Flags,
    weights: &Arc<WeightsCell>,
    board: &Board,
    stop: &Stop,
) -> anyhow::Result<Option<JoinHandle<()>>> {
    if flags.run.match_every_s == 0 {
        return Ok(None);
    }
    let settings = EvaluationSettings {
        search: flags.search.search(game.info()),
        budget: flags.search.full_budget(),
        pairs: flags.run.match_pairs,
        every: Duration::from_secs(flags.run.match_every_s),
        share: flags.run.match_share,
        seed: mix(mix(flags.run.seed, MATCH_STREAM), beginning.trainer.steps()),
    };
    let untrained = VersionedNet { version: Version::default(), net: Arc::new(Net::new(&beginning.untrained)) };
    let (game, weights, board) = (Arc::clone(game), Arc::clone(weights), board.clone());
    Ok(Some(Evaluation { game, settings, weights, untrained, board }.start(stop.clone())?))
}

#[expect(clippy::too_many_arguments, reason = "it hands all of these to the thread")]
fn start_training(
    game: &Arc<impl Game>,
    beginning: Beginning,
    order: &Order,
    dir: &RunDir,
    epoch: u32,
    runtime: &Runtime,
    bus: &Arc<dyn Bus>,
    intake: &Arc<Intake>,
    board: &Board,
    vitals: &Vitals,
    reporter: &Reporter,
    stop: &Stop,
) -> anyhow::Result<JoinHandle<anyhow::Result<Ended>>> {
    let flags = &order.flags;
    let settings = TrainLoopSettings {
        batch_rows: flags.train.batch_rows,
        root_value_share: flags.train.root_value_share,
        symmetries: if flags.train.symmetries { game.info().symmetries.clone() } else { Vec::new() },
        publish_steps: flags.run.publish_steps,
        checkpoint_every: Duration::from_secs(flags.run.checkpoint_s),
        last_step: order.end.steps,
        seed: flags.run.seed,
    };
    let keep = KeepPolicy { last: flags.run.keep_last, every_steps: flags.run.keep_every_steps };
    let (manifest, texts) = (beginning.manifest, flags.texts());
    let (totals, intake_of_state) = (reporter.totals(), Arc::clone(intake));
    let describe = move |version, ordinal, trainer| {
        let intake = intake_of_state.lock();
        RunState {
            manifest: manifest.clone(),
            settings: texts.clone(),
            version,
            ordinal,
            limiter: intake.limiter.counts(),
            log_position: intake.window.next(),
            totals: totals(),
            trainer,
        }
    };
    let train = TrainLoop {
        settings,
        epoch,
        step: beginning.trainer.steps(),
        trainer: beginning.trainer,
        ordinal: beginning.ordinal,
        intake: Arc::clone(intake),
        bus: Arc::clone(bus),
        runtime: runtime.handle().clone(),
        checkpoints: CheckpointStore::open(&dir.checkpoints(), keep)?,
        weights_file: dir.weights(),
        describe: Box::new(describe),
        board: board.clone(),
        heartbeat: vitals.heartbeat("train loop", STUCK_AFTER),
    };
    let stop = stop.clone();
    Ok(std::thread::Builder::new().name("train".to_owned()).spawn(move || train.run(&stop))?)
}
