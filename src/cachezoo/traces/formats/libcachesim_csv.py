"""libCacheSim's CSV: any delimited text whose columns are named by options, or by their header.

An option names a column by its number from 1 or by the header's name for it. Without one, the usual names in a header
are taken. Source: libCacheSim's quick start.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Literal

import numpy as np
from pydantic import Field

from cachezoo.arrays import I64
from cachezoo.errors import TraceError
from cachezoo.traces.delimited import DELIMITERS, Column, Layout, Rows, delimited, split_line
from cachezoo.traces.formats.base import Fit, Format, Head, is_int
from cachezoo.traces.formats.headed import unread
from cachezoo.traces.formats.id_ways import timed_id_ways
from cachezoo.traces.formats.identified import IdOptions
from cachezoo.traces.formats.keyed import KEY_LINES, STORE_OPS, TimedKeyOptions, key_kind, keys_of, lasting, meanings
from cachezoo.traces.formats.libcachesim_written import write, write_objects
from cachezoo.traces.formats.oraclegeneral import WriteOptions
from cachezoo.traces.formats.other_ops import by_name, data_only
from cachezoo.traces.objects import OP_DELETE
from cachezoo.traces.reading import Chunk, ObjectChunk, Reading, Requests, RowClock, microseconds
from cachezoo.traces.source import Source
from cachezoo.traces.table import OP_READ, PAGE_BYTES
from cachezoo.traces.wording import many

OBJECT_NAMES = ("obj_id", "object_id", "objid", "objectid")
USUAL = {
    "time": ("time", "timestamp", "clock_time", "ts"),
    "obj_id": (*OBJECT_NAMES, "object", "obj", "key", "id"),
    "obj_size": ("obj_size", "object_size", "objsize", "size", "value_size"),
    "op": ("op", "operation", "op_type", "optype"),
    "tenant": ("tenant", "tenant_id", "tenantid"),
}
# Of objects, and only of them: the seconds after which what is written is void.
OF_OBJECTS = {"ttl": ("ttl", "ttl_s")}
NO_DATA = by_name("nop")


class CsvOptions(IdOptions, TimedKeyOptions):
    """Where the columns are.

    Attributes:
        time_col, obj_id_col, obj_size_col, op_col, tenant_col, ttl_col: a column's number from 1 or its name in the
            header; empty: the usual names in the header, if any; ``none``: no column. Of objects alone a time to live
            is read, in seconds.
        ops: values of the column of ops that mean a read, a write and a delete, such as ``1|3/0/2``; empty: their
            usual names.
        has_header: whether the first line names columns; ``auto``: where no field of it is a number.
        delimiter: one character, a name in `DELIMITERS`, or ``auto``: what splits the first line most.
        time_unit: of the time column.
    """

    time_col: str = ""
    obj_id_col: str = ""
    obj_size_col: str = ""
    op_col: str = ""
    tenant_col: str = ""
    ttl_col: str = ""
    ops: str = Field(default="", max_length=200)
    has_header: Literal["auto", "true", "false"] = "auto"
    delimiter: str = Field(default="auto", pattern=f"^(.|auto|{'|'.join(DELIMITERS)})$")

    @property
    def roles(self) -> dict[str, tuple[str, ...]]:
        """The usual names in a header, by role."""
        return USUAL | OF_OBJECTS if self.objects else USUAL

    def delimiter_of(self, line: str) -> str:
        """The delimiter of a file, by its first line."""
        if self.delimiter != "auto":
            return DELIMITERS.get(self.delimiter, self.delimiter)
        return max(DELIMITERS.values(), key=lambda sign: (len(_fields(line, sign)), sign != " "))


def _fields(line: str, delimiter: str) -> list[str]:
    return line.split() if delimiter == " " else split_line(line, delimiter)[0]


def _is_header(fields: list[str]) -> bool:
    return not any(field.lstrip("-").replace(".", "", 1).isdigit() for field in fields)


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


def recognise(head: Head) -> Fit:
    """A header that names an object's id."""
    lines = [line for line in head.lines if not line.startswith("#")]
    if len(lines) < 2:
        return Fit.NO
    fields = _fields(lines[0], CsvOptions().delimiter_of(lines[0]))
    named = len(fields) > 1 and any(_plain(field) in OBJECT_NAMES for field in fields)
    return Fit.LIKELY if named else Fit.NO


def _place(source: Source, role: str, wanted: str, header: list[str], width: int) -> int | None:
    """The index of a column.

    Raises:
        TraceError: the file has no such column.
    """
    names = [_plain(name) for name in header]
    if wanted == "none":
        return None
    if not wanted:
        return next((names.index(name) for name in (USUAL | OF_OBJECTS)[role] if name in names), None)
    if is_int(wanted) and 1 <= int(wanted) <= width:
        return int(wanted) - 1
    if _plain(wanted) in names:
        return names.index(_plain(wanted))
    message = f"{source.path}: option {role}_col is {wanted!r}: use a number from 1 to {width}"
    raise TraceError(message + (f" or one of {', '.join(header)}" if header else ""))


def _unread(options: CsvOptions, header: list[str], found: Mapping[str, int | None]) -> str:
    """That names of a header seem to be of times or sizes, where no column is of these; empty where none does."""
    said, asked = [], []
    for role, meant in (("time", "time"), ("obj_size", "size")):
        if found[role] is not None or getattr(options, f"{role}_col"):
            continue
        for index, what in unread(header, [at for at in found.values() if at is not None], meant):
            unit = [f"time_unit={what.unit}"] if meant == "time" and what.unit and what.unit != "s" else []
            said.append(f"{header[index]} may be the {meant}")
            asked.append(" ".join([f"{role}_col={header[index]}", *unit]) + f" (or {role}_col=none)")
    return f"its header's {' and '.join(said)}; give the options {' and '.join(asked)}" if said else ""


def _layout(source: Source, options: CsvOptions) -> Layout:
    """The file's columns.

    Raises:
        TraceError: a column is not there, named twice, or none holds ids; one that is not read may be of times or
            sizes; most ids are texts, which are no addresses.
    """
    lines = [line for line in source.first_lines() if not line.startswith("#")]
    first = lines[0] if lines else ""
    delimiter = options.delimiter_of(first)
    fields = _fields(first, delimiter)
    headed = options.has_header == "true" or (options.has_header == "auto" and _is_header(fields))
    header = fields if headed else []
    found = {role: _place(source, role, getattr(options, f"{role}_col"), header, len(fields)) for role in options.roles}
    places = {place: role for role, place in found.items() if place is not None}
    if found["obj_id"] is None:
        has = many(len(fields), "field")
        raise TraceError(f"{source.path}: row 1 has {has}, none known for ids; give their column by obj_id_col")
    if len(places) < sum(place is not None for place in found.values()):
        raise TraceError(f"{source.path}: one column serves twice; give each role a column of its own")
    if doubtful := _unread(options, header, found):
        raise TraceError(f"{source.path}: {doubtful}")
    kinds = {"time": "float", "obj_size": "int", "op": "text", "tenant": "text", "obj_id": "int", "ttl": "int"}
    split = (_fields(line, delimiter)[found["obj_id"] :] for line in lines[headed : KEY_LINES + headed])
    ids = [values[0].strip() for values in split if values]
    if options.objects:
        kinds["obj_id"] = key_kind(ids, options.keys)
    elif texts := [at for at, text in enumerate(ids) if not is_int(text)]:
        if 2 * len(texts) > len(ids):
            said = f"row {texts[0] + 1}: obj_id is {ids[texts[0]][:40]!r}, not a whole number"
            raise TraceError(f"{source.path}: {said}; where ids name objects, read with the option ids=object")
    columns = [
        Column(role, kinds[role], optional=role == "ttl")
        if (role := places.get(index))
        else Column(f"unread_{index}", "skip")
        for index in range(len(fields))
    ]
    return Layout(tuple(columns), delimiter, quoted=delimiter != " ", header=lambda _: headed)


class _Reader:
    """One pass over the files."""

    def __init__(self, reading: Reading, options: CsvOptions) -> None:
        self.reading, self.options = reading, options
        self.ops = meanings(options.ops) if options.ops else STORE_OPS
        self.void = dict(NO_DATA)
        if not options.objects:  # a delete is of an object, and moves no data
            self.void |= by_name(*(name for name, op in self.ops.items() if op == OP_DELETE))
            self.ops = {name: op for name, op in self.ops.items() if op != OP_DELETE}
        self.rows = RowClock()

    def note(self, layout: Layout) -> None:
        """Say what was inferred."""
        roles = {column.name: index + 1 for index, column in enumerate(layout.columns) if column.kind != "skip"}
        notes = {"columns": ", ".join(f"{role} {place}" for role, place in roles.items()), "ids": self.options.said()}
        if "time" not in roles:
            notes["time"] = "row numbers in microseconds: no column has times"
        if "op" not in roles:
            notes["op"] = "all reads: no column has ops"
        if "obj_size" not in roles:
            notes["size"] = f"{'unknown' if self.options.objects else '4,096 bytes each'}: no column has sizes"
        self.reading.notes |= notes

    def requests(self, rows: Rows) -> Requests:
        """Requests of some rows; of addresses reads and writes alone, what is deleted is counted."""
        n = len(rows.row)
        op, text = rows.op("op", self.ops) if rows.has("op") else (np.full(n, OP_READ, np.uint8), None)
        coded = {"namespace": rows.coded("tenant")} if rows.has("tenant") else {}
        sizes = rows.ints("obj_size") if rows.has("obj_size") else None
        if self.options.objects:
            objects = ObjectChunk(
                row=rows.row,
                time_us=self._time(rows),
                op=op,
                key=keys_of(rows, "obj_id"),
                size=np.zeros(n, np.int64) if sizes is None else sizes,
                ttl_s=lasting(rows, "ttl"),
                coded=coded,
                op_text=text,
            )
            return data_only(self.reading, objects, self.void)
        ids = rows.ints("obj_id")
        offset, over = self.options.addresses(ids)
        chunk = Chunk(
            row=rows.row,
            time_us=self._time(rows),
            op=op,
            offset=offset,
            size=np.full(n, PAGE_BYTES, np.int64) if sizes is None else sizes,
            coded=coded,
            op_text=text,
        )
        chunk = self.reading.without(rows.source, chunk, over, lambda index: self.options.overflow(ids[index]))
        return data_only(self.reading, chunk, self.void)

    def _time(self, rows: Rows) -> I64:
        if rows.has("time"):
            return microseconds(rows.floats("time"), self.options.time_unit)
        return self.rows.times(rows.source, rows.row)


def read(reading: Reading, options: CsvOptions) -> Iterator[Requests]:
    """Requests in the files' order; a tenant is kept as `namespace`.

    Raises:
        TraceError: a file lacks a column that an option names, or has none for ids, or `ops` says none.
    """
    reader = _Reader(reading, options)
    for source in reading.sources:
        layout = _layout(source, options)
        reader.note(layout)
        for rows in delimited(reading, layout, [source]):
            yield reading.checked(source, reader.requests(rows))


FORMAT = Format(
    id="libcachesim_csv",
    title="libCacheSim CSV, columns named by options (seconds by default, bytes, ids)",
    recognise=recognise,
    read=read,
    needs="a header that names obj_id, or columns given by options",
    name="libcachesim",
    options=CsvOptions,
    ways=partial(timed_id_ways, names=USUAL["time"]),
    objects=True,
    write_objects=write_objects,
    keeps=("namespace",),
    write=write,
    write_options=WriteOptions,
)
