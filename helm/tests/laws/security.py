"""What a pod may do, and who may read what."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator

from chart.manifests import PodTemplate, key_of
from laws import law
from renderings import Rendering

# https://kubernetes.io/docs/concepts/security/pod-security-standards/, "Restricted".
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
SECCOMP = {"RuntimeDefault", "Localhost"}
# A password of fewer letters is found in any text.
SHORTEST_SECRET = 8


@law
def pods_are_restricted(rendering: Rendering) -> Iterator[str]:
    """The Pod Security standard "restricted", of every pod: hooks and tests too."""
    for one in rendering.manifests.pods():
        for complaint in _unrestricted(one):
            yield f"{one.name}: {complaint}"


def _unrestricted(one: PodTemplate) -> Iterator[str]:
    pod = one.spec.get("securityContext") or {}
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if one.spec.get(key):
            yield key
    for volume in one.spec.get("volumes") or []:
        for kind in set(volume) - {"name"} - VOLUMES:
            yield f"a volume of kind {kind}"
    if pod.get("sysctls"):
        yield "sysctls"
    for container in one.containers:
        own = container.get("securityContext") or {}
        where = container["name"]
        both = {**pod, **own}
        if own.get("privileged"):
            yield f"{where} is privileged"
        if own.get("allowPrivilegeEscalation") is not False:
            yield f"{where} may gain privileges"
        if both.get("runAsNonRoot") is not True or both.get("runAsUser") == 0:
            yield f"{where} may run as root"
        if (both.get("seccompProfile") or {}).get("type") not in SECCOMP:
            yield f"{where} has no seccomp profile"
        capabilities = own.get("capabilities") or {}
        if "ALL" not in capabilities.get("drop", []) or set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
            yield f"{where} keeps capabilities"
        if own.get("procMount", "Default") != "Default":
            yield f"{where} has another /proc"
        if any("hostPort" in port for port in container.get("ports") or []):
            yield f"{where} takes a port of the node"


@law
def roots_are_read_only(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.pods():
        for container in one.containers:
            if (container.get("securityContext") or {}).get("readOnlyRootFilesystem") is not True:
                yield f"{one.name}: {container['name']} may write to its root"


@law
def volumes_belong_to_the_group_of_the_pod(rendering: Rendering) -> Iterator[str]:
    """Else a claim's folder is root's. Where the platform chooses users, it chooses the group as well."""
    for one in rendering.manifests.pods():
        security = one.spec.get("securityContext") or {}
        if security.get("runAsUser") and not security.get("fsGroup"):
            yield f"{one.name} has no fsGroup"


@law
def nobody_holds_a_token(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.pods():
        if one.spec.get("automountServiceAccountToken") is not False:
            yield f"{one.name} mounts a token"
    for account in rendering.manifests.of("ServiceAccount"):
        if account.get("automountServiceAccountToken") is not False:
            yield f"{key_of(account)} hands out a token"
    for one in rendering.manifests.of("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"):
        yield f"{key_of(one)}: nothing here needs rights at the API server"


@law
def services_do_not_leak_into_the_environment(rendering: Rendering) -> Iterator[str]:
    """A service `fogfall-nats` would set FOGFALL_NATS_PORT and the like, which the programs take for settings."""
    for one in rendering.manifests.pods():
        if one.spec.get("enableServiceLinks") is not False:
            yield f"{one.name} has service links"


def _secrets(rendering: Rendering) -> Iterator[tuple[str, str]]:
    for secret in rendering.manifests.of("Secret"):
        for key, value in (secret.get("data") or {}).items():
            yield f"{key_of(secret)} {key}", base64.b64decode(value).decode(errors="replace")
        for key, value in (secret.get("stringData") or {}).items():
            yield f"{key_of(secret)} {key}", value


@law
def secrets_are_in_secrets_alone(rendering: Rendering) -> Iterator[str]:
    secrets = [(name, value) for name, value in _secrets(rendering) if len(value) >= SHORTEST_SECRET]
    for one in rendering.manifests.objects:
        if one["kind"] == "Secret":
            continue
        everything = json.dumps(one)
        for name, value in secrets:
            if value in everything or base64.b64encode(value.encode()).decode() in everything:
                yield f"{key_of(one)} holds {name} in clear"


@law
def nothing_that_is_called_a_password_stands_in_clear(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.pods():
        for container in one.containers:
            for variable in container.get("env") or []:
                named = re.search(r"PASSWORD|TOKEN|NKEY|SECRET|AUTH", variable["name"])
                value = variable.get("value") or ""
                if named and value and not re.search(r"\$\([A-Z_0-9]+\)", value):
                    yield f"{one.name}: {variable['name']} is written down"


@law
def images_are_of_a_version(rendering: Rendering) -> Iterator[str]:
    for one in rendering.manifests.pods():
        for container in one.containers:
            image = container["image"]
            tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
            if "@sha256:" not in image and (not tag or tag == "latest"):
                yield f"{one.name}: {image}"
            if container.get("imagePullPolicy") not in ("IfNotPresent", "Always", "Never"):
                yield f"{one.name}: {container['name']} has no imagePullPolicy"


@law
def everything_is_in_the_namespace_of_the_release(rendering: Rendering) -> Iterator[str]:
    """But for what an operator or a sidecar looks for elsewhere, where values say so, and for `extraObjects`."""
    for one in rendering.own():
        place = one["metadata"].get("namespace")
        if place != rendering.namespace and not (place and rendering.names(place)):
            yield f"{key_of(one)} is in namespace {place}"
