//! A run from its start to its end: with `--local` every stage of the house in one process, joined by a bus in memory and a
//! replay log in files; on a cluster those that are the learner's.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow, bail};
use fogfall_bus::BusError;
use fogfall_game::{Game, GameVisitor, mix};
use fogfall_net::Net;
use fogfall_pipeline::{
    FillFigures, FillWatch, Pulse, STUCK_AFTER, StageCounts, Stages, Troubles, VersionedNet, WeightsCell,
};
use fogfall_proto::Version;
use fogfall_service::{
    admin::Vitals,
    metrics::{Metrics, Role},
    shutdown::Stop,
};
use tokio::runtime::Runtime;

use crate::{
    beginning::Beginning,
    board::Board,
    cli::{Flags, Order},
    evaluation::{Evaluation, EvaluationSettings},
    exact::RunFigures,
    export::{Before, Export, Jobs},
    heartbeat,
    lockstep::Lockstep,
    output::Output,
    patience::{Patience, STOPPED},
    pipeline::{Pipeline, PlayMeter, Shared, play_threads},
    replay,
    reporter::{Reporter, Sources},
    run_dir::RunDir,
    saver::Saver,
    shelf::Shelf,
    show::{Live, MetricsFile},
    shown::StepTimes,
    supply::{Concurrent, Supply},
    train_loop::{TrainLoop, TrainLoopSettings, Trained},
};

/// How often the run is looked at.
const TICK: Duration = Duration::from_millis(250);
/// Most time that matches may take to notice that the run ends.
const MATCH_PATIENCE: Duration = Duration::from_secs(2);
/// Stream of matches, below the run's seed.
const MATCH_STREAM: u64 = 2;

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
        let dir = RunDir::open(&self.order.run_dir, self.order.checkpoint.is_some())?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        match Run::start(&game, &self.order, &dir, &runtime, &self.stop) {
            Ok(run) => run.finish(&self.stop),
            Err(error) if self.stop.is_requested() => {
                tracing::info!(reason = format!("{error:#}"), "ended without a beginning");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// A run in progress.
struct Run<'a> {
    order: &'a Order,
    dir: &'a RunDir,
    runtime: &'a Runtime,
    shared: Shared,
    board: Board,
    /// None in lockstep, where the train loop does all of it.
    pipeline: Option<Pipeline>,
    evaluation: Option<JoinHandle<()>>,
    evaluation_stop: Stop,
    train: JoinHandle<anyhow::Result<Trained>>,
    train_stop: Stop,
    reporter: Reporter,
    output: Output,
    pulse: Pulse,
}

impl<'a> Run<'a> {
    /// Begins or goes on. Nothing is played before there is a checkpoint: a learner that is killed at any time later
    /// can go on from one. Servers that are not there are waited for, until `stop` is set.
    fn start<G: Game>(
        game: &Arc<G>,
        order: &'a Order,
        dir: &'a RunDir,
        runtime: &'a Runtime,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let (info, flags) = (game.info(), &order.flags);
        let board = Board::default();
        let mut beginning = Beginning::of(info, order, dir)?;
        let vitals = Vitals::new();
        let begun = vitals.condition("run");
        let window_filled = Reporter::window_filled(&vitals);
        let shelf = Arc::new(Shelf::open(dir.games(), flags.run.games_kept));
        let (counts, times, jobs) = (Arc::new(StageCounts::default()), StepTimes::default(), Jobs::at(&order.place));
        let metrics = Metrics::of(Role::Learner, &beginning.manifest.run)?;
        let export = Export::new(metrics, jobs, Before::of(&beginning), &counts, &times)?;
        let opponent = game.experts().last().unwrap_or(&"random");
        // Before servers are waited for: whoever asks hears what is missing.
        let mut output = Output::start(order, dir, &vitals, &shelf, export, opponent)?;
        let patience = Patience {
            runtime,
            stop,
            troubles: Arc::new(Troubles::default()),
            begun,
            aloud: !order.json && Live::is_possible(),
        };
        let replay = replay::open(info, order, &beginning, dir, &board, &patience)?;
        // Also those that were stored after the checkpoint.
        beginning.totals.rows = beginning.totals.rows.max(replay.rows_stored);
        board.begin(&beginning);
        let bus = order.place.bus(info, flags, &beginning.manifest, &patience)?;
        if order.checkpoint.is_none() {
            order.place.refuse_lost_checkpoints(&*bus, &patience)?;
        }
        let claim = async || bus.claim(&beginning.manifest, beginning.above).await;
        let epoch = patience.persist("taking over the run", BusError::may_pass, claim)?.context(STOPPED)?;
        dir.note_epoch(epoch)?;
        patience.begun.met();
        output.take_screen()?;
        let mut saver = Saver::open(dir, &beginning, flags, &replay.intake)?;
        let saved = match &order.checkpoint {
            None => saver.save(&beginning.trainer, epoch, beginning.ordinal, beginning.rounds)?,
            Some(checkpoint) => {
                saver.go_on_from(checkpoint.state.version)?;
                checkpoint.state.version
            }
        };
        {
            let mut facts = board.lock();
            facts.checkpoint = Some((saved, saver.written(saved)));
            facts.checkpoints = u64::from(order.checkpoint.is_none());
        }
        let mut stages = Stages { counts, vitals: vitals.clone(), ..Stages::new(runtime.handle().clone(), bus) };
        stages.troubles = patience.troubles;
        let weights = Arc::new(WeightsCell::new(first_weights(&beginning, epoch)?));
        let shared = Shared { stages, log: replay.log, intake: replay.intake, weights, epoch };
        let (pipeline, supply, meter) = start_playing(game, &beginning, order, &shared)?;
        let (evaluation_stop, train_stop) = (Stop::new(), Stop::new());
        let first = heartbeat::first(&beginning.manifest.run);
        let pulse = Pulse::start(&shared.stages, first, &train_stop);
        show_crew(order, &shared, &output)?;
        let places = Places { weights: &shared.weights, board: &board, shelf: &shelf };
        let evaluation = start_evaluation(game, &beginning, order, dir, places, &evaluation_stop)?;
        let step_log = flags.run.step_log.then(|| MetricsFile::open(dir.steps())).transpose()?;
        let fill = jobs.ingests.then(|| FillWatch::start(&shared.stages, Arc::clone(&shared.log), log_capacity(flags)));
        let sources = Sources::of(order, &beginning, &shared, meter, &board, fill)?;
        let reporter = Reporter::new(sources, &vitals, window_filled);
        saver.count(Box::new(reporter.totals()));
        let train = TrainLoop {
            settings: TrainLoopSettings::of(order, info)?,
            trainer: beginning.trainer,
            epoch,
            ordinal: beginning.ordinal,
            supply,
            intake: Arc::clone(&shared.intake),
            bus: Arc::clone(&shared.stages.bus),
            runtime: shared.stages.runtime.clone(),
            saver,
            board: board.clone(),
            times,
            step_log,
            heartbeat: vitals.heartbeat("train loop", STUCK_AFTER),
        }
        .start(&train_stop)?;
        Ok(Self {
            order,
            dir,
            runtime,
            shared,
            board,
            pipeline,
            evaluation,
            evaluation_stop,
            train,
            train_stop,
            reporter,
            output,
            pulse,
        })
    }

    /// Shows the run until it is to end; an error if a stage has died.
    fn watch(&mut self, stop: &Stop) -> anyhow::Result<()> {
        while !stop.wait(TICK) {
            self.show();
            let over = self.order.end.after.is_some_and(|after| self.reporter.elapsed() >= after);
            if over || self.train.is_finished() {
                break;
            }
            if self.pipeline.as_ref().is_some_and(Pipeline::has_died) {
                bail!("a stage has died; its panic is in the log");
            }
        }
        Ok(())
    }

    /// Shows how the run stands, to whoever looks here and to the bus.
    fn show(&mut self) {
        let status = self.reporter.look();
        self.output.show(&status, &self.board);
        let (facts, counts) = (self.board.lock().clone(), &self.shared.stages.counts);
        let ingests = self.pipeline.as_ref().is_some_and(Pipeline::ingests);
        self.pulse.note(|beat| heartbeat::note(&status, &facts, counts, ingests, beat));
    }

    /// Waits for the run's end, then ends it in good order: training first, so that nothing is learnt that the last
    /// checkpoint does not hold; then play, so that it holds all that was stored.
    fn finish(mut self, stop: &Stop) -> anyhow::Result<()> {
        let watched = self.watch(stop);
        self.reporter.stopping();
        self.show();
        self.evaluation_stop.request("the run ends");
        self.train_stop.request("the run ends");
        let trained = self.train.join().map_err(|_| anyhow!("the train thread has died; its panic is in the log"));
        let played = self.pipeline.map_or(Ok(0), |pipeline| pipeline.stop(stop)).map(|lost| {
            if lost > 0 {
                self.board.notice(format!("{lost} finished games were given up: there was no time to store them"));
            }
        });
        let saved = trained.flatten().and_then(Trained::finish);
        let synced = self.runtime.block_on(self.shared.log.sync()).map_err(anyhow::Error::from);
        leave(self.evaluation);
        let shown = self.output.finish(&self.reporter.finished(), &self.board, self.dir);
        // The first is the one to report; all were tried.
        saved.and(watched).and(played).and(synced).and(shown)?;
        self.pulse.end();
        Ok(())
    }
}

/// What the replay log may hold.
fn log_capacity(flags: &Flags) -> FillFigures {
    let (log_capacity_rows, log_capacity_bytes) = (flags.log.log_rows, flags.log.log_bytes.0);
    FillFigures { log_capacity_rows, log_capacity_bytes, ..FillFigures::default() }
}

fn first_weights(beginning: &Beginning, epoch: u32) -> anyhow::Result<VersionedNet> {
    let net = Arc::new(Net::new(&beginning.trainer.averaged()?));
    Ok(VersionedNet { version: Version { epoch, step: beginning.trainer.steps() }, net })
}

/// Those who bring rows: stages of their own, or in lockstep the train loop's supply alone.
fn start_playing<G: Game>(
    game: &Arc<G>,
    beginning: &Beginning,
    order: &Order,
    shared: &Shared,
) -> anyhow::Result<(Option<Pipeline>, Box<dyn Supply>, PlayMeter)> {
    let flags = &order.flags;
    if flags.lockstep.lockstep {
        let lockstep = Lockstep::new(game, beginning, flags, shared)?;
        let meter = lockstep.meter();
        return Ok((None, Box::new(lockstep), meter));
    }
    let pipeline = Pipeline::start(game, beginning, order, shared)?;
    let (meter, intake) = (pipeline.meter(), Arc::clone(&shared.intake));
    let (batch_rows, publish_steps) = (flags.train.batch_rows, flags.run.publish_steps);
    let supply = Concurrent { intake, batch_rows, publish_steps, rounds: beginning.rounds };
    Ok((Some(pipeline), Box::new(supply), meter))
}

/// Lets the page show who plays.
fn show_crew(order: &Order, shared: &Shared, output: &Output) -> anyhow::Result<()> {
    let Some(page) = output.page() else { return Ok(()) };
    match order.place.cluster() {
        None => page.crew().are_threads(play_threads(&order.flags)?, &shared.weights),
        Some(_) => page.crew().are_members(&shared.stages.bus, &shared.stages.runtime),
    }
    Ok(())
}

/// Where evaluation finds weights, and leaves what it found out.
struct Places<'a> {
    weights: &'a Arc<WeightsCell>,
    board: &'a Board,
    shelf: &'a Arc<Shelf>,
}

fn start_evaluation<G: Game>(
    game: &Arc<G>,
    beginning: &Beginning,
    order: &Order,
    dir: &RunDir,
    places: Places<'_>,
    stop: &Stop,
) -> anyhow::Result<Option<JoinHandle<()>>> {
    let flags = &order.flags;
    let settings = EvaluationSettings {
        search: flags.search.search(game.info()),
        budget: flags.search.full_budget(),
        choice: flags.play.play(&flags.search, game.info()).choice(0),
        matches: flags.run.match_every_s > 0,
        pairs: flags.run.match_pairs,
        every: Duration::from_secs(flags.run.match_every_s),
        exact_every: Duration::from_secs(flags.run.exact_every_s),
        share: flags.run.match_share,
        seed: mix(mix(flags.run.seed, MATCH_STREAM), beginning.trainer.steps()),
    };
    let untrained = VersionedNet { version: Version::default(), net: Arc::new(Net::new(&beginning.untrained)) };
    let exact = (flags.run.exact_every_s > 0)
        .then(|| RunFigures::open(game, dir.average_policy(), beginning.trainer.steps(), places.board))
        .flatten();
    if !settings.matches && exact.is_none() {
        return Ok(None);
    }
    let (game, weights) = (Arc::clone(game), Arc::clone(places.weights));
    let (board, shelf) = (places.board.clone(), Arc::clone(places.shelf));
    Ok(Some(Evaluation { game, settings, weights, untrained, exact, board, shelf }.start(stop.clone())?))
}

/// Waits for the matches, but not long: an exact figure is measured to its end, and the process may end before.
fn leave(evaluation: Option<JoinHandle<()>>) {
    let began = Instant::now();
    while evaluation.as_ref().is_some_and(|thread| !thread.is_finished()) && began.elapsed() < MATCH_PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
}
