"""Reads protobuf messages against a list of the fields that may stand in them, with the standard library alone.

A field that is not listed, one of another wire type, or a single one that stands twice (of which parsers differ in what
they make) is refused. What this reader takes, every other reads alike; `onnx` is held against it in tests.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Any

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
INT, FLOAT, DOUBLE, TEXT, RAW = "int", "float", "double", "text", "raw"
PACKED = {FLOAT: ("<f", 4, FIXED32), DOUBLE: ("<d", 8, FIXED64)}
MASK = (1 << 64) - 1

Fields = Mapping[int, tuple[str, str, bool]]
"""By number: name, kind (one of the above, or a message's), and whether it may stand several times."""


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & MASK, at
        shift += 7
        if shift > 63:
            raise ValueError("a protobuf number is too long")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _fields(data: memoryview) -> Iterator[tuple[int, int, int, memoryview]]:
    """Fields of a message: number, wire type, value of a varint, bytes of the others."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        value, content = 0, data[:0]
        if wire == VARINT:
            value, at = _varint(data, at)
        else:
            size = {FIXED64: 8, FIXED32: 4}.get(wire, -1)
            if wire == BYTES:
                size, at = _varint(data, at)
            if size < 0 or at + size > len(data):
                raise ValueError(f"protobuf field {number} is damaged")
            content, at = data[at : at + size], at + size
        yield number, wire, value, content


def _numbers(kind: str, wire: int, value: int, content: memoryview) -> list[int] | list[float]:
    """The numbers of a field, one or packed.

    Raises:
        ValueError: another wire type.
    """
    if kind == INT and wire == VARINT:
        return [_signed(value)]
    if kind == INT and wire == BYTES:
        found, at = [], 0
        while at < len(content):
            number, at = _varint(content, at)
            found.append(_signed(number))
        return found
    if kind in PACKED:
        letter, width, single = PACKED[kind]
        if wire == single or (wire == BYTES and len(content) % width == 0):
            return [number for (number,) in struct.iter_unpack(letter, content)]
    raise ValueError(f"wire type {wire} where {kind} belongs")


def read(data: memoryview, kind: str, messages: Mapping[str, Fields], refused: Mapping[tuple[str, int], str]) -> Any:  # noqa: ANN401
    """A message as a dict of its fields by name; several of one field are a list, which is empty where none stands.

    Args:
        data: the message's bytes.
        kind: its name in `messages`.
        messages: fields of each message; none of them holds itself, so that depth is bounded.
        refused: what to say of fields that are not listed, by message and number.

    Raises:
        ValueError: damaged, a field that is not listed, or one twice.
        IndexError: a number is cut short.
    """
    fields = messages[kind]
    found: dict[str, Any] = {name: [] for name, _, several in fields.values() if several}
    for number, wire, value, content in _fields(data):
        if number not in fields:
            message = refused.get((kind, number), f"field {number} of an ONNX {kind} is not allowed in a bundle")
            raise ValueError(message)
        name, inner, several = fields[number]
        if inner in (INT, FLOAT, DOUBLE):
            values: list[Any] = list(_numbers(inner, wire, value, content))
        elif wire != BYTES:
            raise ValueError(f"field {number} of an ONNX {kind} is damaged")
        elif inner in (TEXT, RAW):
            values = [str(content, "utf-8") if inner == TEXT else content]
        else:
            values = [read(content, inner, messages, refused)]
        if several:
            found[name].extend(values)
        elif name in found or len(values) != 1:
            raise ValueError(f"{name} of an ONNX {kind} does not stand there once")
        else:
            found[name] = values[0]
    return found
