"""Requests to a cache of objects: dense ids, sizes, operations and, where something expires, times."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.errors import ConfigError
from cachezoo.kernels.jit import njit
from cachezoo.kernels.sized.loop import DELETE
from cachezoo.traces.objects import NO_TTL, OP_DELETE, ObjectTrace

NEVER = 2**62
SECOND_US = 1_000_000


@dataclass(frozen=True)
class Requests:
    """Requests of objects, in order.

    Attributes:
        ids: int32[n] in [0, n_objects), by first appearance.
        size: int64[n] bytes of the object as the request says, or as the last one said that did; 0 where none has.
        op: uint8[n] 0 read, 1 write, 2 delete.
        n_objects: distinct objects.
        time_us: int64[n], never decreasing; None where nothing expires.
        expires_us: int64[n] the time from which on what the request writes is void, `NEVER` for none; None likewise.
        row: int64[n] the trace's row that each request is of, where rows stand for several; None where each is one.
    """

    ids: I32
    size: I64
    op: U8
    n_objects: int
    time_us: I64 | None = None
    expires_us: I64 | None = None
    row: I64 | None = None

    def __post_init__(self) -> None:
        times = [column for column in (self.time_us, self.expires_us) if column is not None]
        if {len(self.size), len(self.op), *map(len, times)} != {len(self.ids)}:
            raise ConfigError("requests of objects: ids, size, op and times have one entry a request each")
        if (self.time_us is None) != (self.expires_us is None):
            raise ConfigError("requests of objects: what expires needs both time_us and expires_us")
        if len(self.ids) and not 0 <= int(self.ids.min()) <= int(self.ids.max()) < self.n_objects:
            raise ConfigError(f"requests of objects: ids lie in [0, n_objects), here [0, {self.n_objects})")
        if len(self.size) and int(self.size.min()) < 0:
            raise ConfigError("requests of objects: sizes are 0 (unknown) or more bytes")

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of_sizes(cls, ids: I32, size: I64) -> "Requests":
        """Reads of objects numbered from 0."""
        n_objects = int(ids.max()) + 1 if len(ids) else 0
        return cls(ids.astype(np.int32), size.astype(np.int64), np.zeros(len(ids), np.uint8), n_objects)

    @classmethod
    def of(cls, trace: ObjectTrace, *, ttl: bool = True, deletes: bool = True, counts: bool = True) -> "Requests":
        """The requests of a trace.

        Args:
            trace: of objects.
            ttl: what a request writes expires as the trace says; False: never.
            deletes: a delete voids its object; False: deletes are left out.
            counts: a row is as many requests as it stands for; False: one.
        """
        ids, n_objects = trace.numbered()
        row: I64 | None = None
        if not deletes or (counts and trace.count is not None):
            times = np.ones(len(trace), np.int64) if trace.count is None or not counts else trace.count.astype(np.int64)
            if not deletes:
                times[trace.op == OP_DELETE] = 0
            row = np.repeat(np.arange(len(trace)), times)
        chosen = slice(None) if row is None else row
        size = np.empty(len(trace), np.int64)
        _last_known(ids, trace.size, n_objects, size)
        time, expires = None, None
        if ttl and trace.ttl_s is not None and (trace.ttl_s != NO_TTL).any():
            time = trace.time_us[chosen]
            life = trace.ttl_s[chosen]
            expires = np.where(life == NO_TTL, NEVER, time + np.minimum(life, NEVER // SECOND_US) * SECOND_US)
        return cls(ids[chosen], size[chosen], trace.op[chosen], n_objects, time, expires, row)

    def first(self, n: int) -> "Requests":
        """The first n requests, their objects numbered as before."""
        rest = (None if own is None else own[:n] for own in (self.time_us, self.expires_us, self.row))
        return Requests(self.ids[:n], self.size[:n], self.op[:n], self.n_objects, *rest)

    @cached_property
    def object_bytes(self) -> I64:
        """int64[n_objects]: the first size known of each object, 0 of one of which none is."""
        found = np.zeros(self.n_objects, np.int64)
        known = np.flatnonzero((self.size > 0) & (self.op != DELETE))[::-1]
        found[self.ids[known]] = self.size[known]
        return found

    @cached_property
    def sizes_change(self) -> bool:
        """Whether any object has more than one size."""
        return bool(_sizes_change(self.ids, self.size, self.n_objects))

    @property
    def footprint_bytes(self) -> int:
        """Bytes of all objects, each as large as it first was."""
        return int(self.object_bytes.sum())


@njit
def _last_known(ids: I32, size: I64, n_objects: int, found: I64) -> None:
    """Sizes, 0 replaced by the last one of the same object."""
    known = np.zeros(n_objects, np.int64)
    for i in range(ids.size):
        if size[i] > 0:
            known[ids[i]] = size[i]
        found[i] = known[ids[i]]


@njit
def _sizes_change(ids: I32, size: I64, n_objects: int) -> bool:
    known = np.zeros(n_objects, np.int64)
    for i in range(ids.size):
        if size[i] > 0:
            if known[ids[i]] > 0 and known[ids[i]] != size[i]:
                return True
            known[ids[i]] = size[i]
    return False
