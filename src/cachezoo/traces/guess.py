"""What the columns of a delimited file of no known format may be, by their names and values: a guess to be checked.

Each column is tried in each role and unit. A choice has doubts, as powers of ten, of which the least doubtful is the
guess: how unlike the role a column's name and values are, and what of the requests no disk can have done. Others that
mean something else and are within `MARGIN` are given too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I64
from cachezoo.traces.alignment import NEARLY_ALL, continued, fixed_sizes, multiples, skewed, spread
from cachezoo.traces.column_names import FLAGS
from cachezoo.traces.column_values import MOST_BAD, MOST_OPS, NUMERIC, Field
from cachezoo.traces.formats.columns import MOMENTS, ROW, ColumnsOptions, Table, table_of
from cachezoo.traces.rates import UNITS, is_day, moment_units, unit_doubts
from cachezoo.traces.reading import SECTOR_BYTES
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.traces.values import KINDS

FEW_ROWS = 3
MANY_ROWS = 30  # rows from which a rule over all of them says something
MARGIN = 1.0
MOST_OTHERS = 4
MOST_PLACES = 8  # columns tried in a role, the likeliest
UNITS_OF_BYTES = (1, SECTOR_BYTES, PAGE_BYTES)
NEVER = 6.0
HOPELESS = 8.0
OTHER_ROLE = 4.0  # a column whose name has another role
UNKNOWN_NAME = 1.5
NO_NAME = 0.75
NO_COLUMN = {"time": 2.5, "size": 2.0, "op": 1.5}
THOUSANDS_CREDIT = 0.75
MAYBE_VOLUME = 0.4  # of an unnamed column of a few numbers or names, which may as well be a process
MOST_VOLUMES = 64
MOST_KINDS, LEAST_BYTES = 16, 64  # of sizes that are no powers of two: how many, and their mean
MIB, PIB = 1 << 20, 1 << 50


class Guess(NamedTuple):
    """What the columns of a file may be."""

    # what to give `--columns`; without an op where a column's values are not understood; empty where the lines are no
    # table with addresses or keys
    columns: str
    op: str = ""  # what to say or know of the op; empty where a column spells it, or there is but one column
    others: tuple[str, ...] = ()  # what else to give, nearly as likely, the likeliest first


NOTHING = Guess("")
SIGNED = (
    "column {} has numbers with a plus and numbers with a minus, which may say writes and reads: write the op into a "
    "column of its own"
)


class Part(NamedTuple):
    """A role's column, or constant."""

    text: str  # as `--columns` says it
    doubt: float  # powers of ten against it
    place: int = -1  # index of the column; -1 of a constant
    unit: int = 1  # bytes to a unit of an offset or size


@dataclass(frozen=True)
class _Reading:
    """A choice of a column for each role."""

    parts: dict[str, Part]
    doubt: float
    meaning: tuple[object, ...]  # the same for readings that give the same requests
    op: str = ""  # what is to be said of the op

    @property
    def columns(self) -> str:
        """As `--columns` says it."""
        order = ("time", "offset", "key", "size", "op", "volume", "count", "ttl")
        return ",".join(f"{role}={self.parts[role].text}" for role in order if role in self.parts)


def fields_of(table: Table) -> list[Field]:
    """The columns of a table's regular rows; none where too many are not, or there are few.

    Of ragged rows without names those are taken that nearly all have.
    """
    ragged, widths = table.ragged, sorted(map(len, table.rows))
    width = widths[int(MOST_BAD * len(widths))] if ragged else table.width if widths else 0
    rows = [row[:width] for row in table.rows if (len(row) >= width if ragged else len(row) == width)]
    filled = [row for row in rows if width < 2 or all(row)]
    least = max(FEW_ROWS, (1 - MOST_BAD) * len(table.rows))
    if ragged and table.header:
        return []  # a blank in a name moves the columns after it
    rows = filled if len(filled) >= least else rows
    if len(rows) < least or not width:
        return []
    names = [name.strip().strip('"') for name in table.header] if len(table.header) == width else []
    names = names or [""] * width
    rows = _regular(rows)
    fields = [
        Field(place, names[place], _said(place, names), tuple(row[place].strip() for row in rows))
        for place in range(width)
    ]
    return _hexadecimal(fields)


def _hexadecimal(fields: list[Field]) -> list[Field]:
    """The columns, whole numbers as hexadecimal ones where that alone makes them sectors, if one has letters."""
    letters = [field for field in fields if not field.kind and field.as_hexadecimal and field.named.role != "rest"]
    return [field.as_hexadecimal or field for field in fields] if letters else fields


def _regular(rows: list[list[str]]) -> list[list[str]]:
    """Rows without those that have no number where nine of ten have one."""
    good = np.ones(len(rows), bool)
    for place in range(len(rows[0])):
        values = [row[place].strip() for row in rows]
        for kind in NUMERIC:
            numeric = np.array([KINDS[kind].pattern.fullmatch(value) is not None for value in values])
            if numeric.all():
                break
            if np.count_nonzero(numeric) >= (1 - MOST_BAD) * len(rows):
                good &= numeric
                break
    return [row for row, kept in zip(rows, good.tolist(), strict=True) if kept] or rows


def _said(place: int, names: list[str]) -> str:
    """A column as `--columns` calls it: by its name where that is plain and unlike the others."""
    name = names[place]
    plain = name.replace("_", "").replace(".", "").replace("-", "").isalnum() and names.count(name) == 1
    return name if plain else f"#{place + 1}"


def guessed(lines: Sequence[str]) -> Guess:
    """What to give `--columns` for a file.

    Args:
        lines: the file's first whole lines.
    """
    fields = fields_of(table_of(lines, ColumnsOptions()))
    if not fields:
        return NOTHING
    if signed := next((field for field in fields if field.is_signed), None):
        return Guess("", SIGNED.format(signed.said))
    found = sorted(_Guesser(fields).readings(), key=lambda one: one.doubt)
    if not found or found[0].doubt >= HOPELESS:
        return NOTHING
    first: dict[tuple[object, ...], _Reading] = {}
    for one in found:
        if one.doubt < found[0].doubt + MARGIN:
            first.setdefault(one.meaning, one)
    best, *others = first.values()
    # What may be a volume comes last.
    others.sort(key=lambda one: "volume" in one.parts and "volume" not in best.parts)
    texts = dict.fromkeys(one.columns for one in others if one.columns != best.columns)
    return Guess(best.columns, best.op, tuple(texts)[:MOST_OTHERS])


class _Guesser:
    """The search over one table's columns."""

    def __init__(self, fields: list[Field]) -> None:
        self.fields = fields
        self.rows = len(fields[0].values)
        self.many = self.rows >= MANY_ROWS
        self.alone = len(fields) == 1
        self.named = any(field.name for field in fields)
        self.addresses = {field.place: weight for field in fields if (weight := self._like_addresses(field))}
        self.objects = self._objects()
        # Against a reading that drops sizes.
        named = any(field.named.role == "size" for field in fields if field.whole is not None)
        self.dropped = 5.0 if named else 2.0 * any(self._like_sizes(field) for field in fields)

    def readings(self) -> Iterator[_Reading]:
        """Every choice worth a thought."""
        ops = {role: self._ops(role == "key") for role in ("offset", "key")}
        counted = self._counted()
        times = self._times()
        volumes = self._volumes()
        places = [*self._places("offset"), *self._places("key")]
        for (role, number), size in product(places, self._sizes()):
            if size.place == number.place:
                continue
            doubt = number.doubt + size.doubt + self._pair(role, number, size)
            if doubt >= HOPELESS:
                continue
            for time, op, volume in product(times, ops[role][0], volumes if role == "offset" else [None]):
                used = [part.place for part in (number, size, time, op) if part.place >= 0]
                if len(set(used)) < len(used) or (volume and volume.place in used and volume.doubt):
                    continue
                parts = {"time": time, role: number, "size": size} | ({"op": op} if op.text else {})
                if volume and volume.place not in used:
                    parts["volume"] = volume
                parts |= counted if role == "key" else {name: part for name, part in counted.items() if name == "count"}
                whole = doubt + time.doubt + op.doubt + (volume.doubt if volume else 0.0)
                yield _Reading(parts, whole, self._meaning(parts, role), self._op_said(op, ops[role][1]))

    def _op_said(self, op: Part, unclear: str) -> str:
        if not op.text:
            return unclear
        return "" if op.place >= 0 or self.alone else "op=read takes every request for a read"

    def _meaning(self, parts: dict[str, Part], role: str) -> tuple[object, ...]:
        """What requests a choice gives, in short."""
        time, volume = parts["time"], parts.get("volume")
        span = "rows"
        if time.place >= 0:
            span = f"{self.fields[time.place].said} {time.text.rpartition(':')[2]}"
        kinds = [self._bytes(parts[name]).tobytes() for name in (role, "size") if self._whole(parts[name])]
        op = parts.get("op")
        return (role, span, *kinds, volume and volume.place, op and (op.place, op.text.partition(":")[2]))

    def _whole(self, part: Part) -> bool:
        return part.place < 0 or self.fields[part.place].whole is not None

    def _bytes(self, part: Part) -> I64:
        """Bytes of an offset or size, or a key, of each row."""
        if part.place < 0:
            return np.full(self.rows, PAGE_BYTES, np.int64)
        values = self.fields[part.place].whole
        if values is None:
            texts = np.array(self.fields[part.place].values, dtype=object).astype(str)
            return np.unique(texts, return_inverse=True)[1].astype(np.int64)
        most = 2**62 // part.unit
        return np.clip(values, -most, most) * part.unit

    def _against(self, field: Field, role: str) -> float:
        """How unlike a role a column's name is."""
        said = field.named
        if said.role == role:
            return said.doubt
        if not field.name:
            return NO_NAME if self.named is False else UNKNOWN_NAME
        return UNKNOWN_NAME if not said.role else OTHER_ROLE

    def _times(self) -> list[Part]:
        """Columns of times with their units, and that rows are numbered."""
        found = [Part(f"{ROW}:us", NO_COLUMN["time"])]
        for field in self.fields if len(self.fields) > 1 else []:
            doubt = self._against(field, "time")
            if field.numbers is None or doubt >= OTHER_ROLE or (field.numbers < 0).any():
                continue
            if field.constant:
                doubt += OTHER_ROLE if self.many else 1.0
            if field.falls:
                doubt += 0.3 if field.falls <= 0.05 else 2.0 if field.named.role == "time" else NEVER
            if field.named.role != "time" and (field.counts_rows or 2 * len(field.kinds) < self.rows):
                doubt += 1.0 if field.counts_rows else 0.3
            found += [Part(f"{field.said}:{unit}", doubt + more, field.place) for unit, more in self._units(field)]
        least = min(part.doubt for part in found)
        return [part for part in found if part.doubt < least + MARGIN or part.place < 0]

    def _units(self, field: Field) -> list[tuple[str, float]]:
        """Units of a column of times, and what speaks against each."""
        values = field.numbers
        assert values is not None
        if field.kind in MOMENTS:
            far = field.kind == "date" and not is_day(float(np.min(values)) / 1e6)
            return [(field.kind, 2.0 * far)]
        if field.named.unit:
            return [(field.named.unit, 0.0)]
        if moments := moment_units(float(np.min(values))):
            return [(unit, 0.5 * place) for place, unit in enumerate(moments)]
        if field.whole is None:
            usual = {"s": 0.0, "ms": 1.0 if field.decimals > 3 else 0.3, "us": 1.0 if field.decimals > 3 else 0.6}
        else:
            usual = {"us": 0.0, "s": 0.25, "ms": 0.25, "ns": 0.25}
        if field.whole is not None and field.named.unit == "" and "unix" in field.name.lower():
            usual = {"s": 0.0, "ms": 1.0}
        doubts = unit_doubts(values, usual)
        if field.whole is not None and self.many and multiples(field.whole, 1000) == 1 and "ns" in doubts:
            doubts["ns"] -= THOUSANDS_CREDIT  # a clock of microseconds, written in nanoseconds
        return sorted(((unit, doubts[unit]) for unit in UNITS if unit in doubts), key=lambda pair: pair[1])

    def _counted(self) -> dict[str, Part]:
        """Columns of counts of accesses and of times to live, by their names."""
        found = {}
        for role, least in (("count", 1), ("ttl", 0)):
            fields = [field for field in self.fields if field.named.role == role and field.whole is not None]
            if fields and fields[0].whole is not None and int(fields[0].whole.min()) >= least:
                unit = f":{fields[0].named.unit}" if fields[0].named.unit else ""
                found[role] = Part(f"{fields[0].said}{unit}", 0.0, fields[0].place)
        return found

    def _ops(self, objects: bool) -> tuple[list[Part], str]:
        """Columns that say read or write, of objects or not, and what to say where none does but one may."""
        found = [Part("read", NO_COLUMN["op"])]
        for field in self.fields:
            if field.named.role == "flag":
                if set(field.kinds) <= {"0", "1"}:
                    found.append(Part(f"{field.said}:{_flag(field.name)}", 0.0, field.place))
                continue
            doubt, spells = self._against(field, "op"), field.ops(objects)
            if spells is None or (doubt >= OTHER_ROLE and field.named.role != "rest"):
                continue
            found.append(Part(f"{field.said}{':' if spells else ''}{spells}", min(doubt, 1.0), field.place))
        spelled = [part for part in found if part.place >= 0]
        if spelled:
            return [min(spelled, key=lambda part: part.doubt)], ""
        unclear = self._unclear()
        if unclear is None:
            return found, ""
        name, kinds = unclear.said, unclear.kinds
        if len(kinds) == 1:
            said = f"column {name} holds {kinds[0]} alone: say what it means, op=read or op=write"
        else:
            said = (
                f"column {name} holds {', '.join(kinds[:-1])} and {kinds[-1]}: say which is a read and which a write, "
                f"op={name}:{kinds[0]}/{kinds[-1]} or op={name}:{kinds[-1]}/{kinds[0]}, or op=read where all are reads"
            )
        return [Part("", 0.0, unclear.place)], said

    def _unclear(self) -> Field | None:
        """A column that may say the op in words of its own: called so, with a few values; else one of two values."""
        few = [field for field in self.fields if len(field.kinds) <= MOST_OPS and self.rows > 2 * len(field.kinds)]
        called = [field for field in few if field.named.role == "op"]
        if called:
            return min(called, key=lambda field: field.named.doubt)
        free = [field for field in few if not field.named.role and len(field.kinds) == 2 and not field.is_device]
        words = [field for field in free if field.numbers is None]
        # Of numbers 0 and 1 are flags, and a few from 0 on codes, which say the op where nothing else does.
        codes = [field for field in few if not field.named.role and 2 < len(field.kinds) <= 6 and _are_codes(field)]
        return next(iter([*words, *(field for field in free if field.kinds == ("0", "1")), *codes]), None)

    def _volumes(self) -> list[Part | None]:
        """Columns that name the disk or file, and that none does."""
        called = [field for field in self.fields if field.named.role == "volume"]
        if not called and any(field.named.role == "offset" for field in self.fields):
            called = [field for field in self.fields if field.named.role in ("file", "key")]
        called = called or [field for field in self.fields if not field.name and field.is_device]
        if called:
            return [Part(called[0].said, 0.0, called[0].place)]
        maybe = [field for field in self.fields if not field.name and self._may_be_volume(field)]
        return [None, *(Part(field.said, MAYBE_VOLUME, field.place) for field in maybe)]

    def _may_be_volume(self, field: Field) -> bool:
        """Whether an unnamed column has a few numbers or names, none of which says an op."""
        if not self.many or not 2 <= len(field.kinds) <= MOST_VOLUMES or 4 * len(field.kinds) > self.rows:
            return False
        if field.ops(True) is not None or self._like_sizes(field) or field.kinds == ("0", "1"):
            return False
        return field.numbers is None or (field.whole is not None and int(np.max(np.abs(field.whole))) < SECTOR_BYTES)

    def _places(self, role: str) -> list[tuple[str, Part]]:
        """Columns that may be offsets, in each unit, or keys."""
        found = []
        for field in self.fields:
            doubt = self._against(field, role) + (
                self._unlike_offset(field) if role == "offset" else self._unlike_key(field)
            )
            if doubt >= NEVER:
                continue
            if role == "key":
                found.append(Part(field.said, doubt, field.place))
                continue
            for unit in UNITS_OF_BYTES:
                more = self._unit_doubt(field, unit)
                found.append(Part(field.spelled(unit), doubt + more, field.place, unit))
        found.sort(key=lambda part: part.doubt)
        return [(role, part) for part in found[: 3 * MOST_PLACES]]

    def _unit_doubt(self, field: Field, unit: int) -> float:
        """How unlike its name a unit is."""
        said = field.named
        if said.role in ("offset", "size") and said.unit:
            return 0.0 if str(unit) == said.unit else 0.8 if said.free else 2.5
        if self.alone:
            return 0.0 if unit == PAGE_BYTES else 2.0
        return 0.4 if unit == PAGE_BYTES else 0.0

    def _like_addresses(self, field: Field) -> float:
        """How much speaks for a column of addresses: many different multiples of a sector, or of eight sectors."""
        values = field.whole
        if values is None or not self.many or self.alone or 8 * len(field.kinds) < self.rows or not field.falls:
            return 0.0
        if (values < 0).any() or field.named.role not in ("", "offset") or (np.abs(values) >= PIB * 8).any():
            return 0.0
        return 2.0 if multiples(values, SECTOR_BYTES) >= NEARLY_ALL else 1.5 * (multiples(values, 8) >= NEARLY_ALL)

    def _objects(self) -> set[int]:
        """Columns whose numbers come again with the same other number, no whole sectors: ids and sizes of objects."""
        wholes = [field for field in self.fields if field.whole is not None and not field.constant]
        found = set()
        for one, two in product(wholes, wholes):
            if one is not two and 4 * len(one.kinds) > len(two.kinds) and len(one.kinds) > MOST_VOLUMES // 2:
                number, size = one.whole, two.whole
                assert number is not None and size is not None
                if multiples(size, SECTOR_BYTES) < NEARLY_ALL and fixed_sizes(number, size):
                    found.add(one.place)
        return found

    def _like_sizes(self, field: Field) -> bool:
        """Whether a column may hold sizes, so that a reading without them drops something."""
        values = field.whole
        if values is None or self.alone or field.named.role not in ("", "size") or (values < 0).any():
            return False
        if field.named.role == "size":
            return True
        if field.name or not field.falls or 4 * len(field.kinds) > self.rows:
            return False
        few = 3 <= len(field.kinds) <= MOST_KINDS and float(np.mean(values)) >= LEAST_BYTES
        return few or _powers(values) >= 0.5

    def _unlike_offset(self, field: Field) -> float:
        """How unlike offsets a column's values are."""
        values = field.whole
        if values is None or (values < 0).any() or (np.abs(values) >= PIB * 8).any():
            return NEVER
        if self.alone:
            return 0.0
        doubt = 0.0
        if self.many and len(field.kinds) <= 32:
            doubt += 5.0 if field.constant else 3.0 if len(field.kinds) <= 8 else 2.0
        doubt += sum(weight for place, weight in self.addresses.items() if place != field.place)
        if not field.name and not field.falls and len(field.kinds) > 2:
            doubt += 2.0 if field.counts_rows else 0.8
        return doubt

    def _unlike_key(self, field: Field) -> float:
        """How unlike keys a column's values are."""
        doubt = 0.75 if not field.name else 0.0
        if field.named.role == "key" and not (field.numbers is not None and field.whole is None):
            return doubt
        if field.numbers is not None and (field.whole is None or not field.falls):
            return NEVER
        if field.numbers is None and max(map(len, field.kinds)) < 8:
            return NEVER
        return doubt + (2.0 if 8 * len(field.kinds) < self.rows else 0.0)

    def _sizes(self) -> list[Part]:
        """Columns that may be sizes, in each unit, and that all are of a page."""
        found = [Part(f"{PAGE_BYTES}B", NO_COLUMN["size"] + self.dropped)]
        for field in self.fields:
            values, doubt = field.whole, self._against(field, "size")
            if values is None or self.alone or doubt >= OTHER_ROLE or np.count_nonzero(values < 0):
                continue
            zeros = np.count_nonzero(values == 0) / self.rows
            doubt += NEVER if zeros == 1 else 2.0 * zeros if field.named.role == "size" else NEVER * (zeros > 0)
            if not field.name:
                doubt += 0.7 * field.constant + 1.0 * (self.many and 2 * len(field.kinds) > self.rows)
                doubt += 3.0 * (not field.falls and len(field.kinds) > 3)
                doubt += 0.8 * (_powers(values) < 0.5)
            if doubt < NEVER:
                found += [
                    Part(field.spelled(unit), doubt + self._unit_doubt(field, unit), field.place, unit)
                    for unit in UNITS_OF_BYTES
                ]
        found.sort(key=lambda part: part.doubt)
        return found[: 3 * MOST_PLACES]

    def _pair(self, role: str, number: Part, size: Part) -> float:
        """What of offsets and sizes together no disk can have done, or of objects nothing names by a key."""
        sizes = self._bytes(size)
        if role == "key":
            return self._object(number, size, sizes)
        offsets = self._bytes(number)
        return self._sized(size, sizes) + self._placed(number, size, offsets, sizes)

    def _object(self, number: Part, size: Part, sizes: I64) -> float:
        """Doubts of objects with keys."""
        doubt = 3.0 if size.unit != 1 else 0.0
        if self.fields[number.place].named.role != "key":
            keys = self._bytes(number)
            doubt += 1.0 * (multiples(sizes, SECTOR_BYTES) >= NEARLY_ALL)
            doubt += 2.0 * any(continued(keys * unit, sizes) > 0.1 for unit in UNITS_OF_BYTES)
            doubt += 0.0 if fixed_sizes(keys, sizes) else 0.5
        return doubt

    def _sized(self, size: Part, sizes: I64) -> float:
        """Doubts of sizes as requests of a disk."""
        if size.place < 0:
            return 0.0
        mean, doubt = float(np.mean(sizes)), 0.0
        doubt += NEVER if mean > 64 * MIB else 2.0 if mean > MIB else 0.0
        if multiples(sizes, SECTOR_BYTES) < NEARLY_ALL:
            doubt += 2.5
            doubt += 2.0 * (mean < SECTOR_BYTES)
        if size.unit > 1 and multiples(sizes, size.unit * SECTOR_BYTES) == 1:
            doubt += 2.5
        if size.unit == PAGE_BYTES and multiples(sizes, 8 * PAGE_BYTES) == 1:
            doubt += 1.5
        if size.unit == SECTOR_BYTES:
            doubt += 1.0 * (multiples(sizes, PAGE_BYTES) < 0.5)
        median = float(np.median(sizes))
        doubt += 0.7 * (median < PAGE_BYTES) + 0.5 * (median > 256 * 1024)
        return doubt

    def _placed(self, number: Part, size: Part, offsets: I64, sizes: I64) -> float:
        """Doubts of offsets, by themselves and by the sizes."""
        if self.alone:
            return 0.0
        unit, doubt = number.unit, 2.0 * (number.place in self.objects)
        end = int(np.max(offsets.astype(np.float64) + sizes))
        if end > PIB:
            doubt += NEVER
        whole = multiples(sizes, SECTOR_BYTES) >= NEARLY_ALL
        if unit == 1 and multiples(offsets, SECTOR_BYTES) < NEARLY_ALL:
            doubt += 3.0 if whole else 1.5
        if unit > 1 and self.many and multiples(offsets, unit * SECTOR_BYTES) == 1:
            doubt += 3.0
        if unit == PAGE_BYTES and self.many and multiples(offsets, 8 * PAGE_BYTES) >= NEARLY_ALL:
            doubt += 1.5
        if unit == SECTOR_BYTES and self.many and spread(offsets):
            doubt += 0.7
        if size.place >= 0 and skewed(offsets, sizes):
            doubt += 2.0
        if size.place >= 0 and unit != size.unit:
            doubt += 0.3 if size.unit == 1 else 0.8
        if whole and fixed_sizes(offsets, sizes):
            doubt += 0.5
        if not whole and size.place >= 0 and fixed_sizes(offsets, sizes):
            doubt += 1.0
        return doubt - 1.5 * min(1.0, 10 * continued(offsets, sizes))


def _are_codes(field: Field) -> bool:
    """Whether a column's values are the whole numbers from 0 to their count."""
    return field.kinds == tuple(map(str, range(len(field.kinds))))


def _powers(values: I64) -> float:
    """The share of some whole numbers that are powers of two, as most sizes are."""
    return float(np.count_nonzero((values > 0) & (values & (values - 1) == 0))) / len(values)


def _flag(name: str) -> str:
    """What a column of flags says of a read and a write."""
    return FLAGS.get(name.lower(), FLAGS.get("".join(word for word in name.lower() if word.isalpha()), "1/0"))
