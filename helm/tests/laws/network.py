"""Who may speak to whom: the flows that NetworkPolicies let through are those that a run needs, and no others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from chart.manifests import COMPONENT, Manifests, PodTemplate, selected
from laws import law
from renderings import Rendering

# By component: to whom, at which named port. Whatever is not here is refused.
FLOWS = {
    "learner": {("nats", "nats"), ("redis", "redis")},
    "ingester": {("nats", "nats"), ("redis", "redis")},
    "actor": {("nats", "nats")},
    "nats": {("nats", "cluster")},
    "redis": set(),
    "test": {("nats", "nats"), ("redis", "redis")},
}
# What everybody may ask for: metrics and the learner's page, unless values say who.
OPEN_PORTS = {"http", "metrics"}
STRANGER = {"app": "stranger"}
DNS = 53


def policies_of(manifests: Manifests, labels: dict, direction: str) -> list[dict]:
    """Policies that hold for pods with these labels, in one direction."""
    found = []
    for policy in manifests.of("NetworkPolicy"):
        spec = policy["spec"]
        types = spec.get("policyTypes") or ["Ingress", *(["Egress"] if "egress" in spec else [])]
        if direction in types and selected(spec["podSelector"], labels):
            found.append(policy)
    return found


def lets_through(
    policies: list[dict], direction: str, labels: dict | None, port_name: str | None, port: int, protocol: str = "TCP"
) -> bool:
    """Whether any of the policies lets traffic with a peer (None: outside of the cluster's pods) and a port through.

    A named port is one of the pod that is spoken to.
    """
    if not policies:
        return True
    key, side = ("ingress", "from") if direction == "Ingress" else ("egress", "to")
    for policy in policies:
        for rule in policy["spec"].get(key) or []:
            if _peer(rule.get(side), labels) and _port(rule.get("ports"), port_name, port, protocol):
                return True
    return False


def _peer(peers: list[dict] | None, labels: dict | None) -> bool:
    if not peers:
        return True
    for peer in peers:
        if "ipBlock" in peer:
            if labels is None:
                return True
        elif (
            labels is not None and selected(peer.get("podSelector") or {}, labels) and not peer.get("namespaceSelector")
        ):
            return True
    return False


def _port(ports: list[dict] | None, name: str | None, number: int, protocol: str) -> bool:
    return not ports or any(
        one.get("port") in (None, name, number) and one.get("protocol", "TCP") == protocol for one in ports
    )


def open_between(manifests: Manifests, one: PodTemplate, other: PodTemplate, name: str, port: int) -> bool:
    out = lets_through(policies_of(manifests, one.labels, "Egress"), "Egress", other.labels, name, port)
    return out and lets_through(policies_of(manifests, other.labels, "Ingress"), "Ingress", one.labels, name, port)


def _component(one: PodTemplate) -> str:
    return one.labels[COMPONENT]


@law
def only_needed_flows_are_let_through(rendering: Rendering) -> Iterator[str]:
    if not rendering.values["networkPolicy"]["enabled"]:
        return
    pods = rendering.manifests.pods()
    for one, other in itertools.product(pods, pods):
        for name, port in other.ports().items():
            needed = (_component(other), name) in FLOWS[_component(one)]
            if needed != open_between(rendering.manifests, one, other, name, port) and not (
                name in OPEN_PORTS and not needed
            ):
                yield f"{_component(one)} to {name} of {_component(other)}: needed is {needed}"


@law
def nobody_reaches_metrics_by_what_is_open_to_a_run(rendering: Rendering) -> Iterator[str]:
    """Pods of a run have no business at each other's open ports, except the test."""
    if not rendering.values["networkPolicy"]["enabled"]:
        return
    for one, other in itertools.product(rendering.manifests.lasting_pods(), rendering.manifests.lasting_pods()):
        for name, port in other.ports().items():
            if name in OPEN_PORTS and open_between(rendering.manifests, one, other, name, port):
                yield f"{_component(one)} reaches {name} of {_component(other)}"


@law
def strangers_are_kept_out(rendering: Rendering) -> Iterator[str]:
    if not rendering.values["networkPolicy"]["enabled"]:
        return
    for one in rendering.manifests.pods():
        policies = {way: policies_of(rendering.manifests, one.labels, way) for way in ("Ingress", "Egress")}
        for way, found in policies.items():
            if not found:
                yield f"{one.name}: no policy for {way}"
        for name, port in one.ports().items():
            if name not in OPEN_PORTS and lets_through(policies["Ingress"], "Ingress", STRANGER, name, port):
                yield f"a stranger reaches {name} of {one.name}"
        if _component(one) in ("nats", "redis") and lets_through(policies["Egress"], "Egress", None, None, 443):
            yield f"{one.name} reaches the world"


@law
def everybody_who_looks_up_names_can(rendering: Rendering) -> Iterator[str]:
    if not rendering.values["networkPolicy"]["enabled"]:
        return
    ports = rendering.values["networkPolicy"]["dnsPorts"]
    for one in rendering.manifests.pods():
        if _component(one) == "redis":  # It calls nobody.
            continue
        policies = policies_of(rendering.manifests, one.labels, "Egress")
        for port, protocol in itertools.product(ports, ("UDP", "TCP")):
            if not any(
                _port(rule.get("ports"), None, port, protocol)
                for policy in policies
                for rule in policy["spec"].get("egress") or []
            ):
                yield f"{one.name} cannot ask for names at {port}/{protocol}"


@law
def scrapers_and_people_come_in(rendering: Rendering) -> Iterator[str]:
    """Metrics, and the learner's page, from everywhere, or from where values say."""
    if not rendering.values["networkPolicy"]["enabled"] or rendering.values["networkPolicy"]["metricsFrom"]:
        return
    for one in rendering.manifests.lasting_pods():
        policies = policies_of(rendering.manifests, one.labels, "Ingress")
        for name, port in one.ports().items():
            if name in OPEN_PORTS and not lets_through(policies, "Ingress", STRANGER, name, port):
                yield f"nobody can scrape {name} of {one.name}"


@law
def external_servers_are_reached(rendering: Rendering) -> Iterator[str]:
    values = rendering.values
    if not values["networkPolicy"]["enabled"]:
        return
    wanted = []
    if not values["nats"]["enabled"]:
        wanted.append(("actor", int(values["externalNats"]["urls"][0].rpartition(":")[2])))
    if not values["redis"]["enabled"]:
        wanted.append(("learner", int(values["externalRedis"]["url"].rpartition(":")[2].partition("/")[0])))
    for component, port in wanted:
        one = rendering.manifests.component(component)
        policies = policies_of(rendering.manifests, one.labels, "Egress")
        if not lets_through(policies, "Egress", None, None, port):
            yield f"{component} cannot reach port {port} outside"
