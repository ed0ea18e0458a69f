"""Service times of a trace's requests on the disk and the SSD, and what they say of parts of requests."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from cachezoo.arrays import F64, I64, Bool
from cachezoo.traces.table import OP_WRITE, PAGE_BYTES, Trace


@dataclass(frozen=True)
class ServiceTimes:
    """Replayed times, rows as in the trace."""

    hdd_us: F64  # float64[n] of each request on the disk
    ssd_us: F64  # float64[n] the same on the SSD
    size: I64  # int64[n] bytes of each request
    byte_us: float  # what one byte more takes on the disk, µs
    page_write_us: float  # what writing a single page takes on the disk, µs

    @classmethod
    def of(cls, trace: Trace, hdd_us: F64, ssd_us: F64) -> Self:
        """Learn from a trace's own times what a byte and a page cost on the disk, whatever device they are from.

        A byte costs the least-squares slope of the time over the size, among requests that do not follow on from the
        one before: all of these hold a seek, and its length depends little on the size. (Among all requests large ones
        are more often sequential, and would seem cheaper than small ones.)
        """
        apart = ~_sequential(trace)
        byte_us = _slope(trace.size[apart], hdd_us[apart])
        written = apart & (trace.op == OP_WRITE)
        rows = next(rows for rows in (written, apart, np.ones(len(trace), np.bool_)) if rows.any())
        page_us = hdd_us[rows] - byte_us * (trace.size[rows] - PAGE_BYTES)
        return cls(hdd_us, ssd_us, trace.size, byte_us, max(float(page_us.mean()), 0.0))

    def served(self, missing: I64) -> F64:
        """float64[n] µs of each request where a cache lacks a span of it.

        Args:
            missing: int64[n] bytes of the span that the disk serves; 0 where the SSD has all.
        """
        span_us = self.hdd_us - self.byte_us * (self.size - missing)
        by_both = np.maximum(span_us, self.ssd_us)
        served: F64 = np.select([missing == 0, missing < self.size], [self.ssd_us, by_both], self.hdd_us)
        return served


def _sequential(trace: Trace) -> Bool:
    """bool[n]: requests that begin where the one before ended, on its volume."""
    follows = np.zeros(len(trace), np.bool_)
    follows[1:] = trace.offset[1:] == (trace.offset + trace.size)[:-1]
    follows[1:] &= trace.volume.codes[1:] == trace.volume.codes[:-1]
    return follows


def _slope(size: I64, times: F64) -> float:
    """Least-squares slope of the times over the sizes, µs a byte, at least 0; 0 where the sizes do not differ.

    The sums are exact: a product of vectors depends on how many threads BLAS takes, and through the slope every mean
    response time would.
    """
    if len(size) == 0 or size.min() == size.max():
        return 0.0
    from_mean = size - size.mean()
    return max(math.fsum((from_mean * times).tolist()) / math.fsum((from_mean * from_mean).tolist()), 0.0)
