"""Requests of objects: traces whose rows name what is read by a key and not by an address.

A key says which object a request is of, and nothing else: two keys that are close as numbers are no neighbours. What
needs addresses (prefetching, features of blocks, devices) takes `cachezoo.traces.table.Trace`, never this.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64, U8
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.kernels.segments import IdTable
from cachezoo.traces.table import Trace, TraceMeta

OP_DELETE = 2
OBJECT_OPS = ("read", "write", "delete")
MAX_OBJECT_BYTES = 2**50
NO_TTL = 0
OBJECT_NUMBERS = ("time_us", "op", "key", "size", "ttl_s", "count", "latency_us")
OBJECT_CODED = ("namespace", "user", "host", "flags", "source")


@dataclass(frozen=True)
class ObjectTrace:
    """Requests of objects in issue order; every array has one entry a request.

    Attributes:
        time_us: int64, microseconds since trace start, never decreasing.
        op: uint8, `OP_READ`, `OP_WRITE` (of `cachezoo.traces.table`) or `OP_DELETE`.
        key: int64, which object: the number that the source has (an unsigned one by its bits), or a place in
            `key_names`. It identifies, and does not order.
        size: int64 bytes of the object as this request says; 0 where the request does not know it.
        meta: provenance.
        key_names: the keys as texts, where the source has texts; None where it has numbers.
        ttl_s: int64 seconds after which what this request writes is void; `NO_TTL` never; None where the source has
            none.
        count: int32 accesses a row stands for, or None (one each).
        latency_us: int64 traced response time, -1 unknown; None where the source has none.
        namespace, user, host, flags, source: optional coded columns, as in `Trace`.
    """

    time_us: I64
    op: U8
    key: I64
    size: I64
    meta: TraceMeta
    key_names: tuple[str, ...] | None = None
    ttl_s: I64 | None = None
    count: I32 | None = None
    latency_us: I64 | None = None
    namespace: Coded | None = None
    user: Coded | None = None
    host: Coded | None = None
    flags: Coded | None = None
    source: Coded | None = None

    def __len__(self) -> int:
        return len(self.time_us)

    def take(self, order: npt.NDArray[Any]) -> "ObjectTrace":
        """The requests that an index array or mask selects, in its order, at their times."""
        part: dict[str, Any] = {}
        for name in OBJECT_NUMBERS:
            values = getattr(self, name)
            part[name] = None if values is None else values[order]
        for name in OBJECT_CODED:
            coded = getattr(self, name)
            part[name] = None if coded is None else coded.take(order)
        return replace(self, **part)

    def rows(self, start: int, stop: int) -> "ObjectTrace":
        """Requests [start, stop), with times counted from the first of them and the names that occur in them."""
        part = self.take(np.arange(start, stop)).trimmed()
        return replace(part, time_us=part.time_us - part.time_us[0]) if len(part) else part

    def trimmed(self) -> "ObjectTrace":
        """The same requests with the names that occur in them and no other, so that no other request shows."""
        part: dict[str, Any] = {
            name: column.part(0, len(self)) for name in OBJECT_CODED if (column := getattr(self, name)) is not None
        }
        if self.key_names is not None:
            keys = Coded(self.key.astype(np.int32), self.key_names).part(0, len(self))
            part |= {"key": keys.codes.astype(np.int64), "key_names": keys.names}
        return replace(self, **part)

    @property
    def accesses(self) -> int:
        """How many accesses the rows stand for."""
        return len(self) if self.count is None else int(self.count.sum(dtype=np.int64))

    def replayed(self) -> "ObjectTrace":
        """A row for each access: rows that stand for several are repeated at their time."""
        if self.count is None:
            return self
        return replace(self.take(np.repeat(np.arange(len(self)), self.count)), count=None)

    def numbered(self) -> tuple[I32, int]:
        """int32[n] dense numbers of the objects by first appearance, so that none depends on a later row; how many."""
        table = IdTable()
        return table.lookup(self.key), table.count

    def name_of(self, key: int) -> str:
        """A key as the source writes it."""
        return str(key) if self.key_names is None else self.key_names[key]


Either = Trace | ObjectTrace
AnyTrace = TypeVar("AnyTrace", Trace, ObjectTrace, Trace | ObjectTrace)


def bad_objects(op: U8, size: I64) -> list[tuple[int, str]]:
    """(index, what is wrong and the fix) of requests that no trace of objects can have, rising."""
    found: dict[int, str] = {}
    rules: list[tuple[npt.NDArray[np.bool_], str]] = [
        (op > OP_DELETE, "op is none; use read, write or delete"),
        (size < 0, "size is below 0: fix or drop the row"),
        (size > MAX_OBJECT_BYTES, f"size is above {MAX_OBJECT_BYTES} bytes (1 PiB): check the unit (bytes)"),
    ]
    for bad, said in rules:
        for index in np.flatnonzero(bad).tolist():
            found.setdefault(index, said)
    return sorted(found.items())


def validate_objects(trace: ObjectTrace, where: str) -> ObjectTrace:
    """Check the rules of the table and return the trace.

    Args:
        trace: what a reader built.
        where: the file to name in an error.

    Raises:
        TraceError: empty; times that run backwards; a size below 0 or beyond 1 PiB; unknown op.
    """
    if len(trace) == 0:
        raise TraceError(f"{where}: the trace is empty; give a file with at least one request")
    rows = bad_objects(trace.op, trace.size)[:1]
    for bad, fix in (
        (trace.time_us < 0, "times count from the trace's start, at 0 or later"),
        (np.diff(trace.time_us, prepend=trace.time_us[0]) < 0, "the time runs backwards: sort the rows by time"),
    ):
        if bad.any():
            row = int(np.argmax(bad))
            rows.append((row, f"time_us is {trace.time_us[row]}; {fix}"))
    if rows:
        row, said = min(rows)
        raise TraceError(f"{where}: row {row + 1}: {said}")
    return trace
