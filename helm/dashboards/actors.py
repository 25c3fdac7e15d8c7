"""Actors and their search. A learner that plays itself shows up here as one more actor."""

from .grafana import GREEN, POD, RED, Dashboard, Row, columns, graph, number, quantiles, steps

RATE = "[$__rate_interval]"
# Only the actors that are picked above.
AT = '@,pod=~"$pod"'


def rate(metric, by="run"):
    """The rate of a counter, summed."""
    return f"sum by ({by}) (rate({metric}{{{AT}}}{RATE}))"


def each(metric, of):
    """One counter for each event of another."""
    return f"{rate(metric)} / {rate(of)}"


BATCHES = rate("fogfall_evaluation_batches_total")

PLAY = Row(
    "Self-play",
    (
        number(
            "Actors",
            "Processes that play.",
            "short",
            f"count(fogfall_play_threads{{{AT}}}) or vector(0)",
            levels=steps((1, GREEN), first=RED),
        ),
        number("Threads", "Threads that play.", "short", f"sum(fogfall_play_threads{{{AT}}})", decimals=0),
        number(
            "Games in progress",
            "Games at once, of all threads: the batch that the network sees is at most so large.",
            "short",
            f"sum(fogfall_play_slots{{{AT}}})",
            decimals=0,
        ),
        number("Games", "Games that end a second.", "count:games/s", [(rate("fogfall_games_total"), "{{run}}")]),
        number(
            "Decisions",
            "Decisions searched a second; each becomes a row.",
            "count:/s",
            [(rate("fogfall_decisions_total"), "{{run}}")],
        ),
        number(
            "Hung games",
            "Games that did not go on, each a thread lost until its process is started anew.",
            "short",
            f"sum(increase(fogfall_hung_games_total{{{AT}}}[$__range])) or vector(0)",
            levels=steps((1, RED)),
            graph_mode="none",
            decimals=0,
        ),
        graph(
            "Results",
            "Games by result. First is seat 0; truncated games were cut at the technical length limit and should be none.",
            "count:games/s",
            [(rate("fogfall_game_results_total", "run, result"), "{{run}} {{result}}")],
            stack="percent",
            min=0,
        ),
        graph(
            "Time of self-play",
            "Where the threads spend their time. Evaluate is the network; wait is for room to publish.",
            "percentunit",
            [(rate("fogfall_play_seconds_total", "run, phase"), "{{run}} {{phase}}")],
            stack="percent",
            min=0,
        ),
        graph(
            "Slowest actors",
            "Time since the last game ended, of the ten actors where it is longest.",
            "s",
            [(f"topk(10, time() - (fogfall_last_game_timestamp_seconds{{{AT}}} > 0))", "{{pod}}")],
            min=0,
        ),
    ),
)

SEARCH = Row(
    "Search",
    (
        graph(
            "Simulations",
            "Simulations a second, and for each decision.",
            "short",
            [
                (rate("fogfall_simulations_total"), "{{run}} a second"),
                (each("fogfall_simulations_total", "fogfall_decisions_total"), "{{run}} a decision"),
            ],
            log=True,
        ),
        graph(
            "Evaluations",
            "What answered a leaf's evaluation: the network, the cache, or a tree that an earlier search had grown. Only the"
            " first costs.",
            "count:/s",
            [(rate("fogfall_evaluations_total", "run, source"), "{{run}} {{source}}")],
            stack="normal",
            min=0,
        ),
        graph(
            "Batch",
            "Positions in a batch given to the network, on average. Small batches waste time; more slots a thread make them"
            " larger.",
            "short",
            [
                (
                    f'sum by (run) (rate(fogfall_evaluations_total{{{AT},source="network"}}{RATE})) / {BATCHES}',
                    "{{run}}",
                )
            ],
            min=0,
        ),
        graph(
            "Trees",
            "Nodes in the search trees of self-play, by process.",
            "short",
            [(f"topk(10, sum by (pod) (fogfall_search_tree_nodes{{{AT}}}))", "{{pod}}")],
            w=6,
            min=0,
        ),
        graph(
            "Memory of trees",
            "Bytes of the nodes and edges of these trees.",
            "bytes",
            [(f"topk(10, sum by (pod) (fogfall_search_tree_bytes{{{AT}}}))", "{{pod}}")],
            w=6,
            min=0,
        ),
        graph(
            "Lives of trees",
            "Games that began with empty trees each second, and games for each of them: 1 if trees do not outlive their"
            " game.",
            "short",
            [
                (rate("fogfall_search_tree_starts_total"), "{{run}} starts a second"),
                (f"avg by (run) (fogfall_search_tree_games{{{AT}}})", "{{run}} games a start"),
            ],
            w=6,
            min=0,
        ),
        graph(
            "Leaf fall",
            "Leaves that fell from trees, and nodes that grew again where one had fallen: the second high against the first"
            " means that too much falls.",
            "count:/s",
            [
                (rate("fogfall_search_tree_falls_total"), "{{run}} fallen"),
                (rate("fogfall_search_tree_re_expansions_total"), "{{run}} grown again"),
            ],
            w=6,
            min=0,
        ),
        graph(
            "Inherited visits",
            "Visits that the actions of a root had before its search, for each decision.",
            "short",
            [(each("fogfall_search_inherited_visits_total", "fogfall_decisions_total"), "{{run}}")],
            w=6,
            min=0,
        ),
        graph(
            "Effective worlds",
            "Mean effective sample size of recent pools of worlds. Near 1: a single guess carries the search. No line for"
            " games where searches keep no pools.",
            "short",
            [(f"avg by (run) (fogfall_effective_worlds{{{AT}}})", "{{run}}")],
            w=6,
            min=0,
        ),
        graph(
            "Refilled pools",
            "Share of recent pools of worlds that had lost too many and were refilled.",
            "percentunit",
            [(f"avg by (run) (fogfall_refilled_pools_ratio{{{AT}}})", "{{run}}")],
            w=6,
            min=0,
            max=1,
        ),
        graph(
            "Disagreement of worlds",
            "Mean standard deviation of the values that a search's simulations, each in its own world, brought to the root:"
            " how much depends on what is hidden.",
            "none",
            [(f"avg by (run) (fogfall_world_disagreement{{{AT}}})", "{{run}}")],
            w=6,
            min=0,
        ),
    ),
)

WEIGHTS = Row(
    "Weights",
    (
        graph(
            "Train steps behind the learner",
            "Train steps between the learner's newest weights and those that an actor plays with, of the ten farthest"
            " behind.",
            "count:steps",
            [
                (
                    (
                        'topk(10, max by (run) (fogfall_weights_step{@,role="learner"}) '
                        f"- on (run) group_right () max by (run, pod) (fogfall_weights_step{{{AT}}}))"
                    ),
                    "{{pod}}",
                )
            ],
        ),
        graph(
            "Age of weights",
            "Time since an actor took up its weights, of the ten where it is longest. A saw as high as the learner takes to"
            " publish.",
            "s",
            [(f"topk(10, time() - (max by (pod) (fogfall_weights_timestamp_seconds{{{AT}}}) > 0))", "{{pod}}")],
            min=0,
        ),
        graph(
            "Refused weights",
            "Weights that could not be used, a second: damaged, or of another network. The log says which.",
            "count:/s",
            [(f"sum by (run, pod) (rate(fogfall_weights_refused_total{{{AT}}}{RATE}))", "{{pod}}")],
            min=0,
        ),
        quantiles(
            "Fetching weights", "Time until new weights were fetched from the bus.", "fogfall_weights_fetch_seconds", w=12
        ),
        columns(
            "Actors",
            "Each actor: its program, the weights it plays with, what it gets done, and whether it is ready.",
            [
                f'max by (pod, run, version) (fogfall_build_info{{{AT},role=~"actor|learner"}})',
                f"max by (pod, run) (fogfall_ready{{{AT}}}) and on (pod, run) fogfall_play_threads{{{AT}}}",
                f"max by (pod, run) (fogfall_weights_epoch{{{AT}}}) and on (pod, run) fogfall_play_threads{{{AT}}}",
                f"max by (pod, run) (fogfall_weights_step{{{AT}}}) and on (pod, run) fogfall_play_threads{{{AT}}}",
                rate("fogfall_games_total", "pod, run"),
                rate("fogfall_decisions_total", "pod, run"),
            ],
            [
                ("Runs", "none"),
                ("Ready", "none"),
                ("Epoch", "none"),
                ("Train step", "none"),
                ("Games", "count:/s"),
                ("Decisions", "count:/s"),
            ],
            w=12,
            keys=("pod", "run", "version"),
        ),
    ),
)

PROCESSES = Row(
    "Processes",
    (
        graph(
            "CPU",
            "Cores that an actor uses, of the ten that use most.",
            "short",
            [(f'topk(10, sum by (pod) (rate(process_cpu_seconds_total{{{AT},role="actor"}}{RATE})))', "{{pod}}")],
            min=0,
        ),
        graph(
            "Memory",
            "Resident memory of an actor, of the ten that use most.",
            "bytes",
            [(f'topk(10, max by (pod) (process_resident_memory_bytes{{{AT},role="actor"}}))', "{{pod}}")],
            min=0,
        ),
        graph(
            "Heartbeats",
            "Time since a loop went round, the longest of all actors. /healthz fails at two minutes, and whoever watches the"
            " process starts it anew.",
            "s",
            [(f'max by (run, loop) (fogfall_heartbeat_age_seconds{{{AT},role="actor"}})', "{{run}} {{loop}}")],
            min=0,
        ),
    ),
)

DASHBOARD = Dashboard(
    uid="fogfall-actors",
    title="Fogfall / Actors and search",
    about="What actors play, how their search does, and how fresh their weights are.",
    rows=(PLAY, SEARCH, WEIGHTS, PROCESSES),
    variables=(POD,),
)
