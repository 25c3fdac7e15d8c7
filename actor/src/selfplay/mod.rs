//! `actor --nats URL --run ID`: plays a run's games by its newest weights and publishes them. Everything about the run
//! comes from the bus.
//!
//! Where the run's learner comes back and says that games are played otherwise from now on, the process joins the run anew.
//!
//! Told to stop, it starts no game and publishes those that have ended; games in progress are given up, their rows were
//! nobody's yet.

mod crew;
mod news;
mod sizing;
mod status;

use std::{sync::Arc, time::Duration};

use anyhow::{anyhow, bail};
use fogfall_bus::Bus;
use fogfall_game::{Game, GameSet, GameVisitor, mix};
use fogfall_net::{Net, Shape, Weights};
use fogfall_pipeline::{SelfPlaySettings, SelfPlayStats, Stages, VersionedNet, network_shape};
use fogfall_proto::{Manifest, Role, Version};
use fogfall_selfplay::Origin;
use fogfall_service::host;

use crate::{
    Seams,
    cluster::{PlayOrder, Process, await_manifest, connect, differences, play_settings},
};

use self::{
    crew::{Crew, Job},
    news::News,
    sizing::{Needs, Size},
    status::Meter,
};

pub use self::sizing::Usual;

/// Stream of the games, below the number of this process's life.
const GAMES_STREAM: u64 = 1;
/// Seed of the untrained network: the same for all actors.
const UNTRAINED_SEED: u64 = 1;

/// Plays until the process is told to stop.
///
/// # Errors
/// If the run cannot be played here, or a stage has died.
pub fn run<S: GameSet>(order: &PlayOrder, seams: &Seams) -> anyhow::Result<()> {
    let meter = Meter::new(&order.order.process.run)?;
    let process = Process::start(&order.order, meter.metrics(), meter.counts(), "weights")?;
    join::<S>(order, &process, meter, seams)?;
    process.end();
    Ok(())
}

/// Finds the run and plays it until the process is told to stop.
fn join<S: GameSet>(order: &PlayOrder, process: &Process, meter: Meter, seams: &Seams) -> anyhow::Result<()> {
    let Some(bus) = connect(process, &order.order, seams)? else { return Ok(()) };
    process.live(&bus, &order.order.process.run, Role::Actor);
    let Some(manifest) = await_manifest(process, &bus)? else { return Ok(()) };
    let (game, rules) = (manifest.game.clone(), manifest.rules.clone());
    let play = Play { order, process, bus, manifest, meter };
    S::with(&game, rules.as_deref(), play).map_err(|error| anyhow!("the run cannot be played here: {error}"))?
}

/// All that is known before the game is.
struct Play<'a> {
    order: &'a PlayOrder,
    process: &'a Process,
    bus: Arc<dyn Bus>,
    manifest: Manifest,
    meter: Meter,
}

impl GameVisitor for Play<'_> {
    type Out = anyhow::Result<()>;

    fn visit<G: Game>(self, game: Arc<G>) -> anyhow::Result<()> {
        let Self { order, process, bus, manifest, mut meter } = self;
        let differences = differences(&manifest, game.info());
        if !differences.is_empty() {
            bail!("the run is of another game than this program's {}:\n  {}", manifest.game, differences.join("\n  "));
        }
        let shape = network_shape(&manifest, game.info());
        let stages = process.stages(&bus);
        let mut job = job(order, process, &manifest, game.as_ref(), 0)?;
        let mut weights = match order.player.start_without_weights {
            true => untrained(&shape)?,
            false => match await_weights(process, &stages, &shape) {
                Some(weights) => weights,
                None => return Ok(()),
            },
        };
        process.needs.tool.met();
        let (mut stats, mut crews) = (SelfPlayStats::default(), 1);
        let mut news = News::of(&bus, game.info(), manifest, process.life);
        loop {
            say_job(&job, news.manifest(), weights.version);
            meter.begin(&process.vitals, news.manifest(), job.settings.threads, job.hung_after);
            let crew = Crew::start(&game, &job, weights, stats, stages.clone(), process)?;
            let left = crew.play(process, &mut meter, &mut news)?;
            let Some(changed) = left.changed else { return Ok(()) };
            tracing::info!("the run's games are played otherwise from now on: joining it anew");
            job = self::job(order, process, &changed, game.as_ref(), crews)?;
            (weights, stats, crews) = (left.weights, left.stats, crews + 1);
        }
    }
}

/// How the `number`-th crew of this process is to play.
fn job<G: Game>(
    order: &PlayOrder,
    process: &Process,
    manifest: &Manifest,
    game: &G,
    number: u64,
) -> anyhow::Result<Job> {
    let (mut play, search) = play_settings(manifest, game.info())?;
    let asked = Size::of(&order.player)?;
    let shape = network_shape(manifest, game.info());
    let needs = Needs::of(game, &play, &shape);
    let fitted = sizing::fitted(&needs, &asked, host::memory_limit());
    fitted.say();
    let Size { threads, slots, cache_entries } = fitted.size;
    let tree_bytes = search.tree_bytes(host::memory_limit());
    play.bound_trees(game.info(), (threads * slots) as u64, tree_bytes).map_err(anyhow::Error::msg)?;
    Ok(Job {
        settings: SelfPlaySettings { play, threads, slots, cache_entries },
        origin: Origin {
            wire: manifest.wire,
            run: manifest.run.clone(),
            rules_hash: manifest.rules_hash(),
            settings_hash: manifest.settings_hash(),
            // A crew counts its parts from 0.
            publisher: mix(process.life, number),
            seed: mix(mix(process.life, GAMES_STREAM), number),
        },
        shape,
        hung_after: Duration::from_secs(order.player.hung_after_s),
    })
}

fn say_job(job: &Job, manifest: &Manifest, weights: Version) {
    tracing::info!(
        game = manifest.game,
        %weights,
        threads = job.settings.threads,
        slots = job.settings.slots,
        cache_entries = job.settings.cache_entries,
        publisher = format!("{:016x}", job.origin.publisher),
        "playing"
    );
}

/// Weights that nobody has trained. Any that the run publishes are newer.
fn untrained(shape: &Shape) -> anyhow::Result<VersionedNet> {
    let weights = Weights::random(shape.clone(), UNTRAINED_SEED)?;
    Ok(VersionedNet { version: Version::default(), net: Arc::new(Net::new(&weights)) })
}

/// Waits for the run's first weights; `None` if the process is to stop first.
fn await_weights(process: &Process, stages: &Stages, shape: &Shape) -> Option<VersionedNet> {
    process.needs.tool.unmet("the run has published none yet");
    let mut said = false;
    while !process.stop.is_requested() {
        if let Some(weights) = stages.newer_weights(None, shape, &process.stop) {
            return Some(weights);
        }
        if !said {
            tracing::info!("waiting for the run's first weights");
            said = true;
        }
    }
    None
}
