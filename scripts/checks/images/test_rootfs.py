"""What the images hold is all that their programs need, and they need no more of a machine than a pod gives them.

Run by `scripts/check-images`, of programs that are built already. Each container's root is read-only and belongs to root, but
where a test says otherwise; what runs there is the chart's user, with pid 1. Machines without namespaces skip what runs.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import tempfile
import time
import urllib.error
import urllib.request

import pytest

from images import container, dockerfile, rootfs
from images.container import Container

TARGETS = [stage.name for stage in dockerfile.targets(dockerfile.stages())]
LACKING = container.lacks()
WITHIN_S = 120
RUN_DIR, RULES = "/var/lib/fogfall", "/etc/fogfall/rules"
# The container runtime of a GPU node brings it.
DRIVER = "libcuda.so.1"

runs = pytest.mark.skipif(LACKING is not None, reason=str(LACKING))
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to somebody else")
each = pytest.mark.parametrize("name", TARGETS)


@pytest.fixture(scope="session")
def laid_out():
    with tempfile.TemporaryDirectory() as folder:
        yield {name: rootfs.assemble(name, pathlib.Path(folder, name), rootfs.programs()) for name in TARGETS}


@pytest.fixture
def volume(tmp_path):
    """An empty volume, and where it is mounted."""
    (tmp_path / "volume").mkdir()
    return {RUN_DIR: tmp_path / "volume"}


def program(image, *words):
    return [*image.stage.entrypoint, *words]


def everything(image):
    """All paths of an image; with each file what would change if it were written to."""
    found = {path: path.lstat() for path in image.path.rglob("*")}
    return {path: None if path.is_dir() else (status.st_size, status.st_mtime_ns) for path, status in found.items()}


def written_to(image, words, volumes):
    """What a program adds or changes outside its volumes if nothing stops it, and all that it says."""
    folders = [image.path, *(path for path in image.path.rglob("*") if path.is_dir() and not path.is_symlink())]
    modes = {path: path.stat().st_mode for path in folders}
    before = everything(image)
    try:
        for path in folders:
            path.chmod(0o1777)
        _, said = Container(image, program(image, *words), volumes, read_only_root=False).run(WITHIN_S)
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    changed = {path for path, what in everything(image).items() if before.get(path, "new") != what}
    return sorted(image.inside(path) for path in changed), said


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answer(port, route):
    """The status of an admin route, and 0 where nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{route}", timeout=5) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


class Running:
    """A container that runs until it is stopped; leaving the block kills what is left of it."""

    def __init__(self, one, folder):
        self.log = folder / "log"
        with self.log.open("wb") as output:
            self.process = one.start(output)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def until(self, holds, what):
        """Waits for it; the container must live as long."""
        last = time.monotonic() + WITHIN_S
        while not holds():
            assert self.process.poll() is None, f"it ended with {self.process.returncode} before {what}:\n{self.log.read_text()}"
            assert time.monotonic() < last, f"not within {WITHIN_S} s: {what}\n{self.log.read_text()}"
            time.sleep(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WITHIN_S)


# --- files ---


@each
def test_an_image_holds_its_program_and_says_its_licence(laid_out, name):
    image = laid_out[name]
    print(f"{name}: {len(image.files)} files, {image.added_bytes / 1e6:.0f} MB, over a base of {image.base_bytes / 1e6:.0f} MB here")
    inside = {image.inside(file) for file in image.files}
    assert {f"/usr/local/bin/{name}", "/usr/share/doc/fogfall/LICENSE"} <= inside


def test_an_actor_is_its_program_alone(laid_out):
    inside = [laid_out["actor"].inside(file) for file in laid_out["actor"].files]
    assert inside == ["/usr/local/bin/actor", "/usr/share/doc/fogfall/LICENSE"]


def test_a_learner_brings_libtorch_with_its_notices(laid_out):
    inside = [laid_out["learner"].inside(file) for file in laid_out["learner"].files]
    assert "/opt/libtorch/torch/lib/libtorch_cpu.so" in inside
    assert [path for path in inside if re.match(r"/opt/libtorch/licences/torch-[\d.]+\.dist-info/", path)]


@each
def test_nothing_is_set_uid_or_open_to_all(laid_out, name):
    modes = {path: path.lstat().st_mode & 0o6002 for path in laid_out[name].path.rglob("*")}
    assert [path for path, mode in modes.items() if mode and path.name != "tmp"] == []


@runs
@as_root
@each
def test_the_user_may_write_to_nothing_but_its_volumes(laid_out, volume, name):
    code, said = Container(laid_out[name], None, volume, read_only_root=False).run()
    assert (code, sorted(json.loads(said))) == (0, ["/tmp", RUN_DIR])


@runs
@each
def test_a_read_only_root_can_be_written_to_at_volumes_alone(laid_out, volume, name):
    code, said = Container(laid_out[name], None, volume).run()
    assert (code, sorted(json.loads(said))) == (0, ["/tmp", RUN_DIR])


@runs
@each
def test_every_library_finds_those_that_it_needs_within_the_image(laid_out, name):
    image = laid_out[name]
    (interpreter,) = [image.inside(file) for file in image.path.rglob("ld-linux*")]
    for file in image.files:
        if file.name != name and ".so" not in file.name:
            continue
        code, said = Container(image, [interpreter, "--list", image.inside(file)]).run()
        found = dict(re.findall(r"^\s*(\S+) => (\S+) \(", said, re.M))
        missing = set(re.findall(r"(\S+) => not found|loading shared libraries: (\S+):", said))
        assert {one for pair in missing for one in pair if one} <= {DRIVER}, f"{file}: {said}"
        assert code == 0 or missing, f"{file}: {said}"
        assert all((image.path / place.lstrip("/")).exists() for place in found.values()), said


# --- programs ---


@runs
@pytest.mark.parametrize(
    ("name", "words"),
    [("actor", ["--help"]), ("actor", ["ingest", "--help"]), ("learner", ["--help"]), ("learner", ["status", "--help"])],
    ids=["actor", "ingester", "learner", "status"],
)
def test_programs_start_and_say_how_they_are_called(laid_out, name, words):
    code, said = Container(laid_out[name], program(laid_out[name], *words)).run()
    assert code == 0, said
    assert "Usage:" in said


@runs
def test_rules_are_read_from_where_the_chart_mounts_them(laid_out, tmp_path):
    settings = tmp_path / "settings"
    settings.mkdir()
    settings.chmod(0o755)
    rules = (dockerfile.ROOT / "common/games/rules/battle.toml").read_text()
    command = program(laid_out["actor"], "rules", "check", f"{RULES}/rules.toml", "--fights=20", "--search-fights=4")
    (settings / "rules.toml").write_text(rules)
    code, said = Container(laid_out["actor"], command, settings={RULES: settings}).run(WITHIN_S)
    assert code in (0, 1), said  # 1: it dislikes what it saw in so few games.
    assert " worth a look" in said
    (settings / "rules.toml").write_text("nonsense = 1\n" + rules)
    code, said = Container(laid_out["actor"], command, settings={RULES: settings}).run(WITHIN_S)
    assert code == 2, said
    assert "nonsense" in said


@runs
@pytest.mark.parametrize("words", [[], ["ingest", "--redis=redis://127.0.0.1:1"]], ids=["actor", "ingester"])
def test_one_that_waits_for_its_servers_is_alive_and_stops_when_asked(laid_out, tmp_path, words):
    port = free_port()
    command = program(laid_out["actor"], *words, "--run=r", "--nats=nats://127.0.0.1:1", f"--metrics-addr=127.0.0.1:{port}", "--json=true")
    with Running(Container(laid_out["actor"], command), tmp_path) as running:
        running.until(lambda: answer(port, "/healthz") == 200, "it says that it is alive")
        assert answer(port, "/readyz") == 503
        assert running.stop() == 0, running.log.read_text()


@runs
def test_a_learner_trains_stops_when_asked_and_goes_on_in_another_container(laid_out, volume, tmp_path):
    image, port = laid_out["learner"], free_port()
    words = ["--local", "--game=kuhn_poker", f"--run-dir={RUN_DIR}/run", f"--metrics-addr=127.0.0.1:{port}", "--json"]
    before = everything(image)
    with Running(Container(image, program(image, *words), volume), tmp_path) as running:
        running.until(lambda: answer(port, "/readyz") == 200, "it is ready")
        running.until(lambda: '"step":' in running.log.read_text(), "it has made steps")
        assert running.stop() == 0, running.log.read_text()
    latest = volume[RUN_DIR] / "run/checkpoints/latest"
    first = os.readlink(latest) if latest.is_symlink() else latest.read_text()

    code, said = Container(image, program(image, *words[:3], "--resume=latest", "--minutes=0.05"), volume).run(WITHIN_S)
    assert code == 0, said
    assert (os.readlink(latest) if latest.is_symlink() else latest.read_text()) > first
    assert everything(image) == before


TRAIN = ["--local", "--game=kuhn_poker", "--steps=100"]


@runs
@pytest.mark.parametrize("words", [[f"--run-dir={RUN_DIR}/run"], []], ids=["where it is told to", "where it likes to"])
def test_a_learner_so_much_as_tries_to_write_to_its_volumes_alone(laid_out, volume, words):
    written, said = written_to(laid_out["learner"], [*TRAIN, *words], volume)
    assert written == [], said
    assert list(volume[RUN_DIR].rglob("weights.safetensors")), said


@runs
def test_an_actor_so_much_as_tries_to_write_nothing(laid_out):
    written, said = written_to(laid_out["actor"], ["rules", "check", "--game=battle_tiny", "--fights=20", "--search-fights=4"], {})
    assert written == [], said
    assert "battle_tiny" in said


@runs
def test_a_run_elsewhere_would_be_seen_and_is_refused_on_a_read_only_root(laid_out):
    image, words = laid_out["learner"], [*TRAIN, "--run-dir=/usr/share/run"]
    code, said = Container(image, program(image, *words)).run(WITHIN_S)
    assert code not in (0, 101), said  # 101: a panic.
    assert "/usr/share/run" in said
    written, said = written_to(image, words, {})
    assert "/usr/share/run/weights.safetensors" in written, said
    shutil.rmtree(image.path / "usr/share/run")
