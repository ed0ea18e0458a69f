"""A threshold and a queue rule for each of several sizes of the cache, for the network that is shipped.

A runtime does not know the working set that it will see, so a size is what the model's own input `capacity.ratio` says:
log2 of the capacity over the distinct pages of the recent window, in the median of the counted requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.kernels.manager_limits import ByCapacity
from cachezoo.zoo.caching.candidates import Candidate
from cachezoo.zoo.caching.case import Case
from cachezoo.zoo.caching.closed_loop import ClosedLoop, Ran, Row, Seen, Tried, rows_of
from cachezoo.zoo.caching.objective import worth_changing


@dataclass(frozen=True)
class Sized:
    """A shipped network by size: its entries, smallest first, and its runs at the judged size as it acts by them."""

    entries: list[Row]
    runs: list[Ran]


def by_capacity(loop: ClosedLoop, best: Tried, cases: Sequence[Case]) -> Sized:
    """Choose a threshold and a queue rule for each size, on the choosing blocks, with one rule of hits.

    What was chosen at the judged size holds at another, too, unless something gains there what is worth having: the
    thresholds that are best by chance differ from size to size, and a cache whose size sways between two entries would
    change its rules for nothing. A size that the recent window cannot tell from the next smaller one has no entry; one
    alone would say nothing.

    Args:
        loop: the shipped network with the chosen oracle's heads.
        best: what it reaches at the judged size.
        cases: the judged traces, at that size.
    """
    judged, entries, seen_at = loop.settings.manager.capacity, list[Row](), {}
    for share in sorted({*loop.settings.judge.capacities, judged}):
        sized = [case.at(share) for case in cases]
        seen = seen_at[share] = [loop.see(case) for case in sized]
        row = best.row if share == judged else _row_at(loop, best.chosen, sized, seen, share)
        ratio = np.concatenate([one.ratio[case.counted, 0] for one, case in zip(seen, sized, strict=True)])
        kept = {name: row[name] for name in row if name not in ("network", "teacher", "on_hit")}
        entries.append({"capacity": share, "ratio_log2": float(np.median(ratio)), **kept})
    rising = [one for k, one in enumerate(entries) if k == 0 or one["ratio_log2"] > entries[k - 1]["ratio_log2"]]
    if len(rising) < 2:
        return Sized([], best.runs)
    table = ByCapacity.of(rising)
    runs = [loop.run(case, one, [best.chosen], table)[0] for case, one in zip(cases, seen_at[judged], strict=True)]
    return Sized(rising, runs)


def _row_at(loop: ClosedLoop, judged: Candidate, cases: Sequence[Case], seen: Sequence[Seen], share: float) -> Row:
    """What is best at a size, or what was chosen at the judged one where that is as good."""
    options = loop.settings.judge
    kept = rows_of(cases, [judged], [loop.run(case, own, [judged]) for case, own in zip(cases, seen, strict=True)])[0]
    best = loop.tried(cases, seen, share, [judged.on_hit]).row
    return best if worth_changing(best, kept, options.objective, options.least_gain) else kept
