"""Checks a bundle's documents against the published schemas, with the standard library alone.

A cache runtime has no jsonschema. This checker knows exactly the words that the schemas use and refuses to run on a
schema with others; writers and tests hold it against jsonschema.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cachezoo.errors import BundleError

HERE = Path(__file__).parent
MANIFESTS = {1: "manifest-1", 2: "manifest"}
MODEL_SCHEMA = "model"
Rules = Mapping[str, Any]
LONGEST = 160  # characters of a rule that a message shows
TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}


def _same(value: object, wanted: object) -> bool:
    """JSON's equality: true is not 1."""
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


# Words that limit a value, each with the type of the values that it limits; empty for all.
LIMITS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "const": ("", _same),
    "enum": ("", lambda value, limit: any(_same(value, one) for one in limit)),
    "pattern": ("string", lambda value, limit: re.search(re.sub(r"\$$", r"\\Z", limit), value) is not None),
    "maxLength": ("string", lambda value, limit: len(value) <= limit),
    "minItems": ("array", lambda value, limit: len(value) >= limit),
    "maxItems": ("array", lambda value, limit: len(value) <= limit),
    "minProperties": ("object", lambda value, limit: len(value) >= limit),
    "maxProperties": ("object", lambda value, limit: len(value) <= limit),
    "minimum": ("number", lambda value, limit: value >= limit),
    "maximum": ("number", lambda value, limit: value <= limit),
    "exclusiveMinimum": ("number", lambda value, limit: value > limit),
}
APPLIED = {"type", "$ref", "required", "properties", "additionalProperties", "items", "allOf", "if", "then"}
NOTES = {"$schema", "$id", "$defs", "title", "description"}


@cache
def schema(name: str) -> dict[str, Any]:
    """A published schema: `manifest`, `manifest-1` (of PROTOCOL 1) or `model`."""
    loaded: dict[str, Any] = json.loads((HERE / f"{name}.schema.json").read_text(encoding="utf-8"))
    return loaded


def check_document(value: object, name: str, where: str) -> None:
    """Check a parsed document.

    Args:
        value: what JSON gave.
        name: of the schema.
        where: the file, for the message.

    Raises:
        BundleError: the first thing that the schema does not allow, with its place.
    """
    problem = first_problem(value, schema(name), "$")
    if problem is not None:
        message = f"{where}: {problem}; the bundle breaks the {name.partition('-')[0]}'s schema, export it again"
        raise BundleError(message)


def first_problem(value: object, rules: Rules, place: str, root: Rules | None = None) -> str | None:
    """What the rules do not allow, or None.

    Args:
        value: any JSON value.
        rules: a schema, or a part of one.
        place: of the value, for the message.
        root: the whole schema, whose definitions the rules name; None where the rules are it.

    Raises:
        BundleError: the schema uses a word that this checker does not know.
    """
    root = rules if root is None else root
    unknown = set(rules) - APPLIED - NOTES - set(LIMITS)
    if unknown:
        message = f"{root.get('$id', 'schema')}: this reader does not know the schema word {sorted(unknown)[0]}"
        raise BundleError(message)
    if "$ref" in rules:
        return first_problem(value, root["$defs"][rules["$ref"].rpartition("/")[2]], place, root)
    if "type" in rules:
        names = rules["type"] if isinstance(rules["type"], list) else [rules["type"]]
        if not any(TYPES[name](value) for name in names):
            return f"{place} is not of type {' or '.join(names)}"
    for word, (kind, holds) in LIMITS.items():
        if word in rules and (not kind or TYPES[kind](value)) and not holds(value, rules[word]):
            return f"{place} breaks {word} {str(rules[word])[:LONGEST]}"
    return _inner_problem(value, rules, place, root) or _further_problem(value, rules, place, root)


def _inner_problem(value: object, rules: Rules, place: str, root: Rules) -> str | None:
    """What is not allowed inside an object or a list."""
    if isinstance(value, dict):
        return _object_problem(value, rules, place, root)
    if isinstance(value, list) and "items" in rules:
        found = (first_problem(item, rules["items"], f"{place}[{i}]", root) for i, item in enumerate(value))
        return next((problem for problem in found if problem is not None), None)
    return None


def _further_problem(value: object, rules: Rules, place: str, root: Rules) -> str | None:
    """What `allOf` and `if` ask for besides."""
    further = list(rules.get("allOf", ()))
    if "if" in rules and first_problem(value, rules["if"], place, root) is None:
        further.append(rules.get("then", {}))
    found = (first_problem(value, more, place, root) for more in further)
    return next((problem for problem in found if problem is not None), None)


def _object_problem(value: dict[str, Any], rules: Rules, place: str, root: Rules) -> str | None:
    missing = [name for name in rules.get("required", ()) if name not in value]
    if missing:
        return f"{place}.{missing[0]} is missing"
    properties, others = rules.get("properties", {}), rules.get("additionalProperties", {})
    for name, item in value.items():
        inner = properties.get(name, others)
        if inner is False:
            return f"{place}.{name} is unknown"
        problem = first_problem(item, inner, f"{place}.{name}", root)
        if problem is not None:
            return problem
    return None
