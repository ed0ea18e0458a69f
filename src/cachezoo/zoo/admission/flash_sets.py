"""The flash cache behind the decisions of a synthetic set: what it did, and which of its rules mattered."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cachezoo.arrays import I32, Bool
from cachezoo.flash.modes import NONE, plain_prefetch
from cachezoo.kernels.flash import FlashRun, Prefetch, simulate_flash
from cachezoo.kernels.segments import Geometry, expand_segments
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.table import OP_READ

COLUMNS = ("hits", "written", "prefetched", "io_segments", "evicted")
CACHE = ("hit", "partial_hit", "miss", "evicted", "write_invalidates", "lru_is_not_fifo", "kept_out")
PREFETCHED = ("prefetched", "prefetched_used")


def _run(batch: RequestBatch, admit: Bool, prefetch: Prefetch | None, where: "Where", lru: bool = True) -> FlashRun:
    accesses = expand_segments(batch.volume.codes, batch.offset, batch.size, where.geometry)
    return simulate_flash(accesses, batch.op == OP_READ, admit, where.capacity, lru=lru, prefetch=prefetch)


class Where:
    """Geometry and capacity of a set's cache.

    Attributes:
        geometry: blocks and segments.
        capacity: segments.
    """

    def __init__(self, geometry: Mapping[str, int], context: Mapping[str, Any]) -> None:
        """From a manifest's geometry and a set's context."""
        self.geometry = Geometry(geometry["block_bytes"], geometry["segment_bytes"])
        self.capacity = int(context["capacity_segments"])


def plain_ahead(batch: RequestBatch, mode: str, where: Where) -> Prefetch | None:
    """What a mode that asks no model fetches beside; None of `none`."""
    accesses = expand_segments(batch.volume.codes, batch.offset, batch.size, where.geometry)
    last = accesses.first + accesses.sizes - 1
    return None if mode == NONE else plain_prefetch(mode, last, where.geometry.per_block)


def _head(prefetch: Prefetch | None, n: int) -> Prefetch | None:
    return None if prefetch is None else replace(prefetch, low=prefetch.low[:n], high=prefetch.high[:n])


def _evicted(batch: RequestBatch, admit: Bool, prefetch: Prefetch | None, where: Where) -> I32:
    """int32[n]: segments that each request evicted: those of all requests up to it, less those up to the one before."""
    totals = [_run(batch.part(0, n), admit[:n], _head(prefetch, n), where).evictions for n in range(1, len(batch) + 1)]
    return np.diff(totals, prepend=0).astype(np.int32)


def behind(batch: RequestBatch, admit: Bool, prefetch: Prefetch | None, where: Where) -> tuple[I32, dict[str, int]]:
    """Run the flash cache behind decisions.

    Args:
        batch: requests of a set.
        admit: bool[n], decisions on what reads miss.
        prefetch: what admitted misses fetch beside; None fetches nothing.
        where: geometry and capacity.

    Returns:
        int32[n, 5], columns `COLUMNS`, and how many requests passed each branch of `CACHE` and `PREFETCHED`.
    """
    run, read = _run(batch, admit, prefetch, where), batch.op == OP_READ
    evicted = _evicted(batch, admit, prefetch, where)
    table = np.stack([run.hits, run.written, run.prefetched, run.io_segments, evicted], axis=1).astype(np.int32)
    missed = read & (run.io_segments > 0)

    def hits_if(other: FlashRun) -> int:
        return int((other.hits != run.hits).sum())

    branches = {
        "hit": int((read & ~missed).sum()),
        "partial_hit": int((missed & (run.hits > 0)).sum()),
        "miss": int((missed & (run.hits == 0)).sum()),
        "kept_out": int((missed & (run.written == 0)).sum()),
        "evicted": int(evicted.sum()),
        "write_invalidates": hits_if(_without_writes(batch, admit, prefetch, where)),
        "lru_is_not_fifo": hits_if(_run(batch, admit, prefetch, where, lru=False)),
        "prefetched": int(run.prefetched.sum()),
        "prefetched_used": run.prefetched_used,
    }
    return table, branches


def _without_writes(batch: RequestBatch, admit: Bool, prefetch: Prefetch | None, where: Where) -> FlashRun:
    """The same where writes go to a place of their own, so that they invalidate nothing."""
    beyond = int((batch.offset + batch.size).max()) + where.geometry.block_bytes
    away = -(-beyond // where.geometry.block_bytes) * where.geometry.block_bytes
    moved = replace(batch, offset=np.where(batch.op == OP_READ, batch.offset, batch.offset + away))
    return _run(moved, admit, prefetch, where)
