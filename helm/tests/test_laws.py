"""Every profile keeps every law, and every law objects to what it is there for."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from chart.manifests import Manifests
from laws import LAWS
from renderings import PROFILES, Rendering, by_profile, merged, render

EVERYTHING = {
    "actor": {"autoscaling": {"enabled": True}},
    "nats": {"replicas": 3, "exporter": {"enabled": True}},
    "redis": {"exporter": {"enabled": True}},
    "monitoring": {"podMonitor": {"namespace": "monitoring"}},
}
EXTERNAL = {
    "nats": {"enabled": False},
    "redis": {"enabled": False},
    "externalNats": {"urls": ["nats://nats.elsewhere:4222"]},
    "externalRedis": {"url": "redis://redis.elsewhere:6379"},
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_profiles_keep_the_laws(law, profile):
    assert list(law(by_profile(profile))) == []


@pytest.mark.parametrize("values", [{}, EVERYTHING, EXTERNAL], ids=["defaults", "everything", "external"])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_other_values_keep_the_laws(law, values):
    assert list(law(render(values))) == []


# --- mutants ---

Mutate = Callable[[Manifests], None]


def pod(manifests: Manifests, component: str) -> dict:
    """The pod's spec in the manifests, to change."""
    return manifests.component(component).spec


def container(manifests: Manifests, component: str) -> dict:
    return pod(manifests, component)["containers"][0]


def only(manifests: Manifests, kind: str, end: str = "") -> dict:
    return next(one for one in manifests.of(kind) if one["metadata"]["name"].endswith(end))


def policy(manifests: Manifests, end: str) -> dict:
    return only(manifests, "NetworkPolicy", end)["spec"]


def put(target: dict, **values) -> None:
    target.update(values)


def without(manifests: Manifests, kind: str, end: str = "") -> None:
    manifests.objects.remove(only(manifests, kind, end))


def test_pod(manifests: Manifests) -> dict:
    return next(one for one in manifests.pods() if one.is_test).owner


test_pod.__test__ = False

MUTANTS: list[tuple[str, str, Mutate]] = [
    (
        "selectors_match_their_own_pods_alone",
        "a pod without the label",
        lambda m: m.component("actor").labels.pop("app.kubernetes.io/name"),
    ),
    (
        "selectors_match_their_own_pods_alone",
        "a selector of all",
        lambda m: only(m, "Deployment", "actor")["spec"]["selector"]["matchLabels"].pop("app.kubernetes.io/component"),
    ),
    (
        "selectors_hold_nothing_that_an_upgrade_changes",
        "a version",
        lambda m: put(only(m, "Deployment")["spec"]["selector"]["matchLabels"], **{"app.kubernetes.io/version": "1"}),
    ),
    (
        "services_lead_to_pods_with_their_ports",
        "a misspelled port",
        lambda m: put(only(m, "Service", "nats")["spec"]["ports"][0], targetPort="natz"),
    ),
    (
        "services_lead_to_pods_with_their_ports",
        "nobody selected",
        lambda m: put(only(m, "Service", "redis")["spec"]["selector"], **{"app.kubernetes.io/component": "radis"}),
    ),
    (
        "stateful_sets_have_their_service",
        "another name",
        lambda m: put(only(m, "StatefulSet", "nats")["spec"], serviceName="nats"),
    ),
    (
        "monitors_lead_to_ports_of_pods",
        "a port that is not there",
        lambda m: put(only(m, "PodMonitor")["spec"]["podMetricsEndpoints"][0], port="web"),
    ),
    (
        "monitors_lead_to_ports_of_pods",
        "the wrong namespace",
        lambda m: put(only(m, "PodMonitor")["spec"], namespaceSelector={}),
    ),
    (
        "scalers_have_a_workload_to_scale_and_it_names_no_replicas",
        "replicas",
        lambda m: put(only(m, "Deployment", "actor")["spec"], replicas=4),
    ),
    ("secrets_and_config_maps_are_there_or_named_by_values", "no secret", lambda m: without(m, "Secret", "nats")),
    (
        "secrets_and_config_maps_are_there_or_named_by_values",
        "no key",
        lambda m: only(m, "Secret", "redis")["data"].pop("password"),
    ),
    (
        "claims_and_accounts_are_there_or_named_by_values",
        "no account",
        lambda m: put(pod(m, "redis"), serviceAccountName="nobody"),
    ),
    (
        "claims_and_accounts_are_there_or_named_by_values",
        "no claim",
        lambda m: pod(m, "redis")["volumes"].append({"name": "x", "persistentVolumeClaim": {"claimName": "lost"}}),
    ),
    ("mounts_have_a_volume_and_volumes_a_mount", "no volume", lambda m: pod(m, "actor")["volumes"].pop()),
    ("mounts_have_a_volume_and_volumes_a_mount", "no mount", lambda m: container(m, "actor")["volumeMounts"].pop()),
    (
        "ports_and_probes_agree",
        "a misspelled port",
        lambda m: put(container(m, "actor")["readinessProbe"]["httpGet"], port="htpp"),
    ),
    (
        "ports_and_probes_agree",
        "a port twice",
        lambda m: container(m, "nats")["ports"].append({"name": "more", "containerPort": 4222}),
    ),
    (
        "variables_are_there_once_and_before_their_use",
        "used too early",
        lambda m: container(m, "nats")["env"].reverse(),
    ),
    (
        "variables_are_there_once_and_before_their_use",
        "an argument of nothing",
        lambda m: container(m, "redis").pop("env"),
    ),
    (
        "files_in_arguments_are_mounted",
        "a file of another name",
        lambda m: container(m, "actor")["args"].append("--nats-ca=/etc/fogfall/settings/ca.crt"),
    ),
    (
        "files_in_arguments_are_mounted",
        "a key that is gone",
        lambda m: only(m, "ConfigMap", "learner")["data"].pop("settings.toml"),
    ),
    (
        "addresses_lead_to_services_or_are_named_by_values",
        "another port",
        lambda m: container(m, "actor")["args"].append("--nats=nats://run-fogfall-nats:4223"),
    ),
    ("addresses_lead_to_services_or_are_named_by_values", "no service", lambda m: without(m, "Service", "-redis")),
    ("pods_are_restricted", "root", lambda m: put(container(m, "nats")["securityContext"], runAsUser=0)),
    ("pods_are_restricted", "capabilities", lambda m: container(m, "nats")["securityContext"].pop("capabilities")),
    (
        "pods_are_restricted",
        "a folder of the node",
        lambda m: pod(m, "nats")["volumes"].append({"name": "x", "hostPath": {"path": "/"}}),
    ),
    ("pods_are_restricted", "of a test", lambda m: test_pod(m)["spec"]["containers"][0].pop("securityContext")),
    (
        "roots_are_read_only",
        "not said",
        lambda m: container(m, "redis")["securityContext"].pop("readOnlyRootFilesystem"),
    ),
    ("volumes_belong_to_the_group_of_the_pod", "no group", lambda m: pod(m, "redis")["securityContext"].pop("fsGroup")),
    ("nobody_holds_a_token", "a pod", lambda m: pod(m, "redis").pop("automountServiceAccountToken")),
    ("nobody_holds_a_token", "an account", lambda m: only(m, "ServiceAccount").pop("automountServiceAccountToken")),
    ("services_do_not_leak_into_the_environment", "not said", lambda m: pod(m, "actor").pop("enableServiceLinks")),
    (
        "secrets_are_in_secrets_alone",
        "in an argument",
        lambda m: container(m, "actor")["args"].append("--nats-password=nats-actor-password"),
    ),
    (
        "nothing_that_is_called_a_password_stands_in_clear",
        "in the environment",
        lambda m: container(m, "actor")["env"].append({"name": "FOGFALL_NATS_PASSWORD", "value": "guess"}),
    ),
    ("images_are_of_a_version", "latest", lambda m: put(container(m, "redis"), image="docker.io/redis:latest")),
    ("images_are_of_a_version", "no tag", lambda m: put(container(m, "redis"), image="localhost:5000/redis")),
    (
        "everything_is_in_the_namespace_of_the_release",
        "none",
        lambda m: only(m, "Service")["metadata"].pop("namespace"),
    ),
    (
        "containers_say_what_they_need",
        "no request",
        lambda m: container(m, "actor")["resources"]["requests"].pop("cpu"),
    ),
    (
        "containers_say_what_they_need",
        "more than the limit",
        lambda m: put(container(m, "actor")["resources"]["limits"], memory="1Mi"),
    ),
    (
        "accelerators_are_whole_and_limits",
        "half of one",
        lambda m: put(container(m, "learner")["resources"]["limits"], **{"nvidia.com/gpu": 0.5}),
    ),
    (
        "accelerators_are_whole_and_limits",
        "a request alone",
        lambda m: put(container(m, "learner")["resources"], limits={}, requests={"nvidia.com/gpu": 1}),
    ),
    ("lasting_containers_are_probed", "no readiness", lambda m: container(m, "actor").pop("readinessProbe")),
    ("lasting_containers_are_probed", "beside", lambda m: pod(m, "nats")["containers"][1].pop("livenessProbe")),
    (
        "liveness_is_slower_than_readiness",
        "hasty",
        lambda m: put(container(m, "actor")["livenessProbe"], periodSeconds=1, failureThreshold=1),
    ),
    (
        "disruption_budgets_never_block_a_drain",
        "nobody may go",
        lambda m: put(only(m, "PodDisruptionBudget")["spec"], maxUnavailable=0),
    ),
    (
        "disruption_budgets_never_block_a_drain",
        "one must stay",
        lambda m: put(only(m, "PodDisruptionBudget")["spec"], minAvailable=1),
    ),
    ("a_pod_has_time_to_end", "not enough", lambda m: put(pod(m, "actor"), terminationGracePeriodSeconds=20)),
    (
        "pods_are_new_when_what_they_read_is",
        "no sum",
        lambda m: [
            m.component("redis").annotations.pop(key)
            for key in list(m.component("redis").annotations)
            if "checksum" in key
        ],
    ),
    (
        "old_versions_are_kept_to_roll_back_to",
        "none",
        lambda m: put(only(m, "Deployment")["spec"], revisionHistoryLimit=0),
    ),
    ("names_are_names", "too long", lambda m: put(only(m, "StatefulSet")["metadata"], name="x" * 53)),
    ("names_are_names", "twice", lambda m: m.objects.append(copy.deepcopy(only(m, "Service")))),
    (
        "labels_are_the_usual_ones_and_short",
        "missing",
        lambda m: only(m, "Secret")["metadata"]["labels"].pop("helm.sh/chart"),
    ),
    (
        "labels_are_the_usual_ones_and_short",
        "no label",
        lambda m: put(only(m, "Secret")["metadata"]["labels"], note="two words"),
    ),
    ("there_is_a_test_and_it_cleans_up", "no test", lambda m: m.objects.remove(test_pod(m))),
    ("there_is_a_test_and_it_cleans_up", "again and again", lambda m: test_pod(m)["spec"].pop("restartPolicy")),
    ("only_needed_flows_are_let_through", "no way in", lambda m: put(policy(m, "-nats"), ingress=[])),
    (
        "only_needed_flows_are_let_through",
        "actors at Redis",
        lambda m: [put(policy(m, "-actor"), egress=[{}]), put(policy(m, "-redis"), ingress=[{}])],
    ),
    (
        "nobody_reaches_metrics_by_what_is_open_to_a_run",
        "all ways out",
        lambda m: put(policy(m, "-actor"), egress=[{}]),
    ),
    ("strangers_are_kept_out", "open", lambda m: put(policy(m, "-redis"), ingress=[{}])),
    ("strangers_are_kept_out", "out into the world", lambda m: put(policy(m, "-nats"), egress=[{}])),
    ("everybody_who_looks_up_names_can", "no way out", lambda m: put(policy(m, "-default"), egress=[])),
    ("scrapers_and_people_come_in", "no way in", lambda m: put(policy(m, "-learner"), ingress=[])),
    ("external_servers_are_reached", "no way out", lambda m: put(policy(m, "-actor"), egress=[])),
]


@pytest.mark.parametrize(
    ("name", "mutate"),
    [(law, mutate) for law, _, mutate in MUTANTS],
    ids=[f"{law}: {what}" for law, what, _ in MUTANTS],
)
def test_a_law_objects_to(name, mutate):
    values = EXTERNAL if name == "external_servers_are_reached" else EVERYTHING
    good = render(values)
    broken = Rendering(Manifests(copy.deepcopy(good.manifests.objects)), good.values, good.namespace)
    mutate(broken.manifests)
    assert list(LAWS[name](broken)) != []


def test_every_law_has_a_mutant():
    assert {law for law, _, _ in MUTANTS} == set(LAWS)


@pytest.mark.parametrize("release", ["r", "a" * 53, "with.dots"])
def test_names_stay_names_whatever_the_release_is_called(release):
    rendering = render(merged(EVERYTHING, {"run": {"id": "winter"}}), release=release)
    for name in ("names_are_names", "labels_are_the_usual_ones_and_short", "services_lead_to_pods_with_their_ports"):
        assert list(LAWS[name](rendering)) == []


def test_a_platform_that_chooses_users_gets_no_ids():
    rendering = render({"security": {"userId": None}})
    for one in rendering.manifests.pods():
        assert "runAsUser" not in one.spec["securityContext"]
        assert all("runAsUser" not in each["securityContext"] for each in one.containers)
    assert list(LAWS["pods_are_restricted"](rendering)) == []
