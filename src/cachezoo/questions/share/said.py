"""A contest of partitioners in words and cells."""

from typing import Any

from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.questions.share.contest import Contest
from cachezoo.questions.share.judged import Judged, Served, lead
from cachezoo.questions.share.uneven import uneven
from cachezoo.show.formats import NONE, number, ordinary, percent, span
from cachezoo.sizes import PAGE_BYTES, human

COLUMNS = ["partitioner", "transfers", "hit ratio", "90 %", "knows ahead", "misses", "runs", "new splits", "fairness",
           "speed-up"]  # fmt: skip
SHARED = "shared"
NOTED = 0.005  # of a hit ratio, or a part of transfers: less is not worth a sentence


def cells(row: Judged) -> dict[str, str]:
    """A partitioner's row."""
    return {
        "partitioner": str(row.asked),
        "transfers": number(row.transfers, 4),
        "hit ratio": number(row.hit_ratio, 4),
        "90 %": span(row.hits.interval, 3, 1) or NONE,
        "misses": number(row.misses, 4),
        "runs": number(row.moved if row.fragmentation is None else row.fragmentation, 4),
        "new splits": "in runs" if row.allocation is None else number(row.allocation, 4),
        "fairness": number(row.fairness, 3),
        "speed-up": number(row.speedup, 2),
        "knows ahead": row.asked.knows or NONE,
    }


def each(found: Contest) -> list[dict[str, str]]:
    """A row for each application: its hit ratio and slowdown under each partitioner."""
    return [
        {"application": name} | {str(row.asked): _both(row.applications[a]) for row in found.rows}
        for a, name in enumerate(found.mix.names)
    ]


def read(found: Contest) -> list[dict[str, str]]:
    """A row for each application: the pages read for it, a reference of its own, under each partitioner."""
    return [
        {"application": name} | {str(row.asked): number(row.applications[a].transfers, 3) for row in found.rows}
        for a, name in enumerate(found.mix.names)
    ]


def _both(one: Served) -> str:
    if one.hit_ratio is None or one.slowdown is None:
        return NONE
    return f"{number(one.hit_ratio, 3)} x{number(one.slowdown, 2)}"


def _compared(best: Judged, other: Judged, name: str) -> str:
    own = lead(best, other)
    if own.interval is None:
        return f"{percent(abs(own.value))} fewer than {name}; the mix is too short to say how sure that is"
    sure = f"90 %: {span(own.interval, 1)}"
    judged = verdict(own, LEAST_SAVING)
    if judged == Verdict.BETTER:
        return f"{percent(abs(own.value))} fewer than {name} ({sure})"
    why = "too little to matter" if judged == Verdict.TRIFLE else "too near to tell them apart"
    return f"{percent(own.value)} fewer than {name}, {why} ({sure})"


def answer(found: Contest) -> str:
    """Share the cache or split it, and by what, in a sentence or two: by the pages read from the disk."""
    caches = sorted((row for row in found.rows if row.is_cache), key=lambda row: row.transfers)
    if not caches:
        return "No partitioner here can do without the future; ask for one that can, such as equal, shared or gvpa."
    best = caches[0]
    whole = [row for row in caches if row.asked.partitioner.id == SHARED]
    parts = [row for row in caches if row.asked.partitioner.id != SHARED]
    rival = (parts if best in whole else whole)[:1] or caches[1:2]
    said = f"{_verb(best, rival, bool(whole and parts))} {best.asked} reads {best.transfers:.4f} pages a reference"
    if rival:
        said += f", {_compared(best, rival[0], str(rival[0].asked))}"
    return f"{said}.{_higher(best, caches)}{_bound(best, found)}"


def _verb(best: Judged, rival: list[Judged], both: bool) -> str:
    if not both:
        return "Of these"
    own = lead(best, rival[0])
    if verdict(own, LEAST_SAVING) in (Verdict.EVEN, Verdict.TRIFLE):
        return "Either will do:"
    return "Share it:" if best.asked.partitioner.id == SHARED else "Split it:"


def _higher(best: Judged, caches: list[Judged]) -> str:
    """Who hits more often, at what price."""
    top = max(caches, key=lambda row: row.hit_ratio)
    if top is best or top.hit_ratio - best.hit_ratio < NOTED:
        return ""
    more = top.transfers / best.transfers if best.transfers else float("inf")
    hits = f"{top.hit_ratio:.3f}, not {best.hit_ratio:.3f}"
    return f" {top.asked} hits more often ({hits}) and reads {more:.2f} times as much."


def _bound(best: Judged, found: Contest) -> str:
    """How far the best fixed split is ahead, where it is."""
    known = [row for row in found.rows if row.asked.partitioner.id == "static-best"]
    if not known or not best.transfers:
        return ""
    less = 1 - known[0].transfers / best.transfers
    if less < NOTED:
        return f" No fixed split ({known[0].asked}) reads fewer." if less <= 0 else ""
    return f" The best fixed split, known only afterwards, reads {percent(less)} fewer."


def caption(found: Contest, device: str) -> str:
    """What the tables' figures are of."""
    counted, total = int(found.counting.counted.sum()), len(found.mix)
    order = (
        "in lockstep, one reference of each in turn"
        if found.mix.order == "lockstep"
        else "in the order of their times, each trace from its own 0 on"
    )
    untold = any(not row.shared.tells for row in found.rows)
    return "; ".join([
        f"{found.mix.count} applications {order}",
        f"{counted:,} of {total:,} references count",
        "transfers: pages read a reference, for misses, for runs away from the head, and for new splits",
        *(["in runs: both together, not told apart"] if untold else []),
        "slowdown: mean page time over that with all of the cache to itself under LRU",
        "fairness: harmonic mean of the inverses; speed-up: their sum",
        f"page times: {device}, nothing waits, and what is read beside misses is not counted in",
    ])  # fmt: skip


def title(found: Contest) -> str:
    """What the tables are of."""
    have, touched = (human(pages * PAGE_BYTES) for pages in (found.pages, found.mix.n_pages))
    return f"{found.mix.count} applications and one cache of {have}, of {touched} that they touch"


def values(found: Contest) -> dict[str, Any]:
    """For JSON."""
    return {
        "order": found.mix.order,
        "remarks": [*found.mix.remarks, *uneven(found.mix, found.counting)],
        "cache_pages": found.pages,
        "distinct_pages": found.mix.n_pages,
        "references": len(found.mix),
        "counted": int(found.counting.counted.sum()),
        "counted_from": found.counting.start.tolist(),
        "applications": list(found.mix.names),
        "cache_us": found.times.cache_us,
        "disk_us": found.times.disk_us.tolist(),
        "rows": [row.values() for row in found.rows],
        "left_out": list(found.left_out),
        "answer": ordinary(answer(found)),
    }
