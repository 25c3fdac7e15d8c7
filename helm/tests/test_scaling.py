"""The model of scripts/scaling: by hand, against its page, and that its inputs say where they come from."""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load():
    """The script as a module; it has no ending that Python knows."""
    loader = importlib.machinery.SourceFileLoader("scaling", str(ROOT / "scripts" / "scaling"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("scaling", loader))
    loader.exec_module(module)
    return module


scaling = load()

# Figures that can be divided in the head.
BY_HAND = {
    "game.simulations": 100,
    "game.us_per_simulation": 10,
    "game.rows_per_game": 10,
    "game.bus_in_bytes": 1000,
    "game.bus_out_bytes": 2000,
    "game.nats_us": 100,
    "game.ingester_us": 500,
    "game.redis_thread_us": 200,
    "game.redis_us": 400,
    "game.redis_bytes_per_row": 2**30 / 1000,
    "game.follow_us_per_row": 1,
    "game.weights_bytes": 1e6,
    "game.step_ms": 10,
    "game.batch_rows": 1000,
    "game.replay_ratio": 5,
    "game.publish_steps": 100,
    "game.log_rows": 1000,
    "actor.nats_us_per_s": 100,
    "nats.leader_of_three": 0.5,
    "nats.all_of_three": 2,
    "nats.link_mb_s": 100,
    "nats.weights_s_per_gib": 2**30 / 1e9,
    "ingester.busy": 0.5,
    "redis.thread_busy": 0.5,
    "redis.spare": 1.5,
    "weights.share_of_link": 0.5,
    "weights.pause_s": 1,
}


def by_hand(actors, threads=1, servers=1, **changed):
    values = BY_HAND | {key.replace("__", "."): value for key, value in changed.items()}
    found, _ = scaling.inputs("battle", [f"{key}={value}" for key, value in values.items()])
    figures, limits = scaling.follow(actors, threads, servers, found)
    return figures, dict(limits)


def test_a_run_that_its_learner_outpaces_is_as_computed_by_hand():
    figures, limits = by_hand(10)
    assert figures["rows_per_s"] == pytest.approx(10_000)  # 10 actors, 1 / (100 * 10 us) rows/s each
    assert figures["games_per_s"] == pytest.approx(1_000)  # 10 rows each
    assert figures["learner_takes_rows_per_s"] == pytest.approx(20_000)  # 1,000 rows / 10 ms / 5
    assert figures["learner_waits"] == pytest.approx(0.5)  # 10,000 of 20,000
    assert figures["rows_left_unused"] == 0
    assert figures["learner_steps_per_s"] == pytest.approx(50)  # half of 100
    assert figures["published_every_s"] == pytest.approx(2)  # 100 steps / 50
    assert figures["weights_mb_per_s"] == pytest.approx(5)  # 10 actors * 1 MB / 2 s
    assert figures["advised_publish_steps"] == 100  # 5 MB/s is less than half of 100
    assert figures["nats_cores_games"] == pytest.approx(0.1)  # 1,000 games * 100 us
    assert figures["nats_cores_weights"] == pytest.approx(0.005)  # 5 MB/s at 1 ns a byte
    assert figures["nats_cores_actors"] == pytest.approx(0.001)  # 10 * 100 us
    assert figures["ingesters"] == 1  # 1,000 * 500 us is half a core, which one may take
    assert figures["redis_thread"] == pytest.approx(0.2)  # 1,000 * 200 us
    assert figures["redis_gib"] == pytest.approx(1.5)  # 1,000 rows of a thousandth GiB, and half more
    assert limits["the learner takes no more rows"] == pytest.approx(0.5)
    assert limits["Redis's main thread"] == pytest.approx(0.4)  # 0.2 of 0.5
    assert limits["the link of a NATS server"] == pytest.approx(0.04)  # 2 MB/s of the half of 100 that weights leave
    assert figures["first_limit"] == "the learner takes no more rows"
    assert figures["first_limit_at_actors"] == 20


def test_beyond_what_redis_carries_actors_wait_and_everything_behind_stays_as_it_is():
    figures, limits = by_hand(100)
    assert limits["Redis's main thread"] == pytest.approx(4)  # 10,000 games * 200 us of 0.5
    assert figures["rows_carried_per_s"] == pytest.approx(25_000)  # a quarter of 100,000
    assert figures["rows_left_unused"] == pytest.approx(0.2)  # 20,000 of 25,000 are used
    assert figures["redis_thread"] == pytest.approx(0.5)
    assert figures["ingesters"] == 3  # 2,500 games * 500 us = 1.25 cores, half a core each
    assert figures["first_limit"] == "the learner takes no more rows"  # 5 times
    assert figures["first_limit_at_actors"] == 20


def test_weights_are_published_so_rarely_that_all_actors_can_fetch_them():
    figures, _ = by_hand(200)
    assert figures["learner_steps_per_s"] == pytest.approx(100)
    assert figures["weights_mb_per_s"] == pytest.approx(200)  # 200 * 1 MB each second
    assert figures["advised_publish_steps"] == 400  # 200 MB in half of 100 MB/s take 4 s
    assert figures["advised_weights_mb_per_s"] == pytest.approx(50)


def test_nobody_fetches_more_often_than_the_pause_before_a_fetch_allows():
    figures, _ = by_hand(20, game__publish_steps=10)
    assert figures["published_every_s"] == pytest.approx(0.1)  # 10 steps of 10 ms
    assert figures["weights_mb_per_s"] == pytest.approx(20)  # once a second all the same
    assert figures["advised_publish_steps"] == 100  # a second apart


def test_three_servers_share_weights_and_connections_and_the_leader_sends_copies():
    one, limits_of_one = by_hand(10, nats__connections_most=100)
    three, limits = by_hand(10, servers=3, nats__connections_most=100)
    assert three["nats_cores_games"] == pytest.approx(2 * one["nats_cores_games"])
    assert limits["the stream of games on NATS"] == pytest.approx(0.5 * limits_of_one["the stream of games on NATS"])
    assert limits["the link of a NATS server"] == pytest.approx(0.08)  # 1,000 * (2,000 + 2 * 1,000) of 50 MB/s
    assert limits["connections of a NATS server"] == pytest.approx(1 / 30)


def test_a_gpu_is_given_by_its_steps():
    assert by_hand(10, learner__steps_per_s=400)[0]["learner_takes_rows_per_s"] == pytest.approx(80_000)


@pytest.mark.parametrize("game", ["battle", "battle_large", "kuhn_poker"])
@pytest.mark.parametrize("threads", [1, 4])
def test_as_many_actors_as_reach_a_limit_use_all_of_it(game, threads):
    found, _ = scaling.inputs(game)
    share = scaling.follow(10, threads, 1, found)[0]["first_limit_share"]
    exactly = round(1e6 / share)  # in units in which rounding is small
    assert scaling.follow(exactly, threads, 1, found)[0]["first_limit_share"] == pytest.approx(1e5, rel=1e-4)


def test_every_input_says_where_it_comes_from_and_names_only_what_exists():
    for game in ("battle", "battle_large", "kuhn_poker"):
        for key, entry in scaling.inputs(game)[0].items():
            assert set(entry) == {"value", "unit", "by", "from"}, key
            assert entry["by"] in ("measured", "code", "assumed"), key
            path = entry["from"].split(",")[0].split()[0]
            assert "/" not in path or (ROOT / path).exists(), key
            assert entry["by"] == "assumed" or "/" in path or path in ("learner", "default"), key


def test_what_is_read_from_the_code_stands_there():
    found, _ = scaling.inputs("battle")
    setup = (ROOT / "common/bus/src/nats/setup.rs").read_text()
    assert "MEMBERS_BYTES: u64 = 8 << 20" in setup and found["nats.members_bytes"]["value"] == 8 << 20
    pulls = (ROOT / "common/bus/src/nats/ingest.rs").read_text()
    limits = (ROOT / "common/bus/src/nats/settings.rs").read_text()
    assert "PULL_PARTS: usize = 256" in pulls and "max_unsettled: 2048" in limits
    assert found["ingester.most"]["value"] == 2048 / 256
    assert "fetch_jitter: Duration::from_secs(2)" in limits and found["weights.pause_s"]["value"] == 2 / 2
    beat = (ROOT / "common/bus/src/bus.rs").read_text()
    assert "BEAT_EVERY: Duration = Duration::from_secs(10)" in beat
    assert found["actor.heartbeat_every_s"]["value"] == 10 * (1 - 0.25 / 2)  # up to a quarter less


def test_the_tables_of_the_page_are_what_the_model_prints():
    page = (ROOT / "docs" / "scaling.md").read_text()
    assert len(scaling.TABLE.findall(page)) == 3
    assert scaling.tables_anew(page) == page, "scripts/scaling --write"


def run(*words):
    return subprocess.run([ROOT / "scripts" / "scaling", *words], capture_output=True, text=True)


def test_what_it_prints_names_every_input_and_the_first_limit():
    done = run("--actors", "1000", "--set", "learner.steps_per_s=200")
    assert done.returncode == 0
    assert all(f"  {key} " in done.stdout for key in scaling.inputs("battle")[0])
    assert "the first limit           the learner takes no more rows" in done.stdout
    told = json.loads(run("--actors", "1000", "--json").stdout)
    assert told["figures"]["first_limit"] in told["limits"]
    assert told["inputs"]["game.log_rows"]["value"] == 1_000_000


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--set", "redis.speed=2"), "there is no input redis.speed"),
        (("--set", "redis.spare=much"), "'much' is no number"),
        (("--set", "redis.spare=-1"), "below 0"),
        (("--game", "chess"), "no inputs for a game chess"),
    ],
)
def test_mistakes_are_refused_with_a_sentence(words, reason):
    done = run("--actors", "10", *words)
    assert done.returncode == 2
    assert reason in done.stderr and "Traceback" not in done.stderr
