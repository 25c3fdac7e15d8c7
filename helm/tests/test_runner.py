"""What `scripts/run-chart` makes of manifests, without running anything. Expected is what the Kubernetes reference says."""

from __future__ import annotations

import base64

import pytest

from chart import given, resolve
from chart.images import Image, image_of
from chart.manifests import Manifests, pod_template
from chart.probes import Probe, Verdict
from chart.resolve import Store, Unsupported

POD = {
    "name": "run-nats-1",
    "namespace": "games",
    "ip": "10.244.0.9",
    "labels": {"app": "nats"},
    "annotations": {"note": "hello"},
    "spec": {"serviceAccountName": "nats"},
}


def store() -> Store:
    return Store(
        Manifests(
            [
                {
                    "kind": "Secret",
                    "metadata": {"name": "pw"},
                    "data": {"actor": base64.b64encode(b"hunter2").decode()},
                },
                {"kind": "Secret", "metadata": {"name": "plain"}, "stringData": {"actor": "hunter3"}},
                {"kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {"a.toml": "x = 1", "LEVEL": "info"}},
            ]
        )
    )


def test_references_are_replaced_and_dollars_escaped():
    names = {"HOST": "nats", "PORT": "4222"}
    assert resolve.expand("nats://$(HOST):$(PORT)", names) == "nats://nats:4222"
    assert resolve.expand("$(NOBODY) $HOST $$(HOST)", names) == "$(NOBODY) $HOST $(HOST)"


@pytest.mark.parametrize(
    ("text", "number"), [("500m", 0.5), ("2", 2), (1, 1), ("2Gi", 2 * 2**30), ("1k", 1000), ("1e3", 1000)]
)
def test_quantities_are_numbers(text, number):
    assert resolve.quantity(text) == number


def test_no_quantity_is_said_so():
    with pytest.raises(ValueError, match="no quantity"):
        resolve.quantity("2GiB")


def test_the_environment_is_resolved_in_order():
    container = {
        "resources": {"limits": {"memory": "2Gi"}, "requests": {"cpu": "1500m"}},
        "envFrom": [{"configMapRef": {"name": "conf"}, "prefix": "C_"}],
        "env": [
            {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "pw", "key": "actor"}}},
            {"name": "URL", "value": "nats://u:$(PASSWORD)@h"},
            {"name": "EMPTY"},
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
            {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu"}}},
            {"name": "MIB", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
            {"name": "GONE", "valueFrom": {"secretKeyRef": {"name": "pw", "key": "x", "optional": True}}},
            {"name": "C_LEVEL", "value": "debug"},
        ],
    }
    assert resolve.environment(container, POD, store()) == {
        "C_a.toml": "x = 1",
        "C_LEVEL": "debug",
        "PASSWORD": "hunter2",
        "URL": "nats://u:hunter2@h",
        "EMPTY": "",
        "NAME": "run-nats-1",
        "APP": "nats",
        "CPUS": "2",  # 1.5, rounded up.
        "MIB": "2048",
    }


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"secretKeyRef": {"name": "nobody", "key": "a"}}, "no Secret nobody"),
        ({"configMapKeyRef": {"name": "conf", "key": "a"}}, "no key a"),
        ({"fieldRef": {"fieldPath": "status.phase"}}, "status.phase"),
    ],
)
def test_what_is_not_there_is_an_error(source, said):
    with pytest.raises(Unsupported, match=said):
        resolve.environment({"env": [{"name": "A", "valueFrom": source}]}, POD, store())


def test_volumes_hold_what_their_sources_hold():
    config = resolve.volume(
        {"name": "v", "configMap": {"name": "conf", "items": [{"key": "a.toml", "path": "s/b.toml"}]}}, POD, store()
    )
    assert config.files == {"s/b.toml": resolve.File(b"x = 1", 0o644)}
    secret = resolve.volume({"name": "v", "secret": {"secretName": "plain", "defaultMode": 0o400}}, POD, store())
    assert secret.files == {"actor": resolve.File(b"hunter3", 0o400)}
    both = [
        {"secret": {"name": "pw"}},
        {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.annotations['note']"}}]}},
    ]
    projected = resolve.volume({"name": "v", "projected": {"sources": both}}, POD, store())
    assert {name: file.content for name, file in projected.files.items()} == {"actor": b"hunter2", "n": b"hello"}
    assert resolve.volume({"name": "v", "emptyDir": {}}, POD, store()) == resolve.Volume()
    assert resolve.volume({"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, POD, store()).claim == "c"
    with pytest.raises(Unsupported, match="hostPath"):
        resolve.volume({"name": "v", "hostPath": {"path": "/"}}, POD, store())


def stateful_set() -> dict:
    container = {
        "name": "nats",
        "image": "docker.io/nats:2.12-alpine",
        "args": ["--name=$(NAME)"],
        "env": [{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": "js"}],
        "securityContext": {"readOnlyRootFilesystem": True},
        "readinessProbe": {"tcpSocket": {"port": "nats"}},
        "ports": [{"name": "nats", "containerPort": 4222}],
    }
    spec = {"containers": [container], "securityContext": {"runAsUser": 7}, "terminationGracePeriodSeconds": 9}
    template = {"metadata": {"labels": {"app": "nats"}}, "spec": spec}
    claims = [{"metadata": {"name": "data"}, "spec": {}}]
    owner = {"serviceName": "nats-headless", "replicas": 2, "template": template, "volumeClaimTemplates": claims}
    return {"kind": "StatefulSet", "metadata": {"name": "nats"}, "spec": owner}


def test_a_pod_of_a_stateful_set_has_its_name_and_its_claim():
    pod = resolve.pod(pod_template(stateful_set()), 1, "10.244.0.3", "games", store())
    assert (pod.name, pod.grace_s, pod.volumes["data"].claim) == ("nats-1", 9, "data-nats-1")
    assert pod.ready_names[0] == "nats-1.nats-headless"
    (container,) = pod.containers
    assert container.command == [
        "nats-server",
        "--name=nats-1",
    ]  # The entrypoint script puts the program before options.
    assert (container.uid, container.gid, container.read_only_root) == (7, 7, True)
    assert container.mounts == [resolve.Mount("data", "/data", "js", False)]
    assert pod.ports == {"nats": 4222}


def test_services_are_found_by_all_their_names():
    pods = [
        resolve.pod(pod_template(stateful_set()), index, f"10.244.0.{index}", "games", store()) for index in range(2)
    ]
    plain = resolve.service(
        {"metadata": {"name": "nats"}, "spec": {"selector": {"app": "nats"}, "ports": [{"port": 1}]}},
        "10.96.0.1",
        "games",
    )
    headless = {
        "metadata": {"name": "nats-headless"},
        "spec": {"clusterIP": "None", "selector": {"app": "nats"}, "ports": [{"port": 1}]},
    }
    text = resolve.hosts_file(pods[0], pods, [plain, resolve.service(headless, "10.96.0.2", "games")])
    lines = text.splitlines()
    assert "10.96.0.1 nats nats.games nats.games.svc nats.games.svc.cluster.local" in lines
    assert [line.split()[0] for line in lines if " nats-headless " in line] == ["10.244.0.0", "10.244.0.1"]
    assert any(line.startswith("10.244.0.1 nats-1.nats-headless ") for line in lines)


def test_secrets_that_nobody_makes_are_made():
    spec = {
        "containers": [{"env": [{"name": "P", "valueFrom": {"secretKeyRef": {"name": "mine", "key": "actor"}}}]}],
        "volumes": [{"name": "tls", "secret": {"secretName": "tls", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}],
    }
    service = {"kind": "Service", "metadata": {"name": "nats"}, "spec": {}}
    made = given.make_secrets(Manifests([{"kind": "Pod", "metadata": {"name": "p"}, "spec": spec}, service]), "games")
    assert set(made) == {("Secret", "mine"), ("Secret", "tls")}
    assert len(made["Secret", "mine"]["actor"]) == 32
    assert set(made["Secret", "tls"]) == {"ca.crt", "tls.crt", "tls.key"}


def test_command_and_args_replace_what_images_say():
    image = Image("x", ("/entry",), ("default",))
    assert image.command([], None) == ["/entry", "default"]
    assert image.command([], ["a"]) == ["/entry", "a"]
    assert image.command(["b"], None) == ["b"]
    assert image.command(["b"], ["a"]) == ["b", "a"]


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("fogfall-actor:0.1.0", "fogfall-actor"),
        ("registry:5000/team/fogfall-learner@sha256:0", "fogfall-learner"),
        ("docker.io/nats:2.12.1-alpine", "nats:alpine"),
        ("docker.io/nats:2.12.1", "nats"),
        ("docker.io/valkey/valkey:8", "redis"),
        ("docker.io/oliver006/redis_exporter:v1", "redis_exporter"),
    ],
)
def test_images_are_known_by_their_names(reference, name):
    assert image_of(reference).name == name


def test_an_unknown_image_is_said_so():
    with pytest.raises(KeyError, match="busybox"):
        image_of("docker.io/busybox:1")


def test_a_probe_changes_its_mind_after_so_many_answers():
    verdict = Verdict(success_threshold=1, failure_threshold=3)
    answers = [False, False, False, True, False, False, False]
    assert [verdict.take(one) for one in answers] == [None, None, False, True, True, True, False]


def test_probes_have_the_timings_of_the_reference():
    probe = Probe({"tcpSocket": {"port": 1}}, "10.0.0.1", {}, None)
    assert (probe.initial_delay_s, probe.period_s, probe.timeout_s) == (0, 10, 1)
    assert (probe.success_threshold, probe.failure_threshold) == (1, 3)
