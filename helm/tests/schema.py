"""The chart's schema of values, and where in the values it says what."""

from __future__ import annotations

import functools
import json

import jsonschema

from chart import helm
from renderings import default_values

SCHEMA = json.loads((helm.CHART / "values.schema.json").read_text())


def resolved(schema: dict) -> dict:
    while "$ref" in schema:
        schema = SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]]
    return schema


def schema_of(path: str) -> dict:
    schema = SCHEMA
    for key in path.split("."):
        schema = resolved(schema)["properties"][key]
    return resolved(schema)


def leaves(values: dict, path: str = "") -> list[str]:
    """Paths of all values that hold no named values of the chart's own below."""
    found = []
    for key, value in values.items():
        below = f"{path}.{key}".lstrip(".")
        declared = "properties" in schema_of(below) and isinstance(value, dict) and value
        found += leaves(value, below) if declared else [below]
    return found


def objects(schema: dict, path: str = "") -> list[str]:
    """Paths of all objects whose keys are declared."""
    found = [path] if "properties" in schema else []
    for key, below in schema.get("properties", {}).items():
        found += objects(resolved(below), f"{path}.{key}".lstrip("."))
    return found


LEAVES = leaves(default_values())
OBJECTS = objects(SCHEMA)


def default_of(path: str):
    return functools.reduce(lambda value, key: value[key], path.split("."), default_values())


def fits(value, schema: dict) -> bool:
    return jsonschema.Draft7Validator({**schema, "definitions": SCHEMA["definitions"]}).is_valid(value)
