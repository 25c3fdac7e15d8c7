"""Helm 3 and 4 lint and render every profile alike, on the oldest and newest Kubernetes, with custom resources or not."""

from __future__ import annotations

import re

import pytest
import yaml

from chart import helm
from renderings import (
    HELM3,
    HELM4,
    KUBERNETES,
    PROFILES,
    by_profile,
    default_values,
    merged,
    profile_values,
    render,
    text,
)

CUSTOM = {"PodMonitor", "ServiceMonitor", "PrometheusRule", "ScaledObject"}
HELMS = pytest.mark.parametrize("helm_", [HELM3, HELM4], ids=["helm3", "helm4"])
PROFILE = pytest.mark.parametrize("profile", PROFILES)


def test_there_are_profiles_for_what_the_readme_promises():
    assert set(PROFILES) >= {"laptop", "default", "gpu", "large", "external", "hardened", "openshift", "no-crds"}


@HELMS
@pytest.mark.parametrize("kube_version", [KUBERNETES[0], KUBERNETES[-1]])
@PROFILE
def test_lint_finds_nothing(helm_, kube_version, profile):
    said = helm_.lint(helm.Call((str(PROFILES[profile]),), kube_version=kube_version))
    assert "1 chart(s) linted, 0 chart(s) failed" in said
    assert "[WARNING]" not in said and "[ERROR]" not in said


@HELMS
@pytest.mark.parametrize("kube_version", [KUBERNETES[0], KUBERNETES[-1]])
@PROFILE
def test_custom_resources_are_made_only_where_the_cluster_knows_them(helm_, kube_version, profile):
    without = by_profile(profile, helm_, kube_version, custom_resources=False)
    extra = {one["kind"] for one in without.values["extraObjects"] if isinstance(one, dict)}
    assert {one["kind"] for one in without.manifests.objects} & CUSTOM <= extra
    with_ = by_profile(profile, helm_, kube_version, custom_resources=True)
    others = [one for one in with_.manifests.objects if one["kind"] not in CUSTOM]
    assert {(one["kind"], one["metadata"]["name"]) for one in others} == {
        (one["kind"], one["metadata"]["name"]) for one in without.manifests.objects if one["kind"] not in CUSTOM
    }


def test_a_cluster_with_the_operator_gets_monitors_and_rules():
    kinds = {one["kind"] for one in render({}).manifests.objects}
    assert {"PodMonitor", "PrometheusRule"} <= kinds


def test_pods_are_annotated_for_prometheus_only_where_no_monitor_finds_them():
    annotated = lambda rendering: [
        one.name for one in rendering.manifests.pods() if "prometheus.io/scrape" in one.annotations
    ]  # noqa: E731
    assert annotated(render({}, custom_resources=True)) == []
    assert (
        len(annotated(render({}, custom_resources=False))) == 3
    )  # Actors, ingesters, learner; no exporters by default.


@PROFILE
def test_helm_3_and_4_render_the_same(profile):
    three, four = (by_profile(profile, one).manifests.objects for one in (HELM3, HELM4))
    assert three == four


@PROFILE
def test_rendering_twice_gives_the_same(profile):
    values = profile_values(profile)
    once = text(merged(values, {"commonLabels": {"take": "1"}}))
    again = text(merged(values, {"commonLabels": {"take": "2"}}))
    assert once.replace('take: "1"', "") == again.replace('take: "2"', "")


def test_drawn_passwords_are_long_and_differ():
    first, second = (
        yaml.safe_load_all(HELM4.run("template", *helm.Call(release=name).arguments())) for name in ("a", "b")
    )
    drawn = [value for one in (*first, *second) if one and one["kind"] == "Secret" for value in one["data"].values()]
    assert len(drawn) == 2 * (5 + 3)  # Users of NATS with the servers themselves, users of Redis.
    assert len(set(drawn)) == len(drawn)
    assert all(len(value) >= 40 for value in drawn)  # 32 letters are 44 in base64.


@HELMS
def test_an_old_cluster_is_refused(helm_):
    with pytest.raises(helm.Refused, match="kubeVersion"):
        helm_.render(helm.Call(kube_version="1.26"))


def notes(values: tuple[str, ...] = (), *sets: str) -> str:
    """NOTES.txt, which Helm 4 alone renders without a cluster."""
    call = helm.Call(values, sets)
    arguments = [word for word in call.arguments() if word not in ("--kube-version", call.kube_version)]
    return HELM4.run("install", "--dry-run=client", *arguments).partition("NOTES:\n")[2]


@PROFILE
def test_notes_say_how_to_look_and_fit_a_screen(profile):
    said = notes((str(PROFILES[profile]),))
    assert re.search("port-forward service/.*-learner", said) and re.search("helm .*test run", said)
    assert "<no value>" not in said and "%!" not in said
    assert len(said.splitlines()) < 50


@pytest.mark.parametrize(
    ("setting", "warning"),
    [
        ("learner.persistence.enabled=false", "checkpoints and curves are lost"),
        ("nats.persistence.enabled=false", "games on the bus and the run's weights are lost"),
        ("redis.persistence.enabled=false", "the replay log is lost"),
        ("learner.gpu.count=0", "trains on the CPU"),
        ("nats.auth.enabled=false", "NATS asks for no password"),
        ("redis.auth.enabled=false", "Redis asks for no password"),
        ("networkPolicy.enabled=false", "every pod of the cluster reaches this release"),
    ],
)
def test_notes_warn_of_what_is_unsafe(setting, warning):
    assert warning in notes((), setting)
    assert warning not in notes()


def test_values_are_commented_as_they_are_laid():
    """Every comment names a value in the order of the file: who reads it top to bottom finds them together."""
    comments = re.findall(r"^## @param (\S+)", (helm.CHART / "values.yaml").read_text(), re.MULTILINE)
    assert len(set(comments)) == len(comments)
    assert {path.split(".")[0] for path in comments} == set(default_values())
