"""Which program of this machine stands for which image.

A container sees the programs of its image and, of the machine, only what an image of that kind holds: an image from scratch
has no shell and no libraries, so a probe or hook that needs one fails here as it would on a cluster.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil

from images import dockerfile

from .helm import ROOT, TOOLS

BINARIES = pathlib.Path(os.environ.get("FOGFALL_BINARIES", ROOT / "target" / "debug"))
LIBTORCH = "/opt/libtorch"


@dataclasses.dataclass(frozen=True)
class Image:
    """`files`: place in the container to place here. `system`: `none`, `libraries`, or `shell` with its usual tools."""

    name: str
    entrypoint: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    files: dict[str, pathlib.Path] = dataclasses.field(default_factory=dict)
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    system: str = "none"
    uid: int = 0
    working_dir: str = "/"
    left_out: bool = False
    # What the official image's entrypoint script puts before arguments that are no program.
    fallback: str | None = None

    def command(self, words: list[str], arguments: list[str] | None) -> list[str]:
        """`command` replaces an image's entrypoint and drops its arguments; `args` replaces its arguments alone."""
        if words:
            return [*words, *(arguments or [])]
        rest = list(self.arguments if arguments is None else arguments)
        if self.fallback and (not rest or rest[0].startswith("-") or rest[0].endswith(".conf")):
            rest.insert(0, self.fallback)
        return [*self.entrypoint, *rest]


def _redis_files() -> dict[str, pathlib.Path]:
    own = TOOLS / "redis"
    found = {
        name: own / name if (own / name).exists() else shutil.which(name) for name in ("redis-server", "redis-cli")
    }
    files = {f"/usr/local/bin/{name}": pathlib.Path(path) for name, path in found.items() if path}
    return {**files, **{f"/usr/local/lib/redis/{path.name}": path.resolve() for path in own.glob("*.so.*")}}


def _libtorch_files() -> dict[str, pathlib.Path]:
    """libtorch, with what CUDA it has beside it."""
    if "LIBTORCH" in os.environ:
        return {f"{LIBTORCH}/torch": pathlib.Path(os.environ["LIBTORCH"])}
    return {LIBTORCH: (ROOT / ".libtorch").resolve()}


def _own(target: str, libraries: dict[str, pathlib.Path]) -> Image:
    """One of the project's own images, as Dockerfile has it."""
    stage = dockerfile.stages()[target]
    return Image(
        f"fogfall-{target}",
        tuple(stage.entrypoint),
        files={stage.entrypoint[0]: BINARIES / target, **libraries},
        environment=stage.pairs("ENV"),
        system="libraries",
        uid=stage.user[0],
        working_dir=stage.last("WORKDIR")[0],
    )


def _known() -> dict[str, Image]:
    return {
        "fogfall-actor": _own("actor", {}),
        "fogfall-learner": _own("learner", _libtorch_files()),
        "nats": Image(
            "nats", ("/nats-server",), ("--config", "nats-server.conf"), {"/nats-server": TOOLS / "bin" / "nats-server"}
        ),
        "nats:alpine": Image(
            "nats:alpine",
            (),
            ("nats-server", "--config", "/etc/nats/nats-server.conf"),
            {"/usr/local/bin/nats-server": TOOLS / "bin" / "nats-server"},
            system="shell",
            fallback="nats-server",
        ),
        "redis": Image(
            "redis",
            (),
            ("redis-server",),
            _redis_files(),
            {"LD_LIBRARY_PATH": "/usr/local/lib/redis"},
            system="shell",
            working_dir="/data",
            fallback="redis-server",
        ),
        "prometheus-nats-exporter": Image("prometheus-nats-exporter", left_out=True),
        "redis_exporter": Image("redis_exporter", left_out=True),
    }


def image_of(reference: str) -> Image:
    """The image of a reference such as `registry:5000/library/nats:2.11-alpine@sha256:...`."""
    path = reference.partition("@")[0].rpartition("/")[2]
    name, _, tag = path.partition(":")
    known = _known()
    if f"{name}:alpine" in known and "alpine" in tag:
        name = f"{name}:alpine"
    name = {"valkey": "redis"}.get(name, name)
    if name not in known:
        raise KeyError(f"no program is known for the image {reference}; known are {', '.join(known)}")
    return known[name]
