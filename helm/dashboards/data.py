"""The data's way: games on the bus, into the replay log, into the window. NATS and Redis where their exporters run."""

from .grafana import ORANGE, RED, Dashboard, Row, graph, heat, number, quantiles, steps

RATE = "[$__rate_interval]"
# The exporters of the servers know no run.
SERVERS = 'namespace=~"$namespace",release=~"$release"'


def rate(metric, by="run"):
    """The rate of a counter, summed."""
    return f"sum by ({by}) (rate({metric}{{@}}{RATE}))"


FLOW = Row(
    "Flow",
    (
        graph(
            "Published games",
            "Games that actors put on the bus a second, by what came of it. Retried: the bus did not answer or had no room."
            " Lost: an actor was stopped before the bus had them.",
            "count:games/s",
            [(rate("fogfall_parts_published_total", "run, outcome"), "{{run}} {{outcome}}")],
            min=0,
        ),
        graph(
            "Settled games",
            "Games that ingesters took off the bus a second, by what came of it. Stale: made by weights that are too old."
            " Refused: of another run, game, layout or wire version, or damaged; they lie among the dead letters.",
            "count:games/s",
            [(rate("fogfall_parts_settled_total", "run, outcome"), "{{run}} {{outcome}}")],
            min=0,
        ),
        graph(
            "Rows",
            "Rows a second: stored in the replay log, followed into the learner's window, sampled for batches.",
            "count:rows/s",
            [
                (rate("fogfall_rows_stored_total"), "{{run}} stored"),
                (rate("fogfall_rows_followed_total"), "{{run}} followed"),
                (rate("fogfall_rows_sampled_total"), "{{run}} sampled"),
            ],
            min=0,
        ),
        graph(
            "Time blocked",
            "Share of time that a stage waits for another. The stage before and the stage after the slowest wait, the"
            " slowest does not.",
            "percentunit",
            [(f"avg by (run, role, stage) (rate(fogfall_blocked_seconds_total{{@}}{RATE}))", "{{run}} {{role}} {{stage}}")],
            w=12,
            min=0,
        ),
        graph(
            "Present waits",
            "How long each stage's present wait has lasted, the longest of all processes. A line that climbs is a stage that"
            " gets nothing at all.",
            "s",
            [("max by (run, role, stage) (fogfall_wait_seconds{@})", "{{run}} {{role}} {{stage}}")],
            w=12,
            min=0,
        ),
    ),
)

BUS = Row(
    "Bus",
    (
        graph(
            "Games on the bus",
            "Games that wait on the bus, and of them those that an ingester has in hand.",
            "short",
            [
                ("max by (run) (fogfall_bus_parts{@})", "{{run}} on the bus"),
                ("max by (run) (fogfall_bus_unsettled_parts{@})", "{{run}} in hand"),
            ],
            w=6,
            min=0,
        ),
        graph(
            "Bytes on the bus",
            "Bytes of games on the bus, and how many it may hold. At the limit actors wait; nothing is dropped.",
            "bytes",
            [
                ("max by (run) (fogfall_bus_bytes{@})", "{{run}} taken"),
                ("max by (run) (fogfall_bus_capacity_bytes{@})", "{{run}} capacity"),
            ],
            w=6,
            min=0,
        ),
        quantiles("Publishing", "Time until the bus acknowledged a game.", "fogfall_publish_seconds", w=6),
        graph(
            "Outboxes",
            "Finished games that wait in actors to be published, of the ten with most. A full outbox makes its actor wait.",
            "short",
            [("topk(10, sum by (pod) (fogfall_outbox_parts{@}))", "{{pod}}")],
            w=6,
            min=0,
        ),
    ),
)

LOG = Row(
    "Ingest and replay log",
    (
        quantiles("Storing", "Time until the replay log had stored a game.", "fogfall_append_seconds", w=6),
        heat("Storing, all times", "How often storing a game took how long.", "s", "fogfall_append_seconds", w=6),
        graph(
            "Redeliveries",
            "Games that the bus delivered more than once, a second: an ingester died or was too slow to settle them.",
            "count:games/s",
            [(rate("fogfall_redeliveries_total"), "{{run}}")],
            w=6,
            min=0,
        ),
        number(
            "Since a game was stored",
            "Time since a game was last stored, by any ingester.",
            "s",
            [("time() - (max by (run) (fogfall_last_stored_timestamp_seconds{@}) > 0)", "{{run}}")],
            w=3,
            h=8,
            levels=steps((300, ORANGE), (900, RED)),
            decimals=0,
        ),
        number(
            "Losses of the log",
            "Times that the replay log was found to have lost rows, in the time shown: its server forgot them.",
            "short",
            "sum(increase(fogfall_replay_log_losses_total{@}[$__range])) or vector(0)",
            w=3,
            h=8,
            levels=steps((1, RED)),
            graph_mode="none",
            decimals=0,
        ),
        graph(
            "Rows in the replay log",
            "Rows in the replay log and how many it may hold. Full is as it should be: the oldest rows leave.",
            "short",
            [
                ("max by (run) (fogfall_replay_log_rows{@})", "{{run}} rows"),
                ("max by (run) (fogfall_replay_log_capacity_rows{@})", "{{run}} capacity"),
            ],
            min=0,
        ),
        graph(
            "Bytes of the replay log",
            "Bytes that the replay log takes and how many it may take.",
            "bytes",
            [
                ("max by (run) (fogfall_replay_log_bytes{@})", "{{run}} taken"),
                ("max by (run) (fogfall_replay_log_capacity_bytes{@})", "{{run}} capacity"),
            ],
            min=0,
        ),
        graph(
            "Skipped rows",
            "Rows a second that left the replay log before the learner had read them.",
            "count:rows/s",
            [(rate("fogfall_rows_skipped_total"), "{{run}}")],
            min=0,
        ),
    ),
)

PROCESSES = Row(
    "Ingesters",
    (
        graph(
            "CPU",
            "Cores that an ingester uses.",
            "short",
            [(f'sum by (pod) (rate(process_cpu_seconds_total{{@,role="ingester"}}{RATE}))', "{{pod}}")],
            min=0,
        ),
        graph(
            "Memory",
            "Resident memory of an ingester.",
            "bytes",
            [('max by (pod) (process_resident_memory_bytes{@,role="ingester"})', "{{pod}}")],
            min=0,
        ),
        graph(
            "Ready",
            "Ingesters that miss nothing, and all.",
            "short",
            [
                ('sum by (run) (fogfall_ready{@,role="ingester"})', "{{run}} ready"),
                ('count by (run) (fogfall_ready{@,role="ingester"})', "{{run}} all"),
            ],
            min=0,
            decimals=0,
        ),
    ),
)

NATS = Row(
    "NATS (with its exporter)",
    (
        graph(
            "Storage",
            "Bytes that JetStream stores on each server, and how many it may.",
            "bytes",
            [
                (f"max by (pod) (jetstream_server_total_message_bytes{{{SERVERS}}})", "{{pod}} taken"),
                (f"max by (pod) (jetstream_server_max_storage{{{SERVERS}}})", "{{pod}} capacity"),
            ],
            min=0,
        ),
        graph(
            "Streams",
            "Bytes of each stream.",
            "bytes",
            [(f"max by (stream_name) (jetstream_stream_total_bytes{{{SERVERS}}})", "{{stream_name}}")],
            min=0,
        ),
        graph(
            "Consumers",
            "Messages that a consumer has yet to be given, and those given and not settled.",
            "short",
            [
                (
                    f"max by (stream_name, consumer_name) (jetstream_consumer_num_pending{{{SERVERS}}})",
                    "{{stream_name}} {{consumer_name}} pending",
                ),
                (
                    f"max by (stream_name, consumer_name) (jetstream_consumer_num_ack_pending{{{SERVERS}}})",
                    "{{stream_name}} {{consumer_name}} in hand",
                ),
            ],
            min=0,
        ),
        graph(
            "Traffic",
            "Bytes a second that each server takes in and gives out. Weights go out to every actor.",
            "Bps",
            [
                (f"sum by (pod) (rate(gnatsd_varz_in_bytes{{{SERVERS}}}{RATE}))", "{{pod}} in"),
                (f"sum by (pod) (rate(gnatsd_varz_out_bytes{{{SERVERS}}}{RATE}))", "{{pod}} out"),
            ],
            min=0,
        ),
        graph(
            "Connections",
            "Clients of each server.",
            "short",
            [(f"max by (pod) (gnatsd_varz_connections{{{SERVERS}}})", "{{pod}}")],
            min=0,
            decimals=0,
        ),
        graph(
            "Slow consumers",
            "Clients that a server cut off because they did not read, since it started.",
            "short",
            [(f"max by (pod) (gnatsd_varz_slow_consumers{{{SERVERS}}})", "{{pod}}")],
            min=0,
            decimals=0,
        ),
    ),
    collapsed=True,
)

REDIS = Row(
    "Redis (with its exporter)",
    (
        graph(
            "Memory",
            "Bytes that Redis uses, and how many it may.",
            "bytes",
            [
                (f"max by (pod) (redis_memory_used_bytes{{{SERVERS}}})", "{{pod}} used"),
                (f"max by (pod) (redis_memory_max_bytes{{{SERVERS}}})", "{{pod}} capacity"),
            ],
            min=0,
        ),
        graph(
            "Commands",
            "Commands a second.",
            "count:/s",
            [(f"sum by (pod) (rate(redis_commands_processed_total{{{SERVERS}}}{RATE}))", "{{pod}}")],
            min=0,
        ),
        graph(
            "Clients",
            "Connections of clients.",
            "short",
            [(f"max by (pod) (redis_connected_clients{{{SERVERS}}})", "{{pod}}")],
            min=0,
            decimals=0,
        ),
        graph(
            "Append-only file",
            "Bytes of the append-only file, which rows come back from after a restart.",
            "bytes",
            [(f"max by (pod) (redis_aof_current_size_bytes{{{SERVERS}}})", "{{pod}}")],
            min=0,
        ),
        graph(
            "Evicted keys",
            "Keys that Redis threw away for room, a second. Must be 0: with maxmemory-policy noeviction it cannot be"
            " otherwise.",
            "count:/s",
            [(f"sum by (pod) (rate(redis_evicted_keys_total{{{SERVERS}}}{RATE}))", "{{pod}}")],
            min=0,
        ),
        graph(
            "Last write of the append-only file",
            "1 if the last write succeeded, 0 if not: then rows are lost when the server restarts.",
            "bool_yes_no",
            [(f"min by (pod) (redis_aof_last_write_status{{{SERVERS}}})", "{{pod}}")],
            min=0,
            max=1,
        ),
    ),
    collapsed=True,
)

DASHBOARD = Dashboard(
    uid="fogfall-data",
    title="Fogfall / Data path",
    about="How games get from actors over the bus into the replay log and the learner's window.",
    rows=(FLOW, BUS, LOG, PROCESSES, NATS, REDIS),
)
