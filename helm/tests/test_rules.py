"""Alert and recording rules: each alert fires when it should and not when it should not, and says what to do about it.

Cases are run by `promtool test rules` against the rule files themselves. Series are written in promtool's notation, a value
a minute: `5x30` is thirty-one times 5, `0+2x30` counts up from 0 in steps of 2.
"""

import pathlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

import promql
import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "helm"))

from dashboards import metrics  # noqa: E402 (found by the line above)

FILES = sorted((ROOT / "helm" / "fogfall" / "rules").glob("*.yaml"))
RULES = [rule for path in FILES for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
RUNBOOK = (ROOT / "docs" / "operations.md").read_text()
PROMTOOL = shutil.which("promtool", path=ROOT / ".tools" / "bin") or shutil.which("promtool")

IN_RUN = 'namespace="n",release="r",run="duel"'
LABELS = {"namespace": "n", "release": "r", "run": "duel"}


def of(role, name, pod=None, **labels):
    """A series of a process of this role."""
    more = "".join(f',{label}="{value}"' for label, value in labels.items())
    return f'{name}{{{IN_RUN},role="{role}",component="{role}",pod="{pod or role + "-0"}"{more}}}'


@dataclass(frozen=True)
class Case:
    """An alert that fires after `minutes` of one set of series and not of another."""

    alert: str
    minutes: int
    fires: dict
    says: str
    quiet: dict
    labels: dict


def case(alert, minutes, fires, says, quiet, labels=None):
    return Case(alert, minutes, fires, says, quiet, {**LABELS, **(labels or {})})


def only(alert, minutes, fires, says, quiet, labels):
    """A case of an alert whose labels are others than those of a run."""
    return Case(alert, minutes, fires, says, quiet, labels)


ACTOR = of("actor", "fogfall_build_info", version="1")
LEARNER = of("learner", "fogfall_build_info", version="1")
GAMES = of("actor", "fogfall_games_total")
STEPS = of("learner", "fogfall_steps_total")
STARTED = of("learner", "process_start_time_seconds")
SAVED = of("learner", "fogfall_last_checkpoint_timestamp_seconds")
RATIO, WANTED = of("learner", "fogfall_replay_ratio"), of("learner", "fogfall_replay_ratio_wanted")
SAMPLED, STORED = of("learner", "fogfall_rows_sampled_total"), of("ingester", "fogfall_rows_stored_total")
ROWS = of("learner", "fogfall_window_rows")
NEEDED = of("learner", "fogfall_window_needed_rows")
HOLDS = of("learner", "fogfall_window_capacity_rows")
LEADS, FOLLOWS = of("learner", "fogfall_weights_step"), of("actor", "fogfall_weights_step")


def train(phase):
    return of("learner", "fogfall_train_seconds_total", phase=phase)


def loss(term):
    return of("learner", "fogfall_loss", term=term)


def score(end):
    return of("learner", f"fogfall_match_score_{end}", opponent="greedy")


def settled(outcome):
    return of("ingester", "fogfall_parts_settled_total", outcome=outcome)


CASES = [
    case(
        "FogfallLearnerAbsent",
        10,
        {ACTOR: "1x10"},
        "1 processes work for run duel, but none of them is its learner.",
        {ACTOR: "1x10", LEARNER: "1x10"},
    ),
    case(
        # The last step was taken at 60 s: at 15 min, 900 s, that is 840 s ago.
        "FogfallLearnerStalled",
        15,
        # Started at 60 s, with rows enough, and no step since.
        {
            of("learner", "fogfall_last_step_timestamp_seconds"): "0x15",
            of("learner", "process_start_time_seconds"): "60x15",
            of("learner", "fogfall_window_rows"): "500x15",
            of("learner", "fogfall_window_needed_rows"): "500x15",
        },
        "The learner of run duel has taken no train step for 14m 0s.",
        # Too few rows to train on: that is another alert's.
        {
            of("learner", "fogfall_last_step_timestamp_seconds"): "60x15",
            of("learner", "process_start_time_seconds"): "0x15",
            of("learner", "fogfall_window_rows"): "499x15",
            of("learner", "fogfall_window_needed_rows"): "500x15",
        },
    ),
    case(
        "FogfallStepsNotFinite",
        12,
        # 1 step a minute over ten minutes.
        {of("learner", "fogfall_steps_skipped_total"): "0+1x12"},
        "10 train steps of run duel were skipped in ten minutes.",
        {of("learner", "fogfall_steps_skipped_total"): "7x12"},
    ),
    case(
        # A median of 1 over three hours; then 2.5.
        "FogfallLossExploding",
        200,
        {loss("total"): "1x185 2.5x20"},
        "The loss of run duel is 2.5, over twice its median of three hours.",
        {loss("total"): "1x185 1.9x20", loss("policy"): "1x185 9x20"},
        {"term": "total"},
    ),
    case(
        # It scored 0.7 to 0.8 for most of six hours, and now 0.5 to 0.6.
        "FogfallScoreFalling",
        380,
        {score("low"): "0.7x350 0.5x40", score("high"): "0.8x350 0.6x40"},
        "Run duel scores at most 0.60 against greedy, less than the lower end of its usual interval in the last six hours.",
        # The intervals overlap.
        {score("low"): "0.7x350 0.6x40", score("high"): "0.8x350 0.75x40"},
        {"opponent": "greedy"},
    ),
    case(
        "FogfallCheckpointFailing",
        32,
        {of("learner", "fogfall_checkpoints_total", outcome="failed"): "0x20 1x20"},
        "1 checkpoints of run duel failed in half an hour.",
        {
            of("learner", "fogfall_checkpoints_total", outcome="failed"): "3x40",
            of("learner", "fogfall_checkpoints_total", outcome="written"): "0+1x40",
        },
    ),
    case(
        # Written at 600 s, looked at after 50 min, 3000 s: 2400 s ago. The learner itself began at 0.
        "FogfallCheckpointOld",
        50,
        {STEPS: "0+60x50", SAVED: "600x50", STARTED: "0x50"},
        "Run duel trains, but its last checkpoint is 40m 0s old.",
        # None is written yet, but it has only just been started: 1500 s is 25 min before.
        {STEPS: "0+60x50", SAVED: "0x50", STARTED: "1500x50"},
    ),
    case(
        # 54 of 60 seconds.
        "FogfallWindowStarved",
        40,
        {train("wait"): "0+54x40", train("step"): "0+6x40", ROWS: "100x40", NEEDED: "100x40"},
        "The learner of run duel spends 90% of its time waiting for rows.",
        # It still waits for the first rows.
        {train("wait"): "0+54x40", train("step"): "0+6x40", ROWS: "99x40", NEEDED: "100x40"},
    ),
    case(
        # 2 sampled for each stored, of 4 wanted.
        "FogfallWindowFlooded",
        70,
        {SAMPLED: "0+200x70", STORED: "0+100x70", WANTED: "4x70"},
        "Run duel samples each row 2.00 times, under three quarters of what is asked for.",
        {SAMPLED: "0+320x70", STORED: "0+100x70", WANTED: "4x70"},
    ),
    case(
        "FogfallReplayRatioHigh",
        40,
        {RATIO: "6x40", WANTED: "4x40"},
        "Run duel has sampled each row 6.00 times, over five quarters of what is asked for.",
        {RATIO: "6x40", WANTED: "NaN " * 41},  # in lockstep none is asked for
    ),
    case(
        "FogfallRowsSkipped",
        20,
        {of("learner", "fogfall_rows_skipped_total"): "0+10x20"},
        "150 rows of run duel were never read, in a quarter of an hour.",  # 10 a minute
        {of("learner", "fogfall_rows_skipped_total"): "50x20"},
    ),
    case(
        "FogfallReplayLogLost",
        20,
        {of("learner", "fogfall_replay_log_losses_total"): "0+1x20"},
        "The replay log of run duel was found to have lost rows 15 times in a quarter of an hour.",
        {of("learner", "fogfall_replay_log_losses_total"): "1x20"},
    ),
    case(
        "FogfallActorsAbsent",
        15,
        {LEARNER: "1x15"},
        "Run duel has a learner, but no process that plays.",
        {LEARNER: "1x15", GAMES: "0x15"},  # it plays, however badly
    ),
    case(
        "FogfallNoNewGames",
        30,
        {GAMES: "0+5x5 25x30"},
        "Actors of run duel run, but no game has ended in 20 minutes.",
        {GAMES: "0+5x5 25x20 30x10"},  # one at 26 min
    ),
    case(
        "FogfallHungGames",
        5,
        {of("actor", "fogfall_hung_games_total"): "2x5", of("actor", "fogfall_hung_games_total", "actor-1"): "1x5"},
        "3 self-play threads of run duel are lost to games that do not go on.",
        {of("actor", "fogfall_hung_games_total"): "0x5"},
    ),
    case(
        # The learner goes on, the actor stays at 100.
        "FogfallActorsStale",
        40,
        {LEADS: "100+10x40", FOLLOWS: "100x40", of("actor", "fogfall_weights_step", "actor-1"): "100+10x40"},
        "1 actors of run duel play with weights that were replaced over ten minutes ago.",
        # A learner that was started anew from step 300 leads to fewer steps than before: nobody is behind.
        {LEADS: "500x20 300x20", FOLLOWS: "500x20 300x20"},
    ),
    case(
        # 3000 s now; published at 600 s.
        "FogfallNoNewWeights",
        50,
        {STEPS: "0+60x50", of("learner", "fogfall_weights_timestamp_seconds"): "600x50"},
        "Run duel published its last weights 40m 0s ago.",
        {STEPS: "9x50", of("learner", "fogfall_weights_timestamp_seconds"): "600x50"},  # it takes no steps: another alert's
    ),
    case(
        "FogfallWeightsRefused",
        20,
        {of("actor", "fogfall_weights_refused_total"): "0+1x20"},
        "Processes of run duel refused weights 15 times in a quarter of an hour.",
        {of("actor", "fogfall_weights_refused_total"): "4x20"},
    ),
    case(
        # 30 a minute.
        "FogfallNothingStored",
        25,
        {GAMES: "0+30x25", STORED: "100x25"},
        "Run duel plays 0.5 games a second, and no row gets into the replay log.",
        {GAMES: "0+30x25", STORED: "0+1x25"},
    ),
    case(
        "FogfallBusNearlyFull",
        15,
        {of("ingester", "fogfall_bus_bytes"): "900x15", of("ingester", "fogfall_bus_capacity_bytes"): "1000x15"},
        "The bus holds 90% of what it may hold for run duel.",
        {of("ingester", "fogfall_bus_bytes"): "700x15", of("ingester", "fogfall_bus_capacity_bytes"): "1000x15"},
    ),
    case(
        "FogfallReplayLogShort",
        40,
        {
            of("ingester", "fogfall_replay_log_rows"): "500x40",
            of("ingester", "fogfall_replay_log_bytes"): "99x40",
            of("ingester", "fogfall_replay_log_capacity_bytes"): "100x40",
            HOLDS: "600x40",
        },
        "The replay log of run duel is full with 500 rows, less than the learner's window.",
        {
            of("ingester", "fogfall_replay_log_rows"): "600x40",
            of("ingester", "fogfall_replay_log_bytes"): "99x40",
            of("ingester", "fogfall_replay_log_capacity_bytes"): "100x40",
            HOLDS: "600x40",
        },
    ),
    only(
        "FogfallRedisNearlyFull",
        15,
        {
            'redis_memory_used_bytes{namespace="n",release="r",component="redis",pod="redis-0"}': "95x15",
            'redis_memory_max_bytes{namespace="n",release="r",component="redis",pod="redis-0"}': "100x15",
        },
        "The Redis of release r uses 95% of its memory.",
        {
            # 0 is no limit.
            'redis_memory_used_bytes{namespace="n",release="r",component="redis",pod="redis-0"}': "95x15",
            'redis_memory_max_bytes{namespace="n",release="r",component="redis",pod="redis-0"}': "0x15",
        },
        {"namespace": "n", "release": "r"},
    ),
    only(
        "FogfallNatsStoreNearlyFull",
        15,
        {
            'jetstream_server_total_message_bytes{namespace="n",release="r",component="nats",pod="nats-0"}': "90x15",
            'jetstream_server_max_storage{namespace="n",release="r",component="nats",pod="nats-0"}': "100x15",
        },
        "nats-0 of release r uses 90% of its storage.",
        {
            'jetstream_server_total_message_bytes{namespace="n",release="r",component="nats",pod="nats-0"}': "80x15",
            'jetstream_server_max_storage{namespace="n",release="r",component="nats",pod="nats-0"}': "100x15",
        },
        {"namespace": "n", "release": "r", "pod": "nats-0"},
    ),
    case(
        "FogfallPartsRefused",
        20,
        {settled("refused"): "0+2x20"},
        "30 games of run duel were refused in a quarter of an hour.",
        {settled("refused"): "8x20", settled("stored"): "0+9x20"},
    ),
    case(
        # 1 of 4.
        "FogfallPartsStale",
        40,
        {settled("stale"): "0+10x40", settled("stored"): "0+30x40", settled("duplicate"): "0+70x40"},
        "25% of the games of run duel were made by weights that are too old.",
        {settled("stale"): "0+1x40", settled("stored"): "0+30x40"},  # 1 of 31
    ),
    only(
        "FogfallDown",
        15,
        {
            'up{namespace="n",release="r",component="actor",pod="actor-0"}': "0x15",
            'up{namespace="n",release="r",component="actor",pod="actor-1"}': "1x15",
        },
        "1 of the processes actor of release r do not answer.",
        {
            'up{namespace="n",release="r",component="actor",pod="actor-0"}': "1x15",
            'up{namespace="n",component="learner",pod="of-somebody-else"}': "0x15",
        },
        {"namespace": "n", "release": "r", "component": "actor"},
    ),
    case(
        "FogfallRestarting",
        30,
        {of("actor", "process_start_time_seconds"): "0x8 600x8 1100x8 1600x8"},
        "actor actor-0 of run duel was started 3 times in half an hour.",
        {of("actor", "process_start_time_seconds"): "0x15 900x15"},  # once: an update
        {"role": "actor", "pod": "actor-0"},
    ),
    case(
        "FogfallHeartbeatOld",
        5,
        {of("learner", "fogfall_heartbeat_age_seconds", loop="train loop"): "100x5"},
        "train loop of learner learner-0 (run duel) has not moved for 1m 40s, and its process is soon started anew.",
        {of("learner", "fogfall_heartbeat_age_seconds", loop="train loop"): "80x5"},
        {"role": "learner", "pod": "learner-0", "loop": "train loop"},
    ),
    case(
        "FogfallNotReady",
        20,
        {of("actor", "fogfall_ready"): "0x20", of("actor", "fogfall_ready", "actor-1"): "1x20"},
        "1 of the processes actor of run duel still miss something that they need.",
        {of("actor", "fogfall_ready"): "0x10 1x10"},
        {"role": "actor"},
    ),
]


def promtool(*arguments):
    assert PROMTOOL, "promtool is missing: run scripts/setup checks"
    return subprocess.run([PROMTOOL, *map(str, arguments)], capture_output=True, text=True, check=False)


def tried(directory, one, series, fires):
    """What promtool says of a case."""
    annotations = {**ALERTS[one.alert]["annotations"], "description": one.says}
    labels = {**one.labels, **ALERTS[one.alert]["labels"]}
    expected = [{"exp_labels": labels, "exp_annotations": annotations}] if fires else []
    test = {
        "rule_files": [str(path) for path in FILES],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "alert_rule_test": [{"eval_time": f"{one.minutes}m", "alertname": one.alert, "exp_alerts": expected}],
            }
        ],
    }
    path = directory / "test.yaml"
    path.write_text(yaml.safe_dump(test))
    return promtool("test", "rules", path)


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.alert)
def test_an_alert_fires(one, tmp_path):
    said = tried(tmp_path, one, one.fires, fires=True)
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.alert)
def test_an_alert_does_not_fire(one, tmp_path):
    said = tried(tmp_path, one, one.quiet, fires=False)
    assert said.returncode == 0, said.stdout + said.stderr


def test_every_alert_has_a_case():
    assert [one.alert for one in CASES] == list(ALERTS)


RECORDED = [
    # 60 and 120 a minute are 1 and 2 a second.
    (
        "run:fogfall_games:rate5m",
        {GAMES: "0+60x10", of("actor", "fogfall_games_total", "actor-1"): "0+120x10"},
        3,
    ),
    ("run:fogfall_decisions:rate5m", {of("actor", "fogfall_decisions_total"): "0+60x10"}, 1),
    ("run:fogfall_simulations:rate5m", {of("actor", "fogfall_simulations_total"): "0+600x10"}, 10),
    ("run:fogfall_rows_stored:rate5m", {STORED: "0+60x10"}, 1),
    ("run:fogfall_rows_sampled:rate5m", {SAMPLED: "0+120x10"}, 2),
    ("run:fogfall_steps:rate5m", {STEPS: "0+30x10"}, 0.5),
    ("run:fogfall_train_wait:ratio_rate5m", {train("wait"): "0+15x10", train("step"): "0+45x10"}, 0.25),
    (
        "run:fogfall_play_wait:ratio_rate5m",
        {of("actor", "fogfall_play_seconds_total", phase=phase): f"0+{s}x10" for phase, s in [("wait", 3), ("search", 9)]},
        0.25,
    ),
    # Two ingesters see the same bus.
    (
        "run:fogfall_bus_fill:ratio",
        {
            of("ingester", "fogfall_bus_bytes"): "50x10",
            of("ingester", "fogfall_bus_capacity_bytes"): "100x10",
            of("ingester", "fogfall_bus_bytes", "ingester-1"): "51x10",
            of("ingester", "fogfall_bus_capacity_bytes", "ingester-1"): "100x10",
        },
        0.51,
    ),
    ("run:fogfall_replay_ratio:rate30m", {SAMPLED: "0+200x10", STORED: "0+50x10"}, 4),
    ("run:fogfall_loss:max", {loss("total"): "2x10"}, 2),
    ("run:fogfall_match_score_low:max", {score("low"): "0.4x10"}, 0.4),
    ("run:fogfall_match_score_high:max", {score("high"): "0.6x10"}, 0.6),
]


@pytest.mark.parametrize(("name", "series", "value"), RECORDED, ids=[name for name, _, _ in RECORDED])
def test_a_figure_is_recorded_by_namespace_release_and_run(name, series, value, tmp_path):
    more = {"run:fogfall_loss:max": ',term="total"'}.get(name, ',opponent="greedy"' if "match" in name else "")
    sample = {"labels": f"{name}{{{IN_RUN}{more}}}", "value": value}
    test = {
        "rule_files": [str(path) for path in FILES],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "promql_expr_test": [{"expr": name, "eval_time": "10m", "exp_samples": [sample]}],
            }
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    said = promtool("test", "rules", tmp_path / "test.yaml")
    assert said.returncode == 0, said.stdout + said.stderr


def test_every_recorded_figure_has_a_case():
    assert [name for name, _, _ in RECORDED] == [rule["record"] for rule in RULES if "record" in rule]


def test_prometheus_takes_the_rules():
    said = promtool("check", "rules", *FILES)
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_says_how_bad_it_is_what_it_is_and_where_it_is_explained(alert):
    rule = ALERTS[alert]
    assert alert.startswith("Fogfall")
    assert rule["labels"].keys() == {"severity"} and rule["labels"]["severity"] in ("critical", "warning")
    annotations = rule["annotations"]
    assert annotations.keys() == {"summary", "description", "runbook_url"}
    assert "{{" not in annotations["summary"], "the same for all, so that they can be grouped"
    assert "{{ $labels." in annotations["description"] and annotations["description"].endswith(".")
    assert annotations["runbook_url"] == f"docs/operations.md#{alert.lower()}"
    section = re.search(rf"^### {alert}\n(.*?)(?=^##|\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)
    assert section, f"docs/operations.md has no section {alert}"
    for word in ("Means", "Look", "Do"):
        assert f"**{word}**" in section[1], f"the section of {alert} does not say: {word}"


def test_no_section_is_left_of_an_alert_that_is_gone():
    assert re.findall(r"^### (Fogfall\w+)$", RUNBOOK, re.MULTILINE) == list(ALERTS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_asks_for_metrics_that_there_are(rule):
    recorded = {rule["record"] for rule in RULES if "record" in rule}
    known = metrics.PRODUCT.keys() | metrics.PROCESS | metrics.PROMETHEUS | metrics.EXPORTED | recorded
    assert {metrics.family(name) for name in promql.metrics(rule["expr"])} <= known
    assert promql.strange_labels(rule["expr"]) == []
    # Hung games are threads lost of processes that live: their number is what is meant.
    assert promql.bare_counters(rule["expr"]) in ([], ["fogfall_hung_games_total"])
