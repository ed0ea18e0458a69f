"""IBM's cloud object store of 2019: `time operation id [size [first byte, last byte]]` at blanks, in milliseconds.

Operations are `REST.GET.OBJECT` and others like it; rows have three to six fields. The relation of the same that
libCacheSim's collection has is read, too: commas, its operations as numbers that a comment above the rows names, such
as `op type [Put:0, Get:1, …]`. HEAD asks whether an object is there and counts as a read of it, COPY writes the object
that it names; `flags` keeps what the file says. Sizes are of whole objects. Source: Eytan et al., "It's Time to Revisit
LRU vs. FIFO" (HotStorage '20), and the data set's page at SNIA.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.delimited import Column, Layout, Rows, delimited, merged
from cachezoo.traces.formats.base import Fit, Format, Head, is_int
from cachezoo.traces.formats.keyed import KeyOptions, key_column, keys_of
from cachezoo.traces.objects import OP_DELETE
from cachezoo.traces.reading import BAD_OP, ObjectChunk, Reading, microseconds
from cachezoo.traces.source import Source
from cachezoo.traces.table import OP_READ, OP_WRITE

OPS = {"get": OP_READ, "head": OP_READ, "put": OP_WRITE, "post": OP_WRITE, "copy": OP_WRITE, "delete": OP_DELETE}
RAW = re.compile(r"REST\.([A-Za-z]+)\.[A-Za-z_]+")
NAMED = re.compile(r"#.*op type\s*\[([^\]]*)\]", re.IGNORECASE)
OP_NAME = re.compile(r"([A-Za-z]+)\s*:\s*(\d+)")
SHORT = re.compile(rb"(?m)^([^ \n]+ [^ \n]+ [^ \n]+)$")


def _sized(block: bytes) -> bytes:
    """Rows that end before the size get one of 0, which is unknown."""
    return SHORT.sub(rb"\1 0", block)


RAW_LAYOUT = Layout(
    (Column("time", "int"), Column("op", "text"), Column("key", "text"), Column("size", "int")),
    delimiter=" ",
    ragged=True,
    edit=_sized,
)
NUMBERED_LAYOUT = Layout(
    (Column("time", "int"), Column("op", "text"), Column("key", "text"), Column("size", "int")), ragged=True
)


def _codes(lines: list[str]) -> dict[str, str]:
    """Operations by the numbers that a comment gives them; empty where none does."""
    said = next((found[1] for line in lines if (found := NAMED.match(line))), "")
    return {number: name.lower() for name, number in OP_NAME.findall(said)}


def recognise(head: Head) -> Fit:
    """REST operations in the second field, or a comment that numbers operations above rows of four fields."""
    rows = head.rows(None)
    if rows and 2 * sum(len(row) >= 3 and is_int(row[0]) and RAW.fullmatch(row[1]) is not None for row in rows) >= len(
        rows
    ):
        return Fit.SURE
    codes, rows = _codes(head.lines), head.rows()
    fits = codes and rows and 2 * sum(len(row) >= 4 and is_int(row[0]) and row[1] in codes for row in rows) >= len(rows)
    return Fit.SURE if fits else Fit.NO


def _layout(source: Source, keys: str) -> tuple[Layout, dict[str, str]]:
    """A file's columns, and its operations by number; none where they are names."""
    codes = _codes(source.first_lines())
    layout, delimiter = (NUMBERED_LAYOUT, ",") if codes else (RAW_LAYOUT, None)
    time, op, _, size = layout.columns
    return replace(layout, columns=(time, op, key_column(source, 2, 3, keys, delimiter), size)), codes


def _operation(text: str, codes: dict[str, str]) -> str:
    """An operation in small letters, of its name or number; the text itself where it is none."""
    found = RAW.fullmatch(text)
    return found[1].lower() if found else codes.get(text, text)


def _chunk(rows: Rows, codes: dict[str, str]) -> ObjectChunk:
    text = rows.coded("op")
    said = merged(Coded(text.codes, tuple(_operation(name, codes) for name in text.names)))
    ops = np.array([OPS.get(name, BAD_OP) for name in said.names], np.uint8)
    size = rows.ints("size")
    return ObjectChunk(
        row=rows.row,
        time_us=microseconds(rows.ints("time"), "ms"),
        op=ops[said.codes],
        key=keys_of(rows, "key"),
        size=size,
        coded={"flags": said},
        op_text=text,
    )


def read(reading: Reading, options: KeyOptions) -> Iterator[ObjectChunk]:
    """Requests in the files' order.

    Raises:
        TraceError: a comment numbers an operation that is none.
    """
    reading.notes["size"] = "of whole objects: which part of one is requested is passed over"
    for source in reading.sources:
        layout, codes = _layout(source, options.keys)
        if unknown := [name for name in codes.values() if name not in OPS]:
            message = f"{source.path}: its comment names the operation {unknown[0][:40]!r}; known are {', '.join(OPS)}"
            raise TraceError(message)
        for rows in delimited(reading, layout, [source]):
            yield reading.checked(source, _chunk(rows, codes))


FORMAT = Format(
    id="ibm_cos",
    title="IBM's object store: time REST.op.OBJECT id [size [range]] at blanks, or with numbered ops (objects; ms)",
    recognise=recognise,
    read=read,
    options=KeyOptions,
    needs="a second field such as REST.GET.OBJECT, or a comment `op type [Put:0, Get:1 …]`",
    name=r"ibm|objectstoretrace",
    objects=True,
    keeps=("flags",),
)
