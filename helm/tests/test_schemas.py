"""The API server would take what is rendered: Kubernetes' own schemas, strictly, and models of the custom resources."""

from __future__ import annotations

import copy
import functools
import json
import pathlib
import re

import jsonschema
import kubernetes_validate
import pytest
from cloudcoil.models.keda.v1alpha1 import ScaledObject
from cloudcoil.models.prometheus_operator.v1 import PodMonitor, PrometheusRule, ServiceMonitor
from pydantic import ValidationError
from referencing import Registry, Resource

from chart.manifests import key_of
from renderings import KUBERNETES, PROFILES, by_profile

MODELS = {
    "PodMonitor": PodMonitor,
    "PrometheusRule": PrometheusRule,
    "ScaledObject": ScaledObject,
    "ServiceMonitor": ServiceMonitor,
}


@functools.cache
def registry(folder: pathlib.Path) -> Registry:
    return Resource.from_contents(json.loads((folder / "_definitions.json").read_text())) @ Registry()


@functools.cache
def validator(kind: str, api_version: str, kube_version: str) -> jsonschema.Draft202012Validator:
    """As kubernetes-validate makes one for each object, but made once: reading the definitions takes a second."""
    schemas = pathlib.Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    (folder,) = schemas.glob(f"v{kube_version}.*-local-strict")
    group = re.sub(
        r"^([^./]*)(?:\.[^/]*)?/", r"\1-", api_version
    )  # policy/v1 is policy-v1, networking.k8s.io/v1 networking-v1.
    schema = json.loads((folder / f"{kind.lower()}-{group}.json").read_text())
    return jsonschema.Draft202012Validator(schema, registry=Resource.from_contents(schema) @ registry(folder))


def strictly_valid(one: dict, kube_version: str) -> None:
    """Raises jsonschema.ValidationError."""
    validator(one["kind"], one["apiVersion"], kube_version).validate(one)


@pytest.mark.parametrize("kube_version", KUBERNETES)
@pytest.mark.parametrize("profile", PROFILES)
def test_kubernetes_knows_every_field(profile, kube_version):
    for one in by_profile(profile, kube_version=kube_version).manifests.objects:
        if one["kind"] not in MODELS:
            strictly_valid(one, kube_version)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda one: one["spec"]["template"]["spec"].update(fsGroupp=1),
        lambda one: one["spec"].update(replicas="four"),
        lambda one: one["spec"].pop("selector"),
    ],
    ids=["a misspelled field", "a wrong type", "a missing field"],
)
def test_a_spoiled_deployment_is_refused(spoil):
    one = copy.deepcopy(by_profile("default").manifests.of("Deployment")[0])
    spoil(one)
    with pytest.raises(jsonschema.ValidationError):
        strictly_valid(one, KUBERNETES[-1])


def unknown(given, taken, path: str = "") -> list[str]:
    """Keys of an object that a model has not taken."""
    if isinstance(given, dict) and isinstance(taken, dict):
        lost = [f"{path}.{key}" for key in given if key not in taken]
        return lost + [
            each for key in given if key in taken for each in unknown(given[key], taken[key], f"{path}.{key}")
        ]
    if isinstance(given, list) and isinstance(taken, list):
        return [
            each
            for index, pair in enumerate(zip(given, taken, strict=True))
            for each in unknown(*pair, f"{path}[{index}]")
        ]
    return []


def complaints(one: dict) -> list[str]:
    """What a model has against an object. Models ignore unknown keys: these are found by writing back."""
    try:
        model = MODELS[one["kind"]].model_validate(one)
    except ValidationError as error:
        return [str(error)]
    return unknown(one, model.model_dump(by_alias=True, exclude_unset=True, mode="json"))


@pytest.mark.parametrize("profile", PROFILES)
def test_custom_resources_fit_their_models(profile):
    for one in by_profile(profile).manifests.of(*MODELS):
        assert complaints(one) == [], key_of(one)


def test_every_kind_of_custom_resource_that_the_chart_makes_is_tried():
    kinds = {one["kind"] for profile in PROFILES for one in by_profile(profile).manifests.of(*MODELS)}
    assert kinds == {"PodMonitor", "PrometheusRule", "ScaledObject"}


@pytest.mark.parametrize(
    ("kind", "spoil"),
    [
        ("PodMonitor", lambda one: one["spec"]["podMetricsEndpoints"][0].update(intervall="5s")),
        ("PodMonitor", lambda one: one["spec"]["podMetricsEndpoints"][0].update(interval="five")),
        ("PrometheusRule", lambda one: one["spec"]["groups"][0]["rules"][0].pop("expr")),
        ("ScaledObject", lambda one: one["spec"].update(minReplicas=1)),
        ("ScaledObject", lambda one: one["spec"]["triggers"][0].pop("type")),
    ],
    ids=[
        "a misspelled field",
        "no duration",
        "a rule without a query",
        "a field of another resource",
        "a trigger without a type",
    ],
)
def test_a_spoiled_custom_resource_is_refused(kind, spoil):
    one = copy.deepcopy(by_profile("keda").manifests.of(kind)[0])
    spoil(one)
    assert complaints(one) != []
