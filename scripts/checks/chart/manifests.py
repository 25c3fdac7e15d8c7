"""Rendered manifests, and the questions that both the tests and the runner ask them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import yaml

WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod")
TEST_HOOKS = {"test", "test-success"}
# Bodies of Secrets, ConfigMaps and RBAC are read by nobody but those who name them.
COMPONENT = "app.kubernetes.io/component"


@dataclasses.dataclass(frozen=True)
class PodTemplate:
    """Pods as one object makes them."""

    owner: dict
    metadata: dict
    spec: dict

    @property
    def name(self) -> str:
        return f"{self.owner['kind']}/{self.owner['metadata']['name']}"

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.get("labels") or {}

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.get("annotations") or {}

    @property
    def hooks(self) -> set[str]:
        return hooks(self.owner)

    @property
    def is_test(self) -> bool:
        return bool(self.hooks & TEST_HOOKS)

    @property
    def lasts(self) -> bool:
        """True for pods that are meant to run until somebody stops them."""
        return self.owner["kind"] in ("Deployment", "StatefulSet", "DaemonSet")

    @property
    def containers(self) -> list[dict]:
        return [*self.spec.get("initContainers", []), *self.spec["containers"]]

    @property
    def claim_templates(self) -> list[dict]:
        return self.owner.get("spec", {}).get("volumeClaimTemplates") or []

    def uses(self) -> Iterator[tuple[str, str, list[str] | None, bool]]:
        """ConfigMaps and Secrets that pods use: kind, name, the keys that have to be there, whether it may be missing."""
        for container in self.containers:
            for variable in container.get("env") or []:
                source = variable.get("valueFrom") or {}
                for way, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
                    if way in source:
                        yield kind, source[way]["name"], [source[way]["key"]], source[way].get("optional", False)
            for source in container.get("envFrom") or []:
                for way, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
                    if way in source:
                        yield kind, source[way]["name"], None, source[way].get("optional", False)
        for volume in self.spec.get("volumes") or []:
            for part in (volume, *(volume.get("projected") or {}).get("sources", [])):
                for way, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
                    if way in part:
                        source = part[way]
                        keys = [item["key"] for item in source["items"]] if "items" in source else None
                        yield kind, source.get("secretName") or source["name"], keys, source.get("optional", False)

    def ports(self) -> dict[str, int]:
        """Named ports of all containers."""
        return {
            port["name"]: port["containerPort"]
            for c in self.containers
            for port in c.get("ports", [])
            if "name" in port
        }


def hooks(owner: dict) -> set[str]:
    """The moments at which Helm runs an object; empty for one that is part of the release."""
    text = (owner["metadata"].get("annotations") or {}).get("helm.sh/hook", "")
    return {word.strip() for word in text.split(",") if word.strip()}


def pod_template(owner: dict) -> PodTemplate | None:
    """The pods that an object makes, if it makes any."""
    kind = owner["kind"]
    if kind not in WORKLOADS:
        return None
    if kind == "Pod":
        return PodTemplate(owner, owner["metadata"], owner["spec"])
    job = owner["spec"]["jobTemplate"] if kind == "CronJob" else owner
    template = job["spec"]["template"]
    return PodTemplate(owner, template.get("metadata") or {}, template["spec"])


def selected(selector: dict, labels: dict[str, str]) -> bool:
    """Whether a label selector (`matchLabels`, `matchExpressions`) takes these labels; an empty one takes all."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for wanted in selector.get("matchExpressions") or []:
        value, values = labels.get(wanted["key"]), wanted.get("values") or []
        answer = {
            "In": value in values,
            "NotIn": value not in values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }[wanted["operator"]]
        if not answer:
            return False
    return True


class Manifests:
    """All objects of a release."""

    def __init__(self, objects: list[dict]):
        self.objects = objects

    @classmethod
    def parse(cls, text: str) -> Manifests:
        return cls([one for one in yaml.load_all(text, Loader=yaml.CSafeLoader) if one])

    def of(self, *kinds: str) -> list[dict]:
        return [one for one in self.objects if one["kind"] in kinds]

    def find(self, kind: str, name: str) -> dict | None:
        found = [one for one in self.of(kind) if one["metadata"]["name"] == name]
        return found[0] if found else None

    def pods(self) -> list[PodTemplate]:
        found = (pod_template(one) for one in self.objects)
        return [pods for pods in found if pods]

    def lasting_pods(self) -> list[PodTemplate]:
        return [pods for pods in self.pods() if pods.lasts]

    def pods_of(self, service: dict) -> list[PodTemplate]:
        """Pods that a Service sends to."""
        selector = service["spec"].get("selector")
        return [pods for pods in self.lasting_pods() if selector and selected({"matchLabels": selector}, pods.labels)]

    def component(self, name: str) -> PodTemplate | None:
        found = [pods for pods in self.lasting_pods() if pods.labels.get(COMPONENT) == name]
        return found[0] if found else None


def key_of(one: dict) -> str:
    """How an object is named in complaints."""
    return f"{one['kind']}/{one['metadata']['name']}"


def walk(value, path: str = "") -> Iterator[tuple[str, object]]:
    """Every value within a tree of YAML, with its path."""
    yield path, value
    if isinstance(value, dict):
        for key, below in value.items():
            yield from walk(below, f"{path}.{key}")
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from walk(below, f"{path}[{index}]")
