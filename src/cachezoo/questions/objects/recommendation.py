"""Which cache of objects to run and how large: policies chosen on the first half of a trace, reported on the second."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cachezoo.console import Advance
from cachezoo.contest.blocks import block_sums, blocks_in
from cachezoo.contest.choice import Goal, choose
from cachezoo.contest.counting import SECOND_HALF
from cachezoo.contest.lead import Lead, Mean, ahead, ratio_of
from cachezoo.contest.verdict import LEAST_HITS, Verdict, verdict
from cachezoo.errors import ConfigError
from cachezoo.questions.objects.bench import ObjectBench, ObjectRun, Rules
from cachezoo.questions.objects.sweep import UPPER, bounds_row, classics
from cachezoo.questions.page.sizes import NO_MORE, USELESS, knee, ladder
from cachezoo.sizes import Size
from cachezoo.traces.objects import ObjectTrace

SIMPLEST = "lru"
By = Literal["objects", "bytes"]
# `on average`: the target is reached, but not by the interval's low end
Why = Literal["knee", "whole", "budget", "reached", "on average", "unreachable", "useless"]


@dataclass(frozen=True)
class Aim:
    """What a recommendation is to reach.

    Raises:
        ConfigError: both.
    """

    by: By = "objects"  # whose hits count: of requests for objects, or of their bytes
    budget: Size | None = None  # the most cache that may be bought; None for any
    hit: float | None = None  # the hit ratio to reach, above 0 and at most 1

    def __post_init__(self) -> None:
        if self.budget is not None and self.hit is not None:
            raise ConfigError("--size and --target-hit: give one aim; the table shows what each size brings of both")


@dataclass(frozen=True)
class SizeRow:
    """A size, with the policy that the first half chose for it, or LRU where that gains too little on the second."""

    ran: ObjectRun
    counted: Mean  # hit ratio of the kind that counts, on the second half
    chosen: str  # by the first half
    lead: Lead  # of the chosen one over LRU, on the second half
    lru: float  # hit ratio of LRU, of the kind that counts
    upper: float  # no cache of this size has more

    @property
    def hits(self) -> float:
        """The hit ratio that counts."""
        return self.counted.value

    @property
    def sure(self) -> float:
        """A hit ratio that is reached with confidence."""
        return self.counted.interval[0] if self.counted.interval else float("-inf")

    @property
    def capacity(self) -> int:
        """Bytes, or objects where sizes are ignored."""
        return self.ran.capacity

    @property
    def verdict(self) -> Verdict:
        """On the chosen policy against LRU."""
        return verdict(self.lead, LEAST_HITS)


@dataclass(frozen=True)
class ObjectRecommendation:
    """What was found out, and what is recommended."""

    bench: ObjectBench
    aim: Aim
    rows: tuple[SizeRow, ...]  # by rising size; the last holds all objects
    place: int  # of the recommended one
    why: Why

    @property
    def row(self) -> SizeRow:
        """What is recommended."""
        return self.rows[self.place]

    @property
    def whole(self) -> bool:
        """Whether it holds all objects, so that nothing is evicted; where objects grow, it may not."""
        ran = self.row.ran.found
        return self.row.capacity >= self.bench.whole and not ran.evictions and not ran.too_large

    @property
    def useful(self) -> bool:
        """Whether a cache is recommended at all."""
        return self.why != "useless"

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "by": self.aim.by,
            "why": self.why,
            "recommended": self.place if self.useful else None,
            "sizes": [
                {
                    **row.ran.values(), "hits_that_count": row.hits, "interval": row.counted.interval,
                    "chosen_on_first_half": row.chosen, "lead_over_lru": row.lead.values(),
                    "verdict": row.verdict, "lru": row.lru, "upper_bound": row.upper,
                }
                for row in self.rows
            ],
        }  # fmt: skip


class _Judge:
    """Hit ratios of runs by halves, of requests or of bytes."""

    def __init__(self, bench: ObjectBench, by: By) -> None:
        self.bench = bench
        asked = bench.asked
        self.worth = np.where(asked, bench.requests.size if by == "bytes" else 1, 0).astype(np.float64)
        self.half = bench.first(1)
        # Of time; none where nothing is asked for, so that no ratio is of 0.
        self.blocks = blocks_in(len(self.worth) - self.half) if self.worth[self.half :].any() else 0

    def first(self, run: ObjectRun) -> float:
        """Of the first half, which chooses."""
        return self._share(run, slice(0, self.half))

    def second(self, run: ObjectRun) -> float:
        """Of the second, which is reported."""
        return self._share(run, slice(self.half, None))

    def _share(self, run: ObjectRun, part: slice) -> float:
        return float((self.worth[part] * run.hit[part]).sum() / max(self.worth[part].sum(), 1.0))

    def counted(self, run: ObjectRun) -> Mean:
        """Of the second half, with its interval."""
        worth, hits, blocks = self.worth[self.half :], run.hit[self.half :], self.blocks
        if not blocks:
            return Mean(self.second(run), None, 0.0)
        return ratio_of(block_sums(worth * hits, blocks), block_sums(worth, blocks), self.second(run))

    def lead(self, ours: ObjectRun, theirs: ObjectRun) -> Lead:
        """How far one is ahead of another on the second half."""
        worth, blocks = self.worth[self.half :], self.blocks
        value = self.second(ours) - self.second(theirs)
        if not blocks:
            return ahead(np.zeros(0), np.zeros(0), value)
        hits = [block_sums(worth * run.hit[self.half :], blocks) for run in (ours, theirs)]
        asked = block_sums(worth, blocks)
        found = ratio_of(hits[0] - hits[1], asked, value)
        by_block = np.divide(hits[0] - hits[1], asked, out=np.zeros(blocks), where=asked > 0)
        return Lead(found.value, found.variance, found.freedom, by_block)


def recommend(
    trace: ObjectTrace, rules: Rules, aim: Aim, policies: Sequence[str] | None = None, advance: Advance | None = None
) -> ObjectRecommendation:
    """Measure a trace of objects, and recommend a policy and a size.

    Args:
        trace: the requests.
        rules: what of it a cache heeds.
        aim: what is to be reached; without an aim the size is the knee of the curve.
        policies: to choose from; None takes every classic.
        advance: progress, as a part of the work.

    Raises:
        ConfigError: an unknown policy, or a size that cannot be.
    """
    if aim.by == "bytes" and not rules.sizes:
        raise ConfigError("--hits bytes and --ignore sizes: without sizes there are no bytes; leave one out")
    bench = ObjectBench(trace, rules, SECOND_HALF)
    judge, names = _Judge(bench, aim.by), list(dict.fromkeys([SIMPLEST, *(policies or classics())]))
    lru = dict[int, ObjectRun]()

    def of_lru(capacity: int) -> float:
        if capacity not in lru:
            lru[capacity] = bench.run(SIMPLEST, capacity)
        return judge.second(lru[capacity])

    budget = None if aim.budget is None else min(bench.size(aim.budget), bench.whole)
    rows = list[SizeRow]()
    sizes = ladder(bench.whole, of_lru, budget)
    for k, size in enumerate(sizes):
        of_lru(size)
        runs = {SIMPLEST: lru[size]}
        for j, name in enumerate(names[1:]):
            if advance is not None:
                advance((k + j / len(names)) / len(sizes), name)
            runs[name] = bench.run(name, size)
        choice = choose({name: [judge.first(run)] for name, run in runs.items()}, Goal.GAIN)
        assert choice is not None
        lead = judge.lead(runs[choice.chosen], lru[size])
        kept = choice.chosen if choice.chosen == SIMPLEST or (lead.blocks and lead.value >= LEAST_HITS) else SIMPLEST
        kind = "byte_hit_ratio" if aim.by == "bytes" else "hit_ratio"
        upper = bounds_row(bench, size)[f"{kind}_{UPPER}"]
        rows.append(SizeRow(runs[kept], judge.counted(runs[kept]), choice.chosen, lead, of_lru(size), upper))
    return ObjectRecommendation(bench, aim, tuple(rows), *_pick(rows, budget, aim.hit))


def _pick(rows: Sequence[SizeRow], budget: int | None, hit: float | None) -> tuple[int, Why]:
    """The place of the recommended size, and why it is that one."""
    hits = [row.hits for row in rows]
    if max(hits) < USELESS:
        return len(rows) - 1, "useless"
    if hit is not None:
        sure = next((k for k, row in enumerate(rows) if row.sure >= hit), None)
        if sure is not None:
            return sure, "reached"
        mean = next((k for k, own in enumerate(hits) if own >= hit), None)
        return (int(np.argmax(hits)), "unreachable") if mean is None else (mean, "on average")
    if budget is not None:
        within = [row for row in rows if row.capacity <= budget]
        most = max(row.hits for row in within)
        return next(k for k, row in enumerate(within) if row.hits >= most - NO_MORE), "budget"
    place = knee([row.capacity for row in rows], hits)
    return place, "whole" if place == len(rows) - 1 else "knee"
