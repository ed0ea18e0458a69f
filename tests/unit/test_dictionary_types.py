"""Rows of the data dictionary from types made up here; test_data_dictionary.py has the project's own."""

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict

from cachezoo.documents import Document, Figures, Interval
from cachezoo.meanings import Column, Each, Means, Rows, Table
from scripts.dictionary_types import Entry, of_document, of_schema, of_table

FILE = Each("one file", "its name", text="a file")
SIZE, NAME = Means("how much", "bytes"), Means("what it is called")


class Range(Document):
    low: Annotated[float, Means("lower end")]
    high: Annotated[float, Means("upper end")]


class Row(Document):
    name: Annotated[str, NAME]
    share: Annotated[float | None, Means("of all", "share")]
    ends: Annotated[Interval | None, Means("its interval", "share")]


class Longer(Row):
    count: Annotated[int, Means("how many")]


class Open(Document):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: Figures
    good: Annotated[bool, Means("it is good")]


class Whole(Document):
    size: Annotated[int, SIZE]
    read: Annotated[Range, Means("load of reads", "s")]
    write: Annotated[Range | None, Means("load of writes; null without", "s")]
    other: Annotated[Range, Means("another load", "ms")]
    rows: Annotated[list[Row], Each("one row", "name")]
    either: Annotated[list[Row | Longer], Each("one of two", "name")]
    by_trace: Annotated[dict[str, Row], Each("one trace", "trace", "trace")]
    again: Annotated[Row, Each("the row again", "name", like="a row of rows")]
    codes: Annotated[dict[str, dict[str, int]], Each("one code", "column and name", "column.name", "its code")]
    figures: Annotated[Figures, Each(text="figures by name", unit="ratio")]
    extras: Annotated[dict[str, Figures], Each("one model", "model", "model", "figures")]
    open: Annotated[dict[str, Open], Each("one model", "model", "model")]
    table: Annotated[list[tuple[int, float]], Means("pairs")]
    anything: Annotated[dict[str, Any], Each(text="whatever")]


def rows(entries: list[Entry]) -> dict[str, tuple[str, str, str, str]]:
    """Type, unit, presence and unit of observation by column."""
    found = {entry.column: (entry.type, entry.unit, entry.presence, entry.of) for entry in entries}
    assert len(found) == len(entries)
    return found


def test_every_key_of_a_document_has_its_row() -> None:
    cached = {"accuracy": Column("number or null", Means("right", "ratio"))}
    found = rows(of_document(Whole, FILE, {"extras.<model>": cached, "open.<model>": cached}))
    one = ("always", "one file")
    assert found == {
        "size": ("integer", "bytes", *one),
        "read": ("object", "s", *one),
        "read|write.low": ("number", "s", *one),
        "read|write.high": ("number", "s", *one),
        "write": ("object or null", "s", *one),
        "other": ("object", "ms", *one),
        "other.low": ("number", "ms", *one),
        "other.high": ("number", "ms", *one),
        "rows[].name": ("text", "", "always", "one row"),
        "rows[].share": ("number or null", "share", "always", "one row"),
        "rows[].ends": ("list of number or null", "share", "always", "one row"),
        "either[].name": ("text", "", "always", "one of two"),
        "either[].share": ("number or null", "share", "always", "one of two"),
        "either[].ends": ("list of number or null", "share", "always", "one of two"),
        "either[].count": ("integer", "", "sometimes", "one of two"),
        "by_trace.<trace>.name": ("text", "", "always", "one trace"),
        "by_trace.<trace>.share": ("number or null", "share", "always", "one trace"),
        "by_trace.<trace>.ends": ("list of number or null", "share", "always", "one trace"),
        "again.**": ("any", "", "always", "the row again"),
        "codes.<column>.<name>": ("integer", "", "always", "one code"),
        "figures.**": ("number or null", "ratio", *one),
        "extras.<model>.accuracy": ("number or null", "ratio", "sometimes", "one model"),
        "open.<model>.good": ("bool", "", "always", "one model"),
        "open.<model>.accuracy": ("number or null", "ratio", "sometimes", "one model"),
        "table": ("list of list of number", "", *one),
        "anything.**": ("any", "", *one),
    }


def test_open_mappings_of_which_nothing_is_known_stay_open() -> None:
    found = rows(of_document(Whole, FILE, without=("anything",)))
    assert found["extras.<model>.**"] == ("number or null", "", "always", "one model")
    assert found["open.<model>.**"] == ("number or null", "", "sometimes", "one model")
    assert "anything.**" not in found


def test_a_field_that_says_nothing_is_named() -> None:
    class Silent(Document):
        size: int

    with pytest.raises(ValueError, match=r"Silent\.size does not say what it means"):
        of_document(Silent, FILE)


def test_columns_keys_and_metadata_of_a_table() -> None:
    table = Table(
        FILE,
        {
            "size": Column("int64", SIZE, "sometimes"),
            "curve": Rows(Each("one point", "x"), {"x": Column("number", Means("place"))}),
        },
        {"unit": Column("text", Means("unit of a column"))},
    )
    assert of_table(table) == [
        Entry("one file", "its name", "size", "int64", "bytes", "sometimes", "how much"),
        Entry("one point", "x", "curve[].x", "number", "", "always", "place"),
        Entry("one file", "its name", "metadata unit", "text", "", "always", "unit of a column"),
    ]


def test_a_json_schema() -> None:
    schema = {
        "required": ["id", "cost", "parts"],
        "properties": {
            "id": {"type": ["string", "null"], "description": "its name"},
            "cost": {
                "type": "object", "description": "counts", "required": ["macs"], "additionalProperties": False,
                "properties": {"macs": {"type": "integer", "description": "multiplications"}},
            },
            "open": {"type": "object", "description": "whatever"},
            "wide": {
                "type": "object", "description": "and more",
                "properties": {"known": {"type": "number", "description": "of one kind"}},
            },
            "parts": {"type": "array", "description": "parts", "minItems": 1, "items": {"$ref": "#/$defs/part"}},
            "names": {"type": "array", "description": "names", "items": {"type": "string"}},
        },
        "$defs": {"part": {"required": ["n"], "properties": {"n": {"type": "number", "description": "a number"}}}},
    }  # fmt: skip
    assert rows(of_schema(schema, FILE)) == {
        "id": ("text or null", "", "always", "one file"),
        "cost.macs": ("integer", "", "always", "one file"),
        "open.**": ("any", "", "sometimes", "one file"),
        "wide.known": ("number", "", "sometimes", "one file"),
        "wide.**": ("any", "", "sometimes", "one file"),
        "parts[].n": ("number", "", "always", "one file"),
        "names": ("list of text", "", "sometimes", "one file"),
    }
    del schema["properties"]["names"]["description"]
    with pytest.raises(ValueError, match="names does not say what it means"):
        of_schema(schema, FILE)


def test_meanings_stand_in_the_json_schema_of_a_document() -> None:
    properties = Whole.model_json_schema()["properties"]
    assert (properties["size"]["description"], properties["size"]["unit"]) == ("how much", "bytes")
    assert properties["rows"]["description"] == "one row" and properties["figures"]["description"] == "figures by name"
    assert issubclass(Whole, BaseModel)
