"""Checks a manifest against the published schema, with the standard library alone.

A cache runtime has no jsonschema. This checker knows exactly the words that `manifest.schema.json` uses and
refuses to run on a schema with others; writers and tests hold it against jsonschema.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cachezoo.errors import BundleError

SCHEMA_FILE = Path(__file__).with_name("manifest.schema.json")
TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}
LIMITS: dict[str, Callable[[Any, Any], bool]] = {
    "const": lambda value, limit: value == limit,
    "enum": lambda value, limit: value in limit,
    "pattern": lambda value, limit: re.search(limit.removesuffix("$") + r"\Z", value) is not None,
    "maxLength": lambda value, limit: len(value) <= limit,
    "minItems": lambda value, limit: len(value) >= limit,
    "minProperties": lambda value, limit: len(value) >= limit,
    "minimum": lambda value, limit: value >= limit,
    "exclusiveMinimum": lambda value, limit: value > limit,
}
APPLIED = {"type", "$ref", "required", "properties", "additionalProperties", "items"}
NOTES = {"$schema", "$id", "$defs", "title", "description"}


@cache
def schema() -> dict[str, Any]:
    """The published schema."""
    loaded: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return loaded


def check_manifest(value: object, where: str) -> None:
    """Check a parsed manifest.

    Args:
        value: what JSON gave.
        where: the file, for the message.

    Raises:
        BundleError: the first thing that the schema does not allow, with its place.
    """
    problem = first_problem(value, schema(), "$")
    if problem is not None:
        message = f"{where}: {problem}; the bundle breaks the manifest's schema, export it again"
        raise BundleError(message)


def first_problem(value: object, rules: Mapping[str, Any], place: str) -> str | None:
    """What the rules do not allow, or None.

    Raises:
        BundleError: the schema uses a word that this checker does not know.
    """
    unknown = set(rules) - APPLIED - NOTES - set(LIMITS)
    if unknown:
        message = f"{SCHEMA_FILE.name}: this reader does not know the schema word {sorted(unknown)[0]}"
        raise BundleError(message)
    if "$ref" in rules:
        return first_problem(value, schema()["$defs"][rules["$ref"].rpartition("/")[2]], place)
    if "type" in rules:
        names = rules["type"] if isinstance(rules["type"], list) else [rules["type"]]
        if not any(TYPES[name](value) for name in names):
            return f"{place} is not of type {' or '.join(names)}"
    for word, holds in LIMITS.items():
        if word in rules and not holds(value, rules[word]):
            return f"{place} breaks {word} {rules[word]}"
    if isinstance(value, dict):
        return _object_problem(value, rules, place)
    if isinstance(value, list) and "items" in rules:
        pairs = enumerate(value)
        return next((p for i, item in pairs if (p := first_problem(item, rules["items"], f"{place}[{i}]"))), None)
    return None


def _object_problem(value: dict[str, Any], rules: Mapping[str, Any], place: str) -> str | None:
    missing = [name for name in rules.get("required", ()) if name not in value]
    if missing:
        return f"{place}.{missing[0]} is missing"
    properties, others = rules.get("properties", {}), rules.get("additionalProperties", {})
    for name, item in value.items():
        inner = properties.get(name, others)
        if inner is False:
            return f"{place}.{name} is unknown"
        problem = first_problem(item, inner, f"{place}.{name}")
        if problem is not None:
            return problem
    return None
