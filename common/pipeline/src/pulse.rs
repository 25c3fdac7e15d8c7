//! The pulse of a process: says on the bus every few seconds that the process lives, how far it has come, and what it waits
//! for. It is a task of its own: no stage waits for it, and a bus that does not answer holds nobody up.
//!
//! Figures are [noted](Pulse::note) by whoever has them; waits and troubles are looked up when the pulse beats, so that they
//! are right even where nobody notes anything any more.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use fogfall_bus::{BEAT_EVERY, Bus};
use fogfall_game::mix;
use fogfall_proto::{Failing, Heartbeat, Stage, Wait};
use fogfall_service::{admin::Vitals, shutdown::Stop};
use tokio::{runtime::Handle, task::JoinHandle, time::timeout};

use crate::{Stages, Troubles};

/// Most time for the last word of a process that ends.
const FAREWELL: Duration = Duration::from_secs(1);
/// Rates are taken over at least this time.
const RATE_TIME: Duration = Duration::from_secs(5);
/// Stream of the pauses, below the number of the process's life.
const PAUSES: u64 = 2;

/// A process that says that it lives.
pub struct Pulse {
    noted: Arc<Mutex<Heartbeat>>,
    over: Stop,
    runtime: Handle,
    task: JoinHandle<()>,
}

impl Pulse {
    /// Begins to say `first` and what is noted later, on the bus of `stages`. Once `stop` is set it says that the process
    /// is stopping.
    pub fn start(stages: &Stages, first: Heartbeat, stop: &Stop) -> Self {
        let (noted, over) = (Arc::new(Mutex::new(first)), Stop::new());
        let heart = Heart {
            bus: Arc::clone(&stages.bus),
            noted: Arc::clone(&noted),
            vitals: stages.vitals.clone(),
            troubles: Arc::clone(&stages.troubles),
            stop: stop.clone(),
            over: over.clone(),
            began: Instant::now(),
            last: None,
            silence: Troubles::default(),
        };
        let runtime = stages.runtime.clone();
        let task = runtime.spawn(heart.beat());
        Self { noted, over, runtime, task }
    }

    /// Changes the figures that are said from now on. Rates follow from the counts.
    pub fn note(&self, change: impl FnOnce(&mut Heartbeat)) {
        change(&mut lock(&self.noted));
    }

    /// Says that the process has ended in good order; gives up after a moment.
    pub fn end(self) {
        self.over.request("the process ends");
        // Without an answer the bus forgets the process a little later.
        let _ = self.runtime.block_on(async { timeout(FAREWELL, self.task).await });
    }
}

/// The task behind a pulse.
struct Heart {
    bus: Arc<dyn Bus>,
    noted: Arc<Mutex<Heartbeat>>,
    vitals: Vitals,
    troubles: Arc<Troubles>,
    stop: Stop,
    over: Stop,
    began: Instant,
    /// What was said at the last time that rates were taken, and when.
    last: Option<(Instant, Heartbeat)>,
    /// Apart from those of the stages, which it would only hide.
    silence: Troubles,
}

impl Heart {
    async fn beat(mut self) {
        let mut number = 0;
        loop {
            let (over, stopping) = (self.over.is_requested(), self.stop.is_requested());
            let beat = self.now(over, stopping);
            let pause = pause(beat.life, number);
            tokio::select! {
                () = self.say(beat) => {}
                // What could not be said until now need not be said any more.
                () = self.over.requested(), if !over => {}
            }
            if over {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stop.requested(), if !stopping => {}
                () = self.over.requested() => {}
            }
            number += 1;
        }
    }

    async fn say(&self, beat: Heartbeat) {
        const WHAT: &str = "saying that this process lives";
        match self.bus.beat(beat).await {
            Ok(()) => self.silence.works(WHAT),
            Err(error) => self.silence.failed(WHAT, &error),
        }
    }

    /// What there is to say now.
    fn now(&mut self, over: bool, stopping: bool) -> Heartbeat {
        let mut beat = lock(&self.noted).clone();
        let missing = self.vitals.waits_for();
        beat.stage = match (over, stopping, &missing) {
            (true, ..) => Stage::Ended,
            (_, true, _) => Stage::Stopping,
            (.., Some(_)) => Stage::Starting,
            _ => Stage::Working,
        };
        beat.up_s = self.began.elapsed().as_secs_f64();
        beat.waits.extend(missing.map(|(what, since)| Wait { what, since_s: since.as_secs_f64() }));
        beat.troubles.extend(self.troubles.now().into_iter().map(|trouble| Failing {
            what: trouble.what.to_owned(),
            reason: trouble.reason,
            since_s: trouble.lasts.as_secs_f64(),
        }));
        self.take_rates(&mut beat, Instant::now());
        beat
    }

    /// Sets the rates since they were last taken, or as they were if that is only a moment ago.
    fn take_rates(&mut self, beat: &mut Heartbeat, now: Instant) {
        if let Some((at, last)) = &self.last {
            let seconds = now.duration_since(*at).as_secs_f64();
            let is_moment = seconds < RATE_TIME.as_secs_f64();
            let rate = |new: u64, old: u64, before: f64| match is_moment {
                true => before,
                false => new.saturating_sub(old) as f64 / seconds,
            };
            beat.games_per_s = rate(beat.games, last.games, last.games_per_s);
            beat.rows_per_s = rate(beat.rows, last.rows, last.rows_per_s);
            beat.waiting = match is_moment {
                true => last.waiting,
                false => ((beat.waited_s - last.waited_s) / seconds).clamp(0.0, 1.0),
            };
            if let (Some(training), Some(last)) = (&mut beat.training, &last.training) {
                training.steps_per_s = rate(training.step, last.step, last.steps_per_s);
            }
            if is_moment {
                return;
            }
        }
        self.last = Some((now, beat.clone()));
    }
}

/// Time until the next beat: [`BEAT_EVERY`] or up to a quarter less.
fn pause(life: u64, number: u64) -> Duration {
    // The upper 53 bits as a number in [0, 1).
    let draw = (mix(mix(life, PAUSES), number) >> 11) as f64 / (1_u64 << 53) as f64;
    BEAT_EVERY.mul_f64(1.0 - draw / 4.0)
}

/// What is guarded stays whole even if a holder panicked: it is plain figures.
fn lock(noted: &Mutex<Heartbeat>) -> MutexGuard<'_, Heartbeat> {
    noted.lock().unwrap_or_else(PoisonError::into_inner)
}
