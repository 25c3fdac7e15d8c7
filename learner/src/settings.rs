//! The learner's own settings. How games are played is declared in `fogfall-pipeline`.

use fogfall_game::GameInfo;
use fogfall_net::Shape;
use fogfall_proto::TowerSize;
use fogfall_service::settings::ByteSize;

use crate::batch::PositionWeight;

fogfall_service::settings! {
    /// Network
    pub struct NetworkFlags {
        /// Numbers in a hidden layer.
        width: usize = 128, in 8..=4096, class Identity;
        /// Residual blocks.
        blocks: usize = 2, in 0..=64, class Identity;
        /// Channels of the convolutions over a board before them, a multiple of 16; 0 for none.
        tower_channels: usize = 0, in 0..=1024, class Identity;
        /// Residual blocks of the convolutions.
        tower_blocks: usize = 2, in 0..=64, class Identity;
    }
}

impl NetworkFlags {
    /// The convolutions, if there are any.
    pub fn tower(&self) -> Option<TowerSize> {
        (self.tower_channels > 0).then_some(TowerSize { channels: self.tower_channels, blocks: self.tower_blocks })
    }

    /// Why no network of this size can play the game.
    pub fn misfit(&self, info: &GameInfo) -> Option<String> {
        let channels = self.tower_channels;
        if channels > 0 && info.planes.is_none() {
            return Some(format!(
                "tower_channels is {channels}, but {} declares no planes for convolutions to look at",
                info.name
            ));
        }
        let shape = Shape::new(info, self.width, self.blocks).with_tower(info.planes, channels, self.tower_blocks);
        shape.check().err().map(|error| error.to_string().replace('\n', "\n  "))
    }
}

fogfall_service::settings! {
    /// Training
    pub struct TrainFlags {
        /// Rows in a batch.
        batch_rows: usize = 512, in 1..=1_000_000, class Learning;
        /// Learning rate after warm-up.
        learning_rate: f64 = 1e-3, in 1e-8..=10.0, class Learning;
        /// Optimizer.
        optimizer: String = "adamw".into(), one_of &["adamw", "adam", "sgd"], class Learning;
        /// Momentum of sgd.
        momentum: f64 = 0.9, in 0.0..=0.9999, class Learning;
        /// Weight of the value term.
        value_weight: f64 = 1.0, in 0.0..=1e6, class Learning;
        /// Weight of the policy term.
        policy_weight: f64 = 1.0, in 0.0..=1e6, class Learning;
        /// Weight of the squared weights; decoupled with adamw.
        weight_decay: f64 = 1e-4, in 0.0..=1e3, class Learning;
        /// How much an information state counts that the window holds in n rows: n (linear), 1 + ln n (log), or 1
        /// (once).
        position_weight: String = "linear".into(), one_of PositionWeight::NAMES, class Learning;
        /// Share of the search's root value in the value label; the rest is the game's result.
        root_value_share: f32 = 0.5, in 0.0..=1.0, class Learning;
        /// Gradients with a larger norm are scaled down to it.
        clip_norm: f64 = 5.0, in 1e-6..=1e9, class Learning;
        /// Steps over which the learning rate rises to its value.
        warmup_steps: u64 = 200, in 0..=1_000_000_000, class Learning;
        /// How the learning rate falls.
        schedule: String = "constant".into(), one_of &["constant", "cosine", "step"], class Learning;
        /// Length of the cosine schedule, or steps between falls of the step schedule.
        schedule_steps: u64 = 100_000, in 1..=1_000_000_000_000_u64, class Learning;
        /// Factor of each fall of the step schedule; floor of the cosine schedule.
        schedule_factor: f64 = 0.1, in 0.0..=1.0, class Learning;
        /// Most weight that the average of the weights gives to its past at a step.
        average_decay: f64 = 0.999, in 0.0..=0.999_999, class Learning;
        /// Use each row in a random one of the game's symmetries.
        symmetries: bool = true, class Learning;
    }
}

fogfall_service::settings! {
    /// Replay
    pub struct ReplayFlags {
        /// Rows sampled per row stored, over the run. Raising it trains more on each row.
        replay_ratio: f64 = 8.0, in 0.01..=10_000.0, class Learning;
        /// Rows the window must hold before training begins.
        min_rows: u64 = 10_000, in 1..=1_000_000_000, class Learning;
        /// Rows in the window.
        window_rows: usize = 300_000, in 1..=1_000_000_000, class Learning;
        /// Memory the window may take.
        window_bytes: ByteSize = ByteSize(4 << 30), in ByteSize(1 << 20)..=ByteSize(1 << 44), class Operational;
    }
}

fogfall_service::settings! {
    /// Lockstep
    pub struct LockstepFlags {
        /// Play and train in turns instead of at the same time: slower, but exact. A run that is killed and resumed on
        /// the CPU takes the same steps as an unbroken one. `--replay-ratio` and `--publish-steps` have no effect.
        lockstep: bool = false, class Learning;
        /// Games that are played to the end in a round.
        lockstep_games: u64 = 256, in 1..=1_000_000_000, class Learning;
        /// Train steps that follow in the round, once the window holds `--min-rows`.
        lockstep_steps: u64 = 128, in 1..=1_000_000_000, class Learning;
    }
}

fogfall_service::settings! {
    /// Run
    pub struct RunFlags {
        /// Root of all randomness.
        seed: u64 = 1, in 0..=u64::MAX, class Learning;
        /// Where training runs: auto, cpu, cuda, or cuda:N.
        device: String = "auto".into(), class Operational;
        /// Self-play threads; 0 for one a core.
        selfplay_threads: usize = 0, in 0..=4096, class Operational;
        /// Games in progress a thread.
        slots: usize = 32, in 1..=65_536, class Operational;
        /// Evaluations that each self-play thread remembers; 0 for none.
        cache_entries: usize = 16_384, in 0..=1_000_000_000, class Operational;
        /// Threads of a train step on the CPU.
        train_threads: usize = 1, in 1..=1024, class Operational;
        /// Train steps between two publications of weights.
        publish_steps: u64 = 100, in 1..=1_000_000_000, class Operational;
        /// Seconds between checkpoints.
        checkpoint_s: u64 = 60, in 1..=1_000_000, class Operational;
        /// Besides these, train steps between checkpoints; 0 for none.
        checkpoint_steps: u64 = 0, in 0..=1_000_000_000_000_u64, class Operational;
        /// The newest checkpoints that are kept.
        keep_last: usize = 3, in 1..=1_000_000, class Operational;
        /// Besides these, at most about so many checkpoints are kept, spread evenly over the run; 0 for none.
        keep_spread: u64 = 16, in 0..=1_000_000_000, class Operational;
        /// Least seconds between rounds of matches against the opponents; 0 for no matches.
        match_every_s: u64 = 30, in 0..=1_000_000, class Operational;
        /// Least seconds between exact figures, for games that have them (NashConv, mistakes, values kept); 0 for none.
        exact_every_s: u64 = 2, in 0..=1_000_000, class Operational;
        /// Pairs of games against each opponent.
        match_pairs: u32 = 25, in 1..=100_000, class Operational;
        /// Latest games that are kept to look at, each move with what either side knew and what the search thought. One is
        /// recorded in each round of matches; 0 for none.
        games_kept: usize = 20, in 0..=200, class Operational;
        /// Most share of one core that matches take, and as much again exact figures.
        match_share: f64 = 0.15, in 0.001..=1.0, class Operational;
        /// Most seconds between lines in metrics.jsonl; fewer in the first minutes.
        metrics_every_s: u64 = 5, in 1..=100_000, class Operational;
        /// Write the same figures as event files for TensorBoard, to the folder tensorboard.
        tensorboard: bool = false, class Operational;
        /// Write what every train step saw to steps.jsonl, a line each.
        step_log: bool = false, class Operational;
        /// Seconds that a stop may take before what is unfinished is given up.
        stop_within_s: u64 = 20, in 1..=100_000, class Operational;
    }
}
