//! Every metric of the product: dashboards, alerts and `docs/metrics.md` are written by this list.
//!
//! A line is a metric's constant, its name, the label that tells its series apart, its kind, its unit, the values that the
//! label may have where they are known, and what it says. Values of positions are in units of the game's scale, mostly from
//! -1 to 1.

use super::name::{Buckets, Kind, Label, Name, Role, Section};

/// From a millisecond to eight seconds: what a server answers in.
const ANSWERS: Buckets = Buckets::Exponential { start: 0.001, factor: 2.0, count: 14 };
/// From half a millisecond to 16 s.
const STEP_TIMES: Buckets = Buckets::Exponential { start: 0.0005, factor: 2.0, count: 16 };
/// From 10 ms to 82 s.
const CHECKPOINT_TIMES: Buckets = Buckets::Exponential { start: 0.01, factor: 2.0, count: 14 };
/// Train steps that a row may lie back.
const STALE: Buckets = Buckets::These(&[
    0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16_384.0, 32_768.0,
    65_536.0,
]);

/// The stages that wait for each other.
const STAGES: &[&str] = &["self-play", "ingest", "train"];
/// Tenths of the scale of values, by their middles.
const BINS: &[&str] = &["-0.9", "-0.7", "-0.5", "-0.3", "-0.1", "0.1", "0.3", "0.5", "0.7", "0.9"];

macro_rules! section {
    ($(#[$doc:meta])* $section:ident: $title:literal, [$($role:ident),*];
     $($constant:ident = $name:literal $(by $label:literal)?, $kind:expr, $unit:literal, $(in $values:expr,)?
       $help:literal;)*
    ) => {
        $(
            #[doc = $help]
            pub const $constant: Name = Name {
                name: $name,
                kind: $kind,
                unit: $unit,
                label: section!(@label $($label)?, $($values)?),
                help: $help,
            };
        )*

        $(#[$doc])*
        pub const $section: Section =
            Section { title: $title, roles: &[$(Role::$role),*], names: &[$($constant),*] };
    };
    (@label ,) => { None };
    (@label $label:literal,) => { Some(Label { name: $label, values: &[] }) };
    (@label $label:literal, $values:expr) => { Some(Label { name: $label, values: $values }) };
}

/// All sections.
pub const SECTIONS: &[Section] = &[PROCESS, SELF_PLAY, PUBLISHING, INGESTING, WINDOW, TRAINING, WEIGHTS, STRENGTH];

/// The metrics of a role: of a learner, if it plays and ingests itself.
pub fn of(role: Role) -> impl Iterator<Item = &'static Name> {
    SECTIONS.iter().filter(move |section| section.roles.contains(&role)).flat_map(|section| section.names)
}

/// All metrics, in the order of their sections.
pub fn all() -> impl Iterator<Item = &'static Name> {
    SECTIONS.iter().flat_map(|section| section.names)
}

section! {
    /// Those of every process.
    PROCESS: "Every process", [Actor, Ingester, Learner];
    BUILD = "fogfall_build_info" by "version", Kind::Gauge, "", "Always 1; the version of the program.";
    READY = "fogfall_ready", Kind::Gauge, "",
        "1 if nothing is missing for the process to be of use, 0 if /readyz names something.";
    HEARTBEAT_AGE = "fogfall_heartbeat_age_seconds" by "loop", Kind::Gauge, "seconds",
        "Seconds since a loop went round, as /healthz judges it.";
    WAIT_SECONDS = "fogfall_wait_seconds" by "stage", Kind::Gauge, "seconds",
        in STAGES,
        "Seconds that a stage's present wait has lasted; 0 if it works.";
    BLOCKED_SECONDS = "fogfall_blocked_seconds_total" by "stage", Kind::Counter, "seconds",
        in STAGES,
        "Seconds that a stage waited for another, per thread of the stage.";
}

section! {
    /// Those of whoever plays.
    SELF_PLAY: "Self-play: actors, and a learner that plays itself (`--local`)", [Actor, Learner];
    GAMES = "fogfall_games_total", Kind::Counter, "games", "Games played to their end or cut.";
    RESULTS = "fogfall_game_results_total" by "result", Kind::Counter, "games",
        in &["first", "draw", "second", "truncated"],
        "Games by result: first (seat 0 won), draw, second, truncated (cut at the technical length limit).";
    LAST_GAME = "fogfall_last_game_timestamp_seconds", Kind::Gauge, "seconds",
        "When the last game ended, in Unix time; 0 before the first.";
    DECISIONS = "fogfall_decisions_total", Kind::Counter, "decisions", "Decisions searched.";
    SIMULATIONS = "fogfall_simulations_total", Kind::Counter, "simulations", "Simulations run.";
    EVALUATIONS = "fogfall_evaluations_total" by "source", Kind::Counter, "evaluations",
        in &["network", "cache", "tree"],
        "Evaluations by what answered them: network, cache, or a tree that an earlier search had grown.";
    EVALUATION_BATCHES = "fogfall_evaluation_batches_total", Kind::Counter, "batches", "Batches given to the network.";
    PLAY_THREADS = "fogfall_play_threads", Kind::Gauge, "threads", "Threads that play.";
    PLAY_SLOTS = "fogfall_play_slots", Kind::Gauge, "games", "Games in progress at once, of all threads.";
    PLAY_SECONDS = "fogfall_play_seconds_total" by "phase", Kind::Counter, "seconds",
        in &["search", "evaluate", "wait"],
        "Seconds of all self-play threads by phase: search, evaluate (the network), wait (for room to publish).";
    TREE_NODES = "fogfall_search_tree_nodes", Kind::Gauge, "nodes", "Nodes in the search trees of self-play.";
    TREE_BYTES = "fogfall_search_tree_bytes", Kind::Gauge, "bytes",
        "Bytes that the nodes and edges of these trees take.";
    TREE_STARTS = "fogfall_search_tree_starts_total", Kind::Counter, "games", "Games that began with empty trees.";
    TREE_GAMES = "fogfall_search_tree_games", Kind::Gauge, "games", "Games begun for each that began with empty trees.";
    TREE_FALLS = "fogfall_search_tree_falls_total", Kind::Counter, "nodes", "Leaves that fell from trees.";
    TREE_RE_EXPANSIONS = "fogfall_search_tree_re_expansions_total", Kind::Counter, "nodes",
        "Nodes added where a leaf had fallen before.";
    INHERITED_VISITS = "fogfall_search_inherited_visits_total", Kind::Counter, "visits",
        "Visits that the actions of roots had before their search.";
    EFFECTIVE_WORLDS = "fogfall_effective_worlds", Kind::Gauge, "worlds",
        "Mean effective sample size of recent pools of worlds; not a number where searches have none.";
    REFILLED_POOLS = "fogfall_refilled_pools_ratio", Kind::Gauge, "",
        "Share of recent pools of worlds that were refilled, 0 to 1.";
    WORLD_DISAGREEMENT = "fogfall_world_disagreement", Kind::Gauge, "values",
        "Mean standard deviation of the values that a recent search's simulations, each in a world of its own, brought home.";
    HUNG_GAMES = "fogfall_hung_games_total", Kind::Counter, "games", "Games that did not go on, each a thread lost.";
}

section! {
    /// Those of whoever publishes what it played.
    PUBLISHING: "Publishing games: actors, and a learner that plays itself (`--local`)", [Actor, Learner];
    PARTS_PUBLISHED = "fogfall_parts_published_total" by "outcome", Kind::Counter, "trajectories",
        in &["stored", "duplicate", "lost", "retried"],
        "Trajectories by what came of publishing them: stored, duplicate, lost, or retried (each further try).";
    PUBLISH_SECONDS = "fogfall_publish_seconds", Kind::Histogram(ANSWERS), "seconds",
        "Seconds until the bus acknowledged a trajectory.";
    OUTBOX_PARTS = "fogfall_outbox_parts", Kind::Gauge, "trajectories",
        "Trajectories of finished games that wait to be published.";
}

section! {
    /// Those of whoever stores games.
    INGESTING: "Storing games: ingesters, and a learner that ingests (`--local`, `--ingest embedded`)", [Ingester, Learner];
    PARTS_SETTLED = "fogfall_parts_settled_total" by "outcome", Kind::Counter, "trajectories",
        in &["stored", "duplicate", "stale", "refused", "retried"],
        "Trajectories taken from the bus: stored, duplicate, stale, refused, or retried (handed back).";
    REDELIVERIES = "fogfall_redeliveries_total", Kind::Counter, "trajectories",
        "Trajectories that the bus delivered more than once.";
    APPEND_SECONDS = "fogfall_append_seconds", Kind::Histogram(ANSWERS), "seconds",
        "Seconds until the replay log had stored a trajectory.";
    ROWS_STORED = "fogfall_rows_stored_total", Kind::Counter, "rows", "Rows stored in the replay log.";
    LAST_STORED = "fogfall_last_stored_timestamp_seconds", Kind::Gauge, "seconds",
        "When a trajectory was last stored, in Unix time; 0 before the first.";
    BUS_PARTS = "fogfall_bus_parts", Kind::Gauge, "trajectories", "Trajectories on the bus.";
    BUS_UNSETTLED = "fogfall_bus_unsettled_parts", Kind::Gauge, "trajectories",
        "Of them, those that an ingester has in hand.";
    BUS_BYTES = "fogfall_bus_bytes", Kind::Gauge, "bytes", "Bytes of trajectories on the bus.";
    BUS_CAPACITY = "fogfall_bus_capacity_bytes", Kind::Gauge, "bytes", "Bytes of trajectories that the bus may hold.";
    LOG_ROWS = "fogfall_replay_log_rows", Kind::Gauge, "rows", "Rows in the replay log.";
    LOG_CAPACITY_ROWS = "fogfall_replay_log_capacity_rows", Kind::Gauge, "rows", "Rows that the replay log may hold.";
    LOG_BYTES = "fogfall_replay_log_bytes", Kind::Gauge, "bytes", "Bytes that the replay log takes.";
    LOG_CAPACITY_BYTES = "fogfall_replay_log_capacity_bytes", Kind::Gauge, "bytes",
        "Bytes that the replay log may take.";
}

section! {
    /// Those of what the learner samples from.
    WINDOW: "The window: the learner", [Learner];
    WINDOW_ROWS = "fogfall_window_rows", Kind::Gauge, "rows", "Rows that the learner may sample now.";
    WINDOW_CAPACITY = "fogfall_window_capacity_rows", Kind::Gauge, "rows", "Rows that the window can hold.";
    WINDOW_NEEDED = "fogfall_window_needed_rows", Kind::Gauge, "rows",
        "Rows that the window must hold before training begins.";
    ROWS_FOLLOWED = "fogfall_rows_followed_total", Kind::Counter, "rows",
        "Rows that came from the replay log into the window.";
    ROWS_SKIPPED = "fogfall_rows_skipped_total", Kind::Counter, "rows",
        "Rows that left the replay log before the window had read them.";
    ROWS_SAMPLED = "fogfall_rows_sampled_total", Kind::Counter, "rows", "Rows drawn for batches.";
    REPLAY_RATIO = "fogfall_replay_ratio", Kind::Gauge, "", "Rows sampled for each row stored, over the whole run.";
    REPLAY_RATIO_WANTED = "fogfall_replay_ratio_wanted", Kind::Gauge, "",
        "The replay ratio asked for; not a number in lockstep.";
    STALENESS = "fogfall_row_staleness_steps", Kind::Histogram(STALE), "steps",
        "Train steps between the weights that made a row and the step that drew it.";
    LOG_LOSSES = "fogfall_replay_log_losses_total", Kind::Counter, "losses",
        "Times that the replay log was found to have lost rows.";
}

section! {
    /// Those of the train thread.
    TRAINING: "Training: the learner", [Learner];
    STEPS = "fogfall_steps_total", Kind::Counter, "steps", "Train steps done.";
    STEPS_SKIPPED = "fogfall_steps_skipped_total", Kind::Counter, "steps",
        "Train steps skipped because loss or gradients were not finite.";
    STEPS_CLIPPED = "fogfall_steps_clipped_total", Kind::Counter, "steps",
        "Train steps whose gradient was scaled down.";
    STEP_SECONDS = "fogfall_step_seconds", Kind::Histogram(STEP_TIMES), "seconds",
        "Seconds of a train step, its batch already drawn.";
    TRAIN_SECONDS = "fogfall_train_seconds_total" by "phase", Kind::Counter, "seconds",
        in &["wait", "sample", "step", "publish", "checkpoint"],
        "Seconds of the train thread by phase: wait (for rows), sample, step, publish, checkpoint.";
    LAST_STEP = "fogfall_last_step_timestamp_seconds", Kind::Gauge, "seconds",
        "When the last train step ended, in Unix time; 0 before the first.";
    LOSS = "fogfall_loss" by "term", Kind::Gauge, "",
        in &["total", "policy", "value", "weights"],
        "The loss, by term: total, policy, value, weights.";
    GRADIENT_NORM = "fogfall_gradient_norm", Kind::Gauge, "", "Norm of the gradients before clipping.";
    LEARNING_RATE = "fogfall_learning_rate", Kind::Gauge, "", "Learning rate of the last step.";
    POLICY_ENTROPY = "fogfall_policy_entropy_nats", Kind::Gauge, "nats",
        "Mean entropy of the network's policy over legal actions.";
    POLICY_DIVERGENCE = "fogfall_policy_divergence_nats", Kind::Gauge, "nats",
        "Mean Kullback-Leibler divergence of the network's policy from the searched policy of the root.";
    POLICY_AGREEMENT = "fogfall_policy_agreement_ratio", Kind::Gauge, "",
        "Share of rows where network and search have the same best action.";
    VALUE_PREDICTED = "fogfall_value_predicted" by "bin", Kind::Gauge, "values",
        in BINS,
        "Mean value that the network predicts, over recent rows whose prediction lies in the bin, named by its middle.";
    VALUE_OUTCOME = "fogfall_value_outcome" by "bin", Kind::Gauge, "values",
        in BINS,
        "Mean outcome of the games of these rows, on the same scale.";
    VALUE_CALIBRATION_ERROR = "fogfall_value_calibration_error", Kind::Gauge, "values",
        "Mean distance between predicted value and outcome over the bins, weighted by rows.";
    CHECKPOINTS = "fogfall_checkpoints_total" by "outcome", Kind::Counter, "checkpoints",
        in &["written", "failed"],
        "Checkpoints by what came of them: written, failed.";
    CHECKPOINT_SECONDS = "fogfall_checkpoint_seconds", Kind::Histogram(CHECKPOINT_TIMES), "seconds",
        "Seconds that writing a checkpoint took.";
    LAST_CHECKPOINT = "fogfall_last_checkpoint_timestamp_seconds", Kind::Gauge, "seconds",
        "When a checkpoint was last written, in Unix time.";
    WEIGHTS_ORDINAL = "fogfall_weights_ordinal", Kind::Gauge, "publications",
        "Publications of the run, up to the last.";
    WEIGHTS_BYTES = "fogfall_weights_bytes", Kind::Gauge, "bytes", "Bytes of the weights last published.";
}

section! {
    /// Those of the weights that play.
    WEIGHTS: "Weights: actors and the learner", [Actor, Learner];
    WEIGHTS_EPOCH = "fogfall_weights_epoch", Kind::Gauge, "",
        "Epoch of the weights in use, or of those last published.";
    WEIGHTS_STEP = "fogfall_weights_step", Kind::Gauge, "steps", "Train steps behind them.";
    WEIGHTS_TIME = "fogfall_weights_timestamp_seconds", Kind::Gauge, "seconds",
        "When they were taken up, or published, in Unix time; 0 before the first.";
    WEIGHTS_FETCH_SECONDS = "fogfall_weights_fetch_seconds", Kind::Histogram(ANSWERS), "seconds",
        "Seconds until new weights were fetched.";
    WEIGHTS_REFUSED = "fogfall_weights_refused_total", Kind::Counter, "weights", "Weights that could not be used.";
}

section! {
    /// Those of matches and exact figures.
    STRENGTH: "How strong it is: the learner", [Learner];
    SCORE = "fogfall_match_score" by "opponent", Kind::Gauge, "",
        "Mean score of the newest match against an opponent, 0 to 1, a draw counting half.";
    SCORE_LOW = "fogfall_match_score_low" by "opponent", Kind::Gauge, "", "Lower end of its 95 % interval.";
    SCORE_HIGH = "fogfall_match_score_high" by "opponent", Kind::Gauge, "", "Upper end of its 95 % interval.";
    ELO = "fogfall_match_elo" by "opponent", Kind::Gauge, "Elo points", "The same score as a difference in Elo points.";
    ELO_LOW = "fogfall_match_elo_low" by "opponent", Kind::Gauge, "Elo points", "Lower end of its 95 % interval.";
    ELO_HIGH = "fogfall_match_elo_high" by "opponent", Kind::Gauge, "Elo points", "Upper end of its 95 % interval.";
    MATCH_GAMES = "fogfall_match_games" by "opponent", Kind::Gauge, "games", "Games of the newest match.";
    FIGURE = "fogfall_exact_figure" by "figure", Kind::Gauge, "",
        "The newest exact figure of the character, like NashConv, in its own unit.";
}
