"""Event files of a run, read back by TensorBoard's own reader, hold what metrics.jsonl holds, over two starts."""

import json
import math
import os
import pathlib
import subprocess

import pytest
from tensorboard.backend.event_processing import event_accumulator, io_wrapper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARIES = pathlib.Path(os.environ.get("FOGFALL_BINARIES", ROOT / "target" / "debug"))
# The learner takes every variable that begins like this for a setting.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "FOGFALL_BINARIES"}
SETTINGS = "--selfplay-threads=1 --min-rows=500 --match-every-s=1 --match-pairs=5 --metrics-every-s=1 --tensorboard --json --metrics-addr=none"


def learn(run_dir, *more):
    command = [BINARIES / "learner", "--local", "--run-dir", run_dir, *SETTINGS.split(), *more]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("runs") / "kuhn"
    learn(run_dir, "--game=kuhn_poker", "--steps=600")
    learn(run_dir, "--resume=latest", "--steps=900")
    return run_dir


@pytest.fixture(scope="module")
def scalars(run_dir):
    events = event_accumulator.EventAccumulator(str(run_dir / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: events.Scalars(tag) for tag in events.Tags()["scalars"]}


@pytest.fixture(scope="module")
def statuses(run_dir):
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]


def test_each_start_has_a_file_that_tensorboard_takes_for_one(run_dir):
    files = sorted((run_dir / "tensorboard").iterdir())
    assert len(files) == 2
    assert all(io_wrapper.IsSummaryEventsFile(str(file)) for file in files)


def same(points, written):
    """Every point, a float of 32 bits, is one of those written: pairs of step and value."""
    return all(any(at == step and math.isclose(value, of, rel_tol=1e-6) for at, of in written) for step, value in points)


def test_loss_is_that_of_the_metrics_file(scalars, statuses):
    points = [(event.step, event.value) for event in scalars["loss/policy"]]
    assert len(points) > 2 and points[-1][0] == 900
    assert same(points, [(s["step"], s["loss"]["policy"]) for s in statuses if s["loss"]])


def test_results_of_matches_are_points_at_the_step_of_the_weights_that_played(scalars, statuses):
    results = [r for s in statuses for r in s["win_rates"] if r["opponent"] == "random"]
    points = [(event.step, event.value) for event in scalars["match/random"]]
    assert points and same(points, [(r["step"], r["score"]) for r in results])


def test_every_group_is_there(scalars):
    assert {tag.split("/")[0] for tag in scalars} >= {"loss", "match", "exact", "train", "play", "replay", "wait"}
