"""Figures that describe a trace of objects."""

from typing import Any

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.kernels.segments import IdTable
from cachezoo.traces.clock import Clock
from cachezoo.traces.objects import OP_DELETE, ObjectTrace
from cachezoo.traces.table import OP_READ, OP_WRITE, TraceMeta

FIRST_ROOM = 1 << 12


class ObjectStatistics:
    """Counts over consecutive pieces of a trace of objects; needs about 40 bytes of memory an object.

    Keys of pieces are numbers, or places in names that later pieces only add to.
    """

    def __init__(self) -> None:
        self._counts = dict.fromkeys(("rows", "reads", "writes", "deletes", "bytes_read", "bytes_written"), 0)
        self._counts |= dict.fromkeys(("unsized", "with_ttl", "counted"), 0)
        self._clock = Clock()
        self._first_us: int | None = None
        self._last_us = 0
        self._table = IdTable()
        self._asked: I64 = np.zeros(FIRST_ROOM, np.int64)  # accesses that are no deletes, by object
        self._size: I64 = np.zeros(FIRST_ROOM, np.int64)  # its largest, 0 where none is known
        self._latencies: list[I64] = []
        self._flags: dict[str, int] = {}

    def add(self, piece: ObjectTrace) -> None:
        """Count the next rows."""
        counts, times = self._counts, piece.time_us
        each: I64 = np.ones(len(piece), np.int64) if piece.count is None else piece.count.astype(np.int64)
        counts["rows"] += len(piece)
        counts["counted"] += piece.count is not None
        for op, number in ((OP_READ, "reads"), (OP_WRITE, "writes"), (OP_DELETE, "deletes")):
            counts[number] += int(each[piece.op == op].sum())
        for op, moved in ((OP_READ, "bytes_read"), (OP_WRITE, "bytes_written")):
            counts[moved] += int((each * piece.size)[piece.op == op].sum())
        counts["unsized"] += int(np.count_nonzero((piece.size == 0) & (piece.op != OP_DELETE)))
        counts["with_ttl"] += int(np.count_nonzero(piece.ttl_s)) if piece.ttl_s is not None else 0
        self._clock.add(times)
        first, last = int(times.min()), int(times.max())
        self._first_us = first if self._first_us is None else min(first, self._first_us)
        self._last_us = max(last, self._last_us)
        self._of_objects(self._table.lookup(piece.key), np.where(piece.op == OP_DELETE, 0, each), piece.size)
        if piece.latency_us is not None:
            self._latencies.append(piece.latency_us[piece.latency_us >= 0])
        if piece.flags is not None:
            for code, rows in enumerate(np.bincount(piece.flags.codes[piece.flags.codes >= 0]).tolist()):
                if name := piece.flags.names[code]:  # empty where a merged trace has none
                    self._flags[name] = self._flags.get(name, 0) + rows

    def _of_objects(self, ids: I32, each: I64, size: I64) -> None:
        """Count accesses and keep sizes, by object."""
        room = len(self._asked)
        while room < self._table.count:
            room *= 2
        if room > len(self._asked):
            more = np.zeros(room - len(self._asked), np.int64)
            self._asked, self._size = np.concatenate([self._asked, more]), np.concatenate([self._size, more])
        np.add.at(self._asked, ids, each)
        np.maximum.at(self._size, ids, size)

    def result(self, meta: TraceMeta) -> dict[str, Any]:
        """The figures as JSON values, units in the keys; then what the trace's source said of itself.

        `requests` counts accesses, of rows that stand for several each. `span_s` and `requests_per_s` are None where
        the trace has no clock.
        """
        counts, objects = self._counts, self._table.count
        requests = counts["reads"] + counts["writes"] + counts["deletes"]
        moving = counts["reads"] + counts["writes"]
        moved = counts["bytes_read"] + counts["bytes_written"]
        ticks = self._clock.ticks(meta.extra)
        span_us = self._last_us - (self._first_us or 0)
        latencies = np.concatenate([np.empty(0, np.int64), *self._latencies])
        asked = self._asked[:objects]
        once = int(np.count_nonzero(asked == 1))
        return {
            "trace_id": meta.trace_id,
            "category": meta.category,
            "source_format": meta.source_format,
            "source_sha256": meta.source_sha256,
            "licence": meta.licence,
            **({"rows": counts["rows"]} if counts["counted"] else {}),
            "requests": requests,
            "reads": counts["reads"],
            "writes": counts["writes"],
            "deletes": counts["deletes"],
            "read_share": counts["reads"] / moving if moving else None,
            "bytes_read": counts["bytes_read"],
            "bytes_written": counts["bytes_written"],
            "mean_size_bytes": moved / moving if moving else None,
            "objects": objects,
            "object_bytes": int(self._size[:objects].sum()),
            "one_hit_share": once / max(int(np.count_nonzero(asked)), 1),
            **({"rows_of_unknown_size": counts["unsized"]} if counts["unsized"] else {}),
            **({"rows_with_ttl": counts["with_ttl"]} if counts["with_ttl"] else {}),
            **{f"flags {name}": rows for name, rows in sorted(self._flags.items())},
            "span_s": span_us / 1e6 if ticks else None,
            "requests_per_s": requests / (span_us / 1e6) if ticks else None,
            "median_latency_us": float(np.median(latencies)) if len(latencies) else None,
            **meta.extra,
        }


def describe_objects(trace: ObjectTrace) -> dict[str, Any]:
    """The figures of a whole trace, see `ObjectStatistics.result`."""
    statistics = ObjectStatistics()
    statistics.add(trace)
    return statistics.result(trace.meta)
