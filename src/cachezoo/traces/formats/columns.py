"""Any delimited text or table whose columns are named: `--columns time=ts:ms,offset=lba:512,size=len,op=rw`.

A column is the name that the header (a first line, or a comment above the rows) gives it, or `#3`, the third. After a
colon stands what its values count: of a time or latency ns, 100ns, us, ms or s; of an offset or size so many bytes;
of an op the values that mean a read and those that mean a write, `1/0` or `28|88/2a|8a`. What a file lacks is said
with a constant: `op=read`, `op=write`, `size=4096B`, `time=row:us` (rows are one such unit apart).

How values are written is seen by the first rows, or said: a time is a number, a `date` or the time of day of a `clock`
(past midnight it is the next day's); offsets and sizes are decimal or `hex`, as in `offset=addr:hex` or
`offset=lba:hex:512`. A decimal comma is seen. Rows may differ in how many fields they have after the columns named.

Requests of objects have a `key` in place of an `offset`, a number or a text that names what is requested, and may have
a time to live (`ttl`, in seconds unless a unit follows the colon); their op may have a third group, of values
that mean a delete. A `count` says how many accesses a row stands for.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from cachezoo.arrays import I64, U8
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.delimited import DELIMITERS, Column, Layout, Rows, delimited, split_line
from cachezoo.traces.formats.base import Fit, Format, Head
from cachezoo.traces.formats.keyed import STORE_OPS, KeyOptions, key_kind, keys_of, lasting, meanings
from cachezoo.traces.formats.other_ops import by_name, data_only
from cachezoo.traces.objects import OP_DELETE
from cachezoo.traces.reading import (
    BAD_OP,
    PER_UNIT_US,
    SECTOR_BYTES,
    Chunk,
    ObjectChunk,
    Reading,
    Requests,
    RowClock,
    bytes_of,
    counts_of,
    microseconds,
)
from cachezoo.traces.source import HEAD_BYTES, Source
from cachezoo.traces.table import OP_NAMES, OP_READ, OP_WRITE, UNKNOWN_LATENCY
from cachezoo.traces.tabular import first_rows, is_table, schema_of
from cachezoo.traces.tabular import rows as rows_of_table
from cachezoo.traces.values import DAY_US, KINDS, whole_of

CODED = ("volume", "user", "host", "namespace", "flags")
ROLES = ("time", "offset", "key", "size", "op", "latency", "count", "ttl", *CODED)
REQUIRED = ("time", "offset", "size", "op")
REQUIRED_OF_OBJECTS = ("time", "key", "size", "op")
OF_ADDRESSES, OF_OBJECTS = ("offset", "volume"), ("key", "ttl")
ROW = "row"
READS = ("r", "read", "reads", "rd", "get", "load")
WRITES = ("w", "write", "writes", "wr", "put", "set", "store")
SPELLINGS = {**dict.fromkeys(READS, OP_READ), **dict.fromkeys(WRITES, OP_WRITE)}
# Letters of the kernel's rwbs: read or write, then what kind of one.
RWBS = re.compile(r"f?([rw])[asmf]*")
NO_DATA = by_name(
    "flush", "fsync", "sync", "datasync", "trim", "discard", "unmap", "d", "f", "fn", "open", "close", "nop"
)
SIZE = re.compile(r"([0-9]+)(B|KiB|MiB)")
SIZE_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
MOST_UNIT = 1 << 30
EXACT = 2**53  # whole numbers from here on are no floats
MOST = 0.9  # the share of the first rows that says how a column's values are written
MOMENTS = ("date", "clock")
HEX = "hex"
BACK_US = DAY_US // 2  # a clock that is set back by more has passed midnight
AHEAD_US = DAY_US * 23 // 24  # one that is set ahead by more is before midnight again


class ColumnsOptions(KeyOptions):
    """Which column is what, as the module says.

    Attributes:
        time, offset or key, size, op: required; a column, or a constant.
        latency, count, volume, user, host, namespace, flags: optional columns; ttl: one of objects.
        delimiter: one character, a name in `DELIMITERS`, or ``auto``: what splits the first lines alike.
        has_header: whether the first line names columns; ``auto``: where it names one that is asked for, or no field of
            it is a number.
    """

    time: str = Field(default="", max_length=200)
    offset: str = Field(default="", max_length=200)
    key: str = Field(default="", max_length=200)
    size: str = Field(default="", max_length=200)
    op: str = Field(default="", max_length=200)
    latency: str = Field(default="", max_length=200)
    count: str = Field(default="", max_length=200)
    ttl: str = Field(default="", max_length=200)
    volume: str = Field(default="", max_length=200)
    user: str = Field(default="", max_length=200)
    host: str = Field(default="", max_length=200)
    namespace: str = Field(default="", max_length=200)
    flags: str = Field(default="", max_length=200)
    delimiter: str = Field(default="auto", pattern=f"^(.|auto|{'|'.join(DELIMITERS)})$")
    has_header: Literal["auto", "true", "false"] = "auto"


def parsed(text: str) -> dict[str, str]:
    """The options that `--columns ROLE=COLUMN,…` stands for.

    Raises:
        TraceError: a part is no ROLE=COLUMN, a role is unknown, said twice, or a required one is missing; roles of
            addresses and of objects are mixed.
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        role, sign, column = (word.strip() for word in part.partition("="))
        if not sign or not column or role not in ROLES or role in found:
            said = "is said twice" if role in found else f"write ROLE=COLUMN with a role of {', '.join(ROLES)}"
            raise TraceError(f"--columns: {part.strip()[:60]!r}: {said}")
        found[role] = column
    if mixed := _mixed(found):
        raise TraceError(f"--columns: {mixed}")
    missing = [role for role in required(found) if role not in found]
    if missing:
        raise TraceError(f"--columns: no column for {' and '.join(missing)}; {', '.join(map(lacking, missing))}")
    return found


def required(given: Collection[str]) -> tuple[str, ...]:
    """The roles that must be there with some that are given."""
    return REQUIRED_OF_OBJECTS if "key" in given else REQUIRED


def _mixed(given: Collection[str]) -> str:
    """That some roles are of addresses and some of objects; empty where they agree."""
    addresses, objects = ([role for role in group if role in given] for group in (OF_ADDRESSES, OF_OBJECTS))
    if objects and "key" not in given:
        return f"{objects[0]} is of objects, which a key names: write key=COLUMN in place of offset"
    if not (addresses and objects):
        return ""
    return f"{addresses[0]} and {objects[0]}: a request is of an address or of an object, which has none; leave one out"


def lacking(role: str) -> str:
    """What to write for a required role that a file has no column of."""
    constants = {"time": "time=row:us numbers the rows", "size": "size=4096B is constant", "op": "op=read is constant"}
    return constants.get(role, f"write {role}=NAME or {role}=#NUMBER")


def sniffed(lines: Sequence[str]) -> str:
    """The delimiter that splits most of some lines into equally many fields, or else all, at least two.

    A blank comes last of all.
    """

    def alike(sign: str) -> tuple[int, bool, int]:
        widths = [len(fields_of(line, sign)) for line in lines]
        most = max(set(widths), key=lambda width: (widths.count(width), width), default=0)
        same = widths.count(most) if most > 1 and widths.count(most) >= MOST * len(widths) else 0
        return same, sum(width > 1 for width in widths) >= MOST * len(widths), most if same else 0

    signs = list(DELIMITERS.values())
    found = {sign: alike(sign) for sign in signs}
    if found[";"][0] and (found[";"][2] > 2 or found[";"][0] > found[","][0]):
        return ";"  # commas between semicolons are decimal ones

    def rank(sign: str) -> tuple[bool, bool, bool, int, int]:
        same, ragged, most = found[sign]
        return same > 0, ragged, sign != " ", most, -signs.index(sign)

    return max(signs, key=rank)


def fields_of(line: str, delimiter: str) -> list[str]:
    """The fields of a line."""
    return line.split() if delimiter == " " else split_line(line, delimiter)[0]


def _is_number(text: str) -> bool:
    return any(KINDS[kind].pattern.fullmatch(text) for kind in ("float", "hex", "decimal_comma", *MOMENTS))


@dataclass(frozen=True)
class Table:
    """The beginning of a delimited file."""

    delimiter: str  # one character
    header: list[str]  # names of its columns; empty where it has none
    headed: bool  # whether the first line that is no comment is the header
    rows: list[list[str]]  # the fields of the first rows

    @property
    def width(self) -> int:
        """How many columns it has."""
        widths = [len(row) for row in self.rows] or [len(self.header)]
        return max(set(widths), key=lambda width: (widths.count(width), width))

    @property
    def ragged(self) -> bool:
        """Whether more of its rows than a few bad ones have other widths."""
        width = self.width
        return sum(len(row) == width for row in self.rows) < MOST * len(self.rows)

    def share(self, place: int, kind: str) -> float:
        """The share of a column's values in the first rows that are of a kind, empty ones aside; 0 of none."""
        values = [row[place] for row in self.rows if len(row) > place and row[place]]
        return sum(map(KINDS[kind].matches, values)) / max(len(values), 1)


def table_of(lines: Sequence[str], options: ColumnsOptions) -> Table:
    """The table that a file's first whole lines show."""
    rows = [line for line in lines if not line.startswith("#")]
    if not rows:
        return Table(",", [], False, [])
    sign = DELIMITERS.get(options.delimiter, options.delimiter)
    sign = sniffed(rows[:50]) if sign == "auto" else sign
    first = fields_of(rows[0], sign)
    asked = {_plain(getattr(options, role).partition(":")[0]) for role in ROLES} - {""}
    named = bool(asked & set(map(_plain, first))) or not any(map(_is_number, first))
    headed = options.has_header == "true" or (options.has_header == "auto" and named)
    body = [fields_of(line, sign) for line in rows[headed:]]
    comments = [fields_of(line.lstrip("# \t"), sign) for line in lines if line.startswith("#")]
    above = next((names for names in comments if body and len(names) == len(body[0])), [])
    return Table(sign, first if headed else above, headed, body)


def _plain(name: str) -> str:
    return name.strip().strip('"').lower()


@dataclass(frozen=True)
class Part:
    """Where one role's values come from."""

    place: int | None  # index of its column; None for a constant
    unit: str = ""  # what follows the colon, without `kind`
    constant: str = ""  # the constant
    kind: str = ""  # how its values are written, a key of `KINDS`; empty until the rows are looked at


def _part(source: Source, role: str, said: str, table: Table) -> Part:
    """One role's column or constant.

    Raises:
        TraceError: the file has no such column, or the unit is none.
    """
    name, _, unit = said.partition(":")
    names = [_plain(text) for text in table.header]
    exact = [text.strip().strip('"') for text in table.header]
    whole = {exact.index(said): ""} if said in exact else {}  # a name with a colon in it
    if whole:
        place, unit = next(iter(whole.items()))
    elif name in exact or _plain(name) in names:
        place = exact.index(name) if name in exact else names.index(_plain(name))
    elif re.fullmatch("#[0-9]{1,4}", name) and 1 <= int(name[1:]) <= table.width:
        place = int(name[1:]) - 1
    elif constant := _constant(role, name):
        return Part(None, _unit(source, role, unit), constant)
    else:
        names_of = f" or {', '.join(table.header)}"[:300] if table.header else " (it has no header)"
        has = f"#1 to #{table.width}{names_of}"
        constants = f"; {lacking(role)}" if role in ("time", "size", "op") else ""
        message = f"{source.path}: columns: {role}={name[:60]}: no such column; its columns are {has}{constants}"
        raise TraceError(message)
    first, _, rest = unit.partition(":")
    if role == "time" and unit in MOMENTS:
        return Part(place, kind=unit)
    if role in ("offset", "size") and first == HEX:
        return Part(place, _unit(source, role, rest), kind="bare_hex")
    return Part(place, _unit(source, role, unit))


def _constant(role: str, name: str) -> str:
    if role == "op" and name.lower() in OP_NAMES:
        return name.lower()
    if role == "time" and name == ROW:
        return ROW
    return name if role == "size" and SIZE.fullmatch(name) else ""


def _unit(source: Source, role: str, unit: str) -> str:
    """A role's unit, where it is one.

    Raises:
        TraceError: it is none.
    """
    if role in ("time", "latency", "ttl"):
        unit = unit or ("s" if role == "ttl" else "")
        wanted = f"one of {', '.join((*PER_UNIT_US, *(MOMENTS if role == 'time' else ())))}"
        good = not unit or unit in PER_UNIT_US
    elif role in ("offset", "size"):
        unit, wanted = unit or "1", f"a number of bytes from 1 to {MOST_UNIT}, or {HEX}"
        good = unit.isascii() and unit.isdigit() and 1 <= int(unit[:20]) <= MOST_UNIT
    elif role == "op":
        wanted = "values that mean a read, a slash, values that mean a write, such as 1/0 or 28|88/2a|8a"
        good = not unit or _are_ops(unit)
    else:
        wanted, good = "nothing", not unit
    if not good:
        raise TraceError(f"{source.path}: columns: {role}: {unit[:60]!r} after the colon; write {wanted}")
    return unit


def _are_ops(unit: str) -> bool:
    """Whether a text says which values mean a read, a write and perhaps a delete."""
    try:
        return {OP_READ, OP_WRITE} <= set(meanings(unit).values())
    except TraceError:
        return False


@dataclass(frozen=True)
class _Plan:
    """How one file is read: its layout, and each role's part."""

    layout: Layout
    parts: dict[str, Part]
    names: tuple[str, ...] = ()  # of the columns of a Parquet or Arrow table; empty for text

    def rows(self, reading: Reading, source: Source) -> Iterator[Rows]:
        """The file's rows."""
        if not self.names:
            return delimited(reading, self.layout, [source])
        read = zip(self.names, self.layout.columns, strict=True)
        return rows_of_table(reading, source, {name: column for name, column in read if column.kind != "skip"})

    def said(self) -> str:
        """What is read from where, for the metadata."""
        words = []
        for role, part in self.parts.items():
            where = part.constant or f"#{part.place + 1 if part.place is not None else 0}"
            how = [part.kind] if part.kind in MOMENTS else [HEX] if part.kind.endswith(HEX) else []
            unit = part.unit or ("us" if role in ("time", "latency") and not how else "")
            words.append(":".join([f"{role}={where}", *how, *([unit] if unit not in ("", "1") else [])]))
        return ",".join(words)


def _plan(source: Source, head: Head, options: ColumnsOptions) -> _Plan:
    """How a file is read.

    Raises:
        TraceError: a required role is missing, a column is not there, or serves twice.
    """
    given = [role for role in ROLES if getattr(options, role)]
    if mixed := _mixed(given):
        raise TraceError(f"{source.path}: columns: {mixed}")
    missing = [role for role in required(given) if role not in given]
    if missing:
        message = f"{source.path}: columns: none for {' and '.join(missing)}; {', '.join(map(lacking, missing))}"
        raise TraceError(message)
    table = _stored_table(source) if is_table(head.data) else table_of(head.lines, options)
    parts = {role: _part(source, role, getattr(options, role), table) for role in given}
    places = [part.place for part in parts.values() if part.place is not None]
    if len(set(places)) < len(places):
        twice = next(place for place in places if places.count(place) > 1)
        shared = [role for role, part in parts.items() if part.place == twice]
        message = f"{source.path}: columns: {' and '.join(shared)} are both column #{twice + 1}; give each its own"
        raise TraceError(message)
    parts = _hex_together({role: _seen(role, part, table, options.keys) for role, part in parts.items()}, table)
    roles = {part.place: role for role, part in parts.items()}
    width = max(places, default=-1) + 1 if table.ragged else table.width
    columns = tuple(
        Column(roles[place], parts[roles[place]].kind, optional=roles[place] in ("latency", "ttl"))
        if place in roles
        else Column(f"unread_{place + 1}", "skip")
        for place in range(width)
    )
    quoted = table.delimiter != " " and not table.ragged
    layout = Layout(columns, table.delimiter, quoted=quoted, header=lambda _: table.headed, ragged=table.ragged)
    return _Plan(layout, parts, tuple(table.header) if is_table(head.data) else ())


def _stored_table(source: Source) -> Table:
    """What the beginning of a Parquet or Arrow table shows."""
    return Table(",", list(schema_of(source).names), True, first_rows(source))


def _seen(role: str, part: Part, table: Table, keys: str) -> Part:
    """A part with the kind of its values, which the first rows show where it is not said.

    Times are floats, unless they are whole and floats would lose digits.
    """
    place = part.place
    if role in ("op", *CODED):
        return replace(part, kind="text")
    if part.kind or place is None:
        return part
    if role == "key":
        return replace(part, kind=key_kind((row[place] for row in table.rows if len(row) > place), keys))
    kinds: tuple[str, ...] = ("int", "hex", "bare_hex") if role in ("offset", "size") else ("int",)
    if role in ("time", "latency"):
        values = [whole_of(row[place]) for row in table.rows if len(row) > place and row[place]]
        whole = [value for value in values if value is not None]
        if len(whole) == len(values) and any(abs(value) >= EXACT // 8 for value in whole):
            return replace(part, kind="int")
        kinds = ("float", "decimal_comma", *(MOMENTS if role == "time" and not part.unit else ()))
    return replace(part, kind=next((kind for kind in kinds if table.share(place, kind) >= MOST), kinds[0]))


def _hex_together(parts: dict[str, Part], table: Table) -> dict[str, Part]:
    """The parts, sizes read as hexadecimal where offsets are, without 0x, and only so they are whole sectors."""
    if "offset" not in parts:
        return parts
    offset, size = parts["offset"], parts["size"]
    if offset.kind != "bare_hex" or size.kind != "int" or size.place is None or size.unit != "1":
        return parts
    values = [row[size.place] for row in table.rows if len(row) > size.place and row[size.place]]
    decimal = all(value.isdigit() and int(value[:18]) % SECTOR_BYTES == 0 for value in values)
    hexadecimal = all(KINDS["bare_hex"].matches(value) and int(value, 16) % SECTOR_BYTES == 0 for value in values)
    return parts | {"size": replace(size, kind="bare_hex")} if values and hexadecimal and not decimal else parts


class _Reader:
    """One pass over the files."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.rows = reading, RowClock()
        self.clock_us, self.days = -1, 0  # the last time of day, and how often it had passed midnight

    def requests(self, rows: Rows, parts: dict[str, Part]) -> Requests:
        """Requests of some rows; ops that move no data are counted."""
        objects = "key" in parts
        op, text = self._op(rows, parts["op"], objects)
        latency = self._time(rows, "latency", parts["latency"]) if "latency" in parts else None
        common: dict[str, Any] = {
            "row": rows.row,
            "time_us": self._time(rows, "time", parts["time"]),
            "op": op,
            "size": self._bytes(rows, "size", parts["size"]),
            "latency_us": None if latency is None else np.maximum(latency, UNKNOWN_LATENCY),
            "count": counts_of(rows.ints("count")) if "count" in parts else None,
            "coded": {name: rows.coded(name) for name in CODED if name in parts},
            "op_text": text,
        }
        if objects:
            ttl_s = lasting(rows, "ttl", parts["ttl"].unit) if "ttl" in parts else None
            chunk: Requests = ObjectChunk(key=keys_of(rows, "key"), ttl_s=ttl_s, **common)
        else:
            chunk = Chunk(offset=self._bytes(rows, "offset", parts["offset"]), **common)
        return data_only(self.reading, chunk, NO_DATA)

    def _time(self, rows: Rows, role: str, part: Part) -> I64:
        if part.constant:
            return microseconds(self.rows.times(rows.source, rows.row), part.unit or "us")
        if part.kind == "clock":
            return self._past_midnights(rows.ints(role))
        values = rows.floats(role) if part.kind in ("float", "decimal_comma") else rows.ints(role)
        return microseconds(values, "us" if KINDS[part.kind].moment else part.unit or "us")

    def _past_midnights(self, clock_us: I64) -> I64:
        """Times of day as microseconds since the first day's midnight."""
        steps = np.diff(clock_us, prepend=clock_us[0] if self.clock_us < 0 else self.clock_us)
        days = self.days + np.cumsum((steps < -BACK_US).astype(np.int64) - (steps > AHEAD_US))
        self.clock_us, self.days = int(clock_us[-1]), int(days[-1])
        return clock_us + days * DAY_US

    def _bytes(self, rows: Rows, role: str, part: Part) -> I64:
        if part.constant:
            number, unit = SIZE.fullmatch(part.constant).groups()  # type: ignore[union-attr]
            return np.full(len(rows.row), min(int(number[:12]) * SIZE_UNITS[unit], 2**40), np.int64)
        return bytes_of(rows.ints(role), int(part.unit))

    def _op(self, rows: Rows, part: Part, objects: bool) -> tuple[U8, Coded | None]:
        if part.constant:
            return np.full(len(rows.row), OP_NAMES.index(part.constant), np.uint8), None
        text = rows.coded("op")
        known = meanings(part.unit) if part.unit else {}
        codes = np.array([_op_of(name.lower(), known, objects) for name in text.names], np.uint8)
        return codes[text.codes], text


def spelled(value: str) -> bool:
    """Whether a value of an op is one of the usual spellings, or of what moves no data."""
    return _op_of(value.lower(), {}, False) != BAD_OP or value.lower() in NO_DATA


def _op_of(name: str, known: Mapping[str, int], objects: bool) -> int:
    """Read, write, of objects delete, or `BAD_OP`, by the values after the colon or the usual spellings."""
    if not known:
        letters = RWBS.fullmatch(name)
        usual = SPELLINGS.get(name, SPELLINGS[letters[1]] if letters else BAD_OP)
        return STORE_OPS.get(name, usual) if objects else usual
    op = known.get(name, BAD_OP)
    return BAD_OP if op == OP_DELETE and not objects else op


def recognise(head: Head) -> Fit:
    """Never: columns have to be named."""
    del head
    return Fit.NO


def read(reading: Reading, options: ColumnsOptions) -> Iterator[Requests]:
    """Requests in the files' order.

    Raises:
        TraceError: a file has no such column, or a role has none.
    """
    reader = _Reader(reading)
    for source in reading.sources:
        yield from _read_one(reader, source, options)


def read_one(reading: Reading, source: Source, options: ColumnsOptions) -> Iterator[Requests]:
    """Requests of one file, see `read`."""
    yield from _read_one(_Reader(reading), source, options)


def _read_one(reader: _Reader, source: Source, options: ColumnsOptions) -> Iterator[Requests]:
    reading, data = reader.reading, source.head()
    plan = _plan(source, Head(data, len(data) < HEAD_BYTES, None), options)
    reading.notes["columns"] = plan.said()
    for rows in plan.rows(reading, source):
        yield reading.checked(source, reader.requests(rows, plan.parts))


FORMAT = Format(
    id="columns",
    title="any delimited text, Parquet or Arrow table, its columns named with --columns",
    recognise=recognise,
    read=read,
    options=ColumnsOptions,
    objects=True,
    keeps=("latency_us", "count", *CODED[1:]),
)
