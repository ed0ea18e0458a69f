"""Traces of Meta's Tectonic: text of 7 to 10 fields at blanks, comments after #, or CSV with a header.

All begin with block, offset in the block, size (bytes), time (seconds) and op; then follow, by layout,

1. namespace, user;
2. pipeline, namespace, user[, count];
3. namespace, user, shard or host[, count[, host]].

The layout is what the option `layout` says, or the names in a comment, in a first line, or in a file `full.header`
beside the trace. Reads are the ops 1, 2 and 5, writes 3, 4 and 6; 100 is unknown. Of CSV, as in the block traces that
come with CacheLib, the first line names the columns in any order, and the ops are words: getChunkData reads, putChunk
writes, and what follows a point says how. Source: Wong et al., "Baleen: ML Admission & Prefetching for Flash Caches"
(FAST '24), and the pages of both data sets.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.delimited import Column, Layout, Rows, delimited
from cachezoo.traces.formats.base import Fit, Format, Head, Options, is_int, is_number
from cachezoo.traces.reading import Chunk, Reading, bytes_of, counts_of, microseconds
from cachezoo.traces.source import Source
from cachezoo.traces.table import OP_READ, OP_WRITE
from cachezoo.traces.wording import many

OPS = {**dict.fromkeys("125", OP_READ), **dict.fromkeys("346", OP_WRITE)}
WORDS = {"getchunkdata": OP_READ, "putchunk": OP_WRITE}  # before a point
UNKNOWN = "100"
FIRST = ("block", "offset", "size", "time", "op")
LAYOUTS = {
    1: (*FIRST, "namespace", "user"),
    2: (*FIRST, "pipeline", "namespace", "user", "count"),
    3: (*FIRST, "namespace", "user", "shard", "count", "host"),
}
FEWEST = {1: 7, 2: 8, 3: 8}
NAMES = {
    "block_id": "block",
    "io_offset": "offset",
    "io_size": "size",
    "op_time": "time",
    "op_name": "op",
    "user_namespace": "namespace",
    "user_name": "user",
    "rs_shard_id": "shard",
    "op_count": "count",
    "host_name": "host",
}
KINDS = {
    **dict.fromkeys(("block", "offset", "size", "count"), "int"),
    "time": "float",
    **dict.fromkeys(("op", "pipeline", "namespace", "user", "shard", "host"), "text"),
}


class TectonicOptions(Options):
    """How rows are laid out."""

    # ``1``, ``2`` or ``3``; ``auto`` takes the header's names, or the number of fields where only one layout has it
    layout: Literal["auto", "1", "2", "3"] = "auto"
    block_bytes: int = Field(default=8 << 20, ge=1, le=2**40)  # a block's size; offsets count inside it
    # ``each``: a row stands for as many accesses as its count says; ``once``: for one
    counts: Literal["each", "once"] = "each"


def _named(line: str) -> tuple[str, ...] | None:
    """The roles of a line that names columns."""
    names = [NAMES.get(name, name) for name in line.lstrip("#").replace(",", " ").lower().split()]
    return tuple(names) if set(FIRST) <= set(names) and len(set(names)) == len(names) else None


def _header(lines: list[str]) -> tuple[str, ...] | None:
    """The roles that a comment, or the first other line, names."""
    for line in lines:
        roles = _named(line)
        if roles or not line.startswith("#"):
            return roles
    return None


def _row_fits(row: list[str]) -> bool:
    if not 7 <= len(row) <= 10 or not is_number(row[3]):
        return False
    return all(map(is_int, row[:3])) and (row[4] in OPS or row[4] == UNKNOWN)


def recognise(head: Head) -> Fit:
    """Names of the columns, or rows of 7 to 10 fields with one of the ops."""
    if head.lines and _header(head.lines):
        return Fit.SURE
    rows = head.rows(None)
    return Fit.LIKELY if rows and 2 * sum(map(_row_fits, rows)) >= len(rows) else Fit.NO


@dataclass(frozen=True)
class _Plan:
    """The roles of a file's columns, those that must be there, where the roles come from, and what parts fields."""

    roles: tuple[str, ...]
    needed: int
    said: str
    delimiter: str = " "


def _beside(source: Source) -> tuple[str, ...] | None:
    """The roles that a file `full.header` beside the trace names."""
    path = source.path.parent / "full.header"
    return _named(path.read_bytes().decode("utf-8", "replace")) if path.is_file() else None


def _plan(source: Source, layout: str) -> _Plan:
    """Columns of a file.

    Raises:
        TraceError: the layout is not declared, and several or none have the file's number of fields.
    """
    if layout != "auto":
        return _Plan(LAYOUTS[int(layout)], FEWEST[int(layout)], f"{layout}, as declared")
    lines = [line.strip(" \t") for line in source.first_lines()]
    if roles := _header(lines):
        last = next((line for line in lines if not line.startswith("#")), "")
        return _Plan(roles, len(roles), "as the header names the columns", "," if "," in last else " ")
    if roles := _beside(source):
        return _Plan(roles, len(roles), "as full.header names the columns")
    width = len(next((line for line in lines if not line.startswith("#")), "").split())
    fitting = [number for number, roles in LAYOUTS.items() if FEWEST[number] <= width <= len(roles)]
    if len(fitting) == 1:
        return _Plan(LAYOUTS[fitting[0]], FEWEST[fitting[0]], f"{fitting[0]}, the only one of {width} fields")
    listed = " or ".join(
        f"layout={number} ({' '.join(LAYOUTS[number][5 : max(width, 5)])} after op)" for number in fitting or LAYOUTS
    )
    what = "more than one layout has" if fitting else "no layout has"
    raise TraceError(f"{source.path}: row 1 has {many(width, 'field')}, which {what}; give the option {listed}")


def _layout(plan: _Plan) -> Layout:
    columns = [
        Column(role if role in KINDS else f"unread_{index}", KINDS.get(role, "skip"), optional=index >= plan.needed)
        for index, role in enumerate(plan.roles)
    ]
    return Layout(tuple(columns), plan.delimiter, header=lambda line: _named(line) is not None)


def _coded(rows: Rows, roles: tuple[str, ...]) -> dict[str, Coded]:
    """The optional columns; blocks are told apart by shard, or else by a host in the eighth column."""
    coded = {
        column: rows.coded(role)
        for column, role in (("namespace", "namespace"), ("user", "user"), ("host", "host"), ("flags", "pipeline"))
        if rows.has(role)
    }
    if rows.has("shard"):
        coded["volume"] = rows.coded("shard")
    elif roles[7:8] == ("host",):
        coded["volume"] = coded["host"]
    return coded


def _chunk(reading: Reading, rows: Rows, plan: _Plan, options: TectonicOptions) -> Chunk:
    block_bytes, counted = options.block_bytes, options.counts == "each" and rows.has("count")
    names = rows.coded("op").names
    words = {name.lower(): WORDS[word] for name in names if (word := name.lower().partition(".")[0]) in WORDS}
    op, text = rows.op("op", OPS | words)
    start, size = rows.ints("offset"), rows.ints("size")
    outside = (start < 0) | (start > block_bytes - np.clip(size, 0, block_bytes + 1))
    chunk = Chunk(
        row=rows.row,
        time_us=microseconds(rows.floats("time"), "s"),
        op=op,
        offset=bytes_of(rows.ints("block"), block_bytes) + np.clip(start, 0, block_bytes),
        size=size,
        count=counts_of(rows.ints("count")) if counted else None,
        coded=_coded(rows, plan.roles),
        op_text=text,
    )
    known = np.array([name != UNKNOWN for name in text.names])[text.codes]
    if not known.all():
        reading.left_out[f"op {UNKNOWN} (unknown)"] += int(np.count_nonzero(~known))
        chunk, outside, start, size = chunk.where(known), outside[known], start[known], size[known]
    return reading.without(
        rows.source,
        chunk,
        outside,
        lambda index: (
            f"offset {start[index]} with size {size[index]} leaves its block of {block_bytes} bytes; fix or drop the "
            "row, or give the option block_bytes"
        ),
    )


def read(reading: Reading, options: TectonicOptions) -> Iterator[Chunk]:
    """Requests in the files' order; `volume` is the shard, if any.

    Raises:
        TraceError: a file's layout cannot be told.
    """
    for source in reading.sources:
        plan = _plan(source, options.layout)
        reading.notes["layout"] = plan.said
        for rows in delimited(reading, _layout(plan), [source]):
            yield reading.checked(source, _chunk(reading, rows, plan, options))


FORMAT = Format(
    id="tectonic",
    title="Meta's Tectonic, of Baleen and CacheLib (seconds, bytes in blocks of 8 MiB)",
    recognise=recognise,
    read=read,
    needs="7 to 10 fields at blanks: block, offset, size, time, an op from 1 to 6 …, or a header with their names",
    name=r"tectonic|full_\d|\bregion\d",
    large=True,
    options=TectonicOptions,
    keeps=("count", "namespace", "user", "host", "flags"),
)
