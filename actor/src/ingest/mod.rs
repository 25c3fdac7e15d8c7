//! `actor ingest --nats URL --redis URL --run ID`: takes games from the bus, stores their rows in the replay log in
//! Redis, and then says so to the bus. Any number may run for a run at once.
//!
//! Told to stop, it stores and settles what it has in hand and leaves the rest to others.
//!
//! **Invariant:** a game is acknowledged after its rows are stored, never before; one that comes twice is stored once.

mod status;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::{Context, bail, ensure};
use fogfall_bus::Bus;
use fogfall_game::GameSet;
use fogfall_pipeline::{FillFigures, FillWatch, Preset, Stages, Storing};
use fogfall_proto::{Manifest, Role};
use fogfall_replay::{RedisLog, ReplayError};

use crate::{
    Seams,
    cluster::{IngestOrder, Process, await_manifest, connect},
};

use self::status::Meter;

/// How often the stage is looked at.
const TICK: Duration = Duration::from_millis(250);

/// Ingests until the process is told to stop.
///
/// # Errors
/// If the replay log cannot be used as it is, or the stage has died.
pub fn run<S: GameSet>(order: &IngestOrder, seams: &Seams) -> anyhow::Result<()> {
    let mut meter = Meter::new(&order.order.process.run)?;
    let process = Process::start(&order.order, meter.metrics(), meter.counts(), "replay log")?;
    join::<S>(order, &process, &mut meter, seams)?;
    process.end();
    Ok(())
}

/// Finds the run and ingests for it until the process is told to stop.
fn join<S: GameSet>(order: &IngestOrder, process: &Process, meter: &mut Meter, seams: &Seams) -> anyhow::Result<()> {
    let Some(bus) = connect(process, &order.order, seams)? else { return Ok(()) };
    process.live(&bus, &order.order.process.run, Role::Ingester);
    let Some(manifest) = await_manifest(process, &bus)? else { return Ok(()) };
    let Some((mut storing, capacity)) = open_log::<S>(process, order, &manifest)? else { return Ok(()) };
    storing.log = (seams.log)(storing.log);
    meter.begin(&manifest);
    ingest(process, &bus, storing, capacity, meter)
}

/// Opens the run's replay log, and says what it may hold; `None` if the process is to stop first.
fn open_log<S: GameSet>(
    process: &Process,
    order: &IngestOrder,
    manifest: &Manifest,
) -> anyhow::Result<Option<(Storing, FillFigures)>> {
    // Rows are bytes here: a game that this program does not know has no defaults, and that is all.
    let game = S::with(&manifest.game, manifest.rules.as_deref(), Preset).unwrap_or_else(|_| BTreeMap::new());
    // A run's mistakes are not the user's.
    let flags = order.log(manifest, &game).context("this program does not know the run's log settings")?;
    let answer_within = order.order.answer_within();
    let mut settings = flags.in_redis(&order.redis, manifest);
    (settings.server.answer_timeout, settings.server.connect_timeout) = (answer_within, answer_within);
    let opened = &process.needs.tool;
    let open = async || RedisLog::open(settings.clone()).await;
    let log = process.persist("opening the replay log", opened, ReplayError::may_pass, open);
    let log = log.context("the replay log cannot be used")?;
    if log.is_some() {
        opened.met();
        tracing::info!(run = manifest.run, rows = flags.log_rows, bytes = flags.log_bytes.0, "opened the replay log");
    }
    let (log_capacity_rows, log_capacity_bytes) = (flags.log_rows, flags.log_bytes.0);
    let capacity = FillFigures { log_capacity_rows, log_capacity_bytes, ..FillFigures::default() };
    let stale_after_steps = flags.stale_after_steps;
    Ok(log.map(|log| (Storing { manifest: manifest.clone(), log: Arc::new(log), stale_after_steps }, capacity)))
}

fn ingest(
    process: &Process,
    bus: &Arc<dyn Bus>,
    storing: Storing,
    capacity: FillFigures,
    meter: &mut Meter,
) -> anyhow::Result<()> {
    let stages: Stages = process.stages(bus);
    let fill = FillWatch::start(&stages, Arc::clone(&storing.log), capacity);
    let thread = stages.ingest_beside_others(storing, process.stop.clone())?;
    tracing::info!("ingesting");
    let mut died = false;
    while !died && !process.stop.wait(TICK) {
        process.show(meter.look(&stages, fill.now()));
        // In this order: a stop may come between the two looks.
        died = thread.is_finished() && process.stop.reason().is_none();
    }
    ensure!(thread.join().is_ok(), "the ingest stage has died; its panic is in the log");
    process.show(meter.look(&stages, fill.now()));
    meter.say("stopped");
    if died {
        bail!("the ingest stage has ended and nobody stopped it");
    }
    Ok(())
}
