"""Rows of the data dictionary from types: documents, tables of columns, and JSON Schema."""

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from cachezoo.documents import Document
from cachezoo.meanings import Column, Columns, Each, Keys, Means, Rows, Table

METADATA = "metadata "
WORDS = {bool: "bool", int: "integer", float: "number", str: "text", Any: "any"}
SCHEMA_WORDS = {"boolean": "bool", "integer": "integer", "number": "number", "string": "text", "null": "null"}


@dataclass(frozen=True)
class Entry:
    """A column or key: a row of the dictionary without its stage and file."""

    of: str
    key: str
    column: str
    type: str
    unit: str
    presence: str
    meaning: str

    def under(self, prefix: str) -> "Entry":
        """The same below a key."""
        return replace(self, column=prefix + self.column)

    @property
    def said(self) -> tuple[str, ...]:
        """All but whether it is always there."""
        return self.of, self.key, self.column, self.type, self.unit, self.meaning


def of_table(table: Table) -> list[Entry]:
    """Columns or keys of a file, and a Parquet file's own metadata."""
    return [*of_keys(table.columns, table.each), *of_keys(table.metadata, table.each, METADATA)]


def of_keys(columns: Keys, each: Each, prefix: str = "") -> list[Entry]:
    """Columns, below a key."""
    entries: list[Entry] = []
    for name, column in columns.items():
        if isinstance(column, Rows):
            entries += of_keys(column.columns, column.each, f"{prefix}{name}[].")
        else:
            entries.append(_entry(each, prefix + name, column))
    return entries


def _entry(each: Each, name: str, column: Column) -> Entry:
    means = column.means
    return Entry(each.of, each.key, name, column.type, means.unit, column.presence, means.text)


@dataclass(frozen=True)
class _Place:
    """Where a document stands.

    Attributes:
        at: its key, with a dot; empty for the whole file.
        each: what it is of.
        unit: of its numbers that have none of their own.
        presence: of what it holds.
        opened: columns of open mappings, by their key.
    """

    at: str
    each: Each
    unit: str
    presence: str
    opened: Mapping[str, Columns]


def of_document(
    model: type[Document], each: Each, opened: Mapping[str, Columns] | None = None, without: Sequence[str] = ()
) -> list[Entry]:
    """Every key of a document.

    Args:
        model: its type.
        each: what the whole is of.
        opened: what open mappings hold, by their key, as `traces.<trace>.tags.<model>`.
        without: fields to leave out.

    Raises:
        ValueError: a field does not say what it means.
    """
    return _document(model, _Place("", each, "", "always", opened or {}), without)


@dataclass(frozen=True)
class _Part:
    """A field's own row, and those below it without its name."""

    name: str
    own: list[Entry]
    below: list[Entry]


def _document(model: type[Document], place: _Place, without: Sequence[str] = ()) -> list[Entry]:
    hints = get_type_hints(model)  # without Annotated
    parts = [
        _field(f"{model.__name__}.{name}", name, hints[name], info.metadata, place)
        for name, info in model.model_fields.items()
        if name not in without
    ]
    entries, done = [], set()
    for part in parts:
        entries += part.own
        if part.name not in done and part.below:
            alike = [other for other in parts if _said(other.below) == _said(part.below)]
            done |= {other.name for other in alike}
            names = place.at + "|".join(other.name for other in alike)
            entries += [_least(rows).under(names) for rows in zip(*(other.below for other in alike), strict=True)]
    if model.model_config.get("extra") == "allow":
        entries += _opened(place, place.at.removesuffix("."), place.at)
    return entries


def _said(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    return [entry.said for entry in entries]


def _least(rows: Sequence[Entry]) -> Entry:
    """One row for keys that hold the same; it is always there where it is so in one of them."""
    return next((row for row in rows if row.presence == "always"), rows[0])


def _opened(place: _Place, key: str, at: str) -> list[Entry]:
    """What an open mapping of numbers holds."""
    columns = place.opened.get(key)
    if columns is None:
        return [Entry(place.each.of, place.each.key, f"{at}**", "number or null", "", "sometimes", "further figures")]
    return of_keys({name: replace(column, presence="sometimes") for name, column in columns.items()}, place.each, at)


def _field(where: str, name: str, hint: Any, metadata: Sequence[Any], place: _Place) -> _Part:  # noqa: ANN401
    means = next((one for one in metadata if isinstance(one, Means)), None)
    each = next((one for one in metadata if isinstance(one, Each)), None)
    if means is None and each is None:
        raise ValueError(f"{where} does not say what it means")
    options = _options(hint)
    if each is not None and not each.of:
        each = replace(each, of=place.each.of, key=place.each.key)
    presence = "sometimes" if type(None) in options or (each and each.presence == "sometimes") else place.presence
    inner = _Place(place.at + name, each or place.each, means.unit if means else place.unit, presence, place.opened)
    if each is not None and each.like:
        return _Part(name, [Entry(each.of, each.key, f"{inner.at}.**", "any", "", presence, f"as {each.like}")], [])
    kind = _type(hint)
    own = []
    if means is not None:
        unit = means.unit or place.unit if _models(hint) == [] else means.unit
        own = [Entry(inner.each.of, inner.each.key, inner.at, kind, unit, place.presence, means.text)]
    below = _below(hint, each, inner, levels=each.name.split(".") if each and each.name else [])
    return _Part(name, own, [replace(entry, column=entry.column.removeprefix(inner.at)) for entry in below])


def _below(hint: Any, each: Each | None, place: _Place, levels: list[str]) -> list[Entry]:  # noqa: ANN401
    """What stands below a field: documents, or values by name."""
    entries: dict[str, list[Entry]] = {}
    options = [option for option in _options(hint) if option is not type(None)]
    for option in options:
        for entry in _one_below(option, each, place, levels):
            entries.setdefault(entry.column, []).append(entry)
    return [_merged(rows, len(options)) for rows in entries.values()]


def _merged(rows: list[Entry], of: int) -> Entry:
    """One row of the same key of several documents, any of which may stand there."""
    kinds = " or ".join(dict.fromkeys(row.type for row in rows))
    return replace(rows[0], type=kinds, presence=rows[0].presence if len(rows) == of else "sometimes")


def _one_below(option: Any, each: Each | None, place: _Place, levels: list[str]) -> list[Entry]:  # noqa: ANN401
    if isinstance(option, type) and issubclass(option, Document):
        return _document(option, replace(place, at=f"{place.at}."))
    if get_origin(option) is list and _models(get_args(option)[0]):
        return _below(get_args(option)[0], each, replace(place, at=f"{place.at}[]"), [])
    if get_origin(option) is not dict:
        if each is None or not each.text or place.at.endswith("[]"):
            return []
        return [Entry(each.of, each.key, place.at, _type(option), each.unit, place.presence, each.text)]
    if levels:
        return _below(get_args(option)[1], each, replace(place, at=f"{place.at}.<{levels[0]}>"), levels[1:])
    if place.at in place.opened:
        return _opened(place, place.at, f"{place.at}.")
    assert each is not None
    kind = _type(get_args(option)[1])
    return [Entry(each.of, each.key, f"{place.at}.**", kind, each.unit, place.presence, each.text)]


def _options(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _models(hint: Any) -> list[type[Document]]:  # noqa: ANN401
    return [option for option in _options(hint) if isinstance(option, type) and issubclass(option, Document)]


def _type(hint: Any) -> str:  # noqa: ANN401
    """A type as the dictionary writes it."""
    options = _options(hint)
    words = list(dict.fromkeys(_word(option) for option in options if option is not type(None)))
    return " or ".join([*words, "null"] if type(None) in options else words)


def _word(option: Any) -> str:  # noqa: ANN401
    origin = get_origin(option)
    if origin is Literal:
        return "text"
    if origin in (list, tuple):
        inner = dict.fromkeys(_type(one) for one in get_args(option))
        return "list of " + ("number" if set(inner) == {"integer", "number"} else " or ".join(inner))
    return WORDS.get(option, "object")


def of_schema(schema: Mapping[str, Any], each: Each) -> list[Entry]:
    """Every key of a document that a JSON Schema describes.

    Raises:
        ValueError: a property has no description.
    """
    return _properties(schema, schema, each, "", always=True)


def _properties(whole: Mapping[str, Any], rules: Mapping[str, Any], each: Each, at: str, always: bool) -> list[Entry]:
    entries: list[Entry] = []
    for name, own in rules["properties"].items():
        if "description" not in own:
            raise ValueError(f"the schema's {at}{name} does not say what it means")
        there = always and name in rules.get("required", ())
        presence = "always" if there else "sometimes"
        found = {**_resolved(whole, own), "description": own["description"]}
        items = _resolved(whole, found.get("items", {}))
        if "properties" in found:
            entries += _properties(whole, found, each, f"{at}{name}.", there)
            if found.get("additionalProperties", True):
                entries.append(Entry(each.of, each.key, f"{at}{name}.**", "any", "", presence, found["description"]))
        elif "properties" in items:
            entries += _properties(whole, items, each, f"{at}{name}[].", there and found.get("minItems", 0) > 0)
        else:
            column = f"{at}{name}.**" if found["type"] == "object" else at + name
            kind = _schema_type(whole, found)
            entries.append(Entry(each.of, each.key, column, kind, "", presence, found["description"]))
    return entries


def _resolved(whole: Mapping[str, Any], rules: Mapping[str, Any]) -> Mapping[str, Any]:
    return whole["$defs"][rules["$ref"].rpartition("/")[2]] if "$ref" in rules else rules


def _schema_type(whole: Mapping[str, Any], rules: Mapping[str, Any]) -> str:
    if rules.get("type") == "array":
        return f"list of {_schema_type(whole, _resolved(whole, rules.get('items', {})))}"
    if rules.get("type") == "object":
        return "any"
    kinds = rules.get("type", [])
    return " or ".join(SCHEMA_WORDS[kind] for kind in (kinds if isinstance(kinds, list) else [kinds]))
