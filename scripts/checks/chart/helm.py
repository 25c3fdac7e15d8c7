"""Helm 3 and 4 as they are called by the checks: a chart and values go in, YAML or a refusal comes out."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHART = ROOT / "helm" / "fogfall"
TOOLS = ROOT / ".tools"

# API versions that a cluster with the Prometheus operator and KEDA says it has.
CUSTOM_RESOURCES = (
    "monitoring.coreos.com/v1",
    "monitoring.coreos.com/v1/ServiceMonitor",
    "monitoring.coreos.com/v1/PodMonitor",
    "monitoring.coreos.com/v1/PrometheusRule",
    "keda.sh/v1alpha1",
    "keda.sh/v1alpha1/ScaledObject",
)


class Refused(Exception):
    """Helm said no; its words are the text."""


@dataclasses.dataclass(frozen=True)
class Call:
    """One rendering: everything that the outcome may depend on. Hashable, so that equal calls are made once."""

    values: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    kube_version: str = "1.37"
    api_versions: tuple[str, ...] = ()
    release: str = "run"
    namespace: str = "games"
    chart: str = str(CHART)
    show_only: str | None = None
    skip_schema: bool = False

    def arguments(self) -> list[str]:
        arguments = [self.release, self.chart, "--namespace", self.namespace, "--kube-version", self.kube_version]
        for values in self.values:
            arguments += ["--values", values]
        for one in self.sets:
            arguments += ["--set", one]
        for version in self.api_versions:
            arguments += ["--api-versions", version]
        if self.show_only:
            arguments += ["--show-only", self.show_only]
        if self.skip_schema:
            arguments.append("--skip-schema-validation")
        return arguments


@dataclasses.dataclass(frozen=True)
class Helm:
    """One helm program."""

    major: int

    @property
    def program(self) -> pathlib.Path:
        return TOOLS / f"helm{self.major}" / "helm"

    def run(self, *arguments: str) -> str:
        """What helm prints.

        Raises Refused with what it complains of, if it does not end with 0.
        """
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Refused((done.stderr + done.stdout).strip())
        return done.stdout

    def render(self, call: Call) -> str:
        """All manifests of the release, hooks included, as one YAML stream."""
        return _rendered(self, call)

    def lint(self, call: Call) -> str:
        arguments = call.arguments()[1:]  # A chart is linted without a release's name,
        where = arguments.index("--api-versions") if "--api-versions" in arguments else len(arguments)
        return self.run("lint", "--strict", *arguments[:where])  # nor does lint know of API versions.


@functools.cache
def _rendered(helm: Helm, call: Call) -> str:
    return helm.run("template", *call.arguments())
