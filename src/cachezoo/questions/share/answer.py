"""A comparison of partitioners as the command shows it: cells, sentences, JSON."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cachezoo.contest.choice import Goal
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.questions.share.case import CACHE_US, Case, Comparison, Score, Served
from cachezoo.show.formats import NONE, number, ordinary, percent, share, span
from cachezoo.sizes import PAGE_BYTES, human

NOTED = 0.005  # of a hit ratio, or a part of transfers: less is not worth a sentence
EARLY = 0.5  # of the run: an application that ends before it leaves the cache to the others for most of the time
FEW = 0.25  # of an application's references
MOST_NAMED = 3


def cells(row: Score) -> dict[str, str]:
    """A partitioner's row, by the titles of its columns."""
    return {
        "partitioner": str(row.candidate),
        "transfers": number(row.transfers, 4),
        "hit ratio": number(row.hit_ratio, 4),
        "90 %": span(row.hits.interval, 3, 1) or NONE,
        "knows ahead": row.candidate.knows or NONE,
        "misses": number(row.misses, 4),
        "runs": number(row.moved if row.fragmentation is None else row.fragmentation, 4),
        "new splits": "in runs" if row.allocation is None else number(row.allocation, 4),
        "fairness": number(row.fairness, 3),
        "speed-up": number(row.speedup, 2),
    }


def by_application(found: Comparison, cell: Callable[[Served], str]) -> list[dict[str, str]]:
    """A row for each application: a cell of its figures under each partitioner."""
    return [
        {"application": name} | {str(row.candidate): cell(row.applications[a]) for row in found.rows}
        for a, name in enumerate(found.case.mix.names)
    ]


def hits_and_slowdown(one: Served) -> str:
    """An application's hit ratio, and x its slowdown."""
    if one.hit_ratio is None or one.slowdown is None:
        return NONE
    return f"{number(one.hit_ratio, 3)} x{number(one.slowdown, 2)}"


def reads(one: Served) -> str:
    """The pages read for an application, a reference of its own."""
    return number(one.transfers, 3)


def _compared(best: Score, other: Score, name: str) -> str:
    own = best.lead(other, Goal.COST)
    if own.interval is None:
        return f"{percent(abs(own.value))} fewer than {name}; the mix is too short to say how sure that is"
    sure = f"90 %: {span(own.interval, 1)}"
    found = verdict(own, LEAST_SAVING)
    if found == Verdict.BETTER:
        return f"{percent(abs(own.value))} fewer than {name} ({sure})"
    why = "too little to matter" if found == Verdict.TRIFLE else "too near to tell them apart"
    return f"{percent(own.value)} fewer than {name}, {why} ({sure})"


def answer(found: Comparison) -> str:
    """Share the cache or split it, and by what, in a sentence or two: by the pages read from the disk."""
    caches = sorted((row for row in found.rows if not row.candidate.knows), key=lambda row: row.transfers)
    if not caches:
        return "No partitioner here can do without the future; ask for one that can, such as equal, shared or gvpa."
    best = caches[0]
    whole = [row for row in caches if not row.candidate.splits]
    parts = [row for row in caches if row.candidate.splits]
    rival = (whole if best.candidate.splits else parts)[:1] or caches[1:2]
    sentence = (
        f"{_verb(best, rival, bool(whole and parts))} {best.candidate} reads {best.transfers:.4f} pages a reference"
    )
    if rival:
        sentence += f", {_compared(best, rival[0], str(rival[0].candidate))}"
    return f"{sentence}.{_higher(best, caches)}{_bound(best, found)}"


def _verb(best: Score, rival: list[Score], both: bool) -> str:
    if not both:
        return "Of these"
    own = best.lead(rival[0], Goal.COST)
    if verdict(own, LEAST_SAVING) in (Verdict.EVEN, Verdict.TRIFLE):
        return "Either will do:"
    return "Split it:" if best.candidate.splits else "Share it:"


def _higher(best: Score, caches: list[Score]) -> str:
    """Who hits more often, at what price."""
    top = max(caches, key=lambda row: row.hit_ratio)
    if top is best or top.hit_ratio - best.hit_ratio < NOTED:
        return ""
    more = top.transfers / best.transfers if best.transfers else float("inf")
    hits = f"{top.hit_ratio:.3f}, not {best.hit_ratio:.3f}"
    return f" {top.candidate} hits more often ({hits}) and reads {more:.2f} times as much."


def _bound(best: Score, found: Comparison) -> str:
    """How far the best fixed split is ahead, where it is."""
    known = [row for row in found.rows if row.candidate.partitioner.id == "static-best"]
    if not known or not best.transfers:
        return ""
    less = 1 - known[0].transfers / best.transfers
    if less < NOTED:
        return f" No fixed split ({known[0].candidate}) reads fewer." if less <= 0 else ""
    return f" The best fixed split, known only afterwards, reads {percent(less)} fewer."


def uneven(case: Case) -> list[str]:
    """What to know of applications of which little is there, a line each; of many the first to end, and how many more.

    One ends long before the others, or few of its references count: the answer holds little for it.
    """
    mix = case.mix
    counted = [int(np.count_nonzero(places >= start)) for places, start in zip(mix.at, case.start, strict=True)]
    ends = [(int(places[-1]) + 1) / len(mix) for places in mix.at]
    few = [own < FEW * len(one) for own, one in zip(counted, mix.applications, strict=True)]
    named = sorted((k for k in range(mix.count) if ends[k] < EARLY or few[k]), key=lambda k: ends[k])
    lines = []
    for k in named[:MOST_NAMED]:
        count = f"{counted[k]:,} of the {len(mix.applications[k]):,} references of {mix.names[k]} count"
        left = [name for name, end in zip(mix.names, ends, strict=True) if end > ends[k]]
        after = f"{left[0]} has the cache to itself" if len(left) == 1 else f"the {len(left)} that go on have the cache"
        early = f"{mix.names[k]} ends at {share(ends[k])} of the run; after that {after}; {count}"
        lines.append(early if ends[k] < EARLY else f"only {count}")
    if len(named) > MOST_NAMED:
        lines.append(f"{len(named) - MOST_NAMED} more applications end early too, or few of their references count")
    return lines


def caption(found: Comparison, device: str) -> str:
    """What the tables' figures are of."""
    counted, total = found.case.counted, found.case.total
    order = (
        "in lockstep, one reference of each in turn"
        if found.case.mix.order == "lockstep"
        else "in the order of their times, each trace from its own 0 on"
    )
    together = any(not row.shared.known for row in found.rows)
    return "; ".join([
        f"{found.case.mix.count} applications {order}",
        f"{counted:,} of {total:,} references count",
        "transfers: pages read a reference, for misses, for runs away from the head, and for new splits",
        *(["in runs: both together, not told apart"] if together else []),
        "slowdown: mean page time over that with all of the cache to itself under LRU",
        "fairness: harmonic mean of the inverses; speed-up: their sum",
        f"page times: {device}, nothing waits, and what is read besides misses is not counted in",
    ])  # fmt: skip


def title(found: Comparison) -> str:
    """What the tables are of."""
    have, touched = (human(pages * PAGE_BYTES) for pages in (found.case.pages, found.case.mix.n_pages))
    return f"{found.case.mix.count} applications and one cache of {have}, of {touched} that they touch"


def values(found: Comparison) -> dict[str, Any]:
    """For JSON."""
    return {
        "order": found.case.mix.order,
        "remarks": [*found.case.mix.remarks, *uneven(found.case)],
        "cache_pages": found.case.pages,
        "distinct_pages": found.case.mix.n_pages,
        "references": found.case.total,
        "counted": found.case.counted,
        "counted_from": found.case.start.tolist(),
        "applications": list(found.case.mix.names),
        "cache_us": CACHE_US,
        "disk_us": found.case.disk_us.tolist(),
        "rows": [row.values() for row in found.rows],
        "left_out": list(found.left_out),
        "answer": ordinary(answer(found)),
    }
