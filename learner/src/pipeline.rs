//! The stages of this process from self-play to window, and the weights' way back: started together, ended one after
//! another.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread::JoinHandle,
    time::Duration,
};

use anyhow::ensure;
use crossbeam_channel::bounded;
use fogfall_bus::Bus;
use fogfall_game::{Game, mix};
use fogfall_net::Net;
use fogfall_pipeline::{
    Intake, Outlet, SelfPlay, SelfPlaySettings, StageCounts, Stages, Troubles, VersionedNet, WeightsCell,
};
use fogfall_proto::Version;
use fogfall_replay::ReplayLog;
use fogfall_selfplay::Origin;
use fogfall_service::shutdown::Stop;
use tokio::runtime::Handle;

use crate::{beginning::Beginning, cli::Flags};

/// Finished games that may wait for the publish stage.
const FINISHED_GAMES: usize = 16;
/// Most time that what was played may take to be stored when the run ends, if nobody set a limit.
const PATIENCE: Duration = Duration::from_secs(10);
/// Stream of self-play, below the run's seed.
const SELFPLAY_STREAM: u64 = 1;

/// What the stages of this process share.
pub struct Shared {
    /// Drives futures.
    pub runtime: Handle,
    /// The bus.
    pub bus: Arc<dyn Bus>,
    /// The replay log.
    pub log: Arc<dyn ReplayLog>,
    /// Window and limiter.
    pub intake: Arc<Intake>,
    /// The epoch of this start.
    pub epoch: u32,
}

/// The running stages.
pub struct Pipeline {
    /// Their counters and troubles.
    pub stages: Stages,
    /// The stage that plays.
    pub self_play: Arc<SelfPlay>,
    /// The newest weights.
    pub weights: Arc<WeightsCell>,
    intake: Arc<Intake>,
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
    /// Starts all of them.
    ///
    /// # Errors
    /// If the first weights are unusable or a thread cannot be started.
    pub fn start<G: Game>(
        game: &Arc<G>,
        beginning: &Beginning,
        flags: &Flags,
        shared: &Shared,
    ) -> anyhow::Result<Self> {
        let stages = Stages {
            runtime: shared.runtime.clone(),
            bus: Arc::clone(&shared.bus),
            counts: Arc::new(StageCounts::default()),
            troubles: Arc::new(Troubles::default()),
        };
        let (log, intake, manifest) = (&shared.log, &shared.intake, &beginning.manifest);
        let version = Version { epoch: shared.epoch, step: beginning.trainer.steps() };
        let net = Arc::new(Net::new(&beginning.trainer.averaged()?));
        let weights = Arc::new(WeightsCell::new(VersionedNet { version, net }));
        let (play_stop, give_up, ingest_stop, follow_stop) = (Stop::new(), Stop::new(), Stop::new(), Stop::new());
        let follow = stages.follow(Arc::clone(log), Arc::clone(intake), follow_stop.clone())?;
        let ingest = stages.ingest(manifest.clone(), Arc::clone(log), Some(Arc::clone(intake)), ingest_stop.clone())?;
        let watch = stages.watch_weights(beginning.shape.clone(), Arc::clone(&weights), play_stop.clone())?;
        let (games, finished) = bounded(FINISHED_GAMES);
        let publish = stages.publish(finished, give_up.clone())?;
        let settings = SelfPlaySettings {
            play: flags.play.play(&flags.search, game.info()),
            threads: play_threads(flags)?,
            slots: flags.run.slots,
            cache_entries: flags.run.cache_entries,
        };
        let origin = Origin {
            run: manifest.run.clone(),
            rules_hash: manifest.rules_hash(),
            settings_hash: manifest.settings_hash(),
            publisher: RandomState::new().hash_one(shared.epoch),
            seed: mix(mix(flags.run.seed, SELFPLAY_STREAM), u64::from(shared.epoch)),
        };
        let outlet = Outlet { games, give_up: give_up.clone() };
        let self_play = Arc::new(SelfPlay::start(game, &settings, &origin, &weights, &outlet, &play_stop)?);
        Ok(Self {
            stages,
            self_play,
            weights,
            intake: Arc::clone(intake),
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

    /// True if a stage has ended that nobody stopped: it panicked.
    pub fn has_died(&self) -> bool {
        let threads = [&self.publish, &self.ingest, &self.follow, &self.watch];
        self.self_play.has_died(&self.play_stop) || threads.iter().any(|thread| thread.is_finished())
    }

    /// Ends stage after stage, each after it has passed on what it had. What cannot be stored in half of the time that
    /// `stop` leaves is given up; returns how many games that are.
    ///
    /// # Errors
    /// If a stage has died.
    pub fn stop(self, stop: &Stop) -> anyhow::Result<u64> {
        const WHY: &str = "the run ends";
        self.play_stop.request(WHY);
        self.intake.open();
        let (patience, give_up) = (stop.time_left().map_or(PATIENCE, |left| left / 2), self.give_up.clone());
        let timer = std::thread::spawn(move || {
            if !give_up.wait(patience) {
                give_up.request("out of time");
            }
        });
        let mut all = self.self_play.join();
        all &= self.publish.join().is_ok();
        self.give_up.request("all is published");
        all &= timer.join().is_ok();
        self.ingest_stop.request(WHY);
        all &= self.ingest.join().is_ok();
        self.follow_stop.request(WHY);
        all &= self.follow.join().is_ok();
        all &= self.watch.join().is_ok();
        ensure!(all, "a stage has died; its panic is in the log");
        let (played, counts) = (self.self_play.stats().counts.games, &self.stages.counts);
        Ok(played.saturating_sub(counts.stored.load(Relaxed) + counts.refused.load(Relaxed)))
    }
}

/// Threads that play: as asked for, or one a core.
///
/// # Errors
/// If the system does not say how many cores there are.
pub fn play_threads(flags: &Flags) -> std::io::Result<usize> {
    match flags.run.selfplay_threads {
        0 => Ok(std::thread::available_parallelism()?.get()),
        n => Ok(n),
    }
}
