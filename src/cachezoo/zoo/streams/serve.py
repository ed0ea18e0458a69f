"""Placement by lifetime as a drive's host runs it: writes in, the stream of each flash page out; numpy is all it needs.

A forest predicts the base-2 logarithm of a page's lifetime, see `cachezoo.zoo.streams.deaths`. Predictions are cut into
classes, and the longest-lived class into parts by address. Training, the judge and bundles run this code.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cachezoo.arrays import F32, F64, I32, I64, U8
from cachezoo.errors import ConfigError
from cachezoo.kernels.chunks import PAGES_PER_CHUNK
from cachezoo.kernels.deaths import (
    HALF_LIFE,
    NAMES,
    PAGES_KEPT,
    PER_PAGE,
    RECORD_BYTES,
    REGION_PAGES,
    TIME,
    WAYS,
    Requests,
    State,
    describe_writes,
    new_state,
)
from cachezoo.serving.kind import Session
from cachezoo.serving.ranges import integer, number
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.table import OP_WRITE

PLACED_BY_LIFETIME = "lifetime_placement"
FOREST = "model.lgb.txt"
PAGE_BYTES = 8192  # of flash
GEOMETRY = {
    "page_bytes": PAGE_BYTES,
    "chunk_bytes": PAGES_PER_CHUNK * PAGE_BYTES,
    "region_bytes": REGION_PAGES * PAGE_BYTES,
}
LEAST_KEPT, MOST_KEPT = WAYS * PER_PAGE[-1], 1 << 26
MOST_HALF_LIFE = HALF_LIFE  # so that heats stay below 2**24
MEMORY = {"pages": PAGES_KEPT, "half_life": HALF_LIFE}
CLOCK_BYTES = 32
PLACEMENT = (
    "Each flash page of a write goes to the stream of its class of predicted lifetime; of the longest-lived class, to "
    "that of its part by address."
)


def by_lifetime(manifest: Mapping[str, Any]) -> bool:
    """Whether a bundle of kind streams holds a forest; else it holds a dictionary."""
    return bool(manifest["policy"]["type"] == PLACED_BY_LIFETIME)


def state_bytes(pages: int) -> int:
    """Bytes that a runtime keeps to remember so many pages."""
    return CLOCK_BYTES + RECORD_BYTES * sum(pages // divisor for divisor in PER_PAGE)


def streams_of(predicted: F64, address: I64, life_cuts: Sequence[float], part_starts: Sequence[int]) -> U8:
    """The stream of each page write: uint8[n].

    Args:
        predicted: float64[n] base-2 logarithms of lifetimes.
        address: int64[n] first byte of each page.
        life_cuts: rising; a page whose prediction is above k of them is of the k-th class from the shortest-lived on.
        part_starts: rising bytes at which the next part of the longest-lived class begins. Its parts are the first
            streams, the other classes follow, the shortest-lived last.
    """
    shorter = np.searchsorted(np.asarray(life_cuts, np.float64), predicted)
    part = np.searchsorted(np.asarray(part_starts, np.int64), address, side="right")
    classes = len(life_cuts)
    return np.where(shorter == classes, part, classes - shorter + len(part_starts)).astype(np.uint8)


def write_requests(batch: RequestBatch, last_us: int) -> Requests:
    """The writes of a batch by the pages that they touch; `last_us` is when the one before came, -1 for none."""
    write = batch.op == OP_WRITE
    offset, size, time_us = (column[write] for column in (batch.offset, batch.size, batch.time_us))
    first = offset // PAGE_BYTES
    gap = np.maximum(np.diff(time_us, prepend=last_us), 0)
    if len(gap) and last_us < 0:
        gap[0] = -1
    return Requests(first, (offset + size - 1) // PAGE_BYTES - first + 1, gap)


class LifetimeServing:
    """Places writes page by page; what was written before carries on from call to call."""

    def __init__(self, *, arch: Mapping[str, Any], policy: Mapping[str, Any], session: Session) -> None:
        """Serve a bundle's forest, from an empty memory.

        Raises:
            ConfigError: see `check`.
        """
        check(arch, policy)
        self.streams = int(arch["streams"])
        self.cuts, self.starts = list(policy["life_cuts"]), list(policy["part_starts"])
        self._memory = policy["memory"]
        self._state: State | None = None  # its memory is taken with the first write
        self._session = session

    def features(self, batch: RequestBatch) -> F32:
        """float32[page writes, inputs] of the next requests, which then are part of the past. Reads have no row."""
        if self._state is None:
            self._state = new_state(int(self._memory["pages"]))
        clock = self._state.clock
        requests = write_requests(batch, int(clock[TIME]))
        rows = describe_writes(requests, self._state, int(self._memory["half_life"]))
        if len(requests.first):
            clock[TIME] = max(int(clock[TIME]), int(batch.time_us[batch.op == OP_WRITE].max()))
        return rows

    def scores(self, rows: F32) -> F64:
        """float64[n] base-2 logarithm of the lifetime, in page writes of the host, that each row has before it."""
        found = self._session.run(["life"], {"features": rows})[0]
        return np.asarray(found, np.float64).reshape(len(rows))

    def addresses(self, batch: RequestBatch) -> I64:
        """int64[page writes] the first byte of each page that is written."""
        requests = write_requests(batch, -1)
        ends = np.cumsum(requests.pages)
        inside = np.arange(int(requests.pages.sum())) - np.repeat(ends - requests.pages, requests.pages)
        return (np.repeat(requests.first, requests.pages) + inside) * PAGE_BYTES

    def decide(self, batch: RequestBatch, rows: F32) -> I32:
        """int32[page writes] the stream of each page that a batch writes, of its features."""
        return streams_of(self.scores(rows), self.addresses(batch), self.cuts, self.starts).astype(np.int32)

    def place(self, batch: RequestBatch) -> I32:
        """The same of the next requests; afterwards they are part of the past."""
        return self.decide(batch, self.features(batch))


def check(arch: Mapping[str, Any], policy: Mapping[str, Any]) -> None:
    """Rules between values.

    Raises:
        ConfigError: numbers that do not rise, a memory that is no power of two, or more classes and parts than streams.
    """
    pages = integer(policy["memory"]["pages"], "policy.memory.pages", LEAST_KEPT, MOST_KEPT)
    integer(policy["memory"]["half_life"], "policy.memory.half_life", 1, MOST_HALF_LIFE)
    if pages & (pages - 1):
        raise ConfigError(f"policy.memory.pages {pages} is no power of two")
    for name in ("life_cuts", "part_starts"):
        values = [number(one, f"policy.{name}", -1e30, 1e30) for one in policy[name]]
        if any(b <= a for a, b in pairwise(values)):
            raise ConfigError(f"policy.{name} {str(values)[:40]} do not rise")
    needed = len(policy["life_cuts"]) + len(policy["part_starts"]) + 1
    if needed > arch["streams"]:
        raise ConfigError(f"policy cuts into {needed} streams, arch.streams is {arch['streams']}")


def features() -> list[dict[str, Any]]:
    """The inputs as a model's document has them."""
    return [{"name": name, "formula": f"written.{name}", "unit": UNITS.get(name, UNIT)} for name in NAMES]


UNIT = "page writes of the host"
UNITS = {
    **{f"{level}_mean_life": "log2 of page writes, in 1/65536" for level in ("page", "chunk", "region")},
    **{f"{level}_heat": "decayed page writes, in 1/256" for level in ("page", "chunk", "region")},
    **dict.fromkeys(("pages", "position", "run", "in_chunk"), "flash pages"),
    "gap_us": "microseconds",
    "place": "regions of 1 MiB",
    "alignment": "bits",
}
