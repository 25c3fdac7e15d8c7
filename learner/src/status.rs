//! What a run looks like at one moment: the one record behind the live view, the log line, `--json`, `metrics.jsonl`,
//! the plots and the status page. A record written by an older learner still reads: fields it lacks take their default.

use fogfall_pipeline::PlayFigures;
use serde::{Deserialize, Deserializer, Serialize};

/// The stage that takes train steps, as [`Wait::stage`] names it.
pub const TRAIN: &str = "train";

/// What the run is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Threads start, checkpoints load.
    #[default]
    Starting,
    /// Self-play fills the window; training has not begun.
    Filling,
    /// Training.
    Training,
    /// Writing the last checkpoint.
    Stopping,
    /// Ended.
    Finished,
}

/// Loss terms of recent train steps, each a mean over steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Losses {
    /// The loss that was minimised.
    #[serde(deserialize_with = "number_or_nan")]
    pub total: f64,
    /// Cross-entropy between policy label and policy, in nats.
    #[serde(deserialize_with = "number_or_nan")]
    pub policy: f64,
    /// Squared error of the value.
    #[serde(deserialize_with = "number_or_nan")]
    pub value: f64,
    /// Sum of squared weights, unweighted.
    #[serde(deserialize_with = "number_or_nan")]
    pub weights: f64,
}

/// The newest result against one opponent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WinRate {
    /// The opponent's name.
    pub opponent: String,
    /// Mean score, 0 to 1, a draw counting half.
    #[serde(deserialize_with = "number_or_nan")]
    pub score: f64,
    /// Lower end of the 95 % interval over pairs.
    #[serde(deserialize_with = "number_or_nan")]
    pub low: f64,
    /// Upper end.
    #[serde(deserialize_with = "number_or_nan")]
    pub high: f64,
    /// Games played.
    pub games: u64,
    /// Games that differ from all others.
    pub distinct: u64,
    /// Train step of the weights that played.
    pub step: u64,
}

/// A measured figure that is no win rate, like exploitability.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figure {
    /// What it is. Figures of one kind are named `kind, which`.
    pub name: String,
    /// Its unit; empty for a count, [`Figure::SHARE`] for a share.
    pub unit: String,
    /// Its value.
    #[serde(deserialize_with = "number_or_nan")]
    pub value: f64,
    /// Train step of the weights it was measured on.
    pub step: u64,
}

impl Figure {
    /// The unit of a share between 0 and 1, better the larger it is. All else that is measured falls towards 0.
    pub const SHARE: &str = "share";

    /// True if it is a share.
    pub fn is_share(&self) -> bool {
        self.unit == Self::SHARE
    }

    /// Its kind, of which there may be several.
    pub fn kind(&self) -> &str {
        self.name.split_once(", ").map_or(self.name.as_str(), |(kind, _)| kind)
    }

    /// True if it says how far a policy is from an equilibrium.
    pub fn is_nash_conv(&self) -> bool {
        self.kind() == "NashConv"
    }
}

/// A stage that waits, or how long it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wait {
    /// The stage.
    pub stage: String,
    /// What it waits for.
    pub waits_for: String,
    /// How long the present wait has lasted, if it waits now.
    pub since_s: Option<f64>,
    /// Share of the run's time that it waited, 0 to 1 (per thread of the stage).
    #[serde(deserialize_with = "number_or_nan")]
    pub share: f64,
}

/// A run at one moment. Rates are over the last few seconds, counts over the whole run, resumed parts included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The run's id.
    pub run: String,
    /// The game.
    pub game: String,
    /// What the run is doing.
    pub phase: Phase,
    /// Seconds of this start of the learner.
    #[serde(deserialize_with = "number_or_nan")]
    pub elapsed_s: f64,
    /// Seconds left, if the run's end is known.
    pub left_s: Option<f64>,
    /// Train steps.
    pub step: u64,
    /// Train steps asked for, if any.
    pub steps_wanted: Option<u64>,
    /// Train steps a second.
    #[serde(deserialize_with = "number_or_nan")]
    pub steps_per_s: f64,
    /// Games finished.
    pub games: u64,
    /// Games cut at the technical length limit.
    pub truncated: u64,
    /// Games a second.
    #[serde(deserialize_with = "number_or_nan")]
    pub games_per_s: f64,
    /// Mean decisions of recent games.
    #[serde(deserialize_with = "number_or_nan")]
    pub decisions_per_game: f64,
    /// Rows stored in the replay log.
    pub rows: u64,
    /// Rows a second.
    #[serde(deserialize_with = "number_or_nan")]
    pub rows_per_s: f64,
    /// Evaluations asked for by searches, a second.
    #[serde(deserialize_with = "number_or_nan")]
    pub evaluations_per_s: f64,
    /// Share of evaluations answered by the cache, 0 to 1.
    #[serde(deserialize_with = "number_or_nan")]
    pub cache_hits: f64,
    /// Rows in a batch over slots of a thread, 0 to 1.
    #[serde(deserialize_with = "number_or_nan")]
    pub batch_fill: f64,
    /// What searches of this start did, and their trees; all 0 where actors play.
    pub play: PlayFigures,
    /// Mean effective sample size of the pools of worlds of recent searches; not a number before the first, none if
    /// searches have no pools.
    pub effective_worlds: Option<f64>,
    /// Worlds in such a pool.
    pub pool_worlds: u64,
    /// Share of these pools that were refilled, since few of their worlds explained what the opponent did, 0 to 1.
    #[serde(deserialize_with = "number_or_nan")]
    pub refilled_pools: f64,
    /// Rows in the window.
    pub window_rows: u64,
    /// Rows it can hold.
    pub window_capacity: u64,
    /// Rows it must hold before training begins.
    pub window_needed: u64,
    /// Rows sampled per row inserted.
    #[serde(deserialize_with = "number_or_nan")]
    pub replay_ratio: f64,
    /// The ratio asked for; not a number in lockstep.
    #[serde(deserialize_with = "number_or_nan")]
    pub replay_ratio_wanted: f64,
    /// Loss terms, once there are any.
    pub loss: Option<Losses>,
    /// Norm of the gradient before clipping.
    #[serde(deserialize_with = "number_or_nan")]
    pub gradient_norm: f64,
    /// Learning rate of the last step.
    #[serde(deserialize_with = "number_or_nan")]
    pub learning_rate: f64,
    /// Mean entropy of the network's policy over legal actions, in nats.
    #[serde(deserialize_with = "number_or_nan")]
    pub policy_entropy: f64,
    /// Steps skipped because loss or gradient was not finite.
    pub skipped_steps: u64,
    /// The newest published weights version, as `epoch.step`.
    pub weights_version: String,
    /// Publications so far.
    pub weights_published: u64,
    /// Train step of the last checkpoint.
    pub checkpoint_step: Option<u64>,
    /// Parts that were refused, with or without reason to worry: duplicates, stale, damaged.
    pub refused_parts: u64,
    /// Times that the replay log was found to have lost rows.
    pub log_losses: u64,
    /// Newest result against each opponent, weakest first.
    pub win_rates: Vec<WinRate>,
    /// Other measured figures.
    pub figures: Vec<Figure>,
    /// Who waits for what.
    pub waits: Vec<Wait>,
    /// Resident memory of the process.
    pub memory_bytes: u64,
    /// What a person should know of the run as such, like defaults that depend on the game; may be empty.
    pub remark: String,
    /// Things a person should know, newest last: recoveries, warnings.
    pub notices: Vec<String>,
}

/// A number, where JSON's `null` stands for one that is not finite: JSON has no word for NaN.
fn number_or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
