"""Captured traces as applications: what depends on a trace alone is computed once for all of its mixes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cachezoo import paths
from cachezoo.arrays import I32, I64
from cachezoo.devices.analytic import t_hdd_us
from cachezoo.kernels.stack_distance import stack_distances
from cachezoo.kernels.virtual.queues import Moves, moves
from cachezoo.questions.share.bench import Bench
from cachezoo.questions.share.contest import CACHE_US
from cachezoo.questions.share.judged import Times
from cachezoo.questions.share.mix import Application, Mix, by_clock, lockstep
from cachezoo.questions.share.mixes import Named
from cachezoo.settings.data import TraceEntry
from cachezoo.settings.device import Hdd
from cachezoo.traces.clock import has_clock
from cachezoo.traces.store import read_pages, read_trace

UNNAMED = Named("", "all", ())


@dataclass(frozen=True)
class Captured:
    """A trace.

    Attributes:
        application: its references.
        category: its own.
        time_us: int64[m] of each reference; None without a clock.
        disk_us: mean service time of its requests on the disk.
    """

    application: Application
    category: str
    time_us: I64 | None
    disk_us: float
    _moves: dict[tuple[str, int], Moves] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def distance(self) -> I32:
        """int32[m] stack distances."""
        return stack_distances(self.application.page_ids, self.application.n_pages)

    def moves(self, queue: str, n: int) -> Moves:
        """What a queue of n pages does."""
        if (queue, n) not in self._moves:
            self._moves[queue, n] = moves(queue, self.application.page_ids, self.application.n_pages, n)
        return self._moves[queue, n]


@dataclass(frozen=True)
class Traces:
    """The traces that mixes are made of, read when they are first asked for.

    Attributes:
        entries: the matrix.
        hdd: the model of the disk behind the cache.
        order: `auto` or `lockstep`.
    """

    entries: Mapping[str, TraceEntry]
    hdd: Hdd
    order: str
    _read: dict[str, Captured] = field(default_factory=dict, repr=False, compare=False)

    def captured(self, key: str) -> Captured:
        """A trace by key."""
        if key not in self._read:
            path = paths.requests(self.entries[key].category, key)
            trace, pages = read_trace(path), read_pages(path)
            times = np.repeat(trace.time_us, np.diff(pages.request_start)) if has_clock(trace) else None
            disk = float(t_hdd_us(trace, self.hdd).mean())
            own = Application(key, pages.page_ids, pages.n_pages)
            self._read[key] = Captured(own, self.entries[key].category, times, disk)
        return self._read[key]

    def bench(self, named: Named) -> "MixBench":
        """A mix, ready to be run."""
        parts = tuple(map(self.captured, named.keys))
        times = [part.time_us for part in parts]
        clocks = [own for own in times if own is not None]
        applications = tuple(part.application for part in parts)
        if self.order == "auto" and len(clocks) == len(parts):
            return MixBench(Mix(applications, by_clock(clocks), "clock"), named=named, parts=parts)
        return MixBench(Mix(applications, lockstep([len(own) for own in applications]), "lockstep"), named=named,
                        parts=parts)  # fmt: skip


@dataclass(frozen=True)
class MixBench(Bench):
    """A mix of captured traces.

    Attributes:
        named: which.
        parts: its traces, in the order of the applications.
    """

    named: Named = UNNAMED
    parts: tuple[Captured, ...] = ()

    @cached_property
    def distance(self) -> I32:
        """As of `Bench`."""
        return self.mix.spread([part.distance for part in self.parts])

    def moves(self, queue: str, n: int) -> Moves:
        """As of `Bench`."""
        key = queue, n
        if key not in self._moves:
            own = [part.moves(queue, n) for part in self.parts]
            self._moves[key] = Moves(*(self.mix.spread([one[k] for one in own]) for k in range(3)))
        return self._moves[key]

    @property
    def times(self) -> Times:
        """Of a page, where nothing waits."""
        return Times(CACHE_US, np.array([part.disk_us for part in self.parts]))
