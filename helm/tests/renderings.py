"""The chart as tests render it: by each profile of `ci/`, and by values made for one test. Equal renderings are made once."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import pathlib
import tempfile

import yaml

from chart import helm
from chart.manifests import Manifests, walk

PROFILES = {path.name.removesuffix("-values.yaml"): path for path in sorted((helm.CHART / "ci").glob("*-values.yaml"))}
HELM3, HELM4 = helm.Helm(3), helm.Helm(4)
# What the chart says it runs on, at both ends and between.
KUBERNETES = ("1.27", "1.30", "1.33", "1.37")

# Helm draws passwords that are not given; two renderings can be compared if none is.
PASSWORDS = {
    "nats": {
        "auth": {
            "passwords": {
                user: f"nats-{user}-password" for user in ("learner", "ingester", "actor", "operator", "cluster")
            }
        }
    },
    "redis": {"auth": {"passwords": {user: f"redis-{user}-password" for user in ("fogfall", "operator", "exporter")}}},
}


@dataclasses.dataclass(frozen=True)
class Rendering:
    """What came out, and the values that went in."""

    manifests: Manifests
    values: dict
    namespace: str = "games"

    def names(self, name: str) -> bool:
        """Whether the values name an object, which then need not be part of the release."""
        return any(value == name for _, value in walk(self.values))

    def own(self) -> list[dict]:
        """All objects but those that the values bring along."""
        return [one for one in self.manifests.objects if not any(one == extra for extra in self.values["extraObjects"])]


def merged(*layers: dict) -> dict:
    """Values over values, as Helm lays them: objects key by key, all else as a whole."""
    result: dict = {}
    for layer in layers:
        for key, value in layer.items():
            below = result.get(key)
            result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def nested(path: str, value) -> dict:
    """`a.b` and 1 are `{"a": {"b": 1}}`."""
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


@functools.cache
def default_values() -> dict:
    return yaml.safe_load((helm.CHART / "values.yaml").read_text())


@functools.cache
def profile_values(profile: str) -> dict:
    return yaml.safe_load(PROFILES[profile].read_text()) or {}


@functools.cache
def by_profile(
    profile: str, helm_: helm.Helm = HELM4, kube_version: str = "1.37", custom_resources: bool = True
) -> Rendering:
    """A profile as it is, but for the passwords, which are given."""
    return render(profile_values(profile), helm_, kube_version, custom_resources)


def render(
    values: dict, helm_: helm.Helm = HELM4, kube_version: str = "1.37", custom_resources: bool = True, **call
) -> Rendering:
    """The chart's own values, under given passwords, under these.

    Raises helm.Refused with what the chart has against them.
    """
    manifests = Manifests.parse(text(values, helm_, kube_version, custom_resources, **call))
    return Rendering(manifests, merged(default_values(), PASSWORDS, values))


def text(
    values: dict, helm_: helm.Helm = HELM4, kube_version: str = "1.37", custom_resources: bool = True, **call
) -> str:
    """The same as one text."""
    file = _file(json.dumps(merged(PASSWORDS, values)))  # JSON is YAML, and leaves no doubt what is text.
    versions = helm.CUSTOM_RESOURCES if custom_resources else ()
    return helm_.render(helm.Call((file,), kube_version=kube_version, api_versions=versions, **call))


_FOLDER = tempfile.TemporaryDirectory(prefix="fogfall-values-")


@functools.cache
def _file(content: str) -> str:
    path = pathlib.Path(_FOLDER.name) / f"{hashlib.sha256(content.encode()).hexdigest()}.yaml"
    path.write_text(content)
    return str(path)


# Values under which most of the chart is rendered, one after the other; a value is used if it shows under one of them.
AUTOSCALED = {
    "actor": {"autoscaling": {"enabled": True}},
    "nats": {"replicas": 3, "exporter": {"enabled": True}, "tls": {"enabled": True, "existingSecret": "nats-tls"}},
    "redis": {"exporter": {"enabled": True}, "tls": {"enabled": True, "existingSecret": "redis-tls"}},
    "networkPolicy": {"metricsFrom": [{"podSelector": {}}], "pageFrom": [{"podSelector": {}}]},
}
KEDA = {"actor": {"keda": {"enabled": True}}, "run": {"rules": "x = 1"}}
EXTERNAL = {
    "nats": {"enabled": False},
    "redis": {"enabled": False},
    "externalNats": {
        "urls": ["nats://n:4222"],
        "auth": {"method": "password", "existingSecret": "nats"},
        "tls": {"existingSecret": "tls"},
    },
    "externalRedis": {
        "url": "redis://r:6379",
        "users": {"fogfall": "me", "operator": "you"},
        "existingSecret": "redis",
        "tls": {"existingSecret": "tls"},
    },
}
OTHERS = {
    "run": {"existingRulesConfigMap": "rules"},
    "learner": {"persistence": {"enabled": False}},
    "nats": {"persistence": {"enabled": False}},
    "redis": {"persistence": {"enabled": False}},
    "monitoring": {"podMonitor": {"enabled": False}},
}
ACCOUNTS = {
    role: {"serviceAccount": {"create": False}} for role in ("actor", "ingester", "learner", "nats", "redis", "tests")
}
WORLDS = [{}, AUTOSCALED, KEDA, EXTERNAL, OTHERS, ACCOUNTS]
