"""What readers of requests of objects share: keys, what ops mean, and ops that move no data."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.delimited import Column, Layout, Rows, split_line
from cachezoo.traces.objects import NO_TTL, OP_DELETE
from cachezoo.traces.reading import BAD_OP, BAD_TIME, AnyChunk, Reading
from cachezoo.traces.source import Source
from cachezoo.traces.table import OP_READ, OP_WRITE

# What key-value stores and caches call their operations, in small letters.
STORE_OPS = {
    **dict.fromkeys(("get", "gets", "get_lease", "lease_get", "gat", "gats", "read", "r"), OP_READ),
    **dict.fromkeys(("set", "set_lease", "lease_set", "add", "cas", "replace", "append", "prepend"), OP_WRITE),
    **dict.fromkeys(("incr", "decr", "put", "update", "write", "w", "set_tail", "append_tail"), OP_WRITE),
    **dict.fromkeys(("delete", "del", "remove", "invalidate", "delete_lease"), OP_DELETE),
}
NO_DATA = ("nop", "touch", "flush", "flush_all", "quit", "version", "stats")
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


def moving(reading: Reading, chunk: AnyChunk, left_out: Collection[str]) -> AnyChunk:
    """A chunk without the requests whose op is one of some names in small letters; they are counted as left out."""
    text = chunk.op_text
    if text is None or not (chunk.op == BAD_OP).any():
        return chunk
    kept = np.ones(len(chunk), bool)
    for code, name in enumerate(text.names):
        if name.lower() in left_out:
            other = (text.codes == code) & (chunk.op == BAD_OP)
            if other.any():
                reading.left_out[name.lower()] += int(np.count_nonzero(other))
                kept &= ~other
    return chunk.where(kept)


@dataclass(frozen=True)
class Field:
    """A column that a header may name."""

    role: str  # how the reader calls it
    names: tuple[str, ...]  # what headers call it, in small letters
    kind: str  # as of a `Column`, or ``key``: numbers or texts, as the beginning has them
    needed: bool = True  # whether a file must have it; else its values may be empty, too


def names_of(lines: Sequence[str], delimiter: str) -> list[str]:
    """The fields of the first line that is no comment, in small letters."""
    first = next((line for line in lines if not line.startswith("#")), "")
    return [name.lower() for name in split_line(first, delimiter)[0]]


def layout_by_header(source: Source, fields: Sequence[Field], delimiter: str = ",") -> Layout:
    """The columns of a file whose first line names them, in any order; those of no field are passed over.

    Raises:
        TraceError: a needed column is missing, or one is named twice.
    """
    lines = [line for line in source.first_lines() if not line.startswith("#")]
    names = names_of(lines, delimiter)
    roles = {name: field for field in fields for name in field.names if name in names}
    missing = [field.names[0] for field in fields if field.needed and not set(field.names) & set(names)]
    if missing or len({field.role for field in roles.values()}) < sum(name in roles for name in names):
        wrong = f"names no column {missing[0]}" if missing else "names a column twice"
        raise TraceError(f"{source.path}: its first line {wrong}: {delimiter.join(names)[:120]!r}; fix the header")
    columns = []
    for place, name in enumerate(names):
        field = roles.get(name)
        if field is None:
            columns.append(Column(f"unread_{place}", "skip"))
            continue
        values = (split_line(line, delimiter)[0][place : place + 1] for line in lines[1 : KEY_LINES + 1])
        kind = key_kind(value[0] for value in values if value) if field.kind == "key" else field.kind
        columns.append(Column(field.role, kind, optional=not field.needed and field.kind != "text"))
    return Layout(tuple(columns), delimiter, quoted=True, header=lambda _: True)


def lasting(rows: Rows, name: str) -> I64 | None:
    """Times to live of a column in seconds; none where it is empty, or where there is no column."""
    if not rows.has(name):
        return None
    given = rows.ints(name)
    return np.where(given == BAD_TIME, NO_TTL, given)
