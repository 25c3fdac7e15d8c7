"""Runs one container: as a program with a description (JSON) of it, in namespaces of its own. The runner starts it.

It stays as the parent of the container's first process, whose pid it reports, and ends with its code, or 128 + the signal.
As in a real container, that process has pid 1 and takes no signal that it has no handler for, but SIGKILL.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from chart import sandbox  # noqa: E402

LIBRARIES = ("lib", "lib64", "usr/lib", "usr/lib64", "etc/ssl", "usr/share/ca-certificates", "etc/ld.so.cache")
SHELL = (*LIBRARIES, "bin", "sbin", "usr/bin", "usr/sbin")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
SHARED_MEMORY = "size=64m"  # What a container has unless a volume is mounted there.


def build_root(spec: dict) -> pathlib.Path:
    """The container's file system, below a folder: what its image holds, its volumes, and what every container has."""
    root = pathlib.Path(spec["root"])
    root.mkdir(parents=True, exist_ok=True)
    sandbox.mount("root", root, "tmpfs")
    for name in {"none": (), "libraries": LIBRARIES, "shell": SHELL}[spec["system"]]:
        _show_system(pathlib.Path("/", name), root / name)
    for folder in ("proc", "dev", "tmp", "etc", "usr/local", "sys", spec["working_dir"].lstrip("/")):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    for place, source in spec["files"].items():
        sandbox.bind(source, root / place.lstrip("/"), read_only=True)
    sandbox.mount("proc", root / "proc", "proc")
    for name in DEVICES:
        sandbox.bind(f"/dev/{name}", root / "dev" / name, read_only=False)
    (root / "dev/shm").mkdir()
    sandbox.mount("shm", root / "dev/shm", "tmpfs", options=SHARED_MEMORY)
    (root / "etc/hosts").write_text(spec["hosts"])
    (root / "etc/nsswitch.conf").write_text("hosts: files\n")
    (root / "etc/resolv.conf").touch()
    (root / "etc/passwd").write_text(f"user:x:{spec['uid']}:{spec['gid']}::/:/sbin/nologin\n")
    for mount in sorted(spec["mounts"], key=lambda mount: mount["path"]):
        sandbox.bind(mount["source"], root / mount["path"].lstrip("/"), mount["read_only"])
    if spec["read_only_root"]:
        sandbox.make_read_only(root)
    return root


def _show_system(source: pathlib.Path, target: pathlib.Path) -> None:
    if source.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(os.readlink(source))
    elif source.exists():
        sandbox.bind(source, target, read_only=True)


def become_container(spec: dict) -> None:
    """Never returns: the process becomes the container's."""
    sandbox.die_with_parent()
    sandbox.mount("none", "/", flags=sandbox.PRIVATE | sandbox.RECURSIVE)
    root = build_root(spec)
    sandbox.set_hostname(spec["hostname"])
    sandbox.change_root(root)
    os.chdir(spec["working_dir"])
    os.setsid()
    sandbox.become(spec["uid"], spec["gid"])
    sandbox.die_with_parent()  # Becoming somebody else has undone the first one.
    sandbox.gain_no_privileges()
    os.execvpe(spec["command"][0], spec["command"], spec["environment"])


def main() -> int:
    spec = json.loads(pathlib.Path(sys.argv[1]).read_text())
    report = int(sys.argv[2])
    os.set_inheritable(report, False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sandbox.die_with_parent()
    sandbox.enter(spec["network"], sandbox.NEW_NETWORK)
    sandbox.unshare(sandbox.NEW_MOUNTS | sandbox.NEW_PIDS | sandbox.NEW_IPC | sandbox.NEW_HOSTNAME)
    pid = os.fork()
    if pid == 0:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        try:
            become_container(spec)
        except OSError as error:
            print(f"the container could not be started: {error}", file=sys.stderr, flush=True)
            os._exit(127)
    os.write(report, f"{pid}\n".encode())
    os.close(report)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
