"""One screen: is it learning, how fast, and what holds it back. It shows what the recording rules have computed."""

from .grafana import ORANGE, RED, Dashboard, graph, number, steps

DASHBOARD = Dashboard(
    uid="fogfall-overview",
    title="Fogfall / Overview",
    about="Is it learning, how fast, and what holds it back. Needs the recording rules in helm/fogfall/rules.",
    top=(
        number(
            "Alerts",
            "Alerts that fire. docs/operations.md has a section for each.",
            "short",
            'sum(ALERTS{alertname=~"Fogfall.*",alertstate="firing",namespace=~"$namespace",release=~"$release"}) or'
            " vector(0)",
            w=3,
            levels=steps((1, RED)),
        ),
        number(
            "Train step",
            "Train steps behind the weights that the learner last published.",
            "short",
            [('max by (run) (fogfall_weights_step{@,role="learner"})', "{{run}}")],
            w=3,
            decimals=0,
        ),
        number(
            "Train steps",
            "Train steps a second. 0: see what the learner waits for, to the right and below.",
            "count:steps/s",
            [("sum by (run) (run:fogfall_steps:rate5m{@})", "{{run}}")],
            w=3,
        ),
        number(
            "Games",
            "Games that end a second, of all actors.",
            "count:games/s",
            [("sum by (run) (run:fogfall_games:rate5m{@})", "{{run}}")],
            w=3,
        ),
        number(
            "Replay ratio",
            "How often each stored row is sampled, over the last half hour. Well below what is asked for: the learner is the"
            " slower side. At what is asked for, while it waits: actors are.",
            "none",
            [("sum by (run) (run:fogfall_replay_ratio:rate30m{@})", "{{run}}")],
            w=3,
            decimals=2,
        ),
        number(
            "Learner waits",
            "Share of the train thread's time spent waiting for rows. High: more actors help, more GPU does not.",
            "percentunit",
            [("max by (run) (run:fogfall_train_wait:ratio_rate5m{@})", "{{run}}")],
            w=3,
            levels=steps((0.5, ORANGE), (0.8, RED)),
        ),
        number(
            "Actors wait",
            "Share of self-play's time spent waiting for room to publish. High: games are not taken off the bus fast"
            " enough.",
            "percentunit",
            [("max by (run) (run:fogfall_play_wait:ratio_rate5m{@})", "{{run}}")],
            w=3,
            levels=steps((0.05, ORANGE), (0.2, RED)),
        ),
        number(
            "Not ready",
            "Processes that miss something they need; /readyz of each says what.",
            "short",
            "sum(1 - fogfall_ready{@}) or vector(0)",
            w=3,
            levels=steps((1, ORANGE)),
        ),
        graph(
            "Score against opponents",
            "Mean score of the newest match, 0 to 1, a draw counting half. Rises while it learns; the learner's dashboard"
            " has the intervals.",
            "none",
            [("max by (run, opponent) (fogfall_match_score{@})", "{{run}} {{opponent}}")],
            min=0,
            max=1,
        ),
        graph(
            "Loss",
            "By term. Policy and value loss fall and then stay where the search itself is uncertain; a rising one is worth a"
            " look.",
            "none",
            [('max by (run, term) (run:fogfall_loss:max{@,term!="weights"})', "{{run}} {{term}}")],
        ),
        graph(
            "Rows",
            "Rows stored and sampled a second. Their quotient is the replay ratio.",
            "count:rows/s",
            [
                ("sum by (run) (run:fogfall_rows_stored:rate5m{@})", "{{run}} stored"),
                ("sum by (run) (run:fogfall_rows_sampled:rate5m{@})", "{{run}} sampled"),
            ],
            min=0,
        ),
        graph(
            "Who waits",
            "Share of time that a stage waits for another. The slowest one does not wait; those before it wait for room,"
            " those after it for rows.",
            "percentunit",
            [
                (
                    "avg by (run, role, stage) (rate(fogfall_blocked_seconds_total{@}[$__rate_interval]))",
                    "{{run}} {{role}} {{stage}}",
                )
            ],
            min=0,
        ),
        graph(
            "Search",
            "Decisions and simulations a second, of all actors.",
            "count:/s",
            [
                ("sum by (run) (run:fogfall_decisions:rate5m{@})", "{{run}} decisions"),
                ("sum by (run) (run:fogfall_simulations:rate5m{@})", "{{run}} simulations"),
            ],
            log=True,
        ),
        graph(
            "Bus",
            "Share of the room for games that is taken. Nearly 0 if all is well; at 1 actors wait.",
            "percentunit",
            [("max by (run) (run:fogfall_bus_fill:ratio{@})", "{{run}}")],
            w=4,
            min=0,
            max=1,
        ),
        graph(
            "Processes",
            "Processes that answer, by role.",
            "short",
            [("count by (run, role) (fogfall_build_info{@})", "{{run}} {{role}}")],
            w=4,
            min=0,
            decimals=0,
        ),
    ),
)
