//! Every metric of the product: dashboards and alerts are written against this list.

use super::Name;

macro_rules! names {
    ($($constant:ident = $name:literal $(by $label:literal)?, $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $constant: Name = Name { name: $name, help: $help, label: names!(@label $($label)?) };
        )*

        /// All of them.
        pub const ALL: &[Name] = &[$($constant),*];
    };
    (@label) => { None };
    (@label $label:literal) => { Some($label) };
}

names! {
    // every process
    BUILD = "fogfall_build_info" by "version", "Always 1; the version of the program.";
    READY = "fogfall_ready", "1 if nothing is missing for the process to be of use, 0 if /readyz names something.";
    HEARTBEAT_AGE = "fogfall_heartbeat_age_seconds" by "loop", "Seconds since a loop went round, as /healthz judges it.";
    WAIT_SECONDS = "fogfall_wait_seconds" by "stage", "Seconds that a stage's present wait has lasted; 0 if it works.";
    BLOCKED_SECONDS = "fogfall_blocked_seconds_total" by "stage",
        "Seconds that a stage waited for another, per thread of the stage.";

    // self-play: actors, or a learner that plays itself
    GAMES = "fogfall_games_total", "Games played to their end or cut.";
    RESULTS = "fogfall_game_results_total" by "result",
        "Games by result: first (seat 0 won), draw, second, truncated (cut at the technical length limit).";
    LAST_GAME = "fogfall_last_game_timestamp_seconds", "When the last game ended; 0 before the first.";
    DECISIONS = "fogfall_decisions_total", "Decisions searched.";
    SIMULATIONS = "fogfall_simulations_total", "Simulations run.";
    EVALUATIONS = "fogfall_evaluations_total" by "source",
        "Evaluations by what answered them: network, cache, or a tree that an earlier search had grown.";
    EVALUATION_BATCHES = "fogfall_evaluation_batches_total", "Batches given to the network.";
    PLAY_THREADS = "fogfall_play_threads", "Threads that play.";
    PLAY_SLOTS = "fogfall_play_slots", "Games in progress at once, of all threads.";
    PLAY_SECONDS = "fogfall_play_seconds_total" by "phase",
        "Seconds of all self-play threads by phase: search, evaluate (the network), wait (for room to publish).";
    TREE_NODES = "fogfall_search_tree_nodes", "Nodes in the search trees of self-play.";
    TREE_BYTES = "fogfall_search_tree_bytes", "Bytes that the nodes and edges of these trees take.";
    TREE_STARTS = "fogfall_search_tree_starts_total", "Games that began with empty trees.";
    TREE_GAMES = "fogfall_search_tree_games", "Games begun for each that began with empty trees.";
    TREE_FALLS = "fogfall_search_tree_falls_total", "Leaves that fell from trees.";
    TREE_RE_EXPANSIONS = "fogfall_search_tree_re_expansions_total", "Nodes added where a leaf had fallen before.";
    INHERITED_VISITS = "fogfall_search_inherited_visits_total", "Visits that the actions of roots had before their search.";
    EFFECTIVE_WORLDS = "fogfall_effective_worlds",
        "Mean effective sample size of recent pools of worlds; not a number where searches have none.";
    REFILLED_POOLS = "fogfall_refilled_pools_ratio", "Share of recent pools of worlds that were refilled, 0 to 1.";
    WORLD_DISAGREEMENT = "fogfall_world_disagreement",
        "Mean standard deviation of the values that a recent search's simulations, each in its own world, brought to the root.";
    HUNG_GAMES = "fogfall_hung_games_total", "Games that did not go on, each a thread lost.";

    // publishing: actors
    PARTS_PUBLISHED = "fogfall_parts_published_total" by "outcome",
        "Trajectories by what came of publishing them: stored, duplicate, lost, or retried (each further try).";
    PUBLISH_SECONDS = "fogfall_publish_seconds", "Seconds until the bus acknowledged a trajectory.";
    OUTBOX_PARTS = "fogfall_outbox_parts", "Trajectories of finished games that wait to be published.";

    // ingesting: ingesters, or a learner that does it itself
    PARTS_SETTLED = "fogfall_parts_settled_total" by "outcome",
        "Trajectories taken from the bus: stored, duplicate, stale, refused, or retried (handed back).";
    REDELIVERIES = "fogfall_redeliveries_total", "Trajectories that the bus delivered more than once.";
    APPEND_SECONDS = "fogfall_append_seconds", "Seconds until the replay log had stored a trajectory.";
    ROWS_STORED = "fogfall_rows_stored_total", "Rows stored in the replay log.";
    LAST_STORED = "fogfall_last_stored_timestamp_seconds", "When a trajectory was last stored; 0 before the first.";
    BUS_PARTS = "fogfall_bus_parts", "Trajectories on the bus.";
    BUS_UNSETTLED = "fogfall_bus_unsettled_parts", "Of them, those that an ingester has in hand.";
    BUS_BYTES = "fogfall_bus_bytes", "Bytes of trajectories on the bus.";
    BUS_CAPACITY = "fogfall_bus_capacity_bytes", "Bytes of trajectories that the bus may hold.";
    LOG_ROWS = "fogfall_replay_log_rows", "Rows in the replay log.";
    LOG_CAPACITY_ROWS = "fogfall_replay_log_capacity_rows", "Rows that the replay log may hold.";
    LOG_BYTES = "fogfall_replay_log_bytes", "Bytes that the replay log takes.";
    LOG_CAPACITY_BYTES = "fogfall_replay_log_capacity_bytes", "Bytes that the replay log may take.";

    // the learner's window
    WINDOW_ROWS = "fogfall_window_rows", "Rows that the learner may sample now.";
    WINDOW_CAPACITY = "fogfall_window_capacity_rows", "Rows that the window can hold.";
    WINDOW_NEEDED = "fogfall_window_needed_rows", "Rows that the window must hold before training begins.";
    ROWS_FOLLOWED = "fogfall_rows_followed_total", "Rows that came from the replay log into the window.";
    ROWS_SKIPPED = "fogfall_rows_skipped_total", "Rows that left the replay log before the window had read them.";
    ROWS_SAMPLED = "fogfall_rows_sampled_total", "Rows drawn for batches.";
    REPLAY_RATIO = "fogfall_replay_ratio", "Rows sampled for each row stored, over the whole run.";
    REPLAY_RATIO_WANTED = "fogfall_replay_ratio_wanted", "The replay ratio asked for; not a number in lockstep.";
    STALENESS = "fogfall_row_staleness_steps", "Train steps between the weights that made a row and the step that drew it.";
    LOG_LOSSES = "fogfall_replay_log_losses_total", "Times that the replay log was found to have lost rows.";

    // training
    STEPS = "fogfall_steps_total", "Train steps done.";
    STEPS_SKIPPED = "fogfall_steps_skipped_total", "Train steps skipped because loss or gradients were not finite.";
    STEPS_CLIPPED = "fogfall_steps_clipped_total", "Train steps whose gradient was scaled down.";
    STEP_SECONDS = "fogfall_step_seconds", "Seconds of a train step, its batch already drawn.";
    TRAIN_SECONDS = "fogfall_train_seconds_total" by "phase",
        "Seconds of the train thread by phase: wait (for rows), sample, step, publish, checkpoint.";
    LAST_STEP = "fogfall_last_step_timestamp_seconds", "When the last train step ended; 0 before the first.";
    LOSS = "fogfall_loss" by "term", "The loss, by term: total, policy, value, weights.";
    GRADIENT_NORM = "fogfall_gradient_norm", "Norm of the gradients before clipping.";
    LEARNING_RATE = "fogfall_learning_rate", "Learning rate of the last step.";
    POLICY_ENTROPY = "fogfall_policy_entropy_nats", "Mean entropy of the network's policy over legal actions.";
    POLICY_DIVERGENCE = "fogfall_policy_divergence_nats",
        "Mean Kullback-Leibler divergence of the network's policy from the searched policy of the root.";
    POLICY_AGREEMENT = "fogfall_policy_agreement_ratio", "Share of rows where network and search have the same best action.";
    VALUE_PREDICTED = "fogfall_value_predicted" by "bin",
        "Mean value that the network predicts, over recent rows whose prediction lies in the bin, on the scale -1 to 1.";
    VALUE_OUTCOME = "fogfall_value_outcome" by "bin", "Mean outcome of the games of these rows, on the same scale.";
    VALUE_CALIBRATION_ERROR = "fogfall_value_calibration_error",
        "Mean distance between predicted value and outcome over the bins, weighted by rows.";
    CHECKPOINTS = "fogfall_checkpoints_total" by "outcome", "Checkpoints by what came of them: written, failed.";
    CHECKPOINT_SECONDS = "fogfall_checkpoint_seconds", "Seconds that writing a checkpoint took.";
    LAST_CHECKPOINT = "fogfall_last_checkpoint_timestamp_seconds", "When a checkpoint was last written.";

    // weights: actors and the learner
    WEIGHTS_EPOCH = "fogfall_weights_epoch", "Epoch of the weights in use, or of those last published.";
    WEIGHTS_STEP = "fogfall_weights_step", "Train steps behind them.";
    WEIGHTS_ORDINAL = "fogfall_weights_ordinal", "Publications of the run, up to the last.";
    WEIGHTS_TIME = "fogfall_weights_timestamp_seconds", "When they were taken up, or published.";
    WEIGHTS_BYTES = "fogfall_weights_bytes", "Bytes of the weights last published.";
    WEIGHTS_FETCH_SECONDS = "fogfall_weights_fetch_seconds", "Seconds until new weights were fetched.";
    WEIGHTS_REFUSED = "fogfall_weights_refused_total", "Weights that could not be used.";

    // how strong it is: the learner
    SCORE = "fogfall_match_score" by "opponent", "Mean score of the newest match against an opponent, 0 to 1, a draw counting half.";
    SCORE_LOW = "fogfall_match_score_low" by "opponent", "Lower end of its 95 % interval.";
    SCORE_HIGH = "fogfall_match_score_high" by "opponent", "Upper end of its 95 % interval.";
    ELO = "fogfall_match_elo" by "opponent", "The same score as a difference in Elo points.";
    ELO_LOW = "fogfall_match_elo_low" by "opponent", "Lower end of its 95 % interval.";
    ELO_HIGH = "fogfall_match_elo_high" by "opponent", "Upper end of its 95 % interval.";
    MATCH_GAMES = "fogfall_match_games" by "opponent", "Games of the newest match.";
    FIGURE = "fogfall_exact_figure" by "figure", "The newest exact figure of the character, like NashConv, in its own unit.";
}
