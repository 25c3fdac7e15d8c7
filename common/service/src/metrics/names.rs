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
    // self-play
    GAMES = "fogfall_games_total", "Games played to their end or cut.";
    RESULTS = "fogfall_game_results_total" by "result", "Games by how they ended.";
    DECISIONS = "fogfall_decisions_total", "Decisions searched.";
    SIMULATIONS = "fogfall_simulations_total", "Simulations run.";
    EVALUATIONS = "fogfall_evaluations_total" by "source",
        "Evaluations by what answered them: network, cache, or a tree that an earlier search had grown.";
    TREE_NODES = "fogfall_search_tree_nodes", "Nodes in the search trees of self-play.";
    TREE_BYTES = "fogfall_search_tree_bytes", "Bytes that the nodes and edges of these trees take.";
    TREE_STARTS = "fogfall_search_tree_starts_total", "Games that began with empty trees.";
    TREE_GAMES = "fogfall_search_tree_games", "Games begun for each that began with empty trees.";
    TREE_FALLS = "fogfall_search_tree_falls_total", "Leaves that fell from trees.";
    TREE_RE_EXPANSIONS = "fogfall_search_tree_re_expansions_total", "Nodes added where a leaf had fallen before.";
    INHERITED_VISITS = "fogfall_search_inherited_visits_total", "Visits that the actions of roots had before their search.";
    BATCH_ROWS = "fogfall_evaluation_batch_rows", "Rows in a batch given to the network.";
    EFFECTIVE_WORLDS = "fogfall_effective_worlds", "Mean effective sample size of recent pools of worlds.";
    REFILLED_POOLS = "fogfall_refilled_pools_ratio", "Share of recent pools of worlds that were refilled, 0 to 1.";
    HUNG_GAMES = "fogfall_hung_games_total", "Games that did not go on, each a thread lost.";
    PLAY_SECONDS = "fogfall_play_seconds_total" by "phase", "Seconds of search threads by what they did.";

    // bus
    PARTS_PUBLISHED = "fogfall_parts_published_total" by "outcome", "Trajectories published, by outcome.";
    PARTS_SETTLED = "fogfall_parts_settled_total" by "outcome", "Trajectories taken from the bus, by outcome.";
    BUS_BYTES = "fogfall_bus_bytes", "Bytes of trajectories that wait on the bus.";
    BLOCKED_SECONDS = "fogfall_blocked_seconds_total" by "stage", "Seconds that a stage waited for another.";

    // replay
    ROWS_STORED = "fogfall_rows_stored_total", "Rows stored in the replay log.";
    ROWS_DUPLICATE = "fogfall_rows_duplicate_total", "Rows that had been stored before.";
    ROWS_STALE = "fogfall_rows_stale_total", "Rows dropped because their weights were too old.";
    ROWS_EVICTED = "fogfall_rows_evicted_total", "Rows that left the replay log.";
    ROWS_SAMPLED = "fogfall_rows_sampled_total", "Rows drawn for batches.";
    LOG_BYTES = "fogfall_replay_log_bytes", "Bytes that the replay log takes.";
    LOG_LOSSES = "fogfall_replay_log_losses_total", "Times that the replay log was found to have lost rows.";
    WINDOW_ROWS = "fogfall_window_rows", "Rows that the learner may sample now.";
    REPLAY_RATIO = "fogfall_replay_ratio", "Rows sampled for each row stored.";

    // learner
    STEPS = "fogfall_steps_total", "Train steps done.";
    STEPS_SKIPPED = "fogfall_steps_skipped_total", "Train steps skipped because loss or gradients were not finite.";
    STEP_SECONDS = "fogfall_step_seconds", "Seconds of a train step.";
    LOSS = "fogfall_loss" by "term", "The loss, by term.";
    GRADIENT_NORM = "fogfall_gradient_norm", "Norm of the gradients before clipping.";
    LEARNING_RATE = "fogfall_learning_rate", "Learning rate of the last step.";
    LAST_STEP = "fogfall_last_step_timestamp_seconds", "When the last train step ended.";
    CHECKPOINTS = "fogfall_checkpoints_total" by "outcome", "Checkpoints written, by outcome.";

    // weights
    WEIGHTS_EPOCH = "fogfall_weights_epoch", "Epoch of the weights in use.";
    WEIGHTS_STEP = "fogfall_weights_step", "Train steps behind the weights in use.";
    WEIGHTS_ORDINAL = "fogfall_weights_ordinal", "Publication that the weights in use came with.";
    STALENESS = "fogfall_row_staleness_steps", "Train steps between a row's weights and the step that drew it.";

    // matches
    SCORE = "fogfall_match_score" by "opponent", "Score of the newest match against an opponent, from 0 to 1.";
}
