"""What a disk takes for whole requests, of which a sample has parts.

A sample cuts requests at its blocks, and the request before each is mostly not in it, so that its own replay has
shorter requests, fewer runs in sequence and other ones that wait. Here a request that is kept has its own length,
follows the request before it in the whole trace, and waits for those before that.
"""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64, Bool
from cachezoo.devices.analytic import NONE, disk_at_rest
from cachezoo.kernels.hdd import hdd_service_us
from cachezoo.questions.tiers.reduced import TierIos
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.settings.device import Hdd
from cachezoo.traces.neighbours import LAGS, Neighbours
from cachezoo.traces.sampling import SampledTrace
from cachezoo.traces.table import PAGE_BYTES


@dataclass(frozen=True)
class Uncut:
    """What the n requests of a sample, and those before each, take the disk when it does one at a time."""

    alone_us: F64  # [n, LAGS + 1] where the disk serves all of them; the last is the request's own
    cached_us: F64  # [n] of its own below a cache
    # [n] what a run of blocks that is kept counts for, where each page counts once: `rate` times the requests of its
    # length that there are for each run of theirs that is kept
    weight: F64

    @classmethod
    def of(cls, sample: SampledTrace, ts: TierStream, hdd: Hdd) -> "Uncut | None":
        """Of a sample's requests; None where those around are not known, or the disk has buffers.

        Args:
            sample: of the trace.
            ts: its accesses, or the first of them.
            hdd: the disk. What is in its buffers depends on more than the requests just before.
        """
        if sample.near is None or hdd.read_buffer.segments or hdd.write_buffer_bytes:
            return None
        near = sample.near.take(np.arange(len(ts.trace)))
        start, end = _placed(near, ts)
        alone_us = _service_us(start, end, near.write, hdd)
        # A page that the request before has just read, too, is in the cache, and the rest follows it in sequence.
        shared = ~near.write[:, 1:] & (end[:, :-1] - start[:, 1:] == PAGE_BYTES) & (end[:, 1:] > end[:, :-1])
        after = start.copy()
        after[:, 1:][shared] += PAGE_BYTES
        cached_us = _service_us(after, end, near.write, hdd)[:, -1]
        block = sample.plan.block_bytes
        own = near.offset[:, -1]
        blocks = (own + near.size[:, -1] - 1) // block - own // block + 1
        # A run begins at a kept block that is the first, or follows one that is not kept.
        return cls(alone_us, cached_us, 1 / (1 + (blocks - 1) * (1 - sample.rate)))

    def times_us(self, disk: TierIos, first: int, depth: int, cached: bool) -> tuple[F64, F64]:
        """float64[k] twice: µs that each of the disk's I/Os takes, of a closed loop's issue to its end, and alone.

        One waits for as many before it as are outstanding besides, which are I/Os of the disk: what RAM and SSD
        serve ends at once. Those before it in the trace take the disk as much more or less than the mean as they would
        without a cache.

        Args:
            disk: I/Os of the requests.
            first: request from which on they are replayed.
            depth: requests outstanding.
            cached: whether anything is above the disk.
        """
        own = (self.cached_us if cached else self.alone_us[:, -1])[disk.request]
        lags = min(depth - 1, LAGS)
        if not lags or not len(disk):
            return own, own
        wait = self.alone_us[disk.request, -1 - lags : -1].sum(axis=1) * ((depth - 1) / lags)
        all_of_them = np.average(self.alone_us[first:, -1], weights=self.weight[first:])
        ratio = np.average(own, weights=self.weight[disk.request]) / all_of_them
        return own + wait * ratio, own


def _placed(near: Neighbours, ts: TierStream) -> tuple[I64, I64]:
    """int64[n, k] twice: where requests begin and end on the one disk; reads take whole pages.

    A volume of which the sample has nothing lies behind all others.
    """
    begins = np.full(int(near.volume.max()) + 1, (ts.span_pages + 1) * PAGE_BYTES)
    first = ts.address[ts.pages.page_ids[ts.pages.request_start[:-1]]]
    begins[near.volume[:, -1]] = (first - ts.trace.offset // PAGE_BYTES) * PAGE_BYTES
    start = near.offset + begins[near.volume]
    end = start + near.size
    down, up = start // PAGE_BYTES * PAGE_BYTES, -(-end // PAGE_BYTES) * PAGE_BYTES
    return np.where(near.write, start, down), np.where(near.write, end, up)


def _service_us(start: I64, end: I64, write: Bool, hdd: Hdd) -> F64:
    """float64[n, k - 1]: what each takes, but for the first of a row, after the one before it."""
    offset, size, marks = start.ravel(), (end - start).ravel(), write.ravel().astype(np.uint8)
    times: F64 = hdd_service_us(disk_at_rest(hdd), offset, size, marks, NONE).reshape(start.shape)
    return times[:, 1:]
