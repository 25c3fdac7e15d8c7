"""Runs pods on the node: folders for their volumes, their containers, their probes, and their end in good order.

A container that ends, or whose liveness probe fails, is not started again as a cluster would do: that is a failure of the
run, since everything here starts in any order and waits for what is not there yet.
"""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import signal
import sys
import time

from . import network
from .probes import Probe, http_get
from .resolve import Container, Pod, Service, Unsupported, hosts_file

START_WITHIN_S = 20.0


class Failed(Exception):
    """What was promised did not hold; the text says what."""


class Running:
    """A container that was started."""

    def __init__(self, pod: Pod, container: Container, folder: pathlib.Path):
        self.pod, self.container = pod, container
        self.name = f"{pod.name}/{container.name}"
        self.log = folder / "logs" / f"{pod.name}-{container.name}.log"
        self.spec = folder / f"{container.name}.json"
        self.pid = 0
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, spec: dict) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.spec.write_text(json.dumps(spec))
        reader, writer = os.pipe()
        try:
            with open(self.log, "ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    str(pathlib.Path(__file__).with_name("container.py")),
                    str(self.spec),
                    str(writer),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[writer],
                )
        finally:
            os.close(writer)
        with os.fdopen(reader) as report:
            line = await asyncio.wait_for(asyncio.to_thread(report.readline), START_WITHIN_S)
        if not line:
            raise Failed(f"{self.name} could not be started:\n{self.log_end()}")
        self.pid = int(line)

    async def wait(self) -> int:
        """The code it ends with; 128 + the signal that ended it."""
        return await self._process.wait()

    @property
    def ended(self) -> bool:
        return self._process is None or self._process.returncode is not None

    def signal(self, number: int) -> None:
        if not self.ended:
            os.kill(self.pid, number)

    async def execute(self, command: list[str]) -> tuple[int, str]:
        """Runs a command in the container, as its user."""
        process = await asyncio.create_subprocess_exec(
            *("nsenter", "--target", str(self.pid), "--user", "--mount", "--uts", "--ipc", "--net", "--pid"),
            *("--preserve-credentials", "--", *command),
            env=self.container.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            said, _ = await process.communicate()
        except asyncio.CancelledError:
            os.killpg(process.pid, signal.SIGKILL)  # nsenter has forked.
            raise
        return process.returncode, said.decode(errors="replace").strip()

    def log_end(self, lines: int = 12) -> str:
        text = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(f"    {line}" for line in text[-lines:])


class PodRun:
    """One life of a pod: from its volumes to its end. Claims outlive it, everything else of it does not."""

    def __init__(self, pod: Pod, folder: pathlib.Path, life: int, pods: list[Pod], services: list[Service]):
        self.pod = pod
        self.folder = folder / "pods" / f"{pod.name}.{life}"
        self._claims = folder / "claims"
        self._hosts = hosts_file(pod, pods, services)
        self._network = ""
        self.running: list[Running] = []
        self._tasks: list[asyncio.Task] = []
        self._ready: dict[str, bool] = {}
        self._changed = asyncio.Event()
        self.last_seen: dict[str, str] = {}
        self.failure: str | None = None
        self.stopping = False
        self.started_at = time.monotonic()

    # --- start ---

    async def start(self) -> None:
        self.folder.mkdir(parents=True)
        self._network = network.add_pod(self.pod)
        sources = {name: self._materialize(name) for name in self.pod.volumes}
        for container in self.pod.init:
            init = await self._start_container(container, sources)
            code = await init.wait()
            if code != 0:
                raise Failed(f"init container {init.name} ended with code {code}:\n{init.log_end()}")
        for container in self.pod.containers:
            running = await self._start_container(container, sources)
            self.running.append(running)
            self._ready[container.name] = not container.probes
            self._tasks.append(asyncio.create_task(self._watch(running)))
            self._tasks.append(asyncio.create_task(self._probe(running)))
        self._changed.set()

    def _materialize(self, name: str) -> pathlib.Path:
        volume = self.pod.volumes[name]
        if volume.claim:
            path = self._claims / volume.claim
            path.mkdir(parents=True, exist_ok=True)
            return path
        path = self.folder / "volumes" / name
        path.mkdir(parents=True)
        for place, file in (volume.files or {}).items():
            target = path / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content)
            target.chmod(file.mode)
        return path

    async def _start_container(self, container: Container, sources: dict[str, pathlib.Path]) -> Running:
        mounts = []
        for mount in container.mounts:
            source = sources[mount.volume] / mount.sub_path
            if self.pod.volumes[mount.volume].files is None:
                source.mkdir(parents=True, exist_ok=True)
            files = self.pod.volumes[mount.volume].files is not None
            mounts.append({"source": str(source), "path": mount.path, "read_only": mount.read_only or files})
        spec = {
            "root": str(self.folder / "root" / container.name),
            "system": container.image.system,
            "files": {place: str(source) for place, source in container.image.files.items()},
            "hosts": self._hosts,
            "hostname": self.pod.hostname,
            "network": self._network,
            "mounts": mounts,
            "uid": container.uid,
            "gid": container.gid,
            "read_only_root": container.read_only_root,
            "working_dir": container.working_dir,
            "command": container.command,
            "environment": container.environment,
        }
        running = Running(self.pod, container, self.folder)
        await running.start(spec)
        return running

    # --- while it lives ---

    async def _watch(self, running: Running) -> None:
        code = await running.wait()
        if not self.stopping and self.pod.template.lasts:
            self._fail(f"{running.name} has ended with code {code}:\n{running.log_end()}")

    def _fail(self, text: str) -> None:
        self.failure = self.failure or text
        self._changed.set()

    async def _probe(self, running: Running) -> None:
        """The startup probe until it passes, then readiness and liveness side by side."""
        container = running.container
        make = lambda kind: Probe(container.probes[kind], self.pod.ip, container.ports, running.execute)  # noqa: E731
        try:
            if "startup" in container.probes and not await self._repeat(running, "startup", make("startup")):
                return
            others = [
                self._repeat(running, kind, make(kind))
                for kind in ("readiness", "liveness")
                if kind in container.probes
            ]
            if "readiness" not in container.probes:
                self._set_ready(container.name, True)
            await asyncio.gather(*others)
        except Unsupported as error:
            self._fail(f"{running.name}: {error}")

    async def _repeat(self, running: Running, kind: str, probe: Probe) -> bool:
        verdict = probe.verdict()
        await asyncio.sleep(probe.initial_delay_s)
        while not self.stopping:
            passed, seen = await probe.ask()
            self.last_seen[f"{running.container.name} {kind}"] = seen
            state = verdict.take(passed)
            if kind == "readiness":
                self._set_ready(running.container.name, state is True)
            elif state is False and not self.stopping:
                self._fail(f"the {kind} probe of {running.name} has failed: {seen}\n{running.log_end()}")
                return False
            elif state and kind == "startup":
                return True
            await asyncio.sleep(probe.period_s)
        return False

    def _set_ready(self, container: str, ready: bool) -> None:
        self._ready[container] = ready
        self._changed.set()

    @property
    def ready(self) -> bool:
        started = len(self.running) == len(self.pod.containers)
        return started and not self.stopping and self.failure is None and all(self._ready.values())

    async def wait_until_ready(self, within_s: float) -> float:
        """Seconds from the pod's start until all its containers were ready.

        Raises Failed if a container ends or fails its probes, or if the time is over.
        """
        until = self.started_at + within_s
        while not self.ready:
            if self.failure:
                raise Failed(self.failure)
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), max(0.0, until - time.monotonic()))
            except TimeoutError:
                seen = "; ".join(f"{what}: {answer}" for what, answer in self.last_seen.items())
                logs = "\n".join(running.log_end() for running in self.running)
                raise Failed(f"{self.pod.name} is not ready after {within_s:.0f} s ({seen})\n{logs}") from None
        return time.monotonic() - self.started_at

    async def wait_until_ended(self, within_s: float) -> list[int]:
        """The codes that containers end with by themselves, for pods that do a job."""
        try:
            return await asyncio.wait_for(asyncio.gather(*(running.wait() for running in self.running)), within_s)
        except TimeoutError:
            logs = "\n".join(running.log_end() for running in self.running)
            raise Failed(f"{self.pod.name} has not ended after {within_s:.0f} s:\n{logs}") from None

    async def get(self, port: str, path: str) -> tuple[int, str]:
        return await asyncio.wait_for(http_get(self.pod.ip, self.pod.ports[port], path), 10)

    # --- end ---

    async def stop(self) -> tuple[float, dict[str, int]]:
        """Ends all containers: preStop hooks, SIGTERM, and SIGKILL when the grace period is over.

        Gives the seconds taken, and exit codes by container.
        """
        self.stopping, started = True, time.monotonic()
        try:
            await asyncio.wait_for(asyncio.gather(*(self._end(running) for running in self.running)), self.pod.grace_s)
        except TimeoutError:
            for running in self.running:
                running.signal(signal.SIGKILL)
        codes = {running.container.name: await running.wait() for running in self.running}
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        network.remove_pod(self._network)
        return time.monotonic() - started, codes

    async def _end(self, running: Running) -> None:
        hook = running.container.pre_stop
        if hook and not running.ended:
            await self._pre_stop(running, hook)
        running.signal(signal.SIGTERM)
        await running.wait()

    async def _pre_stop(self, running: Running, hook: dict) -> None:
        if "exec" in hook:
            code, said = await running.execute(hook["exec"]["command"])
            if code != 0:
                self._fail(f"the preStop hook of {running.name} ended with code {code}: {said}")
        elif "sleep" in hook:
            await asyncio.sleep(hook["sleep"]["seconds"])
        elif "httpGet" in hook:
            target = hook["httpGet"]
            port = running.container.ports.get(target["port"], target["port"])
            await http_get(self.pod.ip, port, target.get("path", "/"))
        else:
            raise Unsupported(f"a preStop hook with {', '.join(hook)}")
