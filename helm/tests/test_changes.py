"""What an upgrade, a rollback or another value changes, and what it must leave alone."""

from __future__ import annotations

import shutil

import pytest

from chart import helm
from chart.manifests import COMPONENT, Manifests
from renderings import PROFILES, by_profile, nested, profile_values, render

# What the API server lets an upgrade change of a stateful set; anything else is refused.
MUTABLE = {
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
}


def next_version(tmp_path) -> str:
    """The chart as if it and the program were one version on."""
    chart = tmp_path / "fogfall"
    shutil.copytree(helm.CHART, chart)
    described = (chart / "Chart.yaml").read_text().splitlines()
    described = [
        f"{line.split(':')[0]}: 99.0.0" if line.startswith(("version:", "appVersion:")) else line for line in described
    ]
    (chart / "Chart.yaml").write_text("\n".join(described) + "\n")
    return str(chart)


def immutable(manifests: Manifests) -> dict:
    """By workload, what no upgrade can change."""
    kept = {}
    for one in manifests.lasting_pods():
        spec = one.owner["spec"]
        kept[one.name] = (
            {key: spec[key] for key in spec if key not in MUTABLE}
            if one.owner["kind"] == "StatefulSet"
            else spec["selector"]
        )
    for service in manifests.of("Service"):
        kept[service["metadata"]["name"]] = service["spec"].get("clusterIP")
    return kept


@pytest.mark.parametrize("profile", PROFILES)
def test_neither_upgrade_nor_rollback_changes_what_is_immutable(profile, tmp_path):
    """A rollback sends the old manifests again; what the API server refuses there it refuses on the way up."""
    before = by_profile(profile).manifests
    after = render(profile_values(profile), chart=next_version(tmp_path)).manifests
    assert immutable(before) == immutable(after)
    assert {(one["kind"], one["metadata"]["name"]) for one in before.objects} == {
        (one["kind"], one["metadata"]["name"]) for one in after.objects
    }


def test_an_upgrade_starts_only_pods_whose_image_is_new(tmp_path):
    before, after = render({}).manifests, render({}, chart=next_version(tmp_path)).manifests
    for component in ("nats", "redis"):
        old, new = before.component(component), after.component(component)
        assert (old.metadata, old.spec) == (new.metadata, new.spec)
    for component in ("actor", "ingester", "learner"):
        old, new = before.component(component), after.component(component)
        assert new.containers[0]["image"].endswith(":99.0.0")
        new.containers[0]["image"] = old.containers[0]["image"]
        assert (old.metadata, old.spec) == (new.metadata, new.spec)


OFTEN_CHANGED = [
    ("actor.replicas", 7),
    ("actor.settings", {"threads": 3}),
    ("actor.autoscaling.enabled", True),
    ("learner.settings", {"learning_rate": 0.01}),
    ("learner.image.tag", "next"),
    ("learner.gpu.count", 0),
    ("learner.resources.requests", {"cpu": 3, "memory": "10Gi"}),
    ("nats.exporter.enabled", True),
    ("nats.image.tag", "2.14.0-alpine"),
    ("nats.extraConfig", "max_payload: 2MB"),
    ("nats.persistence.whenDeleted", "Delete"),
    ("redis.maxMemory", "6Gi"),
    ("redis.exporter.enabled", True),
    ("commonLabels", {"team": "games"}),
    ("commonAnnotations", {"owner": "games"}),
    ("global.image.registry", "registry.example"),
    ("networkPolicy.enabled", False),
    ("security.userId", 20000),
    ("logs.json", False),
]


@pytest.mark.parametrize(("path", "value"), OFTEN_CHANGED, ids=[path for path, _ in OFTEN_CHANGED])
def test_a_changed_value_changes_nothing_that_is_immutable(path, value):
    before, after = render({}), render(nested(path, value))
    assert immutable(before.manifests) == immutable(after.manifests)
    assert before.manifests.objects != after.manifests.objects


def test_the_size_of_a_volume_is_immutable():
    """So that the test above can fail, and because the README says so."""
    before, after = render({}), render(nested("redis.persistence.size", "30Gi"))
    assert immutable(before.manifests) != immutable(after.manifests)


def sums(manifests: Manifests) -> dict[str, dict[str, str]]:
    return {
        one.labels[COMPONENT]: {key: value for key, value in one.annotations.items() if key.startswith("checksum/")}
        for one in manifests.lasting_pods()
    }


# What is read at a start only, and who has to be started for it.
READ_AT_START = [
    ("actor.settings", {"threads": 3}, {"actor"}),
    ("ingester.settings", {"stop_within_s": 15}, {"ingester"}),
    ("learner.settings", {"learning_rate": 0.01}, {"learner"}),
    ("nats.extraConfig", "max_payload: 2MB", {"nats"}),
    ("redis.extraConfig", "hz 20", {"redis"}),
    ("nats.auth.passwords.actor", "another-password", {"actor", "ingester", "learner", "nats"}),
    ("redis.auth.passwords.fogfall", "another-password", {"ingester", "learner", "redis"}),
    ("run.rules", "# other rules\n", {"learner"}),
]


@pytest.mark.parametrize(("path", "value", "whom"), READ_AT_START, ids=[path for path, _, _ in READ_AT_START])
def test_pods_are_started_anew_when_what_they_read_changes(path, value, whom):
    before, after = sums(render({}).manifests), sums(render(nested(path, value)).manifests)
    assert {component for component in before if before[component] != after[component]} == whom


def test_pods_stay_when_nothing_of_them_changes():
    before = render({}).manifests
    after = render({"monitoring": {"podMonitor": {"interval": "30s"}}, "actor": {"replicas": 9}}).manifests
    for component in ("actor", "ingester", "learner", "nats", "redis"):
        old, new = before.component(component), after.component(component)
        assert (old.metadata, old.spec) == (new.metadata, new.spec)
