"""What readers of requests of objects share: keys, what ops mean, and times to live."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.delimited import Rows
from cachezoo.traces.formats.other_ops import by_name
from cachezoo.traces.objects import NO_TTL, OP_DELETE
from cachezoo.traces.reading import BAD_TIME
from cachezoo.traces.table import OP_READ, OP_WRITE

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


def key_kind(values: Iterable[str]) -> str:
    """``int`` where the keys that a file begins with are whole numbers of 64 bits as written, else ``text``."""
    return "int" if all(_is_plain(value) for value in values) else "text"


def _is_plain(text: str) -> bool:
    """Whether a key is the number that it is read as, and no other text is read as the same."""
    digits = text.removeprefix("-")
    whole = len(digits) < 20 and digits.isascii() and digits.isdigit()
    return whole and (digits == "0" or not digits.startswith("0")) and int(digits) < 2**63


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


def lasting(rows: Rows, name: str) -> I64 | None:
    """Times to live of a column in seconds; none where it is empty, or where there is no column."""
    if not rows.has(name):
        return None
    given = rows.ints(name)
    return np.where(given == BAD_TIME, NO_TTL, given)
