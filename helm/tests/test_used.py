"""Values: what is given shows in what is rendered, all of it and where it belongs."""

from __future__ import annotations

import copy
import functools
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml

from chart import helm
from renderings import EXTERNAL, WORLDS, default_values, merged, nested, render, text
from schema import LEAVES, default_of, fits, schema_of


def others(path: str, number: int, now) -> list:
    """Values that fit and are not the one there is now; first those that show the number."""
    schema, word = schema_of(path), f"zz{number}"
    if isinstance(now, bool):
        return [not now]
    if "enum" in schema:
        return [one for one in schema["enum"] if one != now]
    texts = [
        word,
        f"{word}.zz",
        f"a.example/{word}",
        f"{number}s",
        f"{number}Gi",
        f"{number}GiB",
        f"{number}",
        f"https://{word}",
    ]
    texts += [f"sha256:{number:064}", f"redis://{word}:6379", f"/{word}", "7%", "1Mi", "30Gi", "30GiB", "6Gi"]
    lists = [[word], [f"nats://{word}:4222"], ["ReadWriteMany"], [number], [{"name": word}], [{"key": word}]]
    maps = [{"stop_within_s": 15}] if "properties" in schema else [{word: word}, {word: number}]
    numbers = [number, now + 1, now - 1, 3] if isinstance(now, int) else []
    return [one for one in (*numbers, *texts, *lists, *maps) if one != now and fits(one, schema)]


NUMBERS = {path: 30000 + index for index, path in enumerate(LEAVES)}


def now(world: dict, path: str):
    return functools.reduce(lambda value, key: value[key], path.split("."), merged(default_values(), world))


def rendered(values: dict) -> str | None:
    """None where the values do not go together."""
    try:
        return text(values)
    except helm.Refused as refusal:
        assert "do not fit together" in str(refusal)
        return None


def goes_with_others(path: str) -> bool:
    """Not sizes and numbers that have to fit each other, and what stands instead of something else."""
    schema, key = schema_of(path), path.rpartition(".")[2]
    size = not fits("zz", schema) and (fits("7Gi", schema) or fits("7GiB", schema))
    instead = path in ("run.rules", "externalNats.urls", "externalRedis.url") or (
        key.startswith("existing") and not path.startswith("external")
    )
    number = key.lower().endswith("replicas") or key in ("threads", "count")
    return not (size or instead or number or "enum" in schema)


def shown_together(world: dict, paths: list[str]) -> set[str]:
    """Those of the values that are found in what is rendered when all are set."""
    paths = [path for path in paths if goes_with_others(path)]
    found = (
        rendered(merged(world, *(nested(path, others(path, NUMBERS[path], now(world, path))[0]) for path in paths)))
        or ""
    )
    return {path for path in paths if str(NUMBERS[path]) in found}


def shows_alone(path: str) -> bool:
    """Whether any value changes what is rendered in any of the worlds."""
    for world in WORLDS:
        for other in others(path, NUMBERS[path], now(world, path))[:4]:
            if rendered(merged(world, nested(path, other))) not in (None, text(world)):
                return True
    return False


# Tried by tests of their own: what is a gate for others, and what needs another value beside it.
WITH_OTHERS = {"extraObjects", "nats.enabled", "redis.enabled", "learner.initFrom"}


def test_every_value_is_used():
    every = [path for path in LEAVES if path not in WITH_OTHERS]
    left = [path for path in every if not isinstance(default_of(path), bool)]
    for world in WORLDS:
        for kinds in ((str,), (int,), (list, dict)):
            shown = shown_together(world, [path for path in left if isinstance(default_of(path), kinds)])
            left = [path for path in left if path not in shown]
    left += [path for path in every if isinstance(default_of(path), bool)]
    assert len(left) < len(every) / 3
    with ThreadPoolExecutor(2) as pool:
        used = list(pool.map(shows_alone, left))
    assert [path for path, one in zip(left, used, strict=True) if not one] == []


def test_what_is_given_for_pods_arrives_in_all_their_pods():
    """Those values that every component has: each of its pods has them, and no other."""
    components = ("actor", "ingester", "learner", "nats", "redis", "tests")
    given_ = {
        "podLabels": {"kueue.x-k8s.io/queue-name": "mine"},
        "podAnnotations": {"note": "mine"},
        "nodeSelector": {"pool": "mine"},
        "tolerations": [{"key": "mine", "operator": "Exists"}],
        "priorityClassName": "mine",
        "runtimeClassName": "mine",
        "schedulerName": "mine",
        "extraEnv": [{"name": "MINE", "value": "1"}],
        "extraEnvFrom": [{"secretRef": {"name": "mine"}}],
        "extraVolumes": [{"name": "mine", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "mine", "mountPath": "/mine"}],
        "extraContainers": [{"name": "mine", "image": "mine:1"}],
        "initContainers": [{"name": "first", "image": "mine:1"}],
        "affinity": {"nodeAffinity": {"mine": 1}},
        "topologySpreadConstraints": [{"topologyKey": "mine"}],
    }
    for component in components:
        rendering = render({component: copy.deepcopy(given_)})
        for one in rendering.manifests.pods():
            label = one.labels["app.kubernetes.io/component"]
            there = yaml.safe_dump(one.spec).count("mine") + yaml.safe_dump(one.metadata).count("mine")
            mine = label == component or (label, component) == ("test", "tests")
            assert there == (16 if mine else 0), (component, one.name)


def test_servers_can_be_others():
    kinds = lambda values: {
        one.labels["app.kubernetes.io/component"] for one in render(values).manifests.lasting_pods()
    }  # noqa: E731
    assert kinds({}) - kinds(EXTERNAL) == {"nats", "redis"}


def test_a_run_can_begin_from_weights():
    volume = {"extraVolumes": [{"name": "w", "emptyDir": {}}], "extraVolumeMounts": [{"name": "w", "mountPath": "/w"}]}
    learner = render({"learner": {"initFrom": "/w/a.safetensors", **volume}}).manifests.component("learner")
    assert "--init-from=/w/a.safetensors" in learner.containers[0]["args"]


def test_objects_can_be_added_with_templates():
    added = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-more\n"
    rendering = render(
        {"extraObjects": [added, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}}]}
    )
    assert {"run-more", "plain"} <= {one["metadata"]["name"] for one in rendering.manifests.of("ConfigMap")}


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        ({}, "fogfall-actor:0.1.0"),
        ({"tag": "next"}, "fogfall-actor:next"),
        ({"digest": "sha256:" + "0" * 64, "tag": "next"}, "fogfall-actor@sha256:" + "0" * 64),
        ({"registry": "r:5000/t", "repository": "own/actor"}, "r:5000/t/own/actor:0.1.0"),
    ],
)
def test_images_are_put_together(image, reference):
    rendering = render({"actor": {"image": image}})
    assert rendering.manifests.component("actor").containers[0]["image"] == reference


def test_one_registry_stands_in_front_of_all_images_that_name_none():
    rendering = render(merged({"global": {"image": {"registry": "mirror.example"}}}, nested("nats.image.registry", "")))
    images = {
        one.labels["app.kubernetes.io/component"]: one.containers[0]["image"]
        for one in rendering.manifests.lasting_pods()
    }
    assert images["actor"].startswith("mirror.example/fogfall-actor:")
    assert images["nats"].startswith("mirror.example/nats:")
    assert images["redis"].startswith("docker.io/redis:")  # It names its own.
