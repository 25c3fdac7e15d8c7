"""Runs a program in the root file system of an image, as a container of a pod runs: its user without any capability, a read-only
root, /tmp and volumes to write to, pid 1. The network stays this machine's.

The parent describes the container in JSON; this file, run as a program, becomes it. Signals it hands on, and it ends with the
container's code, or 128 + the signal. Without a command it prints, as JSON, all paths that the user may write to.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from chart import sandbox  # noqa: E402
from images.rootfs import Rootfs  # noqa: E402

DEVICES = ("null", "zero", "full", "random", "urandom")
NAMESPACES = sandbox.NEW_MOUNTS | sandbox.NEW_PIDS | sandbox.NEW_IPC | sandbox.NEW_HOSTNAME


def lacks() -> str | None:
    """What this machine lacks to run containers, as a sentence; none if nothing."""
    if sandbox.allows(_make_namespaces):
        return None
    return "this machine allows neither root nor others to make namespaces: sysctl kernel.unprivileged_userns_clone, or AppArmor's"


@dataclasses.dataclass
class Container:
    """`volumes`: places in the container to folders here. `settings`: such places to folders that it may only read."""

    rootfs: Rootfs
    command: list[str] | None
    volumes: dict[str, pathlib.Path] = dataclasses.field(default_factory=dict)
    settings: dict[str, pathlib.Path] = dataclasses.field(default_factory=dict)
    read_only_root: bool = True

    def start(self, output) -> subprocess.Popen:
        stage = self.rootfs.stage
        uid, gid = stage.user
        for folder in self.volumes.values():
            if os.geteuid() == 0:  # As fsGroup has it.
                os.chown(folder, 0, gid)
                folder.chmod(0o2775)
        spec = {
            "root": str(self.rootfs.path),
            "command": self.command,
            "environment": {"PATH": "/usr/local/bin", "HOSTNAME": "container", **stage.pairs("ENV")},
            "working_dir": stage.last("WORKDIR")[0],
            "uid": uid,
            "gid": gid,
            "read_only_root": self.read_only_root,
            "volumes": {place: str(folder) for place, folder in self.volumes.items()},
            "settings": {place: str(folder) for place, folder in self.settings.items()},
        }
        words = [sys.executable, __file__, json.dumps(spec)]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

    def run(self, within_s: float = 60) -> tuple[int, str]:
        """Its exit code and all that it said."""
        with tempfile.TemporaryFile() as output:
            process = self.start(output)
            try:
                code = process.wait(within_s)
            finally:
                process.kill()
            output.seek(0)
            return code, output.read().decode(errors="replace")


def _make_namespaces() -> None:
    if os.geteuid() != 0:
        sandbox.become(0, 0)
    sandbox.unshare(NAMESPACES)


def _build_root(spec: dict) -> pathlib.Path:
    root = pathlib.Path(spec["root"])
    sandbox.mount("none", "/", flags=sandbox.PRIVATE | sandbox.RECURSIVE)
    sandbox.bind(root, root, read_only=False)
    sandbox.mount("proc", root / "proc", "proc")
    sandbox.bind("/sys", root / "sys", read_only=True)
    sandbox.mount("dev", root / "dev", "tmpfs", options="mode=755")
    for name in DEVICES:
        sandbox.bind(f"/dev/{name}", root / "dev" / name, read_only=False)
    (root / "dev" / "shm").mkdir()
    sandbox.mount("shm", root / "dev" / "shm", "tmpfs", options="size=64m,mode=1777")
    sandbox.mount("tmp", root / "tmp", "tmpfs", options="mode=1777")
    for place, folder in spec["volumes"].items():
        sandbox.bind(folder, root / place.lstrip("/"), read_only=False)
    for place, folder in spec["settings"].items():
        sandbox.bind(folder, root / place.lstrip("/"), read_only=True)
    if spec["read_only_root"]:
        sandbox.make_read_only(root)
    return root


def _writable() -> list[str]:
    """All that this process may write to. In /proc, /sys and /dev that is up to the kernel, not to the image."""
    found = []
    for folder, inner, files in os.walk("/"):
        if folder == "/":
            inner[:] = [name for name in inner if name not in ("proc", "sys", "dev")]
        found += [path for path in (folder, *(os.path.join(folder, name) for name in files)) if os.access(path, os.W_OK)]
    return found


def _become_container(spec: dict, root_here: bool) -> None:
    """Never returns: the process becomes the container's."""
    sandbox.die_with_parent()
    sandbox.change_root(_build_root(spec))
    sandbox.set_hostname("container")
    os.chdir(spec["working_dir"])
    os.setsid()
    os.umask(0o022)
    (sandbox.give_up_root if root_here else sandbox.become)(spec["uid"], spec["gid"])
    sandbox.die_with_parent()  # Becoming somebody else has undone the first one.
    sandbox.gain_no_privileges()
    if spec["command"] is None:
        print(json.dumps(_writable()), flush=True)
        os._exit(0)
    os.execve(spec["command"][0], spec["command"], spec["environment"])


def main() -> int:
    spec = json.loads(sys.argv[1])
    sandbox.die_with_parent()
    root_here = os.geteuid() == 0
    _make_namespaces()
    pid = os.fork()
    if pid == 0:
        try:
            _become_container(spec, root_here)
        except OSError as error:
            print(f"the container could not be started: {error}", file=sys.stderr, flush=True)
        os._exit(127)

    def hand_on(number, _):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    signal.signal(signal.SIGTERM, hand_on)
    signal.signal(signal.SIGINT, hand_on)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
