"""Every query has data where every metric has: asked of a Prometheus with made-up series, so that queries of exporters are
asked too, which no cluster here runs. That the product does serve its metrics is asked of a real one by
`scripts/check-dashboards`, whose questions these are.
"""

import contextlib
import importlib.machinery
import importlib.util
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = ROOT / ".tools" / "bin"
sys.path.insert(0, str(ROOT / "helm"))

from dashboards import metrics  # noqa: E402 (found by the line above)

loader = importlib.machinery.SourceFileLoader("check_dashboards", str(ROOT / "scripts" / "check-dashboards"))
check_dashboards = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(check_dashboards)

# Long enough for all windows of queries and rules. It ends now: nothing older can be recorded beside what is stored.
PAST_S, EVERY_S = 1800, 15
ANSWERS_WITHIN_S = 60

ROLES = ("actor", "ingester", "learner")
# What exporters name: the labels that Prometheus gives their targets, and their own.
OF_EXPORTERS = {
    "prometheus-nats-exporter": {"component": "nats", "pod": "nats-0", "stream_name": "s", "consumer_name": "c"},
    "redis_exporter": {"component": "redis", "pod": "redis-0"},
    "dcgm-exporter": {"pod": "duel-learner-0", "Hostname": "h", "gpu": "0"},
}


def program(name):
    own = TOOLS / name
    found = str(own) if own.exists() else shutil.which(name)
    assert found, f"{name} is missing: run scripts/setup checks"
    return found


def series():
    """(metric, labels) of everything, made up."""
    release = {"namespace": "n", "release": "r"}
    for role in ROLES:
        process = {**release, "run": "duel", "role": role, "component": role, "pod": f"{role}-0"}
        for name, metric in metrics.PRODUCT.items():
            for value in metric.values or ("x",) if metric.label else (None,):
                yield name, process | ({metric.label: value} if metric.label else {})
        for name in metrics.PROCESS:
            yield name, process
    for exporter, labels in OF_EXPORTERS.items():
        for name in metrics.EXPORTERS[exporter]:
            yield name, release | labels


def samples(name, labels, times):
    """Lines of OpenMetrics: all counts grow by one a sample, all else is a moment ago."""

    def line(full, value, at, **more):
        text = ",".join(f'{key}="{one}"' for key, one in (labels | more).items())
        return f"{full}{{{text}}} {value} {at}"

    for i, at in enumerate(times):
        if metrics.family(f"{name}_sum") == name:
            for le, share in (("0.5", 1), ("1.0", 2), ("+Inf", 3)):
                yield line(f"{name}_bucket", i * share, at, le=le)
            yield line(f"{name}_sum", i, at)
            yield line(f"{name}_count", i * 3, at)
        else:
            yield line(name, i if name.endswith("_total") else at - 60, at)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    """A Prometheus with the rules and these series; it scrapes nothing."""
    directory = tmp_path_factory.mktemp("prometheus")
    now = int(time.time())
    times = range(now - PAST_S, now, EVERY_S)
    families = {}
    for name, labels in series():
        families.setdefault(name, []).extend(samples(name, labels, times))
    lines = []
    for name, of_it in families.items():
        kind = "histogram" if metrics.family(f"{name}_sum") == name else "counter" if name.endswith("_total") else "gauge"
        lines += [f"# TYPE {name.removesuffix('_total')} {kind}", *of_it]
    (directory / "series").write_text("\n".join([*lines, "# EOF", ""]))
    blocks = [program("promtool"), "tsdb", "create-blocks-from", "openmetrics", directory / "series", directory / "data"]
    subprocess.run(blocks, check=True, capture_output=True)
    rules = ROOT / "helm" / "fogfall" / "rules" / "*.yaml"
    (directory / "prometheus.yml").write_text(f"global: {{evaluation_interval: 1s}}\nrule_files: ['{rules}']\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with open(directory / "log", "w") as log:
        options = [f"--config.file={directory / 'prometheus.yml'}", f"--storage.tsdb.path={directory / 'data'}"]
        server = subprocess.Popen([program("prometheus"), *options, f"--web.listen-address={address}"], stderr=log)
    try:
        wait_until_ready(server, address, directory / "log")
        yield check_dashboards.Prometheus(f"http://{address}")
    finally:
        server.terminate()
        server.wait()


def wait_until_ready(server, address, log):
    until = time.monotonic() + ANSWERS_WITHIN_S
    while time.monotonic() < until and server.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://{address}/-/ready", timeout=1).close()
            return
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def test_every_query_has_data_where_every_metric_has(prometheus):
    asked = check_dashboards.ask_all(prometheus, ANSWERS_WITHIN_S, exporters=True)
    assert len(asked) > 100
    assert [f"{q.board}: {q.title}: {q.answer}: {q.expr}" for q in asked if not q.done] == []


def test_all_rules_are_evaluated(prometheus):
    assert check_dashboards.check_rules(prometheus, ANSWERS_WITHIN_S) == []


def test_a_query_without_data_and_one_that_is_refused_are_found(prometheus):
    asked = [
        check_dashboards.Question("board", "panel", "title", expr)
        for expr in (
            "fogfall_no_such_metric",
            "rate(fogfall_games_total)",
            "fogfall_games_total / 0 - Inf",
            "fogfall_games_total",
        )
    ]
    for question in asked:
        question.ask(prometheus, {})
    empty, refused, no_number, good = asked
    assert (empty.well, empty.answer) == (False, "0 series")
    assert not refused.well and refused.answer.startswith("refused: ")
    assert (no_number.well, no_number.answer) == (False, "3 series, not a number")
    assert (good.well, good.answer) == (True, "3 series")


def test_a_query_for_an_exporter_that_is_not_here_may_be_empty_but_not_refused(prometheus):
    empty = check_dashboards.Question("board", "panel", "title", 'redis_memory_used_bytes{pod="none"}')
    refused = check_dashboards.Question("board", "panel", "title", "rate(redis_memory_used_bytes)")
    for question in (empty, refused):
        question.ask(prometheus, {})
    assert (empty.done, empty.well, refused.well) == (False, True, False)
