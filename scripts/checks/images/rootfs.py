"""The root file system of an image in a folder: what the last stage of Dockerfile copies, over a stand-in for its base.

The copied files come from `scripts/image-files`, as in the build, of programs that are built already. The stand-in has what the base
image is taken for: the C and C++ libraries of this machine, certificates, users, and no shell.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from . import dockerfile

LIBRARIES = ("c", "m", "dl", "rt", "pthread", "util", "resolv", "gcc_s", "stdc++")
FOLDERS = ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib")
CERTIFICATES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
PASSWD = "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n"


@dataclasses.dataclass(frozen=True)
class Rootfs:
    """`files` are those that the image adds to its base."""

    path: pathlib.Path
    stage: dockerfile.Stage
    files: list[pathlib.Path]

    @property
    def added_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files)

    @property
    def base_bytes(self) -> int:
        files = (file for file in self.path.rglob("*") if file.is_file() and not file.is_symlink())
        return sum(file.stat().st_size for file in files) - self.added_bytes

    def inside(self, file: pathlib.Path) -> str:
        return "/" + str(file.relative_to(self.path))


def programs() -> pathlib.Path:
    """Where built programs are: what FOGFALL_BINARIES names, else the newest of what cargo built."""
    if given := os.environ.get("FOGFALL_BINARIES"):
        return pathlib.Path(given).absolute()
    built = [path for path in (dockerfile.ROOT / "target").glob("*/learner") if path.parent.name in ("debug", "release")]
    if not built:
        raise FileNotFoundError("no programs are built: cargo build --bins, or FOGFALL_BINARIES=FOLDER")
    return max(built, key=lambda path: path.stat().st_mtime).parent


def assemble(target: str, folder: pathlib.Path, binaries: pathlib.Path) -> Rootfs:
    """Makes `folder`, which must not exist yet. Unless this is root, everything belongs to whoever calls."""
    stages = dockerfile.stages()
    stage = stages[target]
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    _stand_in_for_base(folder, _interpreter(binaries / target))
    before = set(folder.rglob("*"))
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        laid_out = {}
        for copy in stage.all("COPY"):
            source = copy.flags["from"]
            if source not in laid_out:
                name, out = dockerfile.laid_out_by(stages[source])
                laid_out[source] = out, pathlib.Path(work, source)
                subprocess.run([dockerfile.ROOT / "scripts" / "image-files", name, binaries, laid_out[source][1]], check=True)
            out, real = laid_out[source]
            _copy(real / pathlib.PurePath(copy.words[0]).relative_to(out), folder / copy.words[1].lstrip("/"), copy.flags["chown"])
    (folder / stage.last("WORKDIR")[0].lstrip("/")).mkdir(parents=True, exist_ok=True)
    files = [file for file in sorted(folder.rglob("*")) if file not in before and file.is_file() and not file.is_symlink()]
    return Rootfs(folder, stage, files)


def _copy(source: pathlib.Path, target: pathlib.Path, owner: str) -> None:
    """As COPY does it: what is in a folder goes into another, and both it and the files get the owner."""
    uid, gid = map(int, owner.split(":"))
    made = [] if target.exists() else [target]
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.rglob("*")):
        there = target / file.relative_to(source)
        if file.is_dir():
            made += [] if there.exists() else [there]
            there.mkdir(exist_ok=True)
        else:
            shutil.move(file, there)
            made.append(there)
    for path in made if os.geteuid() == 0 else []:
        os.chown(path, uid, gid)


def _interpreter(program: pathlib.Path) -> str:
    headers = subprocess.run(["readelf", "--program-headers", "--wide", program], capture_output=True, text=True, check=True).stdout
    return re.search(r"program interpreter: (.+)\]", headers)[1]


def _stand_in_for_base(folder: pathlib.Path, interpreter: str) -> None:
    """The files keep the places that they have here, where the interpreter looks for them."""
    wanted = [pathlib.Path(interpreter)]
    for name in LIBRARIES:
        found = [path for place in FOLDERS for path in sorted(pathlib.Path(place).glob(f"lib{name}.so.[0-9]"))]
        wanted += found[:1]
    for file in wanted:
        there = folder / str(file).lstrip("/")
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.resolve(), there)
        there.chmod(0o755)
    certificates = folder / CERTIFICATES[0].lstrip("/")
    certificates.parent.mkdir(parents=True)
    for file in CERTIFICATES:
        if pathlib.Path(file).exists() and not certificates.exists():
            shutil.copyfile(file, certificates)
    (folder / "etc" / "passwd").write_text(PASSWD)
    (folder / "etc" / "nsswitch.conf").write_text("hosts: files dns\n")
    for name in ("dev", "proc", "sys", "tmp", "var"):
        (folder / name).mkdir()
    (folder / "tmp").chmod(0o1777)
