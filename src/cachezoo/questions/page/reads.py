"""A read cache before the disk: of the pages that are read, how many such a cache of a size finds.

It holds no write back: a write goes around it, so that what it held of the page is void, or through it, so that the
page enters as a read page does. Both are `cachezoo.policies.stream.Stream`'s, counted on read pages alone. The first
half of a trace chooses policy and way, the second is reported; LRU with writes around, the simplest, stays unless it is
beaten by what matters.
"""

from dataclasses import dataclass, replace
from typing import Any

from cachezoo.arrays import Bool
from cachezoo.console import Advance
from cachezoo.contest.blocks import block_means
from cachezoo.contest.choice import Goal, choose
from cachezoo.contest.counting import AUTO, Count
from cachezoo.contest.lead import Lead
from cachezoo.contest.sampled import Estimated
from cachezoo.contest.verdict import LEAST_HITS
from cachezoo.kernels.outcome import HIT, WRITE
from cachezoo.kernels.requests import version_ids
from cachezoo.policies.registry import OPTIMUM, policy
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.stream import Writes
from cachezoo.questions.page.candidates import NAMES, SIMPLEST, Halves

WAYS: tuple[Writes, ...] = ("around", "through")
Key = tuple[Writes, str]


@dataclass(frozen=True)
class ReadCache(Estimated):
    """What it found: `mean` is the share of the second half's read pages."""

    policy: str
    writes: Writes
    best: float  # the same of the cache that knows the future, writing the same way
    lru: float  # of LRU with writes around
    chosen: Key  # what the first half chose; the one recommended unless it gains too little on the second
    over_lru: Lead  # of the chosen one over LRU with writes around
    hits: int
    reads: int  # pages read in the second half
    ssd_writes: int  # pages written to the SSD in the second half

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "mode": self.writes,
            "policy": self.policy,
            "read_hit_ratio": self.mean,
            "read_hit_ratio_interval": self.interval,
            "optimum_read_hit_ratio": self.best,
            "lru_around_read_hit_ratio": self.lru,
            "chosen_on_first_half": list(self.chosen),
            "lead_over_lru_around": self.over_lru.values(),
            "read_pages_found": self.hits,
            "read_pages": self.reads,
            "ssd_pages_written": self.ssd_writes,
        }


class Reads:
    """A trace's read pages, and what caches of one size find of them."""

    def __init__(self, bench: Halves, capacity: int) -> None:
        self._bench, self._whole, self._capacity = bench, capacity, bench.own(capacity)
        self._simulators = {way: Simulator(bench.trace, bench.pages, way) for way in WAYS}
        stream = self._simulators["through"].stream(policy(SIMPLEST))
        self._write: Bool = stream.flags & WRITE != 0
        self._warm = bench.place(int(bench.firsts(Count(AUTO), [capacity])[0]))

    @property
    def counted(self) -> int:
        """Pages of the whole trace that are read in the second half; none where none here is."""
        here = bool((~self._write[self._bench.half :]).any())
        return self._bench.reads_from(self._bench.first) if here else 0

    @property
    def all_read(self) -> bool:
        """Whether nothing is written."""
        return not self._write.any()

    def _hits(self, key: Key, end: int | None = None) -> Bool:
        """bool[m]: read pages that were found, up to an access."""
        way, name = key
        entry = policy(name)
        stream = self._simulators[way].stream(entry)
        if end is not None:
            parts = {part: getattr(stream, part)[:end] for part in ("page_ids", "flags", "page_bytes")}
            stream = replace(stream, **parts)
        found: Bool = (entry.simulate(stream, self._capacity).outcome == HIT) & ~self._write[:end]
        return found

    def _mean(self, hits: Bool, first: int, end: int) -> float:
        return float(hits[first:end].sum()) / max(int((~self._write[first:end]).sum()), 1)

    def _outcome(self, key: Key) -> Estimated:
        half = self._bench.half
        hits, reads = self._hits(key)[half:], ~self._write[half:]
        found = self._bench.means(lambda own: Reads(own, self._whole).mean(key))
        return Estimated(self._late(hits[reads]), block_means(hits[reads]), groups=found)

    def _late(self, hits: Bool) -> float:
        """Of the second half's read pages those that were found; of a sample its misses are scaled up."""
        if self._bench.sample is None:
            return float(hits.mean())
        return max(0.0, 1 - int((~hits).sum()) / (self._bench.rate * self.counted))

    def mean(self, key: Key) -> float:
        """Of the second half's read pages, those that a cache finds."""
        half = self._bench.half
        return self._late(self._hits(key)[half:][~self._write[half:]]) if self.counted else 0.0

    def choose(self, advance: Advance | None = None) -> Key:
        """Policy and way by the first half: writes around, unless through finds enough more."""
        half, found = self._bench.half, dict[Writes, tuple[str, float]]()
        for way in WAYS:
            means = dict[str, list[float | None]]()
            for name in NAMES:
                if advance is not None:
                    advance(len(found) * len(NAMES) + len(means), name)
                means[name] = [
                    self._mean(self._hits((way, name), half), self._warm, half) if self._warm < half else None
                ]
            choice = choose(means, Goal.GAIN)
            found[way] = (SIMPLEST, 0.0) if choice is None else (choice.chosen, choice.mean)
        around, through = (found[way][1] for way in WAYS)
        way = WAYS[1] if through - around >= LEAST_HITS else WAYS[0]
        return way, found[way][0]

    def best(self, way: Writes) -> float:
        """Of the cache that knows the future.

        With writes through, a page that is kept until it is written gains nothing by it, as the write may enter it
        anew; so Belady's rule finds the most reads over the versions that writes begin. That is our own reduction.
        """
        half, pages = self._bench.half, self._bench.pages
        if way == "around":
            return self.mean((way, OPTIMUM))
        ids, count = version_ids(pages.page_ids, self._write, pages.n_pages)
        hits: Bool = policy(OPTIMUM).hits(ids, count, self._capacity) == HIT
        return self._late(hits[half:][~self._write[half:]])

    def answer(self, advance: Advance | None = None) -> ReadCache | None:
        """The read cache to run; None where no page is read in the second half."""
        if not self.counted:
            return None
        simplest: Key = ("around", SIMPLEST)
        lru, chosen = self._outcome(simplest), self.choose(advance)
        key, own = chosen, self._outcome(chosen)
        lead = own.lead(lru, Goal.GAIN)
        if not (lead.blocks and lead.value >= LEAST_HITS):
            key, own = simplest, lru
        half = self._bench.half
        run = self._simulators[key[0]].run(key[1], self._capacity, half)
        return ReadCache(
            own.mean, own.blocks, key[1], key[0], self.best(key[0]), lru.mean, chosen, lead,
            round(own.mean * self.counted), self.counted, round(run.ssd_writes / self._bench.rate), groups=own.groups,
        )  # fmt: skip
