"""A node of its own for the runner: the process that it continues in sees no processes, network or mounts but its own.

Whatever is started on it dies with it, even if the runner is killed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys

from . import network, sandbox


def needs() -> str | None:
    """What this machine lacks, as a sentence; none if nothing."""
    for program, package in (("ip", "iproute2"), ("nsenter", "util-linux")):
        if not shutil.which(program):
            return f"{program} is missing: install {package}"

    def make_namespaces() -> None:
        sandbox.become(0, 0)
        sandbox.unshare(sandbox.NEW_MOUNTS | sandbox.NEW_NETWORK | sandbox.NEW_PIDS)

    if not sandbox.allows(make_namespaces):
        return "this machine allows no user namespaces: see sysctl user.max_user_namespaces, AppArmor's, or run this as root"
    return None


def enter() -> None:
    """Returns in a new process on the node. The one that called waits for it, hands signals on, and ends with its code."""
    sandbox.become(0, 0)
    sandbox.unshare(
        sandbox.NEW_MOUNTS | sandbox.NEW_NETWORK | sandbox.NEW_PIDS | sandbox.NEW_IPC | sandbox.NEW_HOSTNAME
    )
    pid = os.fork()
    if pid != 0:
        # The terminal sends its interrupt to both; a supervisor sends its signal to this one alone.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        sys.exit(code if code >= 0 else 128 - code)
    sandbox.die_with_parent()
    sandbox.mount("none", "/", flags=sandbox.PRIVATE | sandbox.RECURSIVE)
    sandbox.mount("proc", "/proc", "proc")
    sandbox.mount("run", "/run", "tmpfs")
    sandbox.set_hostname("node")
    network.set_up()
