//! The stages of this process from self-play to window, and the weights' way back: started together, ended one after
//! another.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    thread::JoinHandle,
    time::Duration,
};

use anyhow::ensure;
use crossbeam_channel::bounded;
use fogfall_game::{Game, GameInfo, mix};
use fogfall_pipeline::{Hung, Intake, Outlet, SelfPlay, SelfPlaySettings, SelfPlayStats, Stages, Storing, WeightsCell};
use fogfall_replay::ReplayLog;
use fogfall_service::{host, shutdown::Stop};

use crate::{
    beginning::Beginning,
    cli::{Flags, Order},
    place::Place,
    resume::Totals,
};

/// Finished games that may wait for the publish stage.
const FINISHED_GAMES: usize = 16;
/// Most time that what was played may take to be stored when the run ends, if nobody set a limit.
const PATIENCE: Duration = Duration::from_secs(10);
/// Stream of self-play, below the run's seed.
const SELFPLAY_STREAM: u64 = 1;

/// What all parts of this process share.
#[derive(Clone)]
pub struct Shared {
    /// Runtime and bus, and what is counted.
    pub stages: Stages,
    /// The replay log.
    pub log: Arc<dyn ReplayLog>,
    /// Window and limiter.
    pub intake: Arc<Intake>,
    /// The newest weights.
    pub weights: Arc<WeightsCell>,
    /// The epoch of this start.
    pub epoch: u32,
}

/// What is seen of the playing, whoever drives it.
#[derive(Clone)]
pub struct PlayMeter {
    /// What was done and how long it waited.
    pub stats: Arc<dyn Fn() -> SelfPlayStats + Send + Sync>,
    /// The threads that have not gone on for so long.
    pub hung: Arc<dyn Fn(Duration) -> Vec<Hung> + Send + Sync>,
    /// What a checkpoint counts of this start; its time is left at 0.
    pub totals: Arc<dyn Fn() -> Totals + Send + Sync>,
}

/// Playing in this process.
struct Play {
    self_play: Arc<SelfPlay>,
    publish: JoinHandle<()>,
}

/// The running stages.
pub struct Pipeline {
    stages: Stages,
    /// None where actors play.
    play: Option<Play>,
    intake: Arc<Intake>,
    play_stop: Stop,
    give_up: Stop,
    ingest_stop: Stop,
    follow_stop: Stop,
    /// None where other processes ingest.
    ingest: Option<JoinHandle<()>>,
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
        order: &Order,
        shared: &Shared,
    ) -> anyhow::Result<Self> {
        let Shared { stages, log, intake, weights, .. } = shared.clone();
        let stale_after_steps = order.flags.log.stale_after_steps;
        let storing = Storing { manifest: beginning.manifest.clone(), log: Arc::clone(&log), stale_after_steps };
        let (play_stop, give_up, ingest_stop, follow_stop) = (Stop::new(), Stop::new(), Stop::new(), Stop::new());
        let follow = stages.follow(log, Arc::clone(&intake), follow_stop.clone())?;
        let ingest = match order.place.cluster() {
            None => Some(stages.ingest(storing, Some(Arc::clone(&intake)), ingest_stop.clone())?),
            // Actors go on whatever the limiter says: it stops this learner alone.
            Some(cluster) if cluster.ingest => Some(stages.ingest_beside_others(storing, ingest_stop.clone())?),
            Some(_) => None,
        };
        let watch = stages.watch_weights(beginning.shape.clone(), weights, play_stop.clone())?;
        let play = match order.place {
            Place::Local => Some(start_playing(game, beginning, &order.flags, shared, &play_stop, &give_up)?),
            Place::Cluster(_) => None,
        };
        Ok(Self { stages, play, intake, play_stop, give_up, ingest_stop, follow_stop, ingest, follow, watch })
    }

    /// What is seen of the playing. A game counts once it has ended, its rows once they are stored; of games that actors
    /// play the rows count that the window has followed, those that left the log before it could read them included.
    pub fn meter(&self) -> PlayMeter {
        let counts = Arc::clone(&self.stages.counts);
        let Some(play) = &self.play else {
            let rows = move || counts.followed_rows.load(Relaxed) + counts.skipped_rows.load(Relaxed);
            return PlayMeter {
                stats: Arc::new(SelfPlayStats::default),
                hung: Arc::new(|_| Vec::new()),
                totals: Arc::new(move || Totals { rows: rows(), ..Totals::default() }),
            };
        };
        let [self_play, watched, played] = [&play.self_play; 3].map(Arc::clone);
        PlayMeter {
            stats: Arc::new(move || self_play.stats()),
            hung: Arc::new(move |after| watched.hung(after)),
            totals: Arc::new(move || {
                let played = played.stats().counts;
                Totals {
                    games: played.games,
                    truncated: played.truncated,
                    rows: counts.stored_rows.load(Relaxed),
                    evaluations: played.evaluations,
                    elapsed_s: 0.0,
                }
            }),
        }
    }

    /// True if games are moved from the bus into the log here.
    pub fn ingests(&self) -> bool {
        self.ingest.is_some()
    }

    /// True if a stage has ended that nobody stopped: it panicked.
    pub fn has_died(&self) -> bool {
        let play_died = |play: &Play| play.self_play.has_died(&self.play_stop) || play.publish.is_finished();
        let threads = [Some(&self.follow), Some(&self.watch), self.ingest.as_ref()];
        self.play.as_ref().is_some_and(play_died) || threads.into_iter().flatten().any(JoinHandle::is_finished)
    }

    /// Ends stage after stage, each after it has passed on what it had. What cannot be stored in half of the time that
    /// `stop` leaves is given up; returns how many trajectories that are.
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
        let mut all = true;
        let mut played = 0;
        if let Some(play) = self.play {
            all &= play.self_play.join();
            all &= play.publish.join().is_ok();
            played = play.self_play.stats().counts.parts;
        }
        self.give_up.request("all is published");
        all &= timer.join().is_ok();
        self.ingest_stop.request(WHY);
        all &= self.ingest.is_none_or(|ingest| ingest.join().is_ok());
        self.follow_stop.request(WHY);
        all &= self.follow.join().is_ok();
        all &= self.watch.join().is_ok();
        ensure!(all, "a stage has died; its panic is in the log");
        let counts = &self.stages.counts;
        let settled = [&counts.stored, &counts.stale, &counts.refused].map(|count| count.load(Relaxed));
        Ok(played.saturating_sub(settled.iter().sum()))
    }
}

fn start_playing<G: Game>(
    game: &Arc<G>,
    beginning: &Beginning,
    flags: &Flags,
    shared: &Shared,
    stop: &Stop,
    give_up: &Stop,
) -> anyhow::Result<Play> {
    let (games, finished) = bounded(FINISHED_GAMES);
    let publish = shared.stages.publish(finished, give_up.clone())?;
    let settings = self_play_settings(game.info(), flags)?;
    let origin = beginning.origin(mix(mix(flags.run.seed, SELFPLAY_STREAM), u64::from(shared.epoch)));
    let outlet = Outlet { games, give_up: give_up.clone() };
    let self_play = Arc::new(SelfPlay::start(game, &settings, &origin, &shared.weights, &outlet, stop)?);
    Ok(Play { self_play, publish })
}

/// How self-play is sized and plays.
///
/// # Errors
/// If the system does not say how many cores there are, or trees of a generation do not fit their memory.
pub fn self_play_settings(info: &GameInfo, flags: &Flags) -> anyhow::Result<SelfPlaySettings> {
    let (mut play, threads, slots) = (flags.play.play(&flags.search, info), play_threads(flags)?, flags.run.slots);
    let tree_bytes = flags.search.tree_bytes(host::memory_limit());
    play.bound_trees(info, (threads * slots) as u64, tree_bytes).map_err(anyhow::Error::msg)?;
    Ok(SelfPlaySettings { play, threads, slots, cache_entries: flags.run.cache_entries })
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
