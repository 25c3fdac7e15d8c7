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
use fogfall_pipeline::{Outlet, SelfPlay, SelfPlaySettings, Stages, VersionedNet, WeightsCell};
use fogfall_selfplay::Origin;
use fogfall_service::shutdown::Stop;

use crate::cluster::Process;

use super::status::{Meter, Seen};

/// Finished games that may wait for the publisher.
const FINISHED_GAMES: usize = 16;
/// How often the stages are looked at.
const TICK: Duration = Duration::from_millis(250);
/// Most time that what was played may take to be published if nobody set a limit: a stage has died.
const PATIENCE: Duration = Duration::from_secs(10);

/// The running stages.
pub struct Crew {
    stages: Stages,
    weights: Arc<WeightsCell>,
    self_play: SelfPlay,
    give_up: Stop,
    publish: JoinHandle<()>,
    watch: JoinHandle<()>,
}

impl Crew {
    /// Starts all of them. They play until `stop` is set.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start<G: Game>(
        game: &Arc<G>,
        settings: &SelfPlaySettings,
        origin: &Origin,
        first: VersionedNet,
        shape: Shape,
        stages: Stages,
        stop: &Stop,
    ) -> std::io::Result<Self> {
        let (weights, give_up) = (Arc::new(WeightsCell::new(first)), Stop::new());
        let watch = stages.watch_weights(shape, Arc::clone(&weights), stop.clone())?;
        let (games, finished) = bounded(FINISHED_GAMES);
        let publish = stages.publish(finished, give_up.clone())?;
        let outlet = Outlet { games, give_up: give_up.clone() };
        let self_play = SelfPlay::start(game, settings, origin, &weights, &outlet, stop)?;
        Ok(Self { stages, weights, self_play, give_up, publish, watch })
    }

    /// Plays until the process is to stop, then publishes what has ended, in half of the time that is left.
    ///
    /// # Errors
    /// If a stage has died.
    pub fn play(self, process: &Process, meter: &mut Meter) -> anyhow::Result<()> {
        let mut died = false;
        while !died && !process.stop.wait(TICK) {
            process.show(meter.look(&self.seen()));
            let threads = [&self.publish, &self.watch];
            died = self.self_play.has_died(&process.stop) || threads.iter().any(|thread| thread.is_finished());
            // In this order: a stop may come between the two looks.
            died &= process.stop.reason().is_none();
        }
        process.stop.request("a stage has died");
        let (patience, give_up) = (process.stop.time_left().map_or(PATIENCE, |left| left / 2), self.give_up.clone());
        let timer = std::thread::spawn(move || {
            if !give_up.wait(patience) {
                give_up.request("out of time");
            }
        });
        let mut all = self.self_play.join();
        let (stages, weights, stats) = (self.stages, self.weights, self.self_play.stats());
        all &= self.publish.join().is_ok();
        self.give_up.request("all is published");
        all &= timer.join().is_ok() & self.watch.join().is_ok();
        let seen = Seen::of(stats, &stages, &weights);
        process.show(meter.look(&seen));
        meter.say_end(&seen);
        let lost = stats.lost + stages.counts.publish_lost.load(Relaxed);
        if lost > 0 {
            tracing::warn!(lost, "finished games were given up: the bus did not take them in time");
        }
        ensure!(all, "a stage has died; its panic is in the log");
        if died {
            bail!("a stage has ended that nobody stopped");
        }
        Ok(())
    }

    fn seen(&self) -> Seen {
        Seen::of(self.self_play.stats(), &self.stages, &self.weights)
    }
}
