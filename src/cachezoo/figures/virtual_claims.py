"""What the paper on the virtual I/O cache says of its figures, held against ours; all rules were set before any result.

The paper's own words are rules here as follows: *no improvement* is less than a point at each of 16, 32 and 64 MB;
*about half* 40 to 60 %; *several* from a quarter on; *nearly* the most from 90 % of it on; *near zero* 5 % at most;
*not significant* 5 points at most. Where it says that something rises or falls, ours is the share of steps that do.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np

from cachezoo.figures.finding import Finding, held
from cachezoo.figures.virtual import (
    KINDS,
    Busy,
    Heat,
    Kind,
    Loop,
    Mixed,
    Part,
    Point,
    Profile,
    Queue,
    Swept,
    VirtualFigure,
)
from cachezoo.figures.virtual_paper import (
    AVERAGED_MB,
    COMPARED_MB,
    GAINS,
    ISO_HITS,
    ISO_MB,
    ISO_SAVED,
    LOOPING,
    QUEUE_MB,
    RUNS,
    SATISFIED,
    SAVINGS,
    SHARED,
    STREAMING,
)
from cachezoo.show.formats import number, percent

NO_GAIN, NEAR_ZERO, SLIGHT, NEARLY = 0.01, 0.05, 0.05, 0.9
ABOUT_HALF, SEVERAL, MOST = (0.4, 0.6), 0.25, 0.5
TARGETS = (0.60, 0.65, 0.70, 0.75, 0.80)  # of Fig. 3's second row
SMALL_MB, LARGE_MB = 32, 256  # "most significant at small physical cache sizes": up to, and from
MANY_RUNS = 8
QUEUES: tuple[Queue, ...] = ("lru", "lfu", "arc")
MADE_SO = "; made so"  # ends what a claim is held against where our applications are made after that claim
LU, LU_MB = "lu", (128, 192)
OF_CURVES, OF_HEATS, OF_GAINS, OF_PROFILES = ("Section 1", "Fig. 3"), ("Goal", "Fig. 2"), ("Fig. 4",), ("Fig. 5",)
OF_SHARED, OF_SWEEPS = ("Fig. 6", "Fig. 7"), ("Fig. 8", "Fig. 9")
"""How the claims of each plot begin."""


def figure_of(
    loop: Loop, heats: Sequence[Heat], points: Sequence[Point], parts: Sequence[Part], profiles: Sequence[Profile],
    mixed: Sequence[Mixed], swept: Sequence[Swept], disk: Sequence[Busy],
) -> VirtualFigure:  # fmt: skip
    """The figure, its note and its claims."""
    found = VirtualFigure(
        id="virtual", source="Virtual I/O cache", title="Which positions of a queue are worth a cache", note="",
        findings=[], loop=loop, heats=list(heats), points=list(points), parts=list(parts), profiles=list(profiles),
        mixed=list(mixed), swept=list(swept), disk=list(disk),
    )  # fmt: skip
    return found.model_copy(update={"note": _note(found), "findings": claims(found)})


def _note(found: VirtualFigure) -> str:
    said = []
    for kind, name in KINDS.items():
        rows = _averaged(found.curve(kind, "lru"))
        plain, hits = (fmean(values) for values in ([one.plain for one in rows], [one.hits for one in rows]))
        moved = fmean(one.moved for one in rows)
        said.append(
            f"Over {len(found.applications(kind))} applications ({name}) VRM's mean hit ratio is {percent(hits)} where "
            f"LRU's is {percent(plain)} (32 to 256 MB), and {number(1 - hits + moved, 3)} pages a reference are read "
            f"where LRU reads {number(1 - plain, 3)}: {number(1 - hits, 3)} misses, {number(moved, 3)} before they are "
            "asked for."
        )
    one = found.loop
    return (
        f"A hit in a run that is not at the head is a prefetch: the page was read when it entered the run. A loop of "
        f"{one.pages} pages over {one.capacity} goes from {percent(one.plain)} hits to {percent(one.hits)}, and from "
        f"{number(1 - one.plain, 5)} transfers a reference to {number(one.transfers, 5)}. {' '.join(said)}"
    )


def size_for(points: Sequence[tuple[int, float]], target: float) -> float | None:
    """The least size with so high a hit ratio, between two sizes in proportion to the logarithm; None if none has it.

    Args:
        points: MB and hit ratio, rising in MB.
        target: the hit ratio.
    """
    before: tuple[int, float] | None = None
    for size, ratio in points:
        if ratio >= target:
            if before is None:
                return float(size)
            part = (target - before[1]) / (ratio - before[1])
            return float(before[0] * (size / before[0]) ** part)
        before = size, ratio
    return None


def saved(rows: Sequence[Point] | Sequence[Mixed], target: float) -> float | None:
    """Of the plain cache's size at a hit ratio, the share that is not needed; None where either never has it."""
    plain = size_for([(one.megabytes, one.plain) for one in rows], target)
    own = size_for([(one.megabytes, one.hits) for one in rows], target)
    return None if plain is None or own is None else 1 - own / plain


def claims(found: VirtualFigure) -> list[Finding]:
    """All of them, in the paper's order."""
    kinds: tuple[Kind, ...] = tuple(KINDS)
    return [
        *_loop(found), *(row for kind in kinds for row in _disk_load(found, kind)), *_heat(found),
        *(row for kind in kinds for row in _curves(found, kind)),
        *(row for kind in kinds for row in _applications(found, kind)), *_named(found), *_profiles(found),
        *_shared(found), *(row for kind in kinds for row in _sweeps(found, kind)), *_disk(found),
    ]  # fmt: skip


def _loop(found: VirtualFigure) -> list[Finding]:
    one = found.loop
    what = f"Goal: a loop of {one.pages} pages over {one.capacity}"
    return [
        held(f"{what}: hit ratio 0 under LRU, 0.95 under VRM", "hits under VRM", one.hits, 0.95),
        held(
            f"{what}: no transfer is saved by that",
            f"pages read a reference, under VRM: {number(one.transfers, 5)}",
            one.transfers,
            1.0,
            "pages",
        ),
    ]


def _disk_load(found: VirtualFigure, kind: Kind) -> list[Finding]:
    rows = []
    for queue in QUEUES:
        more = fmean(one.more for one in _averaged(found.curve(kind, queue)))
        claim = f"Section 1, {KINDS[kind]}: the cache is there to alleviate disk I/O bottlenecks ({queue.upper()})"
        rows.append(held(claim, "transfers a reference that VRM adds, 32 to 256 MB", more, 0.0, "pages", at_most=True))
    return rows


def _heat(found: VirtualFigure) -> list[Finding]:
    (heat,) = [one for one in found.heats if one.application == LU]
    rows = np.array(heat.rows, np.float64)
    low, high = (size // heat.mb_a_row for size in LU_MB)
    beyond = rows[1:].sum()
    share = float(rows[low:high].sum() / beyond) if beyond else None
    claim = f"Fig. 2: high utilisation between {LU_MB[0]} and {LU_MB[1]} MB (high: above half)"
    measured = f"decayed references to these positions, of those beyond the first {heat.mb_a_row} MB{MADE_SO}"
    return [held(claim, measured, share, MOST)]


def _averaged(rows: Iterable[Point]) -> list[Point]:
    return [one for one in rows if one.megabytes in AVERAGED_MB]


def _gain(found: VirtualFigure, kind: Kind, queue: Queue) -> float:
    return fmean(one.gain for one in _averaged(found.curve(kind, queue)))


def _curves(found: VirtualFigure, kind: Kind) -> list[Finding]:
    """Fig. 3."""
    head = f"Fig. 3, {KINDS[kind]}"
    rows = [
        held(f"{head}: {100 * GAINS[queue]:.2f} points gained over {queue.upper()}, 32 to 256 MB",
             "mean over sizes and applications", _gain(found, kind, queue), GAINS[queue], "points")
        for queue in QUEUES
    ]  # fmt: skip
    parts = fmean(one.hits - one.plain for one in found.parts if one.kind == kind)
    claim = f"{head}: {100 * GAINS['lru']:.2f} points gained over LRU, by parts of each one's pages"
    rows.append(held(claim, "mean over 1/16, 1/8, 1/4, 1/2 and applications", parts, GAINS["lru"], "points"))
    lru = found.curve(kind, "lru")
    least = _gain(found, kind, "arc") - min(_gain(found, kind, "lru"), _gain(found, kind, "lfu"))
    small = fmean(one.gain for one in lru if one.megabytes <= SMALL_MB)
    large = fmean(one.gain for one in lru if one.megabytes >= LARGE_MB)
    sure = min(one.gain - one.gain_half for one in _averaged(lru))
    rows += [
        held(f"{head}: a clear advantage over LRU", "the lower end of the gain's 95 % interval, least of 32 to 256 MB",
             sure, 0.0, "points"),
        held(f"{head}: the gain is least with ARC", "ARC's less the lesser of the others'", least, 0.0, "points",
             at_most=True),
        held(f"{head}: the gain is most significant at small sizes",
             f"mean up to {SMALL_MB} MB less mean from {LARGE_MB} MB on, LRU", small - large, 0.0, "points"),
    ]  # fmt: skip
    for queue in QUEUES:
        claim = f"{head}: {100 * SAVINGS[queue]:.2f} % of the cache saved at hit ratios of 60 to 80 %, {queue.upper()}"
        rows.append(_saving(claim, found.curve(kind, queue), SAVINGS[queue]))
    (iso,) = [one for one in lru if one.megabytes == ISO_MB]
    claim = f"{head}: {100 * ISO_SAVED:.2f} % of LRU's cache saved at"
    apart = "" if saved(lru, ISO_HITS) is not None else f"LRU's most is {percent(max(one.plain for one in lru))}"
    return [
        *rows,
        held(f"{claim} a hit ratio of {100 * ISO_HITS:.0f} %", "LRU's size against VRM's", saved(lru, ISO_HITS),
             ISO_SAVED, apart=apart),
        held(f"{claim} the hit ratio of {ISO_MB} MB", f"at {percent(iso.plain)}, LRU's there",
             saved(lru, iso.plain), ISO_SAVED),
    ]  # fmt: skip


def _saving(claim: str, curve: Sequence[Point], bound: float) -> Finding:
    own = [part for part in (saved(curve, target) for target in TARGETS) if part is not None]
    most = max(one.plain for one in curve)
    apart = "" if own else f"the plain policy's most is {percent(most)}"
    measured = f"mean over those of {', '.join(f'{100 * one:.0f}' for one in TARGETS)} % that both reach"
    return held(claim, measured, fmean(own) if own else None, bound, apart=apart)


def _gaining(found: VirtualFigure, kind: Kind, megabytes: int) -> list[Profile]:
    own = [found.profile(name)[megabytes] for name in found.applications(kind)]
    return [one for one in own if one.gain >= NO_GAIN]


def _applications(found: VirtualFigure, kind: Kind) -> list[Finding]:
    """Fig. 4."""
    head = f"Fig. 4, {KINDS[kind]}"
    names = found.applications(kind)
    gaining = {one.application for size in COMPARED_MB for one in _gaining(found, kind, size)}
    none = 1 - len(gaining) / len(names)
    first = _gaining(found, kind, COMPARED_MB[0])
    most = [one for one in first if one.hits >= NEARLY * found.profile(one.application)[QUEUE_MB].plain]
    counts = [len(_gaining(found, kind, size)) for size in COMPARED_MB]
    fewer = fmean(low >= high for low, high in pairwise(counts))
    claim, what = f"{head}: about half of the applications see no improvement", f"share of {len(names)}"
    return [
        held(claim, f"{what}, from {100 * ABOUT_HALF[0]:.0f} % on", none, ABOUT_HALF[0]),
        held(claim, f"{what}, up to {100 * ABOUT_HALF[1]:.0f} %", none, ABOUT_HALF[1], at_most=True),
        held(f"{head}: several have nearly their most with 16 MB",
             f"share of the {len(first)} that gain at 16 MB with 90 % of LRU's hits at 1 GB (several: from 25 % on)",
             len(most) / len(first) if first else None, SEVERAL),
        held(f"{head}: fewer gain as the cache grows", f"share of the steps, {', '.join(map(str, counts))} gain",
             fewer, 1.0),
    ]  # fmt: skip


def _named(found: VirtualFigure) -> list[Finding]:
    """Section 5.1's list of those without a gain."""
    rows = []
    for names, why in ((STREAMING, "they stream"), (SATISFIED, "they do well under LRU")):
        most = max(found.profile(name)[size].gain for name in names for size in COMPARED_MB)
        claim = f"Fig. 4, made anew: {', '.join(names)} gain nothing, for {why}"
        rows.append(held(claim, f"the largest gain at 16, 32, 64 MB{MADE_SO}", most, NO_GAIN, "points", at_most=True))
    return rows


def _profiles(found: VirtualFigure) -> list[Finding]:
    """Fig. 5."""
    tile, netcdf = found.profile("mpitile"), found.profile("pnetcdf")
    lesser = max(_mean_gain(found.profile(name)) for name in ("lu", "tpcc"))
    return [
        held("Fig. 5: LRU has nearly no hit of MPI Tile below 256 MB", f"its hit ratio at 128 MB{MADE_SO}",
             tile[128].plain, NEAR_ZERO, at_most=True),
        held("Fig. 5: the virtual cache exploits MPI Tile's loop (here: from half of its hits at 1 GB on)",
             "hit ratio at 128 MB over LRU's at 1 GB", tile[128].hits / tile[QUEUE_MB].plain, MOST),
        held("Fig. 5: and so it reads less from the disk",
             f"transfers a reference that VRM adds, 128 MB: {number(tile[128].more, 5)}", tile[128].more, 0.0,
             "pages", at_most=True),
        held("Fig. 5: PnetCDF gains from 2 to 256 MB", "the least gain",
             min(one.gain for size, one in netcdf.items() if size <= LARGE_MB), NO_GAIN, "points"),
        held("Fig. 5: PnetCDF under LRU catches up after 512 MB", "the largest gain from there on",
             max(one.gain for size, one in netcdf.items() if size >= 512), NO_GAIN, "points", at_most=True),
        held("Fig. 5: LU and TPCC gain less than these", "mean gain, the lesser of the two less the larger of LU's "
             "and TPCC's", min(_mean_gain(tile), _mean_gain(netcdf)) - lesser, 0.0, "points"),
    ]  # fmt: skip


def _mean_gain(rows: dict[int, Profile]) -> float:
    return fmean(one.gain for size, one in rows.items() if size in AVERAGED_MB)


def _shared(found: VirtualFigure) -> list[Finding]:
    """Figs. 6 and 7."""
    rows = []
    for name, paper in SHARED.items():
        own = {one.megabytes: one for one in found.workload(name)}
        at, last = own[paper.at_mb], own[QUEUE_MB]
        size = f"{name} at {paper.at_mb} MB"
        rows += [
            held(f"Fig. 6: {size}: {100 * paper.gain:.2f} points gained", "G-VPA less one LRU over all", at.gain,
                 paper.gain, "points"),
            held(f"Fig. 6: {size}: for {paper.transfers:.2f} transfers more a request", "G-VPA's less the LRU's",
                 at.more, paper.transfers, "pages", at_most=True),
            held(f"Fig. 7: {name}: {percent(paper.saved)} saved at LRU's hit ratio with 1 GB, {percent(paper.plain)}",
                 f"at {percent(last.plain)}, LRU's here", saved(found.workload(name), last.plain), paper.saved),
        ]  # fmt: skip
    small = max(one.gain for one in found.mixed if one.workload in ("W4", "W8") and one.megabytes < 64)
    large = max(one.gain for one in found.mixed if one.workload in SHARED)
    moving = [one for one in found.mixed if one.moved]
    above = [one for name in {one.workload for one in found.mixed} for one in found.workload(name)[1:-1]]
    return [
        *rows,
        held("Fig. 6: the largest gains are W4's and W8's, below 64 MB", "theirs less the largest of W16 and W20",
             small - large, 0.0, "points"),
        held("Fig. 6: allocation is few of the transfers in all cases, most are fragmentation (most: above half)",
             "the largest share of allocation, all workloads and sizes",
             max(one.allocation / one.moved for one in moving), MOST, at_most=True),
        held("Fig. 6: above the least sizes there are more transfers than without",
             "share of workloads and sizes, the least and 1 GB left out", fmean(one.more > 0 for one in above), 1.0),
    ]  # fmt: skip


def _steps(found: VirtualFigure, kind: Kind, parameter: str, value: Callable[[Swept], float]) -> float:
    """Of the steps to a parameter's next value, at every size, the share that lower a figure."""
    sizes = sorted({one.megabytes for one in found.swept})
    pairs = [pair for size in sizes for pair in pairwise(found.sweep(kind, parameter, size))]  # type: ignore[arg-type]
    return fmean(value(high) < value(low) for low, high in pairs)


def _sweeps(found: VirtualFigure, kind: Kind) -> list[Finding]:
    """Fig. 8."""
    head = f"Fig. 8, {KINDS[kind]}"
    rows = []
    for parameter, what in (("q", "quanta are longer"), ("alpha", "history decays more slowly")):
        fewer = _steps(found, kind, parameter, lambda one: one.allocation)
        lower = _steps(found, kind, parameter, lambda one: one.hits)
        rows += [
            held(f"{head}: allocation falls as {what}", "share of the steps", fewer, 1.0),
            held(f"{head}: hits fall too as {what} (most: above half of the steps)", "share of them", lower, MOST),
        ]
    rise = 1 - _steps(found, kind, "f", lambda one: one.hits)
    sizes = sorted({one.megabytes for one in found.swept})
    runs = [{one.value: one for one in found.sweep(kind, "f", size)} for size in sizes]
    ratio = _over([own[MANY_RUNS].fragmentation for own in runs], [own[RUNS].fragmentation for own in runs])
    most = _over([own[RUNS].hits - own[RUNS].plain for own in runs],
                 [own[MANY_RUNS].hits - own[MANY_RUNS].plain for own in runs])  # fmt: skip
    return [
        *rows,
        held(f"{head}: more runs, more hits", "share of the steps that do not lower them, f", rise, 1.0),
        held(f"{head}: fragmentation grows quickly with f (here: twice from 2 runs to {MANY_RUNS})",
             f"{MANY_RUNS} runs' over 2 runs'", ratio, 2.0, "times"),
        held(f"{head}: two runs are a good balance (here: 90 % of the gain of {MANY_RUNS})",
             f"gain with 2 over gain with {MANY_RUNS}", most, NEARLY),
    ]  # fmt: skip


def _over(part: Sequence[float], whole: Sequence[float]) -> float | None:
    return fmean(part) / fmean(whole) if fmean(whole) > 0 else None


def _disk(found: VirtualFigure) -> list[Finding]:
    """Fig. 9."""
    rows = []
    for name in LOOPING:
        own = [one for one in found.disk if one.application == name]
        claim = f"Fig. 9: the disk of {name} is not significantly busier (here: by 5 points at most)"
        most = max(one.busy - one.plain for one in own)
        rows.append(held(claim, "busy under VRM less under LRU, the most of all speeds", most, SLIGHT, "points",
                         at_most=True))  # fmt: skip
    return rows
