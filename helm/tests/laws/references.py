"""Names: whatever an object, a pod or an argument refers to is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from chart.manifests import PodTemplate, key_of, selected, walk
from laws import law
from renderings import Rendering

# Labels that another version of chart or program changes: selectors are for ever.
CHANGING = ("helm.sh/chart", "app.kubernetes.io/version", "app.kubernetes.io/managed-by")


def workloads(rendering: Rendering) -> list[PodTemplate]:
    return rendering.manifests.lasting_pods()


@law
def selectors_match_their_own_pods_alone(rendering: Rendering) -> Iterator[str]:
    for one in workloads(rendering):
        selector = one.owner["spec"]["selector"]
        if not selector.get("matchLabels"):
            yield f"{one.name} selects by nothing"
        for other in rendering.manifests.pods():
            if selected(selector, other.labels) != (other is one or other.owner is one.owner):
                yield f"{one.name}: its selector and pods of {other.name}"


@law
def selectors_hold_nothing_that_an_upgrade_changes(rendering: Rendering) -> Iterator[str]:
    for one in workloads(rendering):
        for key in CHANGING:
            if key in one.owner["spec"]["selector"]["matchLabels"]:
                yield f"{one.name} selects by {key}"
            for claim in one.claim_templates:
                if key in claim["metadata"].get("labels", {}):
                    yield f"a claim of {one.name} has the label {key}"


@law
def services_lead_to_pods_with_their_ports(rendering: Rendering) -> Iterator[str]:
    for service in rendering.manifests.of("Service"):
        pods = rendering.manifests.pods_of(service)
        if len(pods) != 1:
            yield f"{key_of(service)} leads to {len(pods)} workloads"
        for port in service["spec"]["ports"]:
            target = port.get("targetPort", port["port"])
            for one in pods:
                if target not in one.ports() and target not in one.ports().values():
                    yield f"{key_of(service)}: {one.name} has no port {target}"


@law
def stateful_sets_have_their_service(rendering: Rendering) -> Iterator[str]:
    for one in workloads(rendering):
        if one.owner["kind"] != "StatefulSet":
            continue
        service = rendering.manifests.find("Service", one.owner["spec"]["serviceName"])
        if service is None or one not in rendering.manifests.pods_of(service):
            yield f"{one.name}: no service {one.owner['spec']['serviceName']} leads to it"


@law
def monitors_lead_to_ports_of_pods(rendering: Rendering) -> Iterator[str]:
    for monitor in rendering.manifests.of("PodMonitor", "ServiceMonitor"):
        spec = monitor["spec"]
        if monitor["kind"] == "ServiceMonitor":
            found = [
                one
                for one in rendering.manifests.of("Service")
                if selected(spec["selector"], one["metadata"]["labels"])
            ]
            ports = [{port["name"] for port in one["spec"]["ports"]} for one in found]
        else:
            ports = [set(one.ports()) for one in workloads(rendering) if selected(spec["selector"], one.labels)]
        asked = {endpoint["port"] for endpoint in spec.get("endpoints") or spec["podMetricsEndpoints"]}
        if not ports:
            yield f"{key_of(monitor)} selects nothing"
        for port in asked - set().union(*ports) - _exporter_ports(rendering):
            yield f"{key_of(monitor)}: nobody has a port {port}"
        elsewhere = monitor["metadata"]["namespace"] != rendering.namespace
        if elsewhere and spec.get("namespaceSelector", {}).get("matchNames") != [rendering.namespace]:
            yield f"{key_of(monitor)} looks into its own namespace only"


def _exporter_ports(rendering: Rendering) -> set[str]:
    """One monitor is for all pods: it asks for the exporters' port whether or not there are any."""
    servers = (rendering.values["nats"], rendering.values["redis"])
    return set() if any(one["enabled"] and one["exporter"]["enabled"] for one in servers) else {"metrics"}


@law
def scalers_have_a_workload_to_scale_and_it_names_no_replicas(rendering: Rendering) -> Iterator[str]:
    for scaler in rendering.manifests.of("HorizontalPodAutoscaler", "ScaledObject"):
        target = scaler["spec"]["scaleTargetRef"]
        found = rendering.manifests.find(target.get("kind", "Deployment"), target["name"])
        if found is None:
            yield f"{key_of(scaler)} scales {target['name']}, which is not there"
        elif "replicas" in found["spec"]:
            yield f"{key_of(found)} names replicas, which an upgrade would set against {key_of(scaler)}"


@law
def secrets_and_config_maps_are_there_or_named_by_values(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.pods():
        for kind, name, keys, optional in one.uses():
            found = rendering.manifests.find(kind, name)
            if found is None:
                if not optional and not rendering.names(name):
                    yield f"{one.name} uses {kind} {name}, which is not there"
                continue
            held = {**(found.get("data") or {}), **(found.get("stringData") or {}), **(found.get("binaryData") or {})}
            for key in keys or []:
                if key not in held:
                    yield f"{one.name} uses {key} of {kind} {name}, which has no such key"


@law
def claims_and_accounts_are_there_or_named_by_values(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.pods():
        for volume in one.spec.get("volumes") or []:
            claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            if claim and not rendering.names(claim) and not rendering.manifests.find("PersistentVolumeClaim", claim):
                yield f"{one.name} uses the claim {claim}, which is not there"
        account = one.spec.get("serviceAccountName")
        if (
            account != "default"
            and not rendering.names(account)
            and not rendering.manifests.find("ServiceAccount", account)
        ):
            yield f"{one.name} runs as {account}, which is not there"


@law
def mounts_have_a_volume_and_volumes_a_mount(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.pods():
        volumes = [volume["name"] for volume in one.spec.get("volumes") or []]
        volumes += [claim["metadata"]["name"] for claim in one.claim_templates]
        if len(set(volumes)) != len(volumes):
            yield f"{one.name}: a volume is there twice"
        mounted = set()
        for container in one.containers:
            mounts = container.get("volumeMounts") or []
            mounted |= {mount["name"] for mount in mounts}
            paths = [mount["mountPath"].rstrip("/") for mount in mounts]
            if len(set(paths)) != len(paths):
                yield f"{one.name}: two mounts at one path"
        for name in mounted.symmetric_difference(volumes):
            yield f"{one.name}: {name} is not both volume and mount"


@law
def ports_and_probes_agree(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.pods():
        ports = [
            (port.get("name"), port["containerPort"])
            for container in one.containers
            for port in container.get("ports") or []
        ]
        for column in (0, 1):
            values = [port[column] for port in ports]
            if len(set(values)) != len(values):
                yield f"{one.name}: a port is there twice"
        for name, _ in ports:
            if name is None or len(name) > 15:
                yield f"{one.name}: a port needs a name of at most 15 letters, not {name}"
        for container in one.containers:
            own = {port.get("name") for port in container.get("ports") or []}
            for kind in ("startup", "liveness", "readiness"):
                probe = container.get(f"{kind}Probe") or {}
                port = (probe.get("httpGet") or probe.get("tcpSocket") or {}).get("port")
                if isinstance(port, str) and port not in own:
                    yield f"{one.name}: the {kind} probe asks port {port}, which is not there"


@law
def variables_are_there_once_and_before_their_use(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.pods():
        for container in one.containers:
            seen: list[str] = []
            for variable in container.get("env") or []:
                for used in re.findall(r"(?<!\$)\$\(([^)]+)\)", variable.get("value") or ""):
                    if used not in seen:
                        yield f"{one.name}: {variable['name']} uses {used}, which is not set before it"
                if variable["name"] in seen:
                    yield f"{one.name}: {variable['name']} is there twice"
                seen.append(variable["name"])
            for word in [*container.get("command", []), *container.get("args", [])]:
                for used in re.findall(r"(?<!\$)\$\(([^)]+)\)", word):
                    if used not in seen:
                        yield f"{one.name}: an argument uses {used}, which is not set"


@law
def files_in_arguments_are_mounted(rendering: Rendering) -> Iterator[str]:
    """Of paths below /etc, which images of ours do not hold. What is in objects that are named by values is not known."""
    for one in rendering.manifests.pods():
        sources = {volume["name"]: volume for volume in one.spec.get("volumes") or []}
        for container in one.containers:
            for word in [*container.get("command", []), *container.get("args", [])]:
                for path in re.findall(r"(?:^|=)(/etc/\S+)$", word):
                    if not _is_mounted(path, container, sources, rendering):
                        yield f"{one.name}: {path} is not there"


def _is_mounted(path: str, container: dict, sources: dict[str, dict], rendering: Rendering) -> bool:
    for mount in container.get("volumeMounts") or []:
        base = mount["mountPath"].rstrip("/") + "/"
        if not path.startswith(base):
            continue
        volume, file = sources.get(mount["name"], {}), path.removeprefix(base)
        for way, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
            if way in volume:
                source = volume[way]
                if "items" in source:
                    return file in [item["path"] for item in source["items"]]
                name = source.get("secretName") or source["name"]
                found = rendering.manifests.find(kind, name)
                return (
                    rendering.names(name)
                    if found is None
                    else file in {**found.get("data", {}), **found.get("stringData", {})}
                )
    return False


@law
def addresses_lead_to_services_or_are_named_by_values(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.pods():
        for container in one.containers:
            words = [
                *container.get("args", []),
                *(variable.get("value") or "" for variable in container.get("env") or []),
            ]
            for url in re.findall(r"(?:nats|tls|redis|rediss)://[^\s,\"']+", " ".join(words)):
                address = urlsplit(re.sub(r"\$\([^)]*\)", "x", url))
                if not _answers(address.hostname, address.port, rendering):
                    yield f"{one.name}: nobody answers at {url}"


def _answers(host: str, port: int, rendering: Rendering) -> bool:
    if host == "127.0.0.1" or any(isinstance(value, str) and host in value for _, value in _external(rendering)):
        return True
    words = host.split(".")
    service = rendering.manifests.find("Service", words[0])
    if service is None and len(words) > 1:  # The pod of a stateful set.
        service = rendering.manifests.find("Service", words[1])
        owner, _, index = words[0].rpartition("-")
        found = rendering.manifests.find("StatefulSet", owner)
        if found is None or int(index) >= found["spec"]["replicas"]:
            return False
    return service is not None and port in [one["port"] for one in service["spec"]["ports"]]


def _external(rendering: Rendering) -> Iterator[tuple[str, object]]:
    for name in ("externalNats", "externalRedis"):
        yield from walk(rendering.values.get(name) or {})
