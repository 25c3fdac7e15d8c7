//! Lockstep: play so many games to the end with the newest averaged weights, train so many steps, repeat. One thread
//! decides all of it, so that a run is exact: killed and resumed, it takes the same steps to the same weights as one that
//! was never gone.
//!
//! **Invariants:** a game follows from the run's seed, its number, settings and weights alone, never from the epoch; rows
//! enter log and window in the order of their games; what the log holds beyond a checkpoint is dropped when that is gone
//! on from, and played again.

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use fogfall_game::{Game, mix};
use fogfall_net::Net;
use fogfall_pipeline::{Rounds, SelfPlaySettings, VersionedNet, Waiting};
use fogfall_proto::{GameResult, Trajectory, Version};
use fogfall_replay::Appended;
use fogfall_selfplay::Origin;
use fogfall_service::shutdown::Stop;

use crate::{
    beginning::Beginning,
    cli::Flags,
    pipeline::{PlayMeter, Shared, self_play_settings},
    resume::{RoundState, Totals},
    supply::Supply,
    train::Trainer,
};

/// Stream of games played in lockstep, below the run's seed.
const LOCKSTEP_STREAM: u64 = 4;
/// How long to wait before the log is tried again.
const RETRY: Duration = Duration::from_millis(50);

/// Plays rounds between train steps.
pub struct Lockstep<G: Game> {
    games: u64,
    steps: u64,
    min_rows: u64,
    state: RoundState,
    rounds: Arc<Rounds<G>>,
    shared: Shared,
    /// What this start has stored.
    stored: Arc<Mutex<Totals>>,
}

impl<G: Game> Lockstep<G> {
    /// A run in lockstep at its beginning.
    ///
    /// # Errors
    /// If the system does not say how many cores there are.
    pub fn new(game: &Arc<G>, beginning: &Beginning, flags: &Flags, shared: &Shared) -> anyhow::Result<Self> {
        let settings: SelfPlaySettings = self_play_settings(game.info(), flags)?;
        let seed = mix(flags.run.seed, LOCKSTEP_STREAM);
        // The same games at every start are the same parts.
        let origin = Origin { publisher: seed, ..beginning.origin(seed) };
        Ok(Self {
            games: flags.lockstep.lockstep_games,
            steps: flags.lockstep.lockstep_steps,
            min_rows: flags.replay.min_rows,
            state: beginning.rounds,
            rounds: Arc::new(Rounds::new(game, settings, origin)),
            shared: shared.clone(),
            stored: Arc::default(),
        })
    }

    /// What is seen of the playing.
    pub fn meter(&self) -> PlayMeter {
        let (rounds, stored) = (Arc::clone(&self.rounds), Arc::clone(&self.stored));
        PlayMeter {
            stats: Arc::new(move || rounds.stats()),
            // A round with such a game does not end, and then nothing goes on.
            hung: Arc::new(|_| Vec::new()),
            totals: Arc::new(move || *stored.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Plays and stores what is left of the round's games; false if told to stop before.
    fn play(&mut self, trainer: &Trainer, stop: &Stop, alive: &dyn Fn()) -> anyhow::Result<bool> {
        let averaged = trainer.averaged().context("the averaged weights cannot play")?;
        let version = Version { epoch: self.shared.epoch, step: trainer.steps() };
        let weights = VersionedNet { version, net: Arc::new(Net::new(&averaged)) };
        self.shared.weights.offer(weights.clone());
        let numbers = self.state.games..self.state.games + self.state.games_left;
        let Some(games) = self.rounds.play(&weights, numbers, stop, alive) else { return Ok(false) };
        for game in &games {
            if !self.store(game, stop, alive)? {
                return Ok(false);
            }
            self.state.games += 1;
            self.state.games_left -= 1;
        }
        Ok(true)
    }

    /// Brings a game's rows into log and window; false if told to stop before the log took them.
    fn store(&self, game: &Trajectory, stop: &Stop, alive: &dyn Fn()) -> anyhow::Result<bool> {
        let stages = &self.shared.stages;
        stages.counts.produced.fetch_add(1, Relaxed);
        loop {
            match stages.runtime.block_on(stages.append(&*self.shared.log, game)) {
                Ok(Appended::Stored) => break,
                // By a start that was not in lockstep: it is in the window already.
                Ok(Appended::Duplicate | Appended::TooOld) => return Ok(true),
                Err(error) if error.refuses_part() => bail!(error),
                Err(_) => {
                    alive();
                    if stop.wait(RETRY) {
                        return Ok(false);
                    }
                }
            }
        }
        self.shared.intake.insert(&game.rows)?;
        stages.counts.followed_rows.fetch_add(u64::from(game.row_count), Relaxed);
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        stored.games += 1;
        stored.truncated += u64::from(game.result == GameResult::Truncated);
        stored.rows += u64::from(game.row_count);
        stored.evaluations += game.evaluations;
        Ok(true)
    }

    /// Notes whose turn it is: the other side waits.
    fn turn(&self, plays: bool) {
        let mut intake = self.shared.intake.lock();
        let set = |waiting: &mut Waiting, waits: bool| match waits {
            true => waiting.begin(Instant::now()),
            false => waiting.end(),
        };
        set(&mut intake.sampling, plays);
        set(&mut intake.inserting, !plays);
    }
}

impl<G: Game> Supply for Lockstep<G> {
    fn wants_weights(&self, steps_since: Option<u64>) -> bool {
        self.state.steps_left == 0 && steps_since != Some(0)
    }

    fn ready(&mut self, trainer: &Trainer, stop: &Stop, alive: &dyn Fn()) -> anyhow::Result<bool> {
        if self.state.steps_left > 0 {
            return Ok(true);
        }
        if self.state.games_left == 0 {
            self.state.games_left = self.games;
        }
        self.turn(true);
        let played = self.play(trainer, stop, alive)?;
        self.turn(false);
        if played && self.shared.intake.lock().window.len() as u64 >= self.min_rows {
            self.state.steps_left = self.steps;
        }
        Ok(self.state.steps_left > 0)
    }

    fn used_batch(&mut self) {
        self.state.steps_left = self.state.steps_left.saturating_sub(1);
    }

    fn for_checkpoint(&self) -> anyhow::Result<RoundState> {
        // A checkpoint whose rows a loss of power takes away could not be gone on from exactly.
        self.shared.stages.runtime.block_on(self.shared.log.sync())?;
        Ok(self.state)
    }
}
