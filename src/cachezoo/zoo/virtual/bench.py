"""A trace at one capacity, in front of virtual caches; its queues' moves are computed once."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64, I32, Bool
from cachezoo.contest.blocks import BLOCKS, block_means, halves
from cachezoo.kernels.virtual.queues import Moves, moves
from cachezoo.traces.pages import PageAccesses, capacity_pages
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import Trace
from cachezoo.zoo.virtual.metrics import Setting
from cachezoo.zoo.virtual.serve import COLD, WARM, VirtualServing

NO_PROFILE = np.zeros(0)


@dataclass(frozen=True)
class Run:
    """What a cache did, from empty on.

    Attributes:
        hit: bool[m], of each page access.
        moved: int32[m], pages read from the disk beside it.
        allocation, fragmentation: these in all, by why they were read.
    """

    hit: Bool
    moved: I32
    allocation: int = 0
    fragmentation: int = 0

    @property
    def hit_ratio(self) -> float:
        """Page hits per page access."""
        return float(self.hit.mean())

    @property
    def transfers(self) -> float:
        """Pages read from the disk per page access."""
        return float((~self.hit).mean() + self.moved.mean())

    def half(self, *, judging: bool) -> "Run":
        """The blocks of time that choose, or those that judge, by turns."""
        return Run(halves(self.hit)[int(judging)], halves(self.moved)[int(judging)])

    def blocks(self, *, judging: bool) -> F64:
        """float64[BLOCKS]: hit ratios of those blocks."""
        return block_means(self.half(judging=judging).hit, BLOCKS)


@dataclass
class Bench:
    """A trace.

    Attributes:
        key: of the trace.
        trace: requests.
        pages: their page accesses.
        capacity: pages of the cache.
        fragment: positions that are mapped together.
    """

    key: str
    trace: Trace
    pages: PageAccesses
    capacity: int
    fragment: int
    _moves: dict[tuple[str, int], Moves] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, category: str, keys: Iterable[str], share: float, fragment: int) -> "list[Bench]":
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
            found.append(cls(key, read_trace(path), pages, capacity_pages(share, pages.n_pages), fragment))
        return found

    def moves(self, queue: str, pages: int) -> Moves:
        """Of a queue, at each page access."""
        if (queue, pages) not in self._moves:
            self._moves[queue, pages] = moves(queue, self.pages.page_ids, self.pages.n_pages, pages)
        return self._moves[queue, pages]

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
        start, known = (COLD, NO_PROFILE) if profile is None else (WARM, profile)
        serving = VirtualServing(arch=setting.arch(self.fragment), policy={"start": start}, profile=known)
        served = serving.follow(self.moves(setting.queue, setting.pages), self.capacity).served
        return Run(served.hit, served.moved, served.allocation, served.fragmentation)
