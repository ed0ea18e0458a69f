"""The policies that a recommendation may name, run at every size: the first half of a trace ranks them for the second.

They are classics that a mounted cache runs, so that what is recommended can be served. Six of them, and the rule of
`Ranking.chosen`, were chosen on the captured train and validation traces and the corpus's train traces, never on test
traces: benchmarks/recommend.py prints the figures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from cachezoo.arrays import F64, I32, Bool
from cachezoo.console import Advance
from cachezoo.contest.choice import Goal, choose
from cachezoo.contest.counting import AUTO, Count
from cachezoo.contest.sampled import Estimated
from cachezoo.curves.sampling import Part, draw
from cachezoo.devices.service import ServiceTimes
from cachezoo.flash_cache.load import DAY_S
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.stack_distance import COLD, stack_distances
from cachezoo.policies.registry import OPTIMUM, policy
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.page.bench import Bench, Run, modelled
from cachezoo.settings.device import AnalyticDevice
from cachezoo.traces.clock import are_numbered, time_scale
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.sampling import SampledTrace
from cachezoo.traces.table import PAGE_BYTES, Trace

MOST_ACCESSES = 2_000_000
"""Page accesses above which candidates are compared on a sample of the pages; figures are of the whole trace still."""
HOUR = 1 / 24
"""Of a day: what lasted less says nothing of a day."""
LEAST_DRAWN = 200
"""Distinct pages that a sample has at least; of fewer the whole trace is run."""


@dataclass(frozen=True)
class Candidate:
    """A policy that may be recommended: its id, its name for people, and what it does, without a subject."""

    id: str
    name: str
    does: str


CANDIDATES = (
    Candidate("lru", "LRU", "evicts what was used longest ago; nearly every cache has it"),
    Candidate("fifo", "FIFO", "evicts what came first"),
    Candidate("clock", "CLOCK", "evicts what came first, and passes over once what was used since"),
    Candidate("sieve", "SIEVE", "evicts new pages quickly unless they are used again; others stay where they are"),
    Candidate("s3fifo", "S3-FIFO", "evicts early what was not used again in a small first queue"),
    Candidate("twoq", "2Q", "keeps apart what came back after it had left"),
    Candidate("arc", "ARC", "balances what was used lately and what is used often; ZFS has it"),
    Candidate("lirs", "LIRS", "keeps what comes back soon, however long ago it came; resists loops and scans"),
    Candidate("wtinylfu", "W-TinyLFU", "lets a page in only if it is asked for more often than the victim"),
    Candidate("larc", "LARC", "is LRU that a page enters at its second miss, soon after the first: few SSD writes"),
    Candidate("inlfu", "in-cache LFU", "evicts what was used least often since it entered; the LFU that caches have"),
    Candidate("rejectx+lirs", "LIRS behind RejectX", "is LIRS that a page enters at its second miss: few SSD writes"),
)  # fmt: skip
NAMES = {one.id: one.name for one in CANDIDATES}
UNBOUNDED = Candidate(
    "lfu", "LFU with the counts of every page ever seen", "keeps what was used most often; a page's count survives its "
    "eviction, so that memory grows with the pages seen"
)  # fmt: skip
"""Simulated at the recommended size, and named where it is ahead by what matters; no cache has all these counts."""
SIMPLEST = "lru"
ADMISSION = "rejectx"


def name_of(policy_id: str) -> str:
    """How people write a candidate, or a candidate behind RejectX; other ids as they are."""
    admission, plus, eviction = policy_id.partition("+")
    if policy_id in NAMES:
        return NAMES[policy_id]
    return f"{NAMES[eviction]} behind RejectX" if plus and admission == ADMISSION and eviction in NAMES else policy_id


class Halves(Bench):
    """A trace with a device: its first half warms the caches up and ranks the candidates, its second half counts.

    Attributes:
        first: page access at which the second half begins, a request's first.
        half: the same of a sample's own accesses.
        first_request: its request.
        counted: page accesses of the second half.
        blocks: blocks of time of the second half; 0 where it is too short for four.
    """

    times: ServiceTimes

    def __init__(
        self, trace: Trace, pages: PageAccesses, device: AnalyticDevice, sample: SampledTrace | None = None
    ) -> None:  # fmt: skip
        super().__init__(Simulator(trace, pages), modelled(trace, device), sample=sample)
        self.device = device
        counts = self.case(1)  # every size counts the same
        self.first, self.counted, self.blocks = counts.first, counts.counted, counts.blocks
        self.half = self.place(self.first)
        self.first_request = int(np.searchsorted(pages.request_start[:-1], self.half, side="right")) - 1

    @classmethod
    def of_trace(cls, trace: Trace | SampledTrace, device: AnalyticDevice) -> "Halves":
        """A trace, or a sample of one."""
        if isinstance(trace, SampledTrace):
            return cls(trace.trace, trace.pages, device, trace)
        return cls(trace, expand_pages(trace), device)

    @cached_property
    def halves(self) -> "tuple[Halves, ...]":
        """The groups of a sample, as of `groups`."""
        return tuple(own for own in self.groups if isinstance(own, Halves))

    def _group(self, part: SampledTrace) -> "Halves":
        assert self.device is not None
        return Halves.of_trace(part, self.device)

    @cached_property
    def distances(self) -> I32:
        """int32[m]: other pages accessed since each page's last access; LRU hits below its capacity."""
        found: I32 = stack_distances(self.pages.page_ids, self.pages.n_pages)
        return found

    @property
    def first_share(self) -> float:
        """Page accesses of the second half that are the page's first in the whole trace: no cache can have them."""
        cold: Bool = self.distances[self.half :] == COLD
        return float(cold.mean()) if self.sample is None else 1 - self.hit_ratios(~cold, self.first)[0]

    def lru(self, capacity: int) -> Estimated:
        """LRU with so many pages, from the stack distances."""
        distances = self.distances[self.half :]
        hits: Bool = (distances != COLD) & (distances < self.own(capacity))
        return Estimated(*self.hit_ratios(hits, self.first), groups=self.means(lambda own: own.lru(capacity).mean))

    def means(self, of: Callable[["Halves"], float]) -> F64 | None:
        """float64[GROUPS]: what each group of a sample says; None of a whole trace."""
        return np.array([of(own) for own in self.halves]) if self.halves else None

    @property
    def no_cache_us(self) -> float:
        """Mean response time of the second half's requests on the disk alone."""
        return float(self.times.hdd_us[self.first_request :].mean())

    @property
    def all_ssd_us(self) -> float:
        """The same on the SSD alone."""
        return float(self.times.ssd_us[self.first_request :].mean())

    @property
    def span_days(self) -> float | None:
        """Days that the second half lasted when it was recorded; None where that is not known.

        Raises:
            TraceError: `time_scale` of the metadata is no positive number.
        """
        time = self.trace.time_us
        seconds = float(time[-1] - time[self.first_request]) / 1e6
        if seconds <= 0 or are_numbered(self.trace.meta.extra):
            return None
        return seconds * time_scale(self.trace) / DAY_S

    @property
    def short(self) -> bool:
        """Whether the second half lasted less than an hour, or it is not known how long."""
        return self.span_days is None or self.span_days < HOUR

    def ssd_bytes_a_day(self, run: Run) -> float | None:
        """Bytes written to the SSD in a day like the second half; None where that lasted less than an hour."""
        return None if self.short else self.written_a_day(run)

    def written_a_day(self, run: Run) -> float | None:
        """The same however short the second half was, as if its load went on; None without a clock."""
        days = self.span_days
        return None if days is None else run.ssd_writes * PAGE_BYTES / days


@dataclass(frozen=True)
class Ranking:
    """The candidates at every size."""

    policies: tuple[str, ...]  # ids of the candidates
    capacities: tuple[int, ...]  # pages of the whole trace, rising
    first: F64  # float64[P, S] hit ratios from each size's own warm-up to the trace's middle; not a number where none
    second: F64  # float64[P, S] on the second half
    blocks: F64  # float64[P, S, B] the same by blocks of time; B is 0 where the trace is too short
    optimum: F64  # float64[S] on the second half, of the cache that knows the future
    rate: float  # part of the pages that they were compared on; 1: all

    @property
    def chosen(self) -> list[str]:
        """The policy chosen at each size on the first half: the most hits over the size and its two neighbours.

        A size alone is swayed by chance; neighbours rank policies alike. The first candidate where nothing counts.
        """
        wide = np.pad(self.first, ((0, 0), (1, 1)), mode="edge")
        found = []
        for place in range(len(self.capacities)):
            about = dict(zip(self.policies, wide[:, place : place + 3].tolist(), strict=True))
            choice = choose(about, Goal.GAIN)
            found.append(self.policies[0] if choice is None else choice.chosen)
        return found

    def times_best(self, policy_id: str, place: int) -> int:
        """Blocks of time of the second half in which no candidate had more hits at this size."""
        own = self.blocks[self.policies.index(policy_id), place]
        return int((own >= self.blocks[:, place].max(axis=0)).sum()) if own.size else 0


def _drawn(bench: Halves, most: int) -> Part:
    """The pages that are looked at: all, or so many that about `most` accesses are to them."""
    page_ids, n_pages = bench.pages.page_ids, bench.pages.n_pages
    rate = most / len(page_ids)
    if rate >= 1 or rate * n_pages < LEAST_DRAWN:
        return Part(page_ids, n_pages, bench.rows, bench.rate)
    part = draw(bench.pages, rate).whole
    return replace(part, rows=bench.rows[part.rows], rate=bench.rate * part.rate)


def _ratio(part: Part, hits: Bool, first: int, end: int) -> float:
    """Hit ratio between two accesses of the whole trace; not a number where there are none.

    The misses are scaled up, and hits are what is left, as `cachezoo.curves.sampling` says.
    """
    if first >= end:
        return float("nan")
    low, high = np.searchsorted(part.rows, [first, end])
    missed = int(high - low) - int(hits[low:high].sum())
    return max(0.0, 1 - missed / part.rate / (end - first))


def rank(
    bench: Halves, capacities: Sequence[int], advance: Advance | None = None, most: int = MOST_ACCESSES
) -> Ranking:
    """Run every candidate and the optimum at every size.

    Args:
        bench: the trace.
        capacities: pages, rising.
        advance: progress, in runs.
        most: page accesses above which a sample of the pages is drawn, with as small a part of each capacity.
    """
    part, warmups = _drawn(bench, most), bench.firsts(Count(AUTO), capacities).tolist()
    m, sizes = bench.accesses, len(capacities)
    ids = tuple(NAMES)
    edges = np.linspace(bench.first, m, bench.blocks + 1).astype(np.int64).tolist() if bench.blocks else []
    first, second = np.full((len(ids) + 1, sizes), np.nan), np.zeros((len(ids) + 1, sizes))
    blocks = np.zeros((len(ids), sizes, bench.blocks))
    for p, policy_id in enumerate((*ids, OPTIMUM)):
        for s, capacity in enumerate(capacities):
            if advance is not None:
                advance(p * sizes + s, policy_id)
            own = max(1, round(capacity * part.rate))
            hits = policy(policy_id).hits(part.page_ids, part.n_pages, own) == HIT
            second[p, s] = _ratio(part, hits, bench.first, m)
            if p < len(ids):
                first[p, s] = _ratio(part, hits, warmups[s], bench.first)
                blocks[p, s] = [_ratio(part, hits, low, high) for low, high in pairwise(edges)]
    last = len(ids)
    return Ranking(ids, tuple(capacities), first[:last], second[:last], blocks, second[last], part.rate)
