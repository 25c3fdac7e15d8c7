"""Probes as a kubelet makes them: what to ask, how often, and after how many answers a container is ready or dead."""

from __future__ import annotations

import asyncio
import dataclasses
import ssl
from collections.abc import Awaitable, Callable

from .resolve import Unsupported

# Runs a command in the container; gives its exit code and what it said.
Execute = Callable[[list[str]], Awaitable[tuple[int, str]]]


@dataclasses.dataclass
class Verdict:
    """Answers in a row, and what they amount to. Nothing is known before the first change."""

    success_threshold: int
    failure_threshold: int
    passing: bool | None = None
    _run: int = 0
    _last: bool | None = None

    def take(self, success: bool) -> bool | None:
        """Counts an answer; gives the new state."""
        self._run = self._run + 1 if success == self._last else 1
        self._last = success
        if self._run >= (self.success_threshold if success else self.failure_threshold):
            self.passing = success
        return self.passing


class Probe:
    """One probe of one container."""

    def __init__(self, spec: dict, ip: str, ports: dict[str, int], execute: Execute):
        self.initial_delay_s = spec.get("initialDelaySeconds", 0)
        self.period_s = spec.get("periodSeconds", 10)
        self.timeout_s = spec.get("timeoutSeconds", 1)
        self.success_threshold = spec.get("successThreshold", 1)
        self.failure_threshold = spec.get("failureThreshold", 3)
        self._spec, self._ip, self._ports, self._execute = spec, ip, ports, execute

    def verdict(self) -> Verdict:
        return Verdict(self.success_threshold, self.failure_threshold)

    async def ask(self) -> tuple[bool, str]:
        """Whether the container passes now, and what was seen."""
        try:
            return await asyncio.wait_for(self._ask(), self.timeout_s)
        except TimeoutError:
            return False, f"no answer within {self.timeout_s} s"
        except OSError as error:
            return False, str(error)

    async def _ask(self) -> tuple[bool, str]:
        if "exec" in self._spec:
            code, said = await self._execute(self._spec["exec"]["command"])
            return code == 0, f"exit code {code}: {said}"
        if "tcpSocket" in self._spec:
            target = self._spec["tcpSocket"]
            _, writer = await asyncio.open_connection(target.get("host", self._ip), self._port(target["port"]))
            writer.close()
            return True, "connected"
        if "httpGet" in self._spec:
            target = self._spec["httpGet"]
            status, body = await http_get(
                target.get("host", self._ip),
                self._port(target["port"]),
                target.get("path", "/"),
                tls=target.get("scheme") == "HTTPS",
                headers={header["name"]: header["value"] for header in target.get("httpHeaders") or []},
            )
            return 200 <= status < 400, f"HTTP {status}: {body.strip()[:200]}"
        raise Unsupported(f"a probe with {', '.join(self._spec)}")

    def _port(self, port: int | str) -> int:
        if isinstance(port, str) and port not in self._ports:
            raise Unsupported(f"a probe of port {port}, which the container does not name")
        return self._ports[port] if isinstance(port, str) else port


async def http_get(
    host: str, port: int, path: str, tls: bool = False, headers: dict[str, str] | None = None
) -> tuple[int, str]:
    """Status and body. Certificates are not verified, as a kubelet does not."""
    context = None
    if tls:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(host, port, ssl=context)
    try:
        all_headers = {"Host": f"{host}:{port}", "User-Agent": "kube-probe", "Connection": "close", **(headers or {})}
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in all_headers.items()), "", ""]
        writer.write("\r\n".join(lines).encode())
        answer = (await reader.read()).decode(errors="replace")
    finally:
        writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    words = head.split(maxsplit=2)
    if len(words) < 2 or not words[1].isdigit():
        raise OSError("no HTTP answer")
    if "transfer-encoding: chunked" in head.lower():
        body = _unchunk(body)
    return int(words[1]), body


def _unchunk(body: str) -> str:
    """The text of a chunked body (ASCII, as all of ours is)."""
    text = []
    while body:
        size, _, rest = body.partition("\r\n")
        length = int(size.partition(";")[0] or "0", 16)
        if length == 0:
            break
        text.append(rest[:length])
        body = rest[length + 2 :]
    return "".join(text)
