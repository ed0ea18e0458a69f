"""A page cache that changes its caching model while it runs, as RC-RNN's online phase does (Sec. 4.2).

Who decides at each request is known beforehand: a model, or nobody while none is known or loaded. When a model takes
over, its state is zero, for the paper keeps no state of a model that does not run; the pages that are resident were
placed by another, so their last requests are put to the new one, which decides where they belong (the paper's
"re-evaluating benefit values of data pages in the cache"; `cachezoo.kernels.manager.requeue` does it).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, I32, I64
from cachezoo.errors import ConfigError
from cachezoo.kernels import manager
from cachezoo.kernels.manager_limits import Cache, lane_rules, manager_limits
from cachezoo.policies.simulate import Outcomes
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.pages import PageAccesses
from cachezoo.zoo.caching.serve import CachingServing

# In a plan, where no model decides: every missing page enters mean, or passes by unless space is free.
ALL_ENTER, ALL_PASS = -1, -2
Requeue = Literal["alone", "in_order", "alone_out", "in_order_out", "empty", "none"]
REQUEUES: tuple[Requeue, ...] = get_args(Requeue)
LANES = 1024
ONE = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Takeover:
    """A model that begins to decide."""

    request: int  # the first that it decides on
    model: int  # its place among the models
    resident: int  # pages in the cache then
    steps: int  # steps that the model took for them, one for each distinct last request of theirs
    moved: int  # pages that it put into another queue


@dataclass(frozen=True)
class Switched:
    """What the cache did, request by request, and who took over when."""

    outcomes: Outcomes
    takeovers: tuple[Takeover, ...]


def spans(plan: I32) -> list[tuple[int, int]]:
    """First request of each stretch in which one decides, and the one after its last."""
    edges = [0, *(np.flatnonzero(np.diff(plan)) + 1).tolist(), len(plan)]
    return list(pairwise(edges)) if len(plan) else []


class _Run:
    """A cache at work, from empty on."""

    def __init__(self, pages: PageAccesses, limits: I64) -> None:
        self.pages = pages
        self.lanes = manager.make(pages.n_pages, limits.copy())
        self.outcome = np.zeros((1, len(pages.page_ids)), np.uint8)
        self.evictions = np.zeros((pages.n_requests, 1, 2), np.int64)
        self.request_of = pages.request_of_access()
        self._last = np.full(pages.n_pages, -1, np.int64)
        self._seen = 0

    def serve(self, op: npt.NDArray[np.uint8], first: int, queues: I32, limits: I64) -> None:
        """Requests from `first` on by decisions int32[k, 1], under these limits."""
        self.lanes.limits[:] = limits
        rows = slice(first, first + len(queues))
        manager.serve_all(
            self.lanes, self.pages.request_start[first : rows.stop + 1], self.pages.page_ids, op[rows], queues,
            self.outcome, self.evictions[rows],
        )  # fmt: skip

    def resident(self, first: int) -> tuple[I32, I64]:
        """Resident pages before request `first`, the least recently used first, and the last request of each."""
        end = int(self.pages.request_start[first])
        # Of a page named more than once, the last place stays.
        self._last[self.pages.page_ids[self._seen : end]] = np.arange(self._seen, end)
        self._seen = end
        held = np.flatnonzero(self.lanes.nodes[0, manager.QUEUE, : self.pages.n_pages] != manager.ABSENT)
        held = held[np.argsort(self._last[held])]
        return held.astype(np.int32), self.request_of[self._last[held]].astype(np.int64)

    def outcomes(self) -> Outcomes:
        """Close the books."""
        evicted = np.diff(self.evictions[:, 0], axis=0, prepend=0).astype(np.int32)
        return Outcomes(self.outcome[0], evicted[:, 0], evicted[:, 1])


class SwitchingCache:
    """Models that take turns in one cache, on one trace; their inputs are computed once for every plan."""

    def __init__(
        self, models: Sequence[CachingServing], batch: RequestBatch, pages: PageAccesses, capacity: int,
        lanes: int = LANES,
    ) -> None:  # fmt: skip
        """Take models and a trace.

        Args:
            models: in the order of a plan's codes.
            batch: requests, from the first on.
            pages: their page accesses.
            capacity: of the cache, pages.
            lanes: last requests that a model is asked about at once, where it is asked about each alone.

        Raises:
            ConfigError: no model, one whose inputs are its own tags, a capacity or a number of lanes below 1.
        """
        if not models:
            raise ConfigError("models: none is given; a cache that switches takes at least one")
        if any(model.fed_back for model in models):
            message = "models: one is fed its own tags, which another model's cache does not have; fit it without"
            raise ConfigError(message)
        if lanes < 1:
            raise ConfigError(f"lanes {lanes}: a model is asked about at least one request at a time")
        self._models, self._op, self._pages, self._lanes = list(models), batch.op, pages, lanes
        caches = [model.cache(capacity) for model in models]
        self._limits = [manager_limits(model.policy, [cache]) for model, cache in zip(models, caches, strict=True)]
        self._nobody = manager_limits(models[0].policy, [Cache(capacity, 0.0, "stay", "three")])
        read = [model.read(batch, pages, [capacity]) for model in models]
        self._rows = [rows for rows, _ in read]
        self._rules = [lane_rules([cache], ratio) for cache, (_, ratio) in zip(caches, read, strict=True)]

    def run(self, plan: I32, requeue: Requeue) -> Switched:
        """Serve the trace from an empty cache.

        Args:
            plan: int32[n], who decides at each request: a model's place, `ALL_ENTER` or `ALL_PASS`.
            requeue: what a model that takes over does with the resident pages. `alone`: it decides on the last request
                of each from a zero state, many at once, and its state is zero at the first request that it serves.
                `in_order`: it reads their last requests one after the other, as they came, and goes on from there. In
                both, pages that it does not want are the next to leave; in `alone_out` and `in_order_out` they leave
                at once, and the policy's `fill_free` lets in what is missing. `empty`: all pages leave, as the cache is
                empty where a training trace begins. `none`: they stay where they are.

        Raises:
            ConfigError: a plan of another length or with a code that is nobody's, or an unknown way to requeue.
        """
        self._check(plan, requeue)
        run, takeovers = _Run(self._pages, self._nobody), []
        for first, end in spans(plan):
            who = int(plan[first])
            if who < 0:
                queue = manager.MEAN if who == ALL_ENTER else manager.ABSENT
                run.serve(self._op, first, np.full((end - first, 1), queue, np.int32), self._nobody)
                continue
            took, queues = self._take_over(run, who, first, end, requeue)
            takeovers.append(took)
            run.serve(self._op, first, queues, self._limits[who])
        return Switched(run.outcomes(), tuple(takeovers))

    def _check(self, plan: I32, requeue: str) -> None:
        if requeue not in REQUEUES:
            raise ConfigError(f"requeue {requeue}: use one of {', '.join(REQUEUES)}")
        if len(plan) != len(self._op):
            raise ConfigError(f"plan: {len(plan)} entries for {len(self._op)} requests; give one for each")
        wrong = np.flatnonzero((plan < ALL_PASS) | (plan >= len(self._models)))
        if len(wrong):
            known = f"give a model from 0 to {len(self._models) - 1}, {ALL_ENTER} to let everything in"
            message = f"plan: request {wrong[0] + 1} is for {plan[wrong[0]]}; {known} or {ALL_PASS} to let nothing in"
            raise ConfigError(message)

    def _take_over(self, run: _Run, who: int, first: int, end: int, requeue: Requeue) -> tuple[Takeover, I32]:
        """Let a model place the resident pages; returns its decisions int32[end - first, 1] on what it serves, too."""
        model, limits = self._models[who], self._limits[who]
        held, last = run.resident(first)
        asked, page_asks = np.unique(last, return_inverse=True)
        if requeue in ("none", "empty"):
            asked = asked[:0]
        in_order = requeue.startswith("in_order")
        which = np.concatenate([asked if in_order else asked[:0], np.arange(first, end)])
        queues = self._decide(who, which, model.outputs(self._rows[who][which]))
        wanted, queues = queues[: len(which) - (end - first)], queues[len(which) - (end - first) :]
        if requeue == "none" or not len(held):
            return Takeover(first, who, len(held), 0, 0), queues
        if requeue == "empty":
            page_queues = np.zeros(len(held), np.int32)
        else:
            page_queues = (wanted if in_order else self._alone(who, asked))[page_asks, 0]
        run.lanes.limits[:] = limits
        stamps, drop = self._pages.request_start[last], int(requeue not in ("alone", "in_order"))
        moved = manager.requeue(run.lanes, 0, held, np.ascontiguousarray(page_queues), stamps, drop)
        return Takeover(first, who, len(held), len(asked), int(moved)), queues

    def _alone(self, who: int, asked: I64) -> I32:
        """int32[k, 1]: a model's decisions on requests, each from a zero state."""
        model, rows = self._models[who], self._rows[who]
        parts = [rows[asked[low : low + self._lanes], 0] for low in range(0, len(asked), self._lanes)]
        outputs = np.concatenate([model.outputs(part[None])[0] for part in parts])
        return self._decide(who, asked, outputs[:, None])

    def _decide(self, who: int, which: I64, outputs: F32) -> I32:
        """int32[k, 1] queues of a model's outputs float32[k, 1, 4] on requests int64[k]."""
        queues = np.zeros((len(outputs), 1), np.int32)
        thresholds, single = self._rules[who]
        manager.decide_all(np.ascontiguousarray(outputs), ONE, thresholds[which], single[which], queues)
        return queues
