"""The learner: how strong the character is, how training goes, weights, checkpoints, process, and GPU."""

from .grafana import ORANGE, RED, Dashboard, Row, bars, columns, graph, heat, number, quantiles, steps

RATE = "[$__rate_interval]"
LEARNER = '@,role="learner"'
# The exporter of DCGM says whose the GPU is under its own names of labels, or, where it may, under ours.
OF_LEARNER = 'pod=~".*learner.*",namespace=~"$namespace"'
EXPORTED_OF_LEARNER = 'exported_pod=~".*learner.*",exported_namespace=~"$namespace"'


def rate(metric, by="run"):
    """The rate of a counter, summed."""
    return f"sum by ({by}) (rate({metric}{{@}}{RATE}))"


def newest(metric, by="run"):
    """What the learner last said."""
    return f"max by ({by}) ({metric}{{@}})"


def gpu(metric):
    """A figure of the GPUs that a learner has."""
    return f"max by (Hostname, gpu) ({metric}{{{OF_LEARNER}}} or {metric}{{{EXPORTED_OF_LEARNER}}})"


STRENGTH = Row(
    "Strength",
    (
        graph(
            "Score",
            "Mean score of the newest match against an opponent, 0 to 1, a draw counting half.",
            "none",
            [(newest("fogfall_match_score", "run, opponent"), "{{run}} {{opponent}}")],
            min=0,
            max=1,
        ),
        graph(
            "Elo",
            "The same score as a difference in Elo points: 0 is as good as the opponent.",
            "none",
            [(newest("fogfall_match_elo", "run, opponent"), "{{run}} {{opponent}}")],
        ),
        graph(
            "Exact figures",
            "For games small enough to be solved: the newest figures of the character, like NashConv, each in its own unit."
            " Other games have none.",
            "none",
            [(newest("fogfall_exact_figure", "run, figure"), "{{run}} {{figure}}")],
        ),
        columns(
            "Newest matches",
            "The newest match against each opponent, with the 95 % interval of its score and of the Elo difference.",
            [
                newest("fogfall_match_games", "run, opponent"),
                newest("fogfall_match_score", "run, opponent"),
                newest("fogfall_match_score_low", "run, opponent"),
                newest("fogfall_match_score_high", "run, opponent"),
                newest("fogfall_match_elo", "run, opponent"),
                newest("fogfall_match_elo_low", "run, opponent"),
                newest("fogfall_match_elo_high", "run, opponent"),
            ],
            [
                ("Games", "none"),
                ("Score", "percentunit"),
                ("at least", "percentunit"),
                ("at most", "percentunit"),
                ("Elo", "none"),
                ("Elo at least", "none"),
                ("Elo at most", "none"),
            ],
            h=6,
            keys=("run", "opponent"),
        ),
    ),
)

LEARNING = Row(
    "Learning",
    (
        graph(
            "Loss",
            "Policy (cross entropy with the search), value, and the total, which has the weights' penalty in it.",
            "none",
            [('max by (run, term) (fogfall_loss{@,term!="weights"})', "{{run}} {{term}}")],
        ),
        graph(
            "Gradient",
            "Norm of the gradients before clipping. Rising over hours: the learning rate is too high.",
            "none",
            [(newest("fogfall_gradient_norm"), "{{run}}")],
            log=True,
        ),
        graph(
            "Clipped and skipped steps",
            "Train steps a second whose gradient was scaled down, and those skipped because loss or gradients were not"
            " finite. The latter should be none.",
            "count:steps/s",
            [
                (rate("fogfall_steps_clipped_total"), "{{run}} clipped"),
                (rate("fogfall_steps_skipped_total"), "{{run}} skipped"),
            ],
            min=0,
        ),
        graph(
            "Learning rate",
            "Of the last step.",
            "sci",
            [(newest("fogfall_learning_rate"), "{{run}}")],
            min=0,
        ),
        graph(
            "Policy",
            "Mean entropy of the network's policy over legal actions, and its mean divergence from the searched policy."
            " Entropy near 0 early on: it explores too little. Divergence that does not fall: the network cannot follow the"
            " search.",
            "none",
            [
                (newest("fogfall_policy_entropy_nats"), "{{run}} entropy"),
                (newest("fogfall_policy_divergence_nats"), "{{run}} divergence"),
            ],
            min=0,
        ),
        graph(
            "Agreement with the search",
            "Share of rows where network and search have the same best action.",
            "percentunit",
            [(newest("fogfall_policy_agreement_ratio"), "{{run}}")],
            min=0,
            max=1,
        ),
        graph(
            "Calibration error",
            "Mean distance between the predicted value and the outcome of the games, over bins of the prediction.",
            "none",
            [(newest("fogfall_value_calibration_error"), "{{run}}")],
            min=0,
        ),
        bars(
            "Calibration",
            "What the network predicts against what came, for each bin of the prediction, in units of the game's scale. The"
            " two are the same where it is calibrated.",
            "none",
            [newest("fogfall_value_predicted", "run, bin"), newest("fogfall_value_outcome", "run, bin")],
            ("predicted", "outcome"),
            "bin",
        ),
        graph(
            "Penalty on weights",
            "What the penalty on weights is a small share of: the sum of their squares. It grows at first and then stays.",
            "short",
            [('max by (run) (fogfall_loss{@,term="weights"})', "{{run}}")],
            min=0,
        ),
    ),
)

SPEED = Row(
    "Speed",
    (
        graph(
            "Train steps",
            "Train steps a second.",
            "count:steps/s",
            [(rate("fogfall_steps_total"), "{{run}}")],
            w=6,
            min=0,
        ),
        graph(
            "Time of the train thread",
            "Where it spends its time. Wait is for rows: high means that actors are the slower side.",
            "percentunit",
            [(rate("fogfall_train_seconds_total", "run, phase"), "{{run}} {{phase}}")],
            w=6,
            stack="percent",
            min=0,
        ),
        quantiles("Train step", "Time of a train step, its batch already drawn.", "fogfall_step_seconds", w=6),
        number(
            "Since the last step",
            "Time since the last train step ended.",
            "s",
            [("time() - (max by (run) (fogfall_last_step_timestamp_seconds{@}) > 0)", "{{run}}")],
            w=6,
            h=8,
            levels=steps((60, ORANGE), (600, RED)),
            decimals=0,
        ),
    ),
)

WINDOW = Row(
    "Window",
    (
        graph(
            "Rows in the window",
            "Rows that may be sampled now, how many the window can hold, and how many it must hold before training begins.",
            "short",
            [
                (newest("fogfall_window_rows"), "{{run}} rows"),
                (newest("fogfall_window_capacity_rows"), "{{run}} capacity"),
                (newest("fogfall_window_needed_rows"), "{{run}} needed"),
            ],
            min=0,
        ),
        graph(
            "Replay ratio",
            "Rows sampled for each row stored, over the whole run, and the ratio asked for (none in lockstep).",
            "none",
            [
                (newest("fogfall_replay_ratio"), "{{run}}"),
                (newest("fogfall_replay_ratio_wanted"), "{{run}} asked for"),
            ],
            min=0,
        ),
        quantiles(
            "Staleness",
            "Train steps between the weights that made a row and the step that drew it.",
            "fogfall_row_staleness_steps",
            unit="count:steps",
        ),
        heat(
            "Staleness, all rows",
            "How many rows were drawn how many train steps after the weights that made them.",
            "short",
            "fogfall_row_staleness_steps",
            w=12,
        ),
        graph(
            "Followed and skipped rows",
            "Rows a second that came from the replay log into the window, and those that left the log unread.",
            "count:rows/s",
            [
                (rate("fogfall_rows_followed_total"), "{{run}} followed"),
                (rate("fogfall_rows_skipped_total"), "{{run}} skipped"),
            ],
            w=12,
            min=0,
        ),
    ),
)

WEIGHTS = Row(
    "Weights and checkpoints",
    (
        number(
            "Epoch",
            "One more for each start of the learner.",
            "none",
            [(f"max by (run) (fogfall_weights_epoch{{{LEARNER}}})", "{{run}}")],
            decimals=0,
        ),
        number(
            "Publications",
            "Weights published in the whole run.",
            "none",
            [(f"max by (run) (fogfall_weights_ordinal{{{LEARNER}}})", "{{run}}")],
            decimals=0,
        ),
        number(
            "Newest weights",
            "Time since weights were last published.",
            "s",
            [(f"time() - (max by (run) (fogfall_weights_timestamp_seconds{{{LEARNER}}}) > 0)", "{{run}}")],
            levels=steps((600, ORANGE), (1800, RED)),
            decimals=0,
        ),
        number(
            "Size of weights",
            "Bytes of the weights last published; each actor fetches them.",
            "bytes",
            [(newest("fogfall_weights_bytes"), "{{run}}")],
        ),
        number(
            "Last checkpoint",
            "Time since a checkpoint was last written: so much is done again after a crash.",
            "s",
            [("time() - (max by (run) (fogfall_last_checkpoint_timestamp_seconds{@}) > 0)", "{{run}}")],
            levels=steps((600, ORANGE), (1800, RED)),
            decimals=0,
        ),
        number(
            "Failed checkpoints",
            "Checkpoints that could not be written, in the time shown.",
            "short",
            'sum(increase(fogfall_checkpoints_total{@,outcome="failed"}[$__range])) or vector(0)',
            levels=steps((1, RED)),
            graph_mode="none",
            decimals=0,
        ),
        graph(
            "Published train steps",
            "Train steps behind the weights last published.",
            "short",
            [(f"max by (run) (fogfall_weights_step{{{LEARNER}}})", "{{run}}")],
        ),
        graph(
            "Checkpoints",
            "Checkpoints in an hour, by what came of them, at the present rate.",
            "short",
            [(f"3600 * {rate('fogfall_checkpoints_total', 'run, outcome')}", "{{run}} {{outcome}}")],
            min=0,
        ),
        quantiles("Writing a checkpoint", "Time that it took.", "fogfall_checkpoint_seconds"),
    ),
)

PROCESS = Row(
    "Process",
    (
        graph(
            "CPU",
            "Cores that the learner uses.",
            "short",
            [(f"sum by (run) (rate(process_cpu_seconds_total{{{LEARNER}}}{RATE}))", "{{run}}")],
            w=6,
            min=0,
        ),
        graph(
            "Memory",
            "Resident memory of the learner; its window is part of it from the start.",
            "bytes",
            [(f"max by (run) (process_resident_memory_bytes{{{LEARNER}}})", "{{run}}")],
            w=6,
            min=0,
        ),
        graph(
            "Open files",
            "Files and connections that the learner has open, and how many it may.",
            "short",
            [
                (f"max by (run) (process_open_fds{{{LEARNER}}})", "{{run}} open"),
                (f"max by (run) (process_max_fds{{{LEARNER}}})", "{{run}} limit"),
            ],
            w=6,
            log=True,
        ),
        graph(
            "Heartbeats",
            "Time since a loop of the learner went round. /healthz fails at two minutes, and whoever watches the process"
            " starts it anew.",
            "s",
            [(f"max by (run, loop) (fogfall_heartbeat_age_seconds{{{LEARNER}}})", "{{run}} {{loop}}")],
            w=6,
            min=0,
        ),
    ),
)

GPU = Row(
    "GPU (with the exporter of DCGM)",
    (
        graph(
            "Busy",
            "Share of time that the GPU worked at all.",
            "percent",
            [(gpu("DCGM_FI_DEV_GPU_UTIL"), "{{Hostname}} {{gpu}}")],
            min=0,
            max=100,
        ),
        graph(
            "Tensor cores",
            "Share of cycles that the tensor cores worked. Low while the GPU is busy: batches or the network are small.",
            "percentunit",
            [(gpu("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), "{{Hostname}} {{gpu}}")],
            min=0,
            max=1,
        ),
        graph(
            "Memory",
            "Memory of the GPU that is taken.",
            "mbytes",
            [(gpu("DCGM_FI_DEV_FB_USED"), "{{Hostname}} {{gpu}}")],
            min=0,
        ),
        graph(
            "Power", "Power that the GPU draws.", "watt", [(gpu("DCGM_FI_DEV_POWER_USAGE"), "{{Hostname}} {{gpu}}")], min=0
        ),
        graph("Temperature", "Temperature of the GPU.", "celsius", [(gpu("DCGM_FI_DEV_GPU_TEMP"), "{{Hostname}} {{gpu}}")]),
        graph(
            "XID errors",
            "Number of the last error of the driver; 0 for none.",
            "none",
            [(gpu("DCGM_FI_DEV_XID_ERRORS"), "{{Hostname}} {{gpu}}")],
            min=0,
        ),
    ),
    collapsed=True,
)

DASHBOARD = Dashboard(
    uid="fogfall-learner",
    title="Fogfall / Learner",
    about="How strong the character is, how training goes, and what it costs.",
    rows=(STRENGTH, LEARNING, SPEED, WINDOW, WEIGHTS, PROCESS, GPU),
)
