"""What a kubelet makes of a pod's YAML: the pods of a workload, their environment, arguments, files and names.

Pure: nothing runs. What this project has no use for (host paths, service links, sidecars that are init containers, ...) is
refused by name rather than left out.
"""

from __future__ import annotations

import base64
import dataclasses
import re

from .images import Image, image_of
from .manifests import Manifests, PodTemplate, selected

NODE = "node"


class Unsupported(Exception):
    """Manifests ask for what the runner cannot do, or for what is not there."""


@dataclasses.dataclass(frozen=True)
class File:
    content: bytes
    mode: int


@dataclasses.dataclass(frozen=True)
class Volume:
    """`files`: of ConfigMaps and Secrets, read-only. `claim`: the name of a claim. Neither: an empty folder."""

    files: dict[str, File] | None = None
    claim: str | None = None


@dataclasses.dataclass(frozen=True)
class Mount:
    volume: str
    path: str
    sub_path: str
    read_only: bool


@dataclasses.dataclass(frozen=True)
class Container:
    name: str
    image: Image
    command: list[str]
    environment: dict[str, str]
    mounts: list[Mount]
    uid: int
    gid: int
    read_only_root: bool
    working_dir: str
    probes: dict[str, dict]
    pre_stop: dict | None
    ports: dict[str, int]


@dataclasses.dataclass(frozen=True)
class Pod:
    """One pod, ready to be run."""

    name: str
    namespace: str
    ip: str
    hostname: str
    labels: dict[str, str]
    ready_names: list[str]
    init: list[Container]
    containers: list[Container]
    volumes: dict[str, Volume]
    grace_s: int
    template: PodTemplate

    @property
    def ports(self) -> dict[str, int]:
        return {name: port for container in self.containers for name, port in container.ports.items()}


@dataclasses.dataclass(frozen=True)
class Service:
    name: str
    namespace: str
    ip: str | None
    selector: dict[str, str]
    ports: list[tuple[int, int | str]]

    @property
    def names(self) -> list[str]:
        return dns_names(self.name, self.namespace)

    def takes(self, pod: Pod) -> bool:
        return bool(self.selector) and selected({"matchLabels": self.selector}, pod.labels)


def dns_names(name: str, namespace: str) -> list[str]:
    return [name, f"{name}.{namespace}", f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.cluster.local"]


# --- text ---

_REFERENCE = re.compile(r"\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")


def expand(text: str, environment: dict[str, str]) -> str:
    """`$(NAME)` becomes the variable's value, or stays if there is none; `$$` becomes `$`."""

    def value(match: re.Match) -> str:
        return "$" if match.group(0) == "$$" else environment.get(match.group(1), match.group(0))

    return _REFERENCE.sub(value, text)


_UNITS = {
    "": 1.0,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
}


def quantity(value: str | int | float) -> float:
    """A Kubernetes quantity as a number: `500m` is 0.5, `2Gi` is 2147483648."""
    match = re.fullmatch(r"([0-9.]+(?:e[0-9]+)?)([a-zA-Z]*)", str(value))
    if not match or match.group(2) not in _UNITS:
        raise ValueError(f"{value!r} is no quantity")
    return float(match.group(1)) * _UNITS[match.group(2)]


# --- what others hold ---


class Store:
    """ConfigMaps and Secrets of the release, and what an operator would have made (`given`)."""

    def __init__(self, manifests: Manifests, given: dict[tuple[str, str], dict[str, bytes]] | None = None):
        self._held = dict(given or {})
        for one in manifests.of("ConfigMap", "Secret"):
            self._held[one["kind"], one["metadata"]["name"]] = _contents(one)

    def keys(self, kind: str, name: str, optional: bool = False) -> dict[str, bytes]:
        held = self._held.get((kind, name))
        if held is None and not optional:
            raise Unsupported(f"there is no {kind} {name}")
        return held or {}

    def value(self, kind: str, reference: dict) -> str | None:
        optional = reference.get("optional", False)
        held = self.keys(kind, reference["name"], optional)
        if reference["key"] not in held and not optional:
            raise Unsupported(f"{kind} {reference['name']} has no key {reference['key']}")
        found = held.get(reference["key"])
        return None if found is None else found.decode()


def _contents(one: dict) -> dict[str, bytes]:
    contents = {key: value.encode() for key, value in (one.get("stringData") or {}).items()}
    for key, value in (one.get("data") or {}).items():
        contents.setdefault(key, base64.b64decode(value) if one["kind"] == "Secret" else value.encode())
    for key, value in (one.get("binaryData") or {}).items():
        contents[key] = base64.b64decode(value)
    return contents


# --- environment ---


def field(path: str, pod: dict) -> str:
    """A value of the downward API. `pod` holds name, namespace, ip, labels, annotations and spec."""
    simple = {
        "metadata.name": pod["name"],
        "metadata.namespace": pod["namespace"],
        "metadata.uid": f"uid-of-{pod['name']}",
        "spec.nodeName": NODE,
        "spec.serviceAccountName": pod["spec"].get("serviceAccountName", "default"),
        "status.podIP": pod["ip"],
        "status.hostIP": "10.244.0.1",
    }
    if path in simple:
        return simple[path]
    match = re.fullmatch(r"metadata\.(labels|annotations)\['([^']+)'\]", path)
    if not match:
        raise Unsupported(f"fieldPath {path}")
    return pod[match.group(1)].get(match.group(2), "")


def resource_field(reference: dict, container: dict) -> str:
    """A limit or request of the container, in units of the divisor, rounded up. Without a limit it is the node's, as 1."""
    kind, _, resource = reference["resource"].partition(".")
    value = container.get("resources", {}).get(kind, {}).get(resource, 1)
    return str(int(-(-quantity(value) // quantity(reference.get("divisor", 1) or 1))))


def environment(container: dict, pod: dict, store: Store) -> dict[str, str]:
    """The variables of a container, in the order that they may refer to each other."""
    made: dict[str, str] = {}
    for source in container.get("envFrom") or []:
        for kind, key in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            if key in source:
                reference = source[key]
                held = store.keys(kind, reference["name"], reference.get("optional", False))
                made.update({source.get("prefix", "") + name: value.decode() for name, value in held.items()})
    for variable in container.get("env") or []:
        value = _variable(variable, container, pod, store)
        if value is not None:
            made[variable["name"]] = expand(value, made)
    return made


def _variable(variable: dict, container: dict, pod: dict, store: Store) -> str | None:
    source = variable.get("valueFrom")
    if source is None:
        return variable.get("value") or ""
    (way,) = source
    reference = source[way]
    if way == "secretKeyRef":
        return store.value("Secret", reference)
    if way == "configMapKeyRef":
        return store.value("ConfigMap", reference)
    if way == "fieldRef":
        return field(reference["fieldPath"], pod)
    if way == "resourceFieldRef":
        return resource_field(reference, container)
    raise Unsupported(f"valueFrom {way}")


# --- volumes ---


def _projected(source: dict, kind: str, store: Store, mode: int) -> dict[str, File]:
    held = store.keys(kind, source.get("secretName") or source["name"], source.get("optional", False))
    if "items" not in source:
        return {key: File(content, source.get("defaultMode", mode)) for key, content in held.items()}
    files = {}
    for item in source["items"]:
        if item["key"] not in held:
            raise Unsupported(f"{kind} {source.get('secretName') or source['name']} has no key {item['key']}")
        files[item["path"]] = File(held[item["key"]], item.get("mode", source.get("defaultMode", mode)))
    return files


def _downward(source: dict, pod: dict, mode: int) -> dict[str, File]:
    return {item["path"]: File(field(item["fieldRef"]["fieldPath"], pod).encode(), mode) for item in source["items"]}


def volume(spec: dict, pod: dict, store: Store) -> Volume:
    """What stands behind a volume's name."""
    (way,) = set(spec) - {"name"}
    source = spec[way] or {}
    mode = source.get("defaultMode", 0o644)
    if way == "emptyDir":
        return Volume()
    if way == "persistentVolumeClaim":
        return Volume(claim=source["claimName"])
    if way == "configMap":
        return Volume(files=_projected(source, "ConfigMap", store, mode))
    if way == "secret":
        return Volume(files=_projected(source, "Secret", store, mode))
    if way == "downwardAPI":
        return Volume(files=_downward(source, pod, mode))
    if way == "projected":
        files: dict[str, File] = {}
        for part in source["sources"]:
            ((kind, inner),) = part.items()
            if kind == "downwardAPI":
                files.update(_downward(inner, pod, mode))
            elif kind in ("configMap", "secret"):
                files.update(_projected(inner, "ConfigMap" if kind == "configMap" else "Secret", store, mode))
            else:
                raise Unsupported(f"a projected {kind}")
        return Volume(files=files)
    raise Unsupported(f"a volume of kind {way}")


# --- pods ---


def container(spec: dict, pod: dict, store: Store) -> Container | None:
    """None if the image is one that the runner leaves out."""
    image = image_of(spec["image"])
    if image.left_out:
        return None
    if spec.get("restartPolicy") == "Always":
        raise Unsupported("an init container that goes on running")
    security = {**(pod["spec"].get("securityContext") or {}), **(spec.get("securityContext") or {})}
    variables = {**image.environment, **environment(spec, pod, store)}
    words = [expand(word, variables) for word in spec.get("command") or []]
    arguments = [expand(word, variables) for word in spec["args"]] if "args" in spec else None
    lifecycle = spec.get("lifecycle") or {}
    if "postStart" in lifecycle:
        raise Unsupported("a postStart hook")
    mounts = [
        Mount(
            one["name"],
            one["mountPath"],
            one.get("subPath") or expand(one.get("subPathExpr", ""), variables),
            one.get("readOnly", False),
        )
        for one in spec.get("volumeMounts") or []
    ]
    uid = security.get("runAsUser", image.uid)
    return Container(
        name=spec["name"],
        image=image,
        command=image.command(words, arguments),
        environment={
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOSTNAME": pod["name"],
            **variables,
        },
        mounts=mounts,
        uid=uid,
        gid=security.get("runAsGroup", uid),
        read_only_root=security.get("readOnlyRootFilesystem", False),
        working_dir=spec.get("workingDir", image.working_dir),
        probes={kind: spec[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness") if f"{kind}Probe" in spec},
        pre_stop=lifecycle.get("preStop"),
        ports={port["name"]: port["containerPort"] for port in spec.get("ports") or [] if "name" in port},
    )


def pod(template: PodTemplate, index: int, ip: str, namespace: str, store: Store) -> Pod:
    """The pod number `index` of those that the template stands for."""
    owner, kind = template.owner["metadata"]["name"], template.owner["kind"]
    name = {"StatefulSet": f"{owner}-{index}", "Pod": owner}.get(kind, f"{owner}-pod{index}")
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if template.spec.get(key):
            raise Unsupported(key)
    facts = {
        "name": name,
        "namespace": namespace,
        "ip": ip,
        "labels": {
            **template.labels,
            **({"apps.kubernetes.io/pod-index": str(index)} if kind == "StatefulSet" else {}),
        },
        "annotations": template.annotations,
        "spec": template.spec,
    }
    volumes = {one["name"]: volume(one, facts, store) for one in template.spec.get("volumes") or []}
    for claim in template.claim_templates:
        volumes[claim["metadata"]["name"]] = Volume(claim=f"{claim['metadata']['name']}-{name}")
    make = lambda specs: [made for spec in specs if (made := container(spec, facts, store))]  # noqa: E731
    set_service = template.owner["spec"].get("serviceName") if kind == "StatefulSet" else None
    return Pod(
        name=name,
        namespace=namespace,
        ip=ip,
        hostname=template.spec.get("hostname", name),
        labels=facts["labels"],
        ready_names=dns_names(f"{name}.{set_service}", namespace) if set_service else [],
        init=make(template.spec.get("initContainers") or []),
        containers=make(template.spec["containers"]),
        volumes=volumes,
        grace_s=template.spec.get("terminationGracePeriodSeconds", 30),
        template=template,
    )


def service(spec: dict, ip: str, namespace: str) -> Service:
    if spec["spec"].get("type") == "ExternalName":
        raise Unsupported("an ExternalName service")
    headless = spec["spec"].get("clusterIP") == "None"
    ports = [(port["port"], port.get("targetPort", port["port"])) for port in spec["spec"].get("ports") or []]
    return Service(
        spec["metadata"]["name"], namespace, None if headless else ip, spec["spec"].get("selector") or {}, ports
    )


def hosts_file(pod_: Pod, pods: list[Pod], services: list[Service]) -> str:
    """The names that a pod can resolve, as `/etc/hosts`: unlike DNS, pods of a headless service whether ready or not."""
    lines = ["127.0.0.1 localhost", f"{pod_.ip} {pod_.hostname}"]
    for one in services:
        if one.ip:
            lines.append(f"{one.ip} {' '.join(one.names)}")
        else:
            lines += [f"{other.ip} {' '.join(one.names)}" for other in pods if one.takes(other)]
    lines += [f"{other.ip} {' '.join(other.ready_names)}" for other in pods if other.ready_names]
    return "\n".join(lines) + "\n"
