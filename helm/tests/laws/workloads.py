"""How pods run: what they ask for, how they are watched, moved and replaced."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from chart.manifests import PodTemplate, key_of, selected, walk
from chart.resolve import quantity
from laws import law
from renderings import Rendering

# Kubernetes makes names of pods and labels of revisions from a stateful set's by adding up to 11 letters.
LONGEST_NAME, LONGEST_STATEFUL_SET = 63, 52
LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/part-of")
OBJECT_LABELS = (*LABELS, "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart")
# A setting's default: see `actor --help`, `learner --help`.
STOP_WITHIN_S = 20
OURS = ("actor", "ingester", "learner")


@law
def containers_say_what_they_need(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.pods():
        for container in one.containers:
            resources = container.get("resources") or {}
            requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
            where = f"{one.name}: {container['name']}"
            for resource in ("cpu", "memory"):
                if resource not in requests:
                    yield f"{where} asks for no {resource}"
            if "memory" not in limits:
                yield f"{where} has no limit of memory"
            for resource, limit in limits.items():
                if resource in requests and quantity(requests[resource]) > quantity(limit):
                    yield f"{where} asks for more {resource} than its limit"


@law
def accelerators_are_whole_and_limits(rendering: Rendering) -> Iterator[str]:
    """The API server wants devices as whole numbers, as a limit, and a request equal to it, if any."""
    for one in rendering.manifests.pods():
        for container in one.containers:
            resources = container.get("resources") or {}
            requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
            for resource in {name for name in (*requests, *limits) if "/" in name}:
                limit = limits.get(resource)
                if not re.fullmatch(r"[1-9][0-9]*", str(limit)) or requests.get(resource, limit) != limit:
                    yield f"{one.name}: {container['name']} wants {requests.get(resource)} to {limit} of {resource}"


@law
def lasting_containers_are_probed(rendering: Rendering) -> Iterator[str]:
    """The first container of a pod by all three; one beside it must not take it out of service, but may hang as well."""
    for one in rendering.manifests.lasting_pods():
        for index, container in enumerate(one.spec["containers"]):
            for kind in ("startup", "liveness", "readiness") if index == 0 else ("liveness",):
                if f"{kind}Probe" not in container:
                    yield f"{one.name}: {container['name']} has no {kind} probe"


@law
def liveness_is_slower_than_readiness(rendering: Rendering) -> Iterator[str]:
    """What is overloaded is left alone for a while before it is killed."""
    for one in rendering.manifests.lasting_pods():
        container = one.spec["containers"][0]
        patience = {
            kind: container[f"{kind}Probe"].get("periodSeconds", 10)
            * container[f"{kind}Probe"].get("failureThreshold", 3)
            for kind in ("startup", "liveness", "readiness")
            if f"{kind}Probe" in container
        }
        if not patience.get("startup", 0) >= patience.get("liveness", 0) >= patience.get("readiness", 0):
            yield f"{one.name}: patience in seconds {patience}"


@law
def disruption_budgets_never_block_a_drain(rendering: Rendering) -> Iterator[str]:
    for budget in rendering.manifests.of("PodDisruptionBudget"):
        spec = budget["spec"]
        found = [one for one in rendering.manifests.lasting_pods() if selected(spec["selector"], one.labels)]
        if len(found) != 1:
            yield f"{key_of(budget)} is for {len(found)} workloads"
        if "minAvailable" in spec:
            yield f"{key_of(budget)} says minAvailable, which blocks for ever when there are so few"
        most = spec.get("maxUnavailable")
        if not re.fullmatch(r"[1-9][0-9]*%?", str(most)):
            yield f"{key_of(budget)} lets {most} pods go"


@law
def a_pod_has_time_to_end(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.lasting_pods():
        grace = one.spec.get("terminationGracePeriodSeconds")
        if grace is None:
            yield f"{one.name} has no terminationGracePeriodSeconds"
        elif one.labels.get("app.kubernetes.io/component") in OURS and grace <= _stops_within(one, rendering):
            yield f"{one.name} gets {grace} s to end and takes {_stops_within(one, rendering)} s"


def _stops_within(one: PodTemplate, rendering: Rendering) -> float:
    for volume in one.spec.get("volumes") or []:
        found = rendering.manifests.find("ConfigMap", (volume.get("configMap") or {}).get("name", ""))
        for file, text in ((found or {}).get("data") or {}).items():
            if file == "settings.toml":
                return tomllib.loads(text).get("stop_within_s", STOP_WITHIN_S)
    return STOP_WITHIN_S


@law
def pods_are_new_when_what_they_read_is(rendering: Rendering) -> Iterator[str]:
    """That the sums follow the content is tried in `test_changes.py`."""
    for one in rendering.manifests.lasting_pods():
        names = {
            value
            for path, value in walk(one.spec)
            if path.endswith((".name", ".secretName")) and isinstance(value, str)
        }
        own = [held for held in rendering.manifests.of("ConfigMap", "Secret") if held["metadata"]["name"] in names]
        sums = [value for key, value in one.annotations.items() if key.startswith("checksum/")]
        if own and not sums:
            yield f"{one.name} has no checksum of {', '.join(key_of(held) for held in own)}"
        if any(not re.fullmatch(r"[0-9a-f]{64}", value) for value in sums):
            yield f"{one.name}: no SHA-256 among {sums}"


@law
def old_versions_are_kept_to_roll_back_to(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.lasting_pods():
        if one.owner["spec"].get("revisionHistoryLimit", 0) < 1:
            yield one.name


@law
def names_are_names(rendering: Rendering) -> Iterator[str]:
    seen = set()
    for one in rendering.manifests.objects:
        name = one["metadata"]["name"]
        longest = LONGEST_STATEFUL_SET if one["kind"] in ("StatefulSet", "CronJob") else LONGEST_NAME
        if not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name) or len(name) > longest:
            yield f"{key_of(one)}: no name of at most {longest} letters"
        key = (one["kind"], name, one["metadata"].get("namespace"))
        if key in seen:
            yield f"{key_of(one)} is there twice"
        seen.add(key)


@law
def labels_are_the_usual_ones_and_short(rendering: Rendering) -> Iterator[str]:
    for one in rendering.own():
        labels = one["metadata"].get("labels") or {}
        for key in OBJECT_LABELS if one["kind"] != "Pod" else LABELS:
            if key not in labels:
                yield f"{key_of(one)} has no label {key}"
    for one in rendering.manifests.pods():
        for key in (*LABELS, "app.kubernetes.io/component"):
            if key not in one.labels:
                yield f"pods of {one.name} have no label {key}"
    for one in rendering.manifests.objects:
        for path, value in walk(one):
            if path.endswith((".labels", ".matchLabels")) and isinstance(value, dict):
                for key, text in value.items():
                    if (
                        not re.fullmatch(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", str(text))
                        or len(str(text)) > 63
                    ):
                        yield f"{key_of(one)}: {key} cannot be {text!r}"


@law
def there_is_a_test_and_it_cleans_up(rendering: Rendering) -> Iterator[str]:
    tests = [one for one in rendering.manifests.pods() if one.is_test]
    if not tests and rendering.values["tests"]["enabled"]:
        yield "there is no pod for helm test"
    for one in tests:
        policy = one.owner["metadata"]["annotations"].get("helm.sh/hook-delete-policy", "")
        if "before-hook-creation" not in policy:
            yield f"{one.name} is in the way of the next test"
        if one.spec.get("restartPolicy") != "Never":
            yield f"{one.name} would be started again and again"
