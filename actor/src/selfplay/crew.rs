//! The stages of a self-play process: threads that play, the publisher behind them, and the watch for weights. Started
//! together, ended one after another.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    thread::JoinHandle,
    time::Duration,
};

use anyhow::{bail, ensure};
use crossbeam_channel::bounded;
use fogfall_game::Game;
use fogfall_net::Shape;
use fogfall_pipeline::{Outlet, SelfPlay, SelfPlaySettings, SelfPlayStats, Stages, VersionedNet, WeightsCell};
use fogfall_proto::Manifest;
use fogfall_selfplay::Origin;
use fogfall_service::shutdown::Stop;

use crate::cluster::Process;

use super::{
    news::News,
    status::{Meter, Seen},
};

/// Finished games that may wait for the publisher.
const FINISHED_GAMES: usize = 16;
/// How often the stages are looked at.
const TICK: Duration = Duration::from_millis(250);
/// Most time that what was played may take to be published if nobody set a limit: a stage has died.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a crew is to work.
#[derive(Clone, Debug)]
pub struct Job {
    /// How it is sized and plays.
    pub settings: SelfPlaySettings,
    /// Where its games come from.
    pub origin: Origin,
    /// The network.
    pub shape: Shape,
    /// A thread that has not gone on for so long hangs.
    pub hung_after: Duration,
}

/// The running stages.
pub struct Crew {
    stages: Stages,
    weights: Arc<WeightsCell>,
    self_play: SelfPlay,
    hung_after: Duration,
    /// What crews before this one did.
    before: SelfPlayStats,
    /// Ends play and the watch, here alone.
    stop: Stop,
    give_up: Stop,
    publish: JoinHandle<()>,
    watch: JoinHandle<()>,
}

/// Why a crew has left off, with what the next one goes on from.
pub struct Left {
    /// What the run is now, if the crew left off because it has changed; none if the process is to stop.
    pub changed: Option<Manifest>,
    /// The newest weights.
    pub weights: VersionedNet,
    /// What this crew and those before it did.
    pub stats: SelfPlayStats,
}

impl Crew {
    /// Starts all of them. They play until the process is to stop, or the run has changed.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start<G: Game>(
        game: &Arc<G>,
        job: &Job,
        first: VersionedNet,
        before: SelfPlayStats,
        stages: Stages,
        process: &Process,
    ) -> std::io::Result<Self> {
        let (stop, give_up, weights) = (Stop::new(), Stop::new(), Arc::new(WeightsCell::new(first)));
        let ours = stop.clone();
        process.stop.then(move || ours.request("the process stops"));
        let watch = stages.watch_weights(job.shape.clone(), Arc::clone(&weights), stop.clone())?;
        let (games, finished) = bounded(FINISHED_GAMES);
        let publish = stages.publish(finished, give_up.clone())?;
        let outlet = Outlet { games, give_up: give_up.clone() };
        let self_play = SelfPlay::start(game, &job.settings, &job.origin, &weights, &outlet, &stop)?;
        Ok(Self { stages, weights, self_play, hung_after: job.hung_after, before, stop, give_up, publish, watch })
    }

    /// Plays until the process is to stop or the run has changed, then publishes what has ended: if the process stops, in
    /// half of the time that is left.
    ///
    /// # Errors
    /// If a stage has died, or the run is another one.
    pub fn play(self, process: &Process, meter: &mut Meter, news: &mut News<'_>) -> anyhow::Result<Left> {
        let (mut died, mut changed) = (false, None);
        while !died && changed.is_none() && !process.stop.wait(TICK) {
            let seen = self.seen();
            changed = news.of_the_run(process, seen.weights.epoch, &self.stages.troubles)?;
            process.show(meter.look(&seen));
            let threads = [&self.publish, &self.watch];
            died = self.self_play.has_died(&self.stop) || threads.iter().any(|thread| thread.is_finished());
            // In this order: a stop may come between the two looks.
            died &= process.stop.reason().is_none();
        }
        if died {
            process.stop.request("a stage has died");
        }
        let left = self.end(process, meter, changed)?;
        if died {
            bail!("a stage has ended that nobody stopped");
        }
        Ok(left)
    }

    fn end(self, process: &Process, meter: &mut Meter, changed: Option<Manifest>) -> anyhow::Result<Left> {
        self.stop.request("the crew leaves off");
        let (stop, give_up) = (process.stop.clone(), self.give_up.clone());
        let timer = std::thread::spawn(move || {
            // Without a stop there is no hurry.
            while !stop.wait(TICK) {
                if give_up.is_requested() {
                    return;
                }
            }
            let patience = stop.time_left().map_or(PATIENCE, |left| left / 2);
            if !give_up.wait(patience) {
                give_up.request("out of time");
            }
        });
        let mut all = self.self_play.join();
        let (stages, weights, before) = (self.stages, self.weights, self.before);
        let stats = add(before, self.self_play.stats());
        all &= self.publish.join().is_ok();
        self.give_up.request("all is published");
        all &= timer.join().is_ok() & self.watch.join().is_ok();
        let seen = Seen::of(stats, Vec::new(), &stages, &weights);
        process.show(meter.look(&seen));
        if changed.is_none() {
            meter.say_end(&seen);
        }
        let lost = stats.lost + stages.counts.publish_lost.load(Relaxed);
        if lost > 0 {
            tracing::warn!(lost, "finished games were given up: the bus did not take them in time");
        }
        ensure!(all, "a stage has died; its panic is in the log");
        Ok(Left { changed, weights: weights.newest(), stats })
    }

    fn seen(&self) -> Seen {
        let stats = add(self.before, self.self_play.stats());
        Seen::of(stats, self.self_play.hung(self.hung_after), &self.stages, &self.weights)
    }
}

fn add(mut before: SelfPlayStats, now: SelfPlayStats) -> SelfPlayStats {
    before += now;
    before
}
