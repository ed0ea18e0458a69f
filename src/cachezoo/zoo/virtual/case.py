"""A trace in front of virtual caches of one capacity, and of the plain policies of their queues."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64, I32, Bool
from cachezoo.contest import choice as core
from cachezoo.contest.blocks import BLOCKS, block_means, halves
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.virtual.queues import Moves, moves
from cachezoo.policies.registry import policy
from cachezoo.traces.pages import PageAccesses, capacity_pages
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import Trace
from cachezoo.zoo.virtual.metrics import Queue, Setting
from cachezoo.zoo.virtual.serve import COLD, WARM, VirtualServing


def window_of(references: int, window: int) -> int:
    """The page accesses that the start of a trace is observed over: no more than a quarter of it."""
    return max(1, min(window, references // 4))


@dataclass(frozen=True)
class Run:
    """What a cache did, from empty on."""

    hit: Bool  # bool[m], of each page access
    moved: I32  # int32[m], pages read from the disk besides misses
    allocation: int = 0  # of all that moved, read because the mapping changed
    fragmentation: int = 0  # and read because they came into a mapped run

    @property
    def hit_ratio(self) -> float:
        """Page hits per page access."""
        return float(self.hit.mean())

    @property
    def transfers(self) -> float:
        """Pages read from the disk per page access."""
        return float((~self.hit).mean() + self.moved.mean())

    @property
    def hits(self) -> core.Outcome:
        """The hit ratio with its blocks of time."""
        return core.Outcome(self.hit_ratio, block_means(self.hit, BLOCKS))

    @property
    def settled(self) -> float:
        """Hit ratio of the second half."""
        return float(self.hit[len(self.hit) // 2 :].mean())

    def half(self, *, judging: bool) -> "Run":
        """The blocks of time that choose, or those that judge, by turns."""
        return Run(halves(self.hit)[int(judging)], halves(self.moved)[int(judging)])

    def reached(self, window: int, hit_ratio: float) -> int | None:
        """Page accesses until the last `window` of them first hit as often; None: never.

        A short trace is observed over a quarter of its own.
        """
        own = window_of(len(self.hit), window)
        total = np.concatenate([[0], np.cumsum(self.hit)])
        found = np.flatnonzero((total[own:] - total[:-own]) / own >= hit_ratio)
        return int(found[0]) + own if len(found) else None


@dataclass(frozen=True)
class Case(core.Case):
    """A trace, all of whose page accesses count; what its queues do is computed once."""

    trace: Trace
    pages: PageAccesses
    fragment: int  # positions that are mapped together
    _moves: dict[tuple[str, int], Moves] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, category: str, keys: Iterable[str], share: float, fragment: int) -> "list[Case]":
        """The traces of a category.

        Args:
            category: theirs.
            keys: which.
            share: capacity, as a part of the distinct pages.
            fragment: pages.

        Raises:
            TraceError: a file is missing or damaged.
        """
        found = []
        for key in keys:
            path = paths.requests(category, key)
            pages = read_pages(path)
            capacity = capacity_pages(share, pages.n_pages)
            found.append(cls(key, capacity, 0, len(pages.page_ids), read_trace(path), pages, fragment))
        return found

    @property
    def key(self) -> str:
        """Of the trace."""
        return self.name

    @property
    def capacity(self) -> int:
        """Pages of the cache."""
        return int(self.size)

    def moves(self, queue: str, pages: int) -> Moves:
        """Of a queue, at each page access."""
        if (queue, pages) not in self._moves:
            self._moves[queue, pages] = moves(queue, self.pages.page_ids, self.pages.n_pages, pages)
        return self._moves[queue, pages]

    def plain(self, queue: Queue) -> Run:
        """The plain policy of a queue, as the zoo has it."""
        hit = policy(queue).hits(self.pages.page_ids, self.pages.n_pages, self.capacity) == HIT
        return Run(hit, np.zeros(len(hit), np.int32))

    def head(self, queue: str, pages: int) -> Run:
        """A long queue with its head alone in the cache: what its memory does, without any mapping."""
        position = self.moves(queue, pages).position
        hit = (position >= 0) & (position < self.capacity)
        return Run(hit, np.zeros(len(hit), np.int32))

    def virtual(self, setting: Setting, profile: F64 | None = None) -> Run:
        """A virtual cache.

        Args:
            setting: what is tuned.
            profile: float64[fragments] of a warm start; None starts cold.

        Raises:
            ConfigError: the cache does not fit the queue.
        """
        start, known = (COLD, np.zeros(0)) if profile is None else (WARM, profile)
        serving = VirtualServing(arch=setting.arch(self.fragment), policy={"start": start}, profile=known)
        served = serving.follow(self.moves(setting.queue, setting.pages), self.capacity).served
        return Run(served.hit, served.moved, served.allocation, served.fragmentation)


def best_plain(runs: Mapping[Queue, Run]) -> Queue:
    """The plain policy of most hits; of equal ones the first."""
    return max(runs, key=lambda queue: runs[queue].hit_ratio)
