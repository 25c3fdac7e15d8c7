//! What a run begins with: all of it new, or where a checkpoint left it.

use std::{collections::hash_map::RandomState, hash::BuildHasher};

use anyhow::{Context, bail};
use fogfall_game::{GameInfo, mix};
use fogfall_net::{Shape, Weights};
use fogfall_pipeline::network_shape;
use fogfall_proto::Manifest;
use fogfall_replay::LimiterCounts;
use fogfall_selfplay::Origin;

use crate::{
    cli::{Flags, Order},
    resume::{self, RoundState, Totals},
    run_dir::{self, RunDir},
    saver::TRAINER_FILE,
    train::{self, Device, TrainSettings, Trainer},
};

/// Stream of the first weights, below the run's seed.
const WEIGHTS_STREAM: u64 = 3;

/// What a run begins with.
pub struct Beginning {
    /// What the run is.
    pub manifest: Manifest,
    /// The network.
    pub shape: Shape,
    /// The model and its optimizer.
    pub trainer: Trainer,
    /// What the untrained opponent plays with.
    pub untrained: Weights,
    /// Publications so far.
    pub ordinal: u64,
    /// What earlier starts did.
    pub totals: Totals,
    /// The limiter's counters.
    pub limiter: LimiterCounts,
    /// Position in the replay log up to which the window had read; none for a new run.
    pub log_position: Option<u64>,
    /// Where the rounds of lockstep stand.
    pub rounds: RoundState,
    /// The epoch of this start must lie above.
    pub above: u32,
    /// What a person should know.
    pub notices: Vec<String>,
}

impl Beginning {
    /// The beginning that an order asks for. A new run's first weights and rules are written to its directory.
    ///
    /// # Errors
    /// If a checkpoint does not fit the order by the resume rules or is damaged, if weights to start from cannot be
    /// used, or if the directory cannot be written.
    pub fn of(info: &GameInfo, order: &Order, dir: &RunDir) -> anyhow::Result<Self> {
        let flags = &order.flags;
        let stored = order.checkpoint.as_ref().map(|checkpoint| &checkpoint.state);
        let run = match (stored, order.place.run()) {
            (Some(state), Some(run)) if state.manifest.run != run => {
                bail!("the checkpoint is of run {}, --run says {run}", state.manifest.run)
            }
            (Some(state), _) => state.manifest.run.clone(),
            (None, Some(run)) => run.to_owned(),
            (None, None) => dir.run_id(),
        };
        let manifest = resume::manifest(run, info, flags);
        let shape = network_shape(&manifest, info);
        let mut notices: Vec<_> = flags.search.search(info).leak_warning(info).into_iter().collect();
        let (trainer, untrained) = match stored {
            Some(_) => go_on(order, &manifest, dir, &mut notices)?,
            None => begin(info, order, &shape, dir, &mut notices)?,
        };
        Ok(Self {
            manifest,
            shape,
            trainer,
            untrained,
            ordinal: stored.map_or(0, |state| state.ordinal),
            totals: stored.map_or_else(Totals::default, |state| state.totals),
            limiter: stored.map_or_else(LimiterCounts::default, |state| state.limiter),
            log_position: stored.map(|state| state.log_position),
            rounds: stored.map_or_else(RoundState::default, |state| state.rounds),
            above: dir.last_epoch()?.max(stored.map_or(0, |state| state.version.epoch)),
            notices,
        })
    }

    /// What games of this run carry, played by a root seed.
    pub fn origin(&self, seed: u64) -> Origin {
        Origin {
            wire: self.manifest.wire,
            run: self.manifest.run.clone(),
            rules_hash: self.manifest.rules_hash(),
            settings_hash: self.manifest.settings_hash(),
            // No other start ever has the same.
            publisher: RandomState::new().hash_one(seed),
            seed,
        }
    }
}

/// The trainer of a checkpoint, and the untrained weights of its run.
fn go_on(
    order: &Order,
    manifest: &Manifest,
    dir: &RunDir,
    notices: &mut Vec<String>,
) -> anyhow::Result<(Trainer, Weights)> {
    let (flags, checkpoint) = (&order.flags, order.checkpoint.as_ref().context("there is no checkpoint")?);
    let changed = resume::check(&checkpoint.state, manifest, &flags.texts(), Flags::keys(), order.change)?;
    notices.extend(changed.iter().map(|change| format!("changed on resume: {change}")));
    let tensors = checkpoint.files.get(TRAINER_FILE).context("the checkpoint has no trainer file")?;
    let trainer = Trainer::resume(&checkpoint.state.trainer, tensors, &train_settings(flags)?, device(flags)?)?;
    let file = dir.untrained();
    let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let untrained = Weights::from_bytes(&bytes).with_context(|| format!("{} cannot be used", file.display()))?;
    Ok((trainer, untrained))
}

/// A trainer that has taken no step, and its weights.
fn begin(
    info: &GameInfo,
    order: &Order,
    shape: &Shape,
    dir: &RunDir,
    notices: &mut Vec<String>,
) -> anyhow::Result<(Trainer, Weights)> {
    let weights = first_weights(order, shape, notices)?;
    run_dir::replace(&dir.untrained(), &weights.to_bytes())?;
    if let Some(rules) = &info.rules {
        run_dir::replace(&dir.rules(), rules.as_bytes())?;
    }
    Ok((Trainer::new(&weights, &train_settings(&order.flags)?, device(&order.flags)?), weights))
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

fn device(flags: &Flags) -> anyhow::Result<Device> {
    train::set_threads(flags.run.train_threads);
    Device::parse(&flags.run.device)
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
