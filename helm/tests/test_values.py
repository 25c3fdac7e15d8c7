"""Values: all that are there are declared, and nothing else is taken."""

from __future__ import annotations

import re

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from chart import helm
from renderings import HELM3, HELM4, WORLDS, default_values, merged, nested, render, text
from schema import LEAVES, OBJECTS, SCHEMA, default_of, fits, resolved, schema_of
from test_schemas import MODELS, complaints, strictly_valid


def test_the_schema_is_one():
    jsonschema.Draft7Validator.check_schema(SCHEMA)


def test_default_values_fit():
    assert fits(default_values(), SCHEMA)


def test_nothing_undeclared_is_taken_anywhere():
    assert len(OBJECTS) > 50
    lax = [path for path in OBJECTS if (schema_of(path) if path else SCHEMA).get("additionalProperties") is not False]
    assert lax == []


def test_every_declared_value_has_a_default():
    """Else it is in no README. Keys of settings, of resources and of probes have the defaults of others."""
    missing = []
    for path in OBJECTS:
        if re.search(r"(^|\.)(settings|resources|probes\.\w+)$", path):
            continue
        for key in (schema_of(path) if path else SCHEMA)["properties"]:
            below = default_of(path) if path else default_values()
            if key not in below:
                missing.append(f"{path}.{key}")
    assert missing == []


def test_every_value_has_a_comment():
    comments = set(re.findall(r"^## @param (\S+)", (helm.CHART / "values.yaml").read_text(), re.MULTILINE))

    def spoken_of(path: str) -> bool:
        return any(f"{path}.".startswith(f"{one}.") or one.startswith(f"{path}.") for one in comments)

    assert [path for path in LEAVES if not spoken_of(path)] == []


# --- what is not taken ---


def refused(values: dict, helm_: helm.Helm = HELM4) -> str:
    with pytest.raises(helm.Refused) as refusal:
        text(values, helm_)
    return str(refusal.value)


@pytest.mark.parametrize("helm_", [HELM3, HELM4], ids=["helm3", "helm4"])
def test_an_unknown_key_is_refused(helm_):
    said = refused(nested("actor.replicsa", 3), helm_)
    assert "actor" in said and "replicsa" in said


def test_an_unknown_key_is_refused_everywhere():
    said = refused(merged(*(nested(f"{path}.unknown".lstrip("."), 1) for path in OBJECTS)))
    places = set(re.findall(r"at '([^']*)': additional properties 'unknown' not allowed", said))
    assert places == {f"/{path.replace('.', '/')}" if path else "" for path in OBJECTS}


@pytest.mark.parametrize("wrong", ["!? a", -1, 1.5, True, 10**9], ids=str)
def test_values_of_another_kind_are_refused(wrong):
    """All at once: the refusal names the place of each. (Helm itself keeps an object where it is given something else.)"""
    paths = [path for path in LEAVES if not fits(wrong, schema_of(path)) and not isinstance(default_of(path), dict)]
    assert len(paths) > 100
    said = refused(merged(*(nested(path, wrong) for path in paths)))
    assert [path for path in paths if f"at '/{path.replace('.', '/')}'" not in said] == []


# --- what is taken ---


def drawn(schema: dict) -> st.SearchStrategy:
    """Values that the schema takes."""
    schema = resolved(schema)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "oneOf" in schema:
        return st.one_of([drawn(one) for one in schema["oneOf"]])
    kind = schema["type"] if isinstance(schema["type"], str) else next(one for one in schema["type"] if one != "null")
    if kind == "boolean":
        return st.booleans()
    if kind == "integer":
        return st.integers(schema.get("minimum", 0), min(schema.get("maximum", 1000), 1000))
    if kind == "number":
        return st.floats(schema.get("minimum", 0), schema.get("maximum", 100), allow_nan=False)
    if kind == "string" and "pattern" in schema:
        ascii_ = st.characters(min_codepoint=32, max_codepoint=126)
        return st.from_regex(re.compile(schema["pattern"], re.ASCII), fullmatch=True, alphabet=ascii_).filter(
            lambda one: len(one) < 40
        )
    if kind == "string":
        return st.one_of(
            st.sampled_from(AWKWARD), st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)
        )
    if kind == "array":
        return st.lists(drawn(schema["items"]), min_size=schema.get("minItems", 0), max_size=2)
    if "properties" in schema:
        return st.fixed_dictionaries({}, optional={key: drawn(one) for key, one in schema["properties"].items()})
    if isinstance(schema.get("additionalProperties"), dict):
        return st.dictionaries(
            st.from_regex(r"[a-z]{1,8}", fullmatch=True), drawn(schema["additionalProperties"]), max_size=2
        )
    return st.just({})


# Texts that YAML takes for something else if they are written without quotes.
AWKWARD = [
    "true",
    "no",
    "null",
    "~",
    "1",
    "1e5",
    "0x10",
    "2001-01-01",
    "a: b",
    "# a",
    "- a",
    "{{ a }}",
    "[a",
    "'",
    '"',
    "%",
    "@a",
    "a\\b",
]
# As they are Kubernetes' own objects, what is in them is not the chart's.
FREE = {"kubernetesObject", "kubernetesObjects", "namedObjects", "environment"}


def is_free(path: str) -> bool:
    parent, _, key = path.rpartition(".")
    declared = (schema_of(parent) if parent else SCHEMA)["properties"][key]
    return declared.get("$ref", "").rpartition("/")[2] in FREE


OWN = [path for path in LEAVES if not is_free(path)]


def accepted(values: dict) -> None:
    """Rendering gives what the API server takes, or is refused in the chart's own words."""
    try:
        rendering = render(values)
    except helm.Refused as refusal:
        assert "The values do not fit together" in str(refusal) or "is no size such as" in str(refusal)
        return
    for one in rendering.manifests.objects:
        if one["kind"] in MODELS:
            assert complaints(one) == []
        else:
            strictly_valid(one, "1.37")


@settings(
    max_examples=40,
    database=None,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.data())
def test_whatever_fits_the_schema_renders_or_is_refused_in_words(data):
    """Four values at a time, in one of the worlds."""
    values = data.draw(st.sampled_from(WORLDS))
    for path in data.draw(st.lists(st.sampled_from(OWN), min_size=4, max_size=4, unique=True)):
        values = merged(values, nested(path, data.draw(drawn(schema_of(path)))))
    accepted(values)


@pytest.mark.parametrize("awkward", AWKWARD)
def test_texts_stay_texts(awkward):
    """In every value at once that takes this text and does not mean something by it."""
    mean = {
        "nats.extraConfig",
        "redis.extraConfig",
        "run.rules",
        "global.image.registry",
        "nameOverride",
        "fullnameOverride",
    }
    values: dict = {}
    for path in OWN:
        schema = schema_of(path)
        if (
            schema.get("type") == "string"
            and path not in mean
            and not path.endswith("registry")
            and fits(awkward, schema)
        ):
            values = merged(values, nested(path, awkward))
        elif schema.get("additionalProperties") == {"type": "string"} and "abels" not in path:
            values = merged(values, nested(path, {"key": awkward}))
    trial = merged(values, {"run": {"existingRulesConfigMap": ""}, "externalRedis": {"url": ""}})
    trial = merged(trial, {role: {"persistence": {"existingClaim": ""}} for role in ("learner", "redis")})
    trial = merged(
        trial,
        {"externalNats": {"auth": {"existingSecret": ""}}, "externalRedis": {"users": {"fogfall": "", "operator": ""}}},
    )
    trial = merged(trial, {"learner": {"initFrom": ""}})
    accepted(trial)
    render(trial)  # Not refused either.
