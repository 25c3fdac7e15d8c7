//! What a run looks like at one moment: the one record behind the live view, the log line, `--json`, `metrics.jsonl`,
//! the plots and the status page. A record written by an older learner still reads: fields it lacks take their default.

use fogfall_pipeline::{FillFigures, IngestFigures, PlayFigures, PublishFigures};
use serde::{Deserialize, Deserializer, Serialize};

/// The stage that plays, as [`Wait::stage`] names it.
pub const PLAY: &str = "self-play";
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
    /// Seconds that it waited in this start, per thread of the stage.
    #[serde(deserialize_with = "number_or_nan")]
    pub waited_s: f64,
}

/// Rows of recent batches whose predicted value lies in one tenth of the scale from -1 to 1; values beyond it are in the
/// outermost. Both means are not a number if there are no rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CalibrationBin {
    /// Rows.
    pub rows: u64,
    /// Their mean predicted value.
    #[serde(deserialize_with = "number_or_nan")]
    pub predicted: f64,
    /// The mean outcome of their games, for the player to move.
    #[serde(deserialize_with = "number_or_nan")]
    pub outcome: f64,
}

/// Seconds of the train thread in this start of the learner, by what it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainSeconds {
    /// Waiting for rows; in lockstep, having games played.
    pub wait: f64,
    /// Drawing batches.
    pub sample: f64,
    /// Train steps.
    pub step: f64,
    /// Publishing weights.
    pub publish: f64,
    /// Writing checkpoints.
    pub checkpoint: f64,
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
    /// Games of this start that did not go on, each a thread lost.
    pub hung_games: u64,
    /// Trajectories on their way to the bus; all 0 where actors play, and in lockstep.
    pub publish: PublishFigures,
    /// Trajectories from the bus into the replay log; all 0 where other processes ingest.
    pub ingest: IngestFigures,
    /// How full bus and replay log are; all 0 where other processes ingest.
    pub fill: FillFigures,
    /// Mean effective sample size of the pools of worlds of recent searches; not a number before the first, none if
    /// searches have no pools.
    pub effective_worlds: Option<f64>,
    /// Worlds in such a pool.
    pub pool_worlds: u64,
    /// Share of these pools that were refilled, since few of their worlds explained what the opponent did, 0 to 1.
    #[serde(deserialize_with = "number_or_nan")]
    pub refilled_pools: f64,
    /// Mean standard deviation of the values that the simulations of a recent search, each in a world of its own, brought to
    /// the root; none before the first search, or where actors play.
    pub world_disagreement: Option<f64>,
    /// Rows that came from the replay log into the window, in this start.
    pub rows_followed: u64,
    /// Rows that left the replay log before the window had read them, in this start.
    pub rows_skipped: u64,
    /// Rows drawn for batches.
    pub rows_sampled: u64,
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
    /// Mean Kullback-Leibler divergence of the network's policy from the searched one in recent steps, in nats.
    pub policy_divergence: Option<f64>,
    /// Share of rows of recent steps where network and search have the same best action, 0 to 1.
    pub policy_agreement: Option<f64>,
    /// Mean train steps between the weights that made a row and the step that drew it, in recent steps.
    pub staleness: Option<f64>,
    /// How well the network predicts outcomes: ten bins of the predicted value, from -1 to 1; empty before the first
    /// measurement.
    pub calibration: Vec<CalibrationBin>,
    /// Mean distance between predicted value and outcome over these bins, weighted by rows.
    pub calibration_error: Option<f64>,
    /// Steps skipped because loss or gradient was not finite.
    pub skipped_steps: u64,
    /// Steps of this start whose gradient was scaled down.
    pub clipped_steps: u64,
    /// What the train thread did with its time.
    pub train_seconds: TrainSeconds,
    /// The newest published weights version, as `epoch.step`.
    pub weights_version: String,
    /// Publications so far.
    pub weights_published: u64,
    /// Weights of this start that came back and could not be used.
    pub weights_refused: u64,
    /// Bytes of the weights last published.
    pub weights_bytes: u64,
    /// Train step of the last checkpoint.
    pub checkpoint_step: Option<u64>,
    /// Seconds since it was written.
    pub checkpoint_age_s: Option<f64>,
    /// Checkpoints written in this start.
    pub checkpoints: u64,
    /// Checkpoints of this start that could not be written.
    pub failed_checkpoints: u64,
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
