"""Which metrics there are: those of the product, of its processes, and of exporters that may or may not run beside it."""

import pathlib
import re
from dataclasses import dataclass

# Written from common/service/src/metrics/names.rs, and held to it by a test there.
LIST = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "metrics.md"
# | `name` | kind | unit | `label`: value, value | what |
ROW = re.compile(r"^\| `(fogfall_\w+)` \| (\w+) \| [\w ]* \| (?:`(\w+)`(?:: ([^|]+))?)? \|", re.MULTILINE)


@dataclass(frozen=True)
class Metric:
    """A metric of the product: counter, gauge or histogram, and the label that tells its series apart, if it has one."""

    kind: str
    label: str
    values: tuple


def product():
    """The product's own metrics by name."""
    found = {}
    for name, kind, label, values in ROW.findall(LIST.read_text()):
        found[name] = Metric(kind, label, tuple(values.strip().split(", ")) if values else ())
    return found


PRODUCT = product()

# What every process says of itself.
PROCESS = {
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
}

# Said by Prometheus itself.
PROMETHEUS = {"ALERTS", "up"}

# Said by exporters that run beside a server or GPU. Where one is missing, so are its series: queries for them are in rows
# or alerts of their own, and `scripts/check-dashboards` does not ask that they return data.
EXPORTERS = {
    "prometheus-nats-exporter": {
        "gnatsd_varz_connections",
        "gnatsd_varz_in_bytes",
        "gnatsd_varz_out_bytes",
        "gnatsd_varz_slow_consumers",
        "jetstream_consumer_num_ack_pending",
        "jetstream_consumer_num_pending",
        "jetstream_server_max_storage",
        "jetstream_server_total_message_bytes",
        "jetstream_stream_total_bytes",
    },
    "redis_exporter": {
        "redis_aof_current_size_bytes",
        "redis_aof_last_write_status",
        "redis_commands_processed_total",
        "redis_connected_clients",
        "redis_evicted_keys_total",
        "redis_memory_max_bytes",
        "redis_memory_used_bytes",
    },
    "dcgm-exporter": {
        "DCGM_FI_DEV_FB_USED",
        "DCGM_FI_DEV_GPU_TEMP",
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_DEV_POWER_USAGE",
        "DCGM_FI_DEV_XID_ERRORS",
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    },
}
EXPORTED = set().union(*EXPORTERS.values())


def family(name):
    """The metric that a series belongs to: a histogram's series have names of their own."""
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return base if base in PRODUCT and PRODUCT[base].kind == "histogram" else name


def needs_exporter(expr):
    """The exporters without which an expression has no data."""
    words = set(re.findall(r"\w+", expr))
    return sorted(exporter for exporter, metrics in EXPORTERS.items() if metrics & words)
