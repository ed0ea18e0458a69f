"""What the three queues do at each request of a synthetic set: which branch of the cache it passes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.arrays import F32, I32
from cachezoo.kernels import manager
from cachezoo.kernels.manager_limits import Cache, manager_limits
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.pages import PageAccesses

BRANCHES = (
    "bypass", "soon", "mean", "late", "not_asked", "at_threshold", "tie_of_queues", "hit", "partial_hit", "filled_free",
    "kept_out", "evicted_soon", "evicted_mean", "evicted_late", "dirty_evicted", "write_hit", "demoted_mean",
    "demoted_late", "protected", "lost_protection", "requeued_up", "requeued_down", "requeued_to_tail",
)  # fmt: skip
NAMES = ("bypass", "soon", "mean", "late")


def _decided(outputs: F32, cache: Cache, limits: Any) -> I32:  # noqa: ANN401 - int64[1, N_LIMITS]
    queues = np.zeros((len(outputs), 1), np.int32)
    thresholds = np.array([cache.threshold], np.float32)
    manager.decide_all(np.ascontiguousarray(outputs[:, None, :]), np.zeros(1, np.int64), thresholds, limits, queues)
    return queues


class _Watch:
    """A cache, and what it did."""

    def __init__(self, pages: PageAccesses, limits: Any) -> None:  # noqa: ANN401 - int64[1, N_LIMITS]
        self.lanes = manager.make(pages.n_pages, limits)
        self.outcome = np.zeros((1, len(pages.page_ids)), np.uint8)
        self.tags = np.zeros((1, 4), np.float32)
        self.guarded: set[int] = set()
        self.found = dict.fromkeys(BRANCHES, 0)

    @property
    def queue(self) -> I32:
        """int32[n_pages]: where each page is."""
        queue: I32 = self.lanes.nodes[0, manager.QUEUE, : self.lanes.stamps.shape[1]].copy()
        return queue

    def serve(self, pages: I32, first: int, write: int, decided: I32) -> None:
        """Serve a request and count what happened."""
        counters, wanted = self.lanes.counters[0], int(decided[0])
        before, stamps, counts = self.queue, self.lanes.stamps[0].copy(), counters.copy()
        manager.serve_lanes(self.lanes, pages, write, decided, self.outcome, first, self.tags)
        after, came = self.queue, counters - counts
        self._moved(before, after, stamps, set(pages.tolist()))
        hits, missing = int(came[manager.HITS]), len(pages) - int(came[manager.HITS])
        self.count("not_asked" if decided[0] < 0 else NAMES[wanted])
        self.count("hit", missing == 0)
        self.count("partial_hit", hits > 0 and missing > 0)
        self.count("filled_free", int(came[manager.ADMISSIONS]) if wanted == manager.ABSENT else 0)
        self.count("kept_out", int(came[manager.BYPASSES]))
        self.count("dirty_evicted", int(came[manager.DIRTY_EVICTIONS]))
        self.count("write_hit", int(came[manager.WRITE_HITS]))
        if self.lanes.limits[0, manager.REQUEUE]:
            held = before[pages] > 0
            self.count("requeued_to_tail", int(held.sum()) if wanted == manager.ABSENT else 0)
            self.count("requeued_up", int((held & (before[pages] < wanted)).sum()))
            self.count("requeued_down", int((held & (before[pages] > wanted) & (wanted > 0)).sum()))

    def count(self, name: str, times: int = 1) -> None:
        """A branch was passed."""
        self.found[name] += int(times)

    def _moved(self, before: I32, after: I32, stamps: Any, asked: set[int]) -> None:  # noqa: ANN401 - int64[n_pages]
        """Pages that left, moved down, or got another period."""
        for page in np.flatnonzero(before).tolist():
            if after[page] == manager.ABSENT:
                self.count(f"evicted_{NAMES[before[page]]}")
                self.guarded.discard(page)
            elif page in asked:
                self.guarded.discard(page)
            elif after[page] < before[page]:
                self.count(f"demoted_{NAMES[before[page]]}")
                self.count("lost_protection", page in self.guarded)
                self.guarded.discard(page)
            elif self.lanes.stamps[0, page] != stamps[page]:
                self.count("protected")
                self.guarded.add(page)


def watch(
    batch: RequestBatch, pages: PageAccesses, outputs: F32, cache: Cache, policy: Mapping[str, Any]
) -> dict[str, int]:
    """Count the branches that a cache passes.

    Args:
        batch: requests.
        pages: their page accesses.
        outputs: float32[n, 4] that it acts on.
        cache: capacity, threshold and rules.
        policy: of the manifest, with the set's changes.

    Returns:
        A count for each of `BRANCHES`.
    """
    limits = manager_limits(policy, [cache])
    queues, one = _decided(outputs, cache, limits), _Watch(pages, limits)
    for row in range(len(batch)):
        first, end = int(pages.request_start[row]), int(pages.request_start[row + 1])
        stays = np.sort(outputs[row, 1:])
        wanted = int(queues[row, 0])
        one.serve(pages.page_ids[first:end], first, int(batch.op[row]), queues[row])
        asked = queues[row, 0] >= 0
        one.count("at_threshold", asked and outputs[row, 0] == np.float32(cache.threshold))
        one.count("tie_of_queues", asked and wanted > 0 and cache.queues == "three" and stays[-1] == stays[-2])
    return one.found
