"""Checks a bundle's documents against the published schemas, with the standard library alone.

A cache runtime has no jsonschema. This checker knows exactly the words that the schemas use and refuses to run on a
schema with others; writers and tests hold it against jsonschema. A schema is compiled once, since a bundle's documents
hold thousands of values.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from cachezoo.errors import BundleError

HERE = Path(__file__).parent
MANIFEST_SCHEMA, MODEL_SCHEMA = "manifest", "model"
Rules = Mapping[str, Any]
Check = Callable[[Any], str | None]
"""What is wrong with a value: its place inside the value and the rule that it breaks, or None."""
Holds = Callable[[Any], bool]
LONGEST = 160  # characters of a rule that a message shows
# The classes that a parsed document has values of; a truth is no number.
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}


def _is_of(value: object, classes: tuple[type, ...]) -> bool:
    return isinstance(value, classes) and (bool in classes or not isinstance(value, bool))


def _same(value: object, wanted: object) -> bool:
    """JSON's equality: true is not 1."""
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _matching(pattern: str) -> Holds:
    search = re.compile(re.sub(r"\$$", r"\\Z", pattern)).search
    return lambda value: search(value) is not None


# Words that limit a value, each with the type of the values that it limits (empty for all), and what holds a limit.
LIMITS: dict[str, tuple[str, Callable[[Any], Holds]]] = {
    "const": ("", lambda limit: lambda value: _same(value, limit)),
    "enum": ("", lambda limit: lambda value: any(_same(value, one) for one in limit)),
    "pattern": ("string", _matching),
    "maxLength": ("string", lambda limit: lambda value: len(value) <= limit),
    "minItems": ("array", lambda limit: lambda value: len(value) >= limit),
    "maxItems": ("array", lambda limit: lambda value: len(value) <= limit),
    "minProperties": ("object", lambda limit: lambda value: len(value) >= limit),
    "maxProperties": ("object", lambda limit: lambda value: len(value) <= limit),
    "minimum": ("number", lambda limit: lambda value: value >= limit),
    "maximum": ("number", lambda limit: lambda value: value <= limit),
    "exclusiveMinimum": ("number", lambda limit: lambda value: value > limit),
}
APPLIED = {"type", "$ref", "required", "properties", "additionalProperties", "items", "allOf", "if", "then"}
NOTES = {"$schema", "$id", "$defs", "title", "description"}


@cache
def schema(name: str) -> dict[str, Any]:
    """A published schema: `manifest`, `model` or `release`."""
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
    problem = first_problem(value, name)
    if problem is not None:
        raise BundleError(f"{where}: {problem}; the bundle breaks the {name}'s schema, export it again")


def first_problem(value: object, name: str) -> str | None:
    """What a published schema does not allow in a JSON value, with its place, or None."""
    problem = _published(name)(value)
    return None if problem is None else f"${problem}"


@cache
def _published(name: str) -> Check:
    return compiled(schema(name))


def compiled(rules: Rules, root: Rules | None = None) -> Check:
    """The check of a schema.

    Args:
        rules: a schema, or a part of one.
        root: the whole schema, whose definitions the rules name; None where the rules are it.

    Raises:
        BundleError: the schema uses a word that this checker does not know.
    """
    return _compiled(rules, partial(_definition, rules if root is None else root, {}))


def _definition(root: Rules, made: dict[str, Check], name: str) -> Check:
    """The check of a definition of a schema; each is compiled once."""
    if name not in made:
        made[name] = lambda value: made[name](value)  # what a definition finds that names itself
        made[name] = _compiled(root["$defs"][name], partial(_definition, root, made))
    return made[name]


def _compiled(rules: Rules, definition: Callable[[str], Check]) -> Check:
    unknown = set(rules) - APPLIED - NOTES - set(LIMITS)
    if unknown:
        message = f"{rules.get('$id', 'schema')}: this reader does not know the schema word {sorted(unknown)[0]}"
        raise BundleError(message)
    if "$ref" in rules:
        return definition(rules["$ref"].rpartition("/")[2])
    return _first((*_own(rules), *_inner(rules, definition), *_further(rules, definition)))


def _first(checks: Sequence[Check]) -> Check:
    """The first problem that one of the checks finds."""
    if len(checks) == 1:
        return checks[0]

    def check(value: Any) -> str | None:  # noqa: ANN401 - any JSON value
        for one in checks:
            problem = one(value)
            if problem is not None:
                return problem
        return None

    return check


def _own(rules: Rules) -> Iterator[Check]:
    """What the rules ask of the value itself."""
    names = rules.get("type", [])
    names = names if isinstance(names, list) else [names]
    if names:
        yield _typed([TYPES[name] for name in names], f" is not of type {' or '.join(names)}")
    for word, (kind, holding) in LIMITS.items():
        if word in rules:
            yield _limited(kind, holding(rules[word]), f" breaks {word} {str(rules[word])[:LONGEST]}")


def _typed(types: Sequence[tuple[type, ...]], problem: str) -> Check:
    """A problem of each value of none of the types."""
    usual = {one for classes in types for one in classes}

    def check(value: Any) -> str | None:  # noqa: ANN401 - any JSON value
        if type(value) in usual or any(_is_of(value, classes) for classes in types):
            return None
        return problem

    return check


def _limited(kind: str, holds: Holds, problem: str) -> Check:
    """A problem of each value of a type (empty: of any) that a limit does not hold for."""
    if not kind:
        return lambda value: None if holds(value) else problem
    classes = TYPES[kind]
    return lambda value: problem if _is_of(value, classes) and not holds(value) else None


def _inner(rules: Rules, definition: Callable[[str], Check]) -> Iterator[Check]:
    """What the rules ask of what is inside an object or a list."""
    if {"required", "properties", "additionalProperties"} & set(rules):
        others = rules.get("additionalProperties", {})
        properties = {name: _compiled(inner, definition) for name, inner in rules.get("properties", {}).items()}
        other = _unknown if others is False else _compiled(others, definition)
        yield partial(_object_problem, rules.get("required", ()), properties, other)
    if "items" in rules:
        yield partial(_list_problem, _compiled(rules["items"], definition))


def _unknown(_: object) -> str:
    return " is unknown"


def _object_problem(
    required: Sequence[str], properties: Mapping[str, Check], other: Check, value: object
) -> str | None:
    if not isinstance(value, dict):
        return None
    for name in required:
        if name not in value:
            return f".{name} is missing"
    for name, item in value.items():
        problem = properties.get(name, other)(item)
        if problem is not None:
            return f".{name}{problem}"
    return None


def _list_problem(check: Check, value: object) -> str | None:
    if isinstance(value, list):
        for place, item in enumerate(value):
            problem = check(item)
            if problem is not None:
                return f"[{place}]{problem}"
    return None


def _further(rules: Rules, definition: Callable[[str], Check]) -> Iterator[Check]:
    """What `allOf` and `if` ask for besides."""
    yield from (_compiled(more, definition) for more in rules.get("allOf", ()))
    if "if" in rules:
        yield _condition(_compiled(rules["if"], definition), _compiled(rules.get("then", {}), definition))


def _condition(condition: Check, then: Check) -> Check:
    return lambda value: then(value) if condition(value) is None else None
