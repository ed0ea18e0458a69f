import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.bundles.protocol import PROTOCOL
from cachezoo.bundles.schema import check_manifest, first_problem, schema
from cachezoo.errors import BundleError

VALIDATOR = jsonschema.Draft202012Validator(schema())


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(leaf for key, item in items for leaf in leaves(item, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


def test_schema_is_sound_and_of_this_protocol() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert schema()["properties"]["PROTOCOL"]["const"] == PROTOCOL


def test_schema_states_exactly_what_writers_produce(bundle_dir: Path) -> None:
    manifest = json.loads((bundle_dir / "manifest.json").read_text())
    VALIDATOR.validate(manifest)
    check_manifest(manifest, "m")
    rules = schema()
    assert set(manifest) == set(rules["properties"]) == set(rules["required"])
    for part in ("provenance", "cost", "measured", "golden"):
        assert set(manifest[part]) == set(rules["properties"][part]["properties"])
    for entry in manifest["files"]:
        assert set(entry) == set(rules["properties"]["files"]["items"]["properties"])
    for feature in manifest["features"]:
        assert set(feature) == set(rules["$defs"]["feature"]["properties"])


@pytest.mark.parametrize("word", ["number", "ordinal", "categorical"])
def test_a_feature_s_encoding_is_one_of_the_written_words(bundle_dir: Path, word: str) -> None:
    manifest = json.loads((bundle_dir / "manifest.json").read_text())
    check_manifest(put(manifest, ("features", 0, "encoding"), word), "m")
    with pytest.raises(BundleError, match="encoding"):
        check_manifest(put(manifest, ("features", 0, "encoding"), word + "s"), "m")


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_own_checker_agrees_with_jsonschema(bundle_dir: Path, data: st.DataObject) -> None:
    manifest = json.loads((bundle_dir / "manifest.json").read_text())
    places = [place for place in leaves(manifest) if "curve" not in place]
    junk = st.sampled_from([None, True, 0, -1, 1.5, "", "x", "1.2.3", [], {}, ["a"], {"a": 1}, "admission", 1])
    damaged = put(manifest, data.draw(st.sampled_from(places)), data.draw(junk))
    assert (first_problem(damaged, schema(), "$") is None) == VALIDATOR.is_valid(damaged)


def test_words_that_the_checker_does_not_know_are_refused() -> None:
    with pytest.raises(BundleError, match="uniqueItems"):
        first_problem([], {"uniqueItems": True}, "$")


def test_a_line_end_never_passes_a_pattern() -> None:
    assert first_problem("1.2.3", schema()["properties"]["version"], "$") is None
    assert first_problem("1.2.3\n", schema()["properties"]["version"], "$") is not None
