import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.bundles.protocol import ACTING, ACTS, MANIFEST, PROTOCOL
from cachezoo.bundles.released import SCHEMA
from cachezoo.bundles.schema import (
    LIMITS,
    MANIFEST_SCHEMA,
    MODEL_SCHEMA,
    check_document,
    compiled,
    first_problem,
    schema,
)
from cachezoo.errors import BundleError
from cachezoo.zoo.registry import SYSTEMS, UNTRAINED
from tests.signed import World

NAMES = (MANIFEST_SCHEMA, MODEL_SCHEMA, SCHEMA)
VALIDATORS = {name: jsonschema.Draft202012Validator(schema(name)) for name in NAMES}
JUNK: list[Any] = [
    *(None, True, False, 0, 1, -1, 1.5, 10**30, "", "x", "1.2.3", "admission", "exact"),
    *([], ["a"], [[1]], {}, {"a": 1}),
]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(leaf for key, item in items for leaf in leaves(item, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


def parsed(bundle_dir: Path, name: str) -> Any:
    file = ACTS if name == MODEL_SCHEMA else MANIFEST
    return json.loads((bundle_dir / file).read_text())


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_sound(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))


def test_the_manifest_s_schema_is_of_the_protocol_that_is_read() -> None:
    assert schema(MANIFEST_SCHEMA)["properties"]["PROTOCOL"]["const"] == PROTOCOL


def test_the_model_s_schema_knows_every_system_that_is_bundled() -> None:
    bundled = {name for name, system in SYSTEMS.items() if system.bundling is not None} | set(UNTRAINED)
    assert bundled == set(schema(MODEL_SCHEMA)["properties"]["kind"]["enum"]) <= set(schema(MODEL_SCHEMA)["$defs"])
    assert bundled == {rule["if"]["properties"]["kind"]["const"] for rule in schema(MODEL_SCHEMA)["allOf"]}


def test_schemas_state_exactly_what_writers_produce(bundle_dir: Path) -> None:
    for name in (MANIFEST_SCHEMA, MODEL_SCHEMA):
        value, rules = parsed(bundle_dir, name), schema(name)
        VALIDATORS[name].validate(value)
        check_document(value, name, "m")
        assert set(value) == set(rules["properties"]) == set(rules["required"])
        for part in ("provenance", "cost", "measured", "golden"):
            if part in value:
                own = rules["properties"][part]
                assert set(own["required"]) <= set(value[part]) <= set(own["properties"])
    assert set(parsed(bundle_dir, MODEL_SCHEMA)) == set(ACTING)


@given(data=st.data())
def test_own_checker_agrees_with_jsonschema(bundle_dir: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([MANIFEST_SCHEMA, MODEL_SCHEMA]))
    value = parsed(bundle_dir, name)
    places = [place for place in leaves(value) if "curve" not in place]
    damaged = put(value, data.draw(st.sampled_from(places)), data.draw(st.sampled_from(JUNK)))
    assert (first_problem(damaged, name) is None) == VALIDATORS[name].is_valid(damaged)


@given(data=st.data())
def test_own_checker_agrees_with_jsonschema_on_releases(data: st.DataObject) -> None:
    value = World().document
    VALIDATORS[SCHEMA].validate(value)
    assert set(value) == set(schema(SCHEMA)["properties"]) == set(schema(SCHEMA)["required"])
    damaged = put(value, data.draw(st.sampled_from(leaves(value))), data.draw(st.sampled_from(JUNK)))
    assert (first_problem(damaged, SCHEMA) is None) == VALIDATORS[SCHEMA].is_valid(damaged)


VALUES: list[Any] = [
    *(None, True, False, 0, 1, 1.0, 2, 2.5, -3, "", "a", "ab"),
    *([], [1], [1, 1, "a"], {}, {"a": 1}, {"b": "a"}),
]
RULES: list[dict[str, Any]] = [
    *({"const": 1}, {"const": "a"}, {"const": True}, {"enum": [1, "ab", None]}),
    *({"pattern": "^a"}, {"pattern": "^(a|ab)$"}, {"maxLength": 1}),
    *({"minItems": 1}, {"maxItems": 1}, {"minProperties": 1}, {"maxProperties": 0}),
    *({"minimum": 1}, {"maximum": 1}, {"exclusiveMinimum": 1}),
    *({"items": {"type": "integer"}}, {"type": ["integer", "null"]}, {"required": ["a"]}),
    *({"properties": {"a": {"type": "string"}}}, {"additionalProperties": False}),
    {"properties": {"a": {}}, "additionalProperties": {"type": "null"}},
    {"$ref": "#/$defs/one"},
    {"allOf": [{"minimum": 1}, {"maximum": 2}]},
    {"if": {"type": "string"}, "then": {"maxLength": 1}},
    {"if": {"type": "string"}},
    {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}},
]


@pytest.mark.parametrize("rules", RULES, ids=json.dumps)
def test_every_word_means_what_the_standard_says(rules: dict[str, Any]) -> None:
    whole = {**rules, "$defs": {"one": {"enum": [1]}}}
    validator = jsonschema.Draft202012Validator(whole)
    # The standard counts 1.0 as an integer.
    values = [value for value in VALUES if "integer" not in str(rules) or type(value) is not float]
    for value in values:
        assert (compiled(whole)(value) is None) == validator.is_valid(value), value
    words = {"items", "type", "required", "properties", "additionalProperties", "$ref", "allOf", "if", "then"}
    assert set(rules) <= set(LIMITS) | words


def test_words_that_the_checker_does_not_know_are_refused() -> None:
    with pytest.raises(BundleError, match="uniqueItems"):
        compiled({"uniqueItems": True})


def test_a_line_end_never_passes_a_pattern() -> None:
    version = compiled(schema(MANIFEST_SCHEMA)["properties"]["version"])
    assert version("1.2.3") is None
    assert version("1.2.3\n") is not None
