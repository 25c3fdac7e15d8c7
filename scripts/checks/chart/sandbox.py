"""Linux namespaces by the C library's calls, for which Python 3.11 has none of its own.

All of it works without root where unprivileged user namespaces are allowed: whoever makes one is root in it alone.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import signal
from collections.abc import Callable

_libc = ctypes.CDLL(None, use_errno=True)

NEW_MOUNTS, NEW_HOSTNAME, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USERS, NEW_PIDS, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000

READ_ONLY, NO_SUID, NO_DEV, NO_EXEC, REMOUNT = 1, 2, 4, 8, 32
BIND, RECURSIVE, PRIVATE, RELATIVE_TIMES = 1 << 12, 1 << 14, 1 << 18, 1 << 21

_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}[os.uname().machine]
_SET_DEATH_SIGNAL, _DROP_CAPABILITY, _SET_NO_NEW_PRIVILEGES = 1, 24, 38


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def allows(attempt: Callable[[], None]) -> bool:
    """Whether the system lets a process do this; a child tries it, so that nothing changes here."""
    pid = os.fork()
    if pid == 0:
        try:
            attempt()
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def enter(path: str, flags: int) -> None:
    """Joins the namespace that a file such as `/proc/PID/ns/net` stands for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    _check(_libc.setns(descriptor, flags), f"setns {path}")
    os.close(descriptor)


def become(uid: int, gid: int) -> None:
    """A user namespace in which this process has these ids: it has all rights there until it executes a program."""
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    unshare(NEW_USERS)
    here = pathlib.Path("/proc/self")
    (here / "setgroups").write_text("deny")
    (here / "uid_map").write_text(f"{uid} {outer_uid} 1")
    (here / "gid_map").write_text(f"{gid} {outer_gid} 1")


def give_up_root(uid: int, gid: int) -> None:
    """For root itself: becomes this user for good, with no capability left that a program could ever get."""
    last = int(pathlib.Path("/proc/sys/kernel/cap_last_cap").read_text())
    for capability in range(last + 1):
        _check(_libc.prctl(_DROP_CAPABILITY, capability, 0, 0, 0), "prctl")
    os.setgroups([gid])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def mount(source: str, target: str | os.PathLike, kind: str = "", flags: int = 0, options: str = "") -> None:
    where = os.fspath(target)
    result = _libc.mount(
        source.encode(), where.encode(), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None
    )
    _check(result, f"mount {source or kind} on {where}")


def bind(source: str | os.PathLike, target: pathlib.Path, read_only: bool) -> None:
    """Shows a file or folder at another place, which is made if need be."""
    source = pathlib.Path(source)
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    mount(str(source), target, flags=BIND | RECURSIVE)
    if read_only:
        make_read_only(target)


def make_read_only(target: pathlib.Path) -> None:
    """Remounts a bind mount. What the mount it comes from forbids has to be forbidden again."""
    have = os.statvfs(target).f_flag
    kept = have & (NO_SUID | NO_DEV | NO_EXEC) | (RELATIVE_TIMES if have & os.ST_RELATIME else 0) | have & os.ST_NOATIME
    mount("", target, flags=REMOUNT | BIND | READ_ONLY | kept)


def change_root(root: pathlib.Path) -> None:
    """Makes a mounted folder the root of this mount namespace and lets go of the old one."""
    os.chdir(root)
    _check(_libc.syscall(_PIVOT_ROOT, b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", 2), "umount")  # 2: lazily, it is in use by this very process.
    os.chdir("/")


def die_with_parent() -> None:
    _check(_libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0), "prctl")


def gain_no_privileges() -> None:
    """As `allowPrivilegeEscalation: false`: set-uid programs have no effect."""
    _check(_libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")


def set_hostname(name: str) -> None:
    _check(_libc.sethostname(name.encode(), len(name.encode())), "sethostname")
