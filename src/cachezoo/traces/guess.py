"""What the columns of a delimited file of no known format may be, by their names and values: a guess to be checked."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cachezoo.traces.delimited import NUMBERS
from cachezoo.traces.formats.columns import ROW, ColumnsOptions, Table, spelled, table_of
from cachezoo.traces.reading import SECTOR_BYTES
from cachezoo.traces.table import PAGE_BYTES

MOST_ROWS = 100
MOST_BAD = 0.1
FEW_ROWS = 3
MOST_OPS = 8  # different values of a column of ops
# The words of a column's name that give it a role, the strongest first; a unit of time ends one: `when_s`.
TIME = ("timestamp", "time", "ts", "when", "date", "clock", "arrival", "issued", "t")
OFFSETS = {
    **dict.fromkeys(("lba", "sector", "block", "blk", "lbn", "blkno"), SECTOR_BYTES),
    **dict.fromkeys(("page", "pageno", "pfn"), PAGE_BYTES),
    **dict.fromkeys(("offset", "off", "addr", "address", "byte", "pos", "position"), 1),
}
SIZES = {
    **dict.fromkeys(("blocks", "blks", "sectors", "nblocks", "nsectors", "blkcnt", "cnt", "count"), SECTOR_BYTES),
    "pages": PAGE_BYTES,
    **dict.fromkeys(("size", "len", "length", "bytes", "nbytes"), 1),
}
OPS = ("op", "opcode", "operation", "rw", "dir", "direction", "type", "kind", "rwbs", "cmd", "command", "action")
FLAGS = {"isread": "1/0", "is_read": "1/0", "iswrite": "0/1", "is_write": "0/1", "write": "0/1", "read": "1/0"}
VOLUMES = ("dev", "device", "disk", "volume", "vol", "lun", "drive")
UNITS = ("ns", "us", "ms", "s")
SPELLED = {"sec": "s", "secs": "s", "seconds": "s", "msec": "ms", "usec": "us", "nsec": "ns"}
# A moment since 1970 tells its unit by its size: seconds stand below the first.
MOMENTS = ((1e11, "s"), (1e14, "ms"), (1e17, "us"), (float("inf"), "ns"))
FIRST_MOMENT = 5e8  # seconds since 1970, in 1985; times below count from the trace's start


class Guess(NamedTuple):
    """What the columns of a file may be."""

    # what to give `--columns`; without an op where a column's values are not understood; empty where the lines are no
    # table with addresses
    columns: str
    op: str = ""  # what to say or know of the op; empty where a column spells it, or there is but one column


NOTHING = Guess("")


class _Columns:
    """The columns of a table, each used once."""

    def __init__(self, table: Table) -> None:
        self.rows = [row for row in table.rows[:MOST_ROWS] if len(row) == table.width]
        self.names = table.header if len(table.header) == table.width else [""] * table.width
        self.free = list(range(table.width))

    def words(self, place: int) -> list[str]:
        """The words of a column's name in small letters, the whole name first."""
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.names[place].strip().strip('"')).lower()
        return [name, *re.findall(r"[a-z]+", name)]

    def values(self, place: int) -> list[str]:
        return [row[place] for row in self.rows]

    def are(self, place: int, kind: str) -> bool:
        """Whether nine of ten values are numbers of a kind."""
        good = sum(NUMBERS[kind][0].fullmatch(value) is not None for value in self.values(place))
        return good >= (1 - MOST_BAD) * len(self.rows)

    def said(self, place: int) -> str:
        """The column as `--columns` calls it: its name where that is plain and unlike the others."""
        name = self.names[place].strip()
        return name if re.fullmatch(r"[\w.-]+", name) and self.names.count(name) == 1 else f"#{place + 1}"

    def take(self, words: Sequence[str], fits: Callable[[int], bool]) -> tuple[int, str] | None:
        """The first free column that has one of some words in its name, the first word first, and fits; and the word.

        A name that is the word, whole, comes before one that holds it.
        """
        for whole in (True, False):
            for word in words:
                for place in self.free:
                    found = self.words(place)
                    if word in (found[:1] if whole else found[1:]) and fits(place):
                        self.free.remove(place)
                        return place, word
        return None

    def rising(self) -> int | None:
        """The first free column without a name whose numbers never fall, and mostly rise: of times; taken."""
        for place in self.free if len(self.free) > 2 else []:
            values = [float(value) for value in self.values(place) if NUMBERS["float"][0].fullmatch(value)]
            if not self.names[place] and self.are(place, "float") and values == sorted(values):
                if 2 * len(set(values)) > len(values):
                    self.free.remove(place)
                    return place
        return None

    def whole(self, place: int) -> bool:
        """Whether a column can be an offset or size."""
        return self.are(place, "int") or self.are(place, "hex")


def guessed(lines: Sequence[str]) -> Guess:
    """What to give `--columns` for a file.

    Args:
        lines: the file's first whole lines.
    """
    table = table_of(lines, ColumnsOptions())
    columns = _Columns(table)
    if len(columns.rows) < max(FEW_ROWS, (1 - MOST_BAD) * min(len(table.rows), MOST_ROWS)):
        return NOTHING
    parts, unclear = {"time": _time(columns), "op": _op(columns)}, ""
    if not parts["op"]:
        unclear, parts["op"] = _unclear_op(columns)
    size = columns.take(tuple(SIZES), columns.whole)
    offset = columns.take(tuple(OFFSETS), columns.whole)
    volume = columns.take(VOLUMES, lambda _: True)
    if offset is None:
        # One column alone, as in traces of a cache's keys, holds pages; of several, the one of most values.
        wide = [place for place in columns.free if columns.whole(place)]
        if not wide:
            return NOTHING
        offset = max(wide, key=lambda place: len(set(columns.values(place)))), ""
    unit = OFFSETS.get(offset[1], PAGE_BYTES if table.width == 1 else 1)
    parts["offset"] = f"{columns.said(offset[0])}:{unit}"
    parts["size"] = f"{PAGE_BYTES}B" if size is None else f"{columns.said(size[0])}:{SIZES[size[1]]}"
    found = {role: parts[role] for role in ("time", "offset", "size", "op") if parts[role]}
    if volume is not None:
        found["volume"] = columns.said(volume[0])
    return Guess(",".join(f"{role}={part}" for role, part in found.items()), unclear if table.width > 1 else "")


def _time(columns: _Columns) -> str:
    """A column of times with its unit, by its name or by its values' size; else rows are numbered."""
    found = columns.take(TIME, lambda place: columns.are(place, "float"))
    place = found[0] if found else columns.rising()
    if place is None:
        return f"{ROW}:us"
    words = [SPELLED.get(word, word) for word in columns.words(place)]
    unit = next((word for word in reversed(words) if word in UNITS), "") or _unit(columns.values(place))
    return f"{columns.said(place)}:{unit}"


def _unit(values: Sequence[str]) -> str:
    """A unit by the values: moments since 1970 by their size; else seconds if they have parts, or microseconds."""
    numbers = [float(value) for value in values if NUMBERS["float"][0].fullmatch(value)]
    first = min(numbers)
    if first >= FIRST_MOMENT:
        return next(unit for most, unit in MOMENTS if first < most)
    return "s" if any("." in value for value in values) else "us"


def _op(columns: _Columns) -> str:
    """A column that says read or write; empty where none does."""
    if flag := columns.take(tuple(FLAGS), lambda place: set(columns.values(place)) <= {"0", "1"}):
        return f"{columns.said(flag[0])}:{FLAGS[flag[1]]}"
    spells = [place for place in columns.free if all(map(spelled, set(columns.values(place))))]
    if found := columns.take(OPS, lambda place: place in spells):
        return columns.said(found[0])
    if spells:
        columns.free.remove(spells[0])
        return columns.said(spells[0])
    return ""


def _unclear_op(columns: _Columns) -> tuple[str, str]:
    """What to say of an op that no column spells, and the guess: none where a column may hold it in words of its own.

    A column called one of `OPS` may, with a few values; else one of two words, such as L and S.
    """
    values = {place: sorted(set(columns.values(place))) for place in columns.free}
    found = columns.take(OPS, lambda place: 2 <= len(values[place]) <= MOST_OPS)
    words = [place for place in columns.free if len(values[place]) == 2 and not columns.are(place, "float")]
    words = [place for place in words if not set(columns.words(place)) & set(VOLUMES)]
    if found is None and not words:
        return "op=read takes every request for a read", "read"
    place = found[0] if found else words[0]
    name, (first, *_, last) = columns.said(place), values[place]
    listed = f"{', '.join(values[place][:-1])} and {last}"
    return (
        f"column {name} holds {listed}: say which is a read and which a write, op={name}:{first}/{last} or "
        f"op={name}:{last}/{first}, or op=read where all are reads"
    ), ""
