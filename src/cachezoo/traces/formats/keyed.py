"""What readers of requests of objects share: keys, what ops mean, and times to live."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
import pyarrow as pa

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.delimited import Column, Rows
from cachezoo.traces.formats.base import Options
from cachezoo.traces.formats.other_ops import by_name
from cachezoo.traces.objects import NO_TTL, OP_DELETE
from cachezoo.traces.reading import PER_UNIT_US
from cachezoo.traces.source import Source
from cachezoo.traces.table import OP_READ, OP_WRITE
from cachezoo.traces.values import KINDS

# What key-value stores and caches call their operations, in small letters.
STORE_OPS = {
    **dict.fromkeys(("get", "gets", "get_lease", "lease_get", "gat", "gats", "read", "r"), OP_READ),
    **dict.fromkeys(("set", "set_lease", "lease_set", "add", "cas", "replace", "append", "prepend"), OP_WRITE),
    **dict.fromkeys(("incr", "decr", "put", "update", "write", "w", "set_tail", "append_tail"), OP_WRITE),
    **dict.fromkeys(("delete", "del", "remove", "invalidate", "delete_lease"), OP_DELETE),
}
NO_DATA = by_name("nop", "touch", "flush", "flush_all", "quit", "version", "stats")
KEY_LINES = 200  # by which keys are numbers or texts
OPS_MEANT = (OP_READ, OP_WRITE, OP_DELETE)


class KeyOptions(Options):
    """How keys are read: as the beginning of a file has them, or as texts."""

    # ``auto``: whole numbers where the first keys are; ``text``: texts, so that 7 and 007 are two keys
    keys: Literal["auto", "text"] = "auto"


class TimedKeyOptions(KeyOptions):
    """How keys are read, and the unit of time."""

    time_unit: Literal["s", "ms", "us", "ns"] = "s"


def key_kind(values: Iterable[str], keys: str = "auto") -> str:
    """The kind of a column of keys.

    Args:
        values: the keys that a file begins with.
        keys: as of `KeyOptions`.

    Returns:
        ``key`` where they are whole numbers of 64 bits as written, ``signed_key`` where some are below 0, and later
        ones that are not are bad rows; else ``text``.
    """
    given = list(values)
    kinds = ("key", "signed_key") if keys == "auto" else ()
    return next((kind for kind in kinds if all(map(KINDS[kind].matches, given))), "text")


def key_column(source: Source, place: int, fewest: int, keys: str, delimiter: str | None = ",") -> Column:
    """The column of keys of a file without a header, by its first lines.

    Args:
        source: the file.
        place: the index of its keys.
        fewest: how many fields a row has at least.
        keys: as of `KeyOptions`.
        delimiter: one character; None for blanks.
    """
    rows = [line.split(delimiter) for line in source.first_lines() if not line.startswith("#")]
    return Column("key", key_kind((row[place].strip() for row in rows if len(row) >= fewest), keys))


def keys_of(rows: Rows, name: str) -> I64 | Coded:
    """The keys of a column that was read as `key_kind` says."""
    return rows.coded(name) if pa.types.is_dictionary(rows.table.column(name).type) else rows.ints(name)


def meanings(text: str) -> dict[str, int]:
    """Ops by value in small letters, of a text such as ``1|3/0/2``: values that mean a read, a write and a delete.

    Raises:
        TraceError: it is none.
    """
    parts = [{value.strip().lower() for value in part.split("|") if value.strip()} for part in text.split("/")]
    found = {value: op for op, values in zip(OPS_MEANT, parts, strict=False) for value in values}
    if not 2 <= len(parts) <= len(OPS_MEANT) or not parts[0] or len(found) < sum(map(len, parts)):
        message = (
            f"ops are {text[:60]!r}; write the values that mean a read, a slash, those that mean a write, and after "
            "another slash those that mean a delete, such as 1|3/0/2"
        )
        raise TraceError(message)
    return found


def lasting(rows: Rows, name: str, unit: str = "s") -> I64 | None:
    """Times to live of an optional column in whole seconds, what is shorter a second.

    Args:
        rows: some rows.
        name: the column.
        unit: what it counts, a key of `PER_UNIT_US`.

    Returns:
        int64, `NO_TTL` where it is empty or below 0, which is never; None where there is no column.
    """
    if not rows.has(name):
        return None
    given = np.maximum(rows.ints(name), NO_TTL)  # an empty one is the least int64
    return -(-given // round(1e6 / PER_UNIT_US[unit]))
