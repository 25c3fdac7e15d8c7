"""Dockerfile is pinned, small and safe, and fits the chart; scripts/images calls container engines as it should.

What the images hold is laid out and run by `scripts/check-images`, with no engine; engines here are made up.
"""

import fnmatch
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "checks"))

from images import dockerfile  # noqa: E402 (found by the line above)

STAGES = dockerfile.stages()
TARGETS = {stage.name: stage for stage in dockerfile.targets(STAGES)}
VALUES = yaml.safe_load((ROOT / "helm/fogfall/values.yaml").read_text())
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
OUTSIDE = sorted({stage.base for stage in STAGES.values() if stage.base not in STAGES})
# Instructions that need neither a shell nor a package manager in the base.
HARMLESS = {"ARG", "LABEL", "COPY", "ENV", "WORKDIR", "USER", "HEALTHCHECK", "ENTRYPOINT"}
HADOLINT = shutil.which("hadolint", path=ROOT / ".tools/checks/bin") or shutil.which("hadolint")

each_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


def sent(path):
    """Whether .dockerignore lets a file of the repository into a build: its last line that fits decides."""
    found = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!")
        if not line or line.startswith("#"):
            continue
        parents = [str(one) for one in (path, *path.parents)]
        if any(fnmatch.fnmatch(one, pattern) or pattern == f"**/{pathlib.PurePath(one).name}" for one in parents):
            found = line.startswith("!")
    return found


# --- Dockerfile ---


def test_the_linter_has_no_objection():
    assert HADOLINT, "scripts/setup checks installs hadolint"
    done = subprocess.run([HADOLINT, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("image", OUTSIDE)
def test_images_from_outside_are_pinned_by_tag_and_digest(image):
    match = re.fullmatch(r"[\w.-]+\.[\w-]+/[\w./-]+:([\w.-]+)@sha256:[0-9a-f]{64}", image)
    assert match, image
    assert match[1] != "latest"


def test_the_compiler_is_the_one_that_the_workspace_asks_for():
    (rust,) = [image for image in OUTSIDE if "/rust:" in image]
    assert f"/rust:{WORKSPACE['package']['rust-version']}." in rust


def test_images_are_those_that_the_chart_runs():
    assert {f"fogfall-{name}" for name in TARGETS} == {VALUES[one]["image"]["repository"] for one in ("actor", "learner")}


@each_target
def test_the_user_is_the_charts_and_never_root(target):
    assert target.user == (VALUES["security"]["userId"],) * 2
    assert target.user[0] > 10000


@each_target
def test_the_chart_calls_the_program_by_its_place(target):
    templates = (ROOT / "helm/fogfall/templates").rglob("*.yaml")
    called = {word for file in templates for word in re.findall(r"command:\s+- (\S*/bin/\S+)", file.read_text())}
    assert target.entrypoint == [f"/usr/local/bin/{target.name}"]
    assert set(target.entrypoint) <= called


@each_target
def test_the_last_stage_needs_no_shell_in_its_base(target):
    assert {one.keyword for one in target.instructions} <= HARMLESS


@each_target
def test_all_that_an_image_adds_is_laid_out_by_one_script(target):
    for copy in target.all("COPY"):
        name, out = dockerfile.laid_out_by(STAGES[copy.flags["from"]])
        assert name == target.name
        assert pathlib.PurePath(copy.words[0]).is_relative_to(out)


@each_target
def test_the_user_owns_nothing_but_what_stands_for_a_volume(target):
    owners = {copy.words[1]: copy.flags["chown"] for copy in target.all("COPY")}
    mine = [place for place, owner in owners.items() if owner != "0:0"]
    assert mine in ([], ["/var/lib/fogfall/"])


@each_target
def test_labels_say_what_an_image_is(target):
    labels = target.pairs("LABEL")
    title = labels.pop("org.opencontainers.image.title")
    assert title == f"fogfall-{target.name}"
    assert labels["org.opencontainers.image.licenses"] == WORKSPACE["package"]["license"]
    wanted = {"description", "licenses", "version", "revision"}
    assert set(labels) == {f"org.opencontainers.image.{one}" for one in wanted}


def test_what_a_gpu_node_must_have_is_what_libtorch_was_built_for():
    (major, minor) = re.search(r"^nvidia-cuda-runtime==(\d+)\.(\d+)\.", (ROOT / "scripts/libtorch-cpu.txt").read_text(), re.M).groups()
    assert TARGETS["learner"].pairs("ENV")["NVIDIA_REQUIRE_CUDA"] == f"cuda>={major}.{minor}"


def test_no_build_takes_or_keeps_a_secret():
    names = [word.partition("=")[0] for stage in STAGES.values() for key in ("ARG", "ENV") for one in stage.all(key) for word in one.words]
    assert not [name for name in names if re.search(r"PASS|SECRET|TOKEN|CREDENTIAL|KEY", name)]


def test_all_that_is_copied_into_a_build_is_there_and_sent():
    copied = [word for stage in STAGES.values() for one in stage.all("COPY") if "from" not in one.flags for word in one.words[:-1]]
    assert "." in copied
    for word in copied:
        assert (ROOT / word).exists(), word
        assert word == "." or sent(pathlib.PurePath(word)), word


def test_builds_are_sent_every_crate_and_little_else():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [pathlib.PurePath(name) for name in listed.split("\0") if name]
    crates = [file for file in files if any(file.is_relative_to(member) for member in WORKSPACE["members"])]
    unsent = [str(file) for file in crates if not sent(file) and not file.is_relative_to("proto/fuzz")]
    assert unsent == []
    assert sent(pathlib.PurePath("Cargo.lock"))
    for kept in ("README.md", "helm/fogfall/values.yaml", ".git/config", "target/release/actor", ".libtorch/stamp", "rust-toolchain.toml"):
        assert not sent(pathlib.PurePath(kept)), kept


# --- scripts/images ---


class Engines:
    """Made-up engines, in front of real ones in PATH. Each writes down what it is called with."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("docker", "podman", "buildah"):
            self.make(name, "exit 1")

    def make(self, name, script):
        file = self.folder / name
        file.write_text(f'#!/bin/sh\n[ "$1" = info ] || echo "{name} $*" >>"{self.folder}/calls"\n{script}\n')
        file.chmod(0o755)

    def images(self, *words):
        done = subprocess.run(
            [ROOT / "scripts/images", *words],
            env={"PATH": f"{self.folder}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder)},
            capture_output=True,
            text=True,
        )
        calls = self.folder / "calls"
        return done, calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def engines(tmp_path):
    return Engines(tmp_path)


def options(call):
    """The values of a call's options, each a list."""
    found = {}
    for key, value in re.findall(r"--([\w-]+) ([^\s-]\S*)", call):
        found.setdefault(key, []).append(value)
    return found


def test_both_images_are_built_under_the_names_and_the_tag_that_the_chart_takes(engines):
    engines.make("docker", "exit 0")
    done, calls = engines.images()
    assert done.returncode == 0, done.stderr
    builds = [call for call in calls if call.startswith("docker buildx build ")]
    version = yaml.safe_load((ROOT / "helm/fogfall/Chart.yaml").read_text())["appVersion"]
    assert [options(call)["tag"] for call in builds] == [[f"fogfall-actor:{version}"], [f"fogfall-learner:{version}"]]
    assert [options(call)["target"] for call in builds] == [["actor"], ["learner"]]
    assert all("FOGFALL_CUDA=1" in call and "--load ." in call for call in builds)
    assert options(builds[1])["platform"] == ["linux/amd64"]


def test_a_learner_without_cuda_has_a_tag_of_its_own(engines):
    engines.make("docker", "exit 0")
    _, calls = engines.images("learner", "--cpu", "--tag", "7", "--registry", "registry.example/team/", "--push", "--build-arg", "BASE_IMAGE=a")
    assert options(calls[-1])["tag"] == ["registry.example/team/fogfall-learner:7-cpu"]
    assert {"FOGFALL_CUDA=0", "BASE_IMAGE=a"} <= set(options(calls[-1])["build-arg"])
    assert "--push ." in calls[-1]


def test_the_next_engine_is_taken_where_one_does_not_work(engines):
    engines.make("podman", "exit 0")
    done, calls = engines.images("actor", "--tag", "7", "--platform", "linux/arm64", "--push")
    assert done.returncode == 0, done.stderr
    assert calls[0].startswith("podman build ")
    assert options(calls[0])["platform"] == ["linux/arm64"]
    assert calls[1:] == ["podman push fogfall-actor:7"]


def test_without_an_engine_it_says_what_is_missing_and_what_is_left(engines):
    done, calls = engines.images()
    assert done.returncode == 1
    assert calls == []
    assert "docker is here, but no daemon answers it; podman is here, but `podman info` fails" in done.stderr
    assert "scripts/rootfs learner FOLDER" in done.stderr


def test_a_failed_build_is_a_failure_and_pushes_nothing(engines):
    engines.make("buildah", '[ "$1" = info ]')
    done, calls = engines.images("--push")
    assert done.returncode == 1
    assert len(calls) == 1
    assert calls[0].startswith("buildah build ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--cuda"], "unknown argument: --cuda"),
        (["--tag"], "--tag needs a value"),
        (["--engine", "crane"], "unknown engine: crane"),
        (["learner", "--platform", "linux/arm64"], "scripts/images actor --platform linux/arm64"),
        (["actor", "--platform", "linux/amd64,linux/arm64"], "one platform at a time"),
    ],
)
def test_mistakes_are_refused_with_a_sentence(engines, words, says):
    engines.make("docker", "exit 0")
    done, calls = engines.images(*words)
    assert done.returncode == 1
    assert calls == []
    assert says in done.stderr
