"""The network of a node that exists only while the runner does: an address for each pod and each service.

Pods hang on a bridge, as on a real node. Services have addresses on the node itself, where a small proxy hands each
connection to a pod that is ready, in turn; a connection to a service without one is closed. NetworkPolicies are not enforced.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import subprocess
from collections.abc import Callable

from .resolve import Pod, Service

BRIDGE, NODE_IP = "pods", "10.244.0.1"


def pod_ip(index: int) -> str:
    return f"10.244.{(index + 2) // 250}.{(index + 2) % 250}"


def service_ip(index: int) -> str:
    return f"10.96.{(index + 1) // 250}.{(index + 1) % 250}"


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def set_up() -> None:
    """Gives the node its loopback and its bridge."""
    _ip("link", "set", "lo", "up")
    _ip("link", "add", "name", BRIDGE, "type", "bridge")
    _ip("address", "add", f"{NODE_IP}/16", "dev", BRIDGE)
    _ip("link", "set", BRIDGE, "up")


_numbers = itertools.count()


def add_pod(pod: Pod) -> str:
    """A network namespace for a pod; where it can be entered."""
    name = f"{pod.name}.{next(_numbers)}"
    outer = f"veth{name.rpartition('.')[2]}"
    _ip("netns", "add", name)
    _ip("link", "add", "name", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
    _ip("link", "set", outer, "master", BRIDGE, "up")
    _ip("-n", name, "address", "add", f"{pod.ip}/16", "dev", "eth0")
    _ip("-n", name, "link", "set", "lo", "up")
    _ip("-n", name, "link", "set", "eth0", "up")
    _ip("-n", name, "route", "add", "default", "via", NODE_IP)
    return f"/run/netns/{name}"


def remove_pod(path: str) -> None:
    _ip("netns", "delete", path.rpartition("/")[2])


class Proxy:
    """Hands connections to the pods behind a service."""

    def __init__(self, service: Service, ready: Callable[[], list[Pod]]):
        self.service = service
        self._ready = ready
        self._turn = itertools.count()
        self._servers: list[asyncio.Server] = []

    async def start(self) -> None:
        _ip("address", "add", f"{self.service.ip}/32", "dev", BRIDGE)
        for port, target in self.service.ports:
            handle = lambda reader, writer, target=target: self._serve(reader, writer, target)  # noqa: E731
            self._servers.append(await asyncio.start_server(handle, self.service.ip, port))

    def stop(self) -> None:
        for server in self._servers:
            server.close()

    def _backend(self, target: int | str) -> tuple[str, int] | None:
        pods = [pod for pod in self._ready() if isinstance(target, int) or target in pod.ports]
        if not pods:
            return None
        pod = pods[next(self._turn) % len(pods)]
        return pod.ip, target if isinstance(target, int) else pod.ports[target]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int | str) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):  # Cancelled when the runner ends.
            backend = self._backend(target)
            if backend:
                there, back = await asyncio.open_connection(*backend)
                await asyncio.gather(_pump(reader, back), _pump(there, writer))
        with contextlib.suppress(OSError):
            writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copies until one side ends; then ends the other."""
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    finally:
        with contextlib.suppress(OSError):
            writer.close()
