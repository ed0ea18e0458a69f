"""What HCA's paper says of its tables and figures, held against ours.

Where the paper says that something rises or falls along a side of its tables, its own number is the share of steps in
its own tables that do.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import fmean, median, pstdev

from cachezoo.figures.finding import Finding, held
from cachezoo.figures.hca import CurvePoint, HcaFigure, LongRun, SizedRun
from cachezoo.figures.hca_paper import (
    DISK_IOPS,
    MAIN,
    MAIN_SET_GB,
    OLTP,
    RAM_GB,
    RANDOM,
    SWAPPED,
    WORKLOADS,
    Cell,
    cells,
    implied_ram_gb,
)
from cachezoo.figures.hca_traces import SAMPLE
from cachezoo.show.formats import number

FINANCIAL, WEB = "database", "web"  # the categories that stand for the paper's two traces
PAPER_XCIOPS = {FINANCIAL: 3000.0, WEB: 14000.0}
CURVES = ("Fig. 2", "Figs. 2")  # how the claims of Figs. 23 to 28 begin
BUFFER = 65536  # of Figs. 23 and 24
SLIGHT = 0.01  # "slightly": points of the hit ratio, up to
ALMOST_NONE = 0.05  # "almost no impact"
SMALL_RAM = 0.5  # of the SSD, up to which RAM is "relatively small"
FILLED_BY_45, FILL_HOURS = {RANDOM: 1.0, OLTP: 0.8}, 4.5
TABLES = {
    RANDOM: {"main": "I", "disk": "III", "ssd": "IV", "iops": "V"},
    OLTP: {"main": "II", "disk": "VI", "ssd": "VII", "iops": "VIII"},
}
RAM, SSD, SET = 0, 1, 2  # sides of Tables III to VIII, by their place in a cell's key
Key = tuple[int, int, int]


def figure_of(
    long_runs: Sequence[LongRun], sized_runs: Sequence[SizedRun], points: Sequence[CurvePoint], disk_iops: float
) -> HcaFigure:
    """The figure, its note and its claims."""
    found = HcaFigure(
        id="hca", source="HCA", title="What an SSD behind RAM brings", note="", findings=[], sample=SAMPLE,
        disk_iops=disk_iops, long_runs=list(long_runs), sized_runs=list(sized_runs), points=list(points),
    )  # fmt: skip
    return found.model_copy(update={"note": _note(found), "findings": claims(found)})


def _note(found: HcaFigure) -> str:
    said, lower = [], []
    for name in WORKLOADS:
        ours, hca = found.sized(name, "l2arc"), found.sized(name, "hca")
        off = {key: abs(one.disk - one.paper_disk) for key, one in ours.items()}
        small = [value for (ram_gb, _, _), value in off.items() if ram_gb == RAM_GB[0]]
        said.append(f"{_points(median(off.values()))} on {name} ({_points(median(small))} with {RAM_GB[0]} GB of RAM)")
        lower += [hca[key].disk - one.disk for key, one in ours.items()]
    implied = (f"{low:.1f} to {high:.1f}" for low, high in map(implied_ram_gb, RAM_GB))
    return (
        f"Six hours of each workload from empty caches, one record in {found.sample}; the disk does "
        f"{number(found.disk_iops)} random reads/s. The disk's share behind L2ARC is here and in the paper, in the "
        f"median, {' and '.join(said)} apart. Uniform reads tell how much RAM there is: by the paper's own ratios ARC "
        f"had {', '.join(implied)} GB where its tables say {', '.join(map(str, RAM_GB))}. "
        f"HCA in L2ARC's place changes the disk's share by {number(100 * median(lower), 1)} points in the median."
    )


def _points(share: float) -> str:
    return f"{number(100 * share, 1)} points"


def claims(found: HcaFigure) -> list[Finding]:
    """All of them, in the paper's order."""
    return [*_main(found), *_sides(found), *_products(found), *_shares(found), *_curves(found.points)]


def _main(found: HcaFigure) -> list[Finding]:
    """Tables I and II."""
    rows: list[Finding] = []
    for workload in WORKLOADS:
        base, hybrid = MAIN[workload]
        own, with_ssd = found.long_run(workload, "ram"), found.long_run(workload, "l2arc")
        times, points = hybrid.iops / base.iops, base.disk - hybrid.disk
        table = f"Table {TABLES[workload]['main']}, {workload}"
        rows += [
            held(f"{table}: {times:.2f} times the IOPS with an SSD as L2ARC", "mean over six hours",
                 with_ssd.iops / own.iops, times, "times"),
            held(f"{table}: {100 * points:.0f} points fewer reads from the disk", "without an SSD less with it",
                 own.disk - with_ssd.disk, points, "points"),
            held(f"{table}: RAM's hits are almost the same with and without", "the distance of the two",
                 abs(own.ram - with_ssd.ram), abs(base.ram - hybrid.ram), "points", at_most=True),
            held(f"{table}: an I/O is shorter (true reduction; the paper prints hybrid / (base + hybrid))",
                 "mean time of a read, reduced by",
                 1 - with_ssd.latency_ms / own.latency_ms, 1 - hybrid.latency_ms / base.latency_ms),
            held(f"{table}: an I/O costs less (true reduction; both runs at the price with the SSD, as there)",
                 "dollars over IOPS, mean of 60-s snapshots, reduced by",
                 1 - with_ssd.cost / own.cost, 1 - hybrid.cost / base.cost),
            _filled(workload, with_ssd),
        ]  # fmt: skip
    with_buffer, without = found.long_run(RANDOM, "hca"), found.long_run(RANDOM, "unbuffered")
    rows.append(
        held("Section IV: the transient buffer improves IOPS", "random read, HCA with 64 KiB over HCA without",
             with_buffer.iops / without.iops, 1.0, "times")
    )  # fmt: skip
    last = found.long_run(OLTP, "l2arc").disk_by_hour[-1]
    claim = "Table II (Fig. 16), OLTP: the disk's share falls below 10 % at the end"
    return [*rows, held(claim, "the last of the six hours", last, 0.10, at_most=True)]


def _filled(workload: str, run: LongRun) -> Finding:
    share = FILLED_BY_45[workload]
    what = "all" if share == 1 else f"{100 * share:.0f} %"
    claim = f"Section VI, {workload}: {what} of the {MAIN_SET_GB} GB is on the SSD after {FILL_HOURS:g} hours"
    # For all, 99 %: of uniform reads a few pages are not asked for in any number of hours.
    return held(claim, "pages of the working set on the SSD by then", run.filled, 0.99 if share == 1 else share)


def _steps(keys: Iterable[Key], side: int) -> list[tuple[Key, Key]]:
    """Neighbours along a side of the tables, the smaller first."""
    ordered = sorted(keys, key=lambda key: (*key[:side], *key[side + 1 :], key[side]))
    pairs = pairwise(ordered)
    return [(low, high) for low, high in pairs if low[:side] + low[side + 1 :] == high[:side] + high[side + 1 :]]


def share_of_steps(values: dict[Key, float], side: int, *, rises: bool) -> float:
    """How many of the steps along a side go one way, as a share."""
    ups = [(values[high] > values[low]) == rises and values[high] != values[low] for low, high in _steps(values, side)]
    return sum(ups) / len(ups)


SIDES: tuple[tuple[str, str, int, bool], ...] = (
    ("disk", "the disk's share falls with the SSD's size", SSD, False),
    ("disk", "the disk's share rises with the working set", SET, True),
    ("ssd", "the SSD's share rises with its size", SSD, True),
    ("ssd", "the SSD's share falls with the working set", SET, False),
    ("iops", "IOPS rise with the SSD's size", SSD, True),
    ("iops", "IOPS fall with the working set", SET, False),
    ("iops", "IOPS rise with RAM, somewhat", RAM, True),
)


def _sides(found: HcaFigure) -> list[Finding]:
    """Tables III to VIII, along their sides."""
    rows = []
    for workload in WORKLOADS:
        paper = {one.key: one for one in cells(workload)}
        own = found.sized(workload, "l2arc")
        for name, claim, side, rises in SIDES:
            theirs = share_of_steps({key: getattr(one, name) for key, one in paper.items()}, side, rises=rises)
            ours = share_of_steps({key: getattr(one, name) for key, one in own.items()}, side, rises=rises)
            said = f"Table {TABLES[workload][name]}, {workload}: {claim}"
            rows.append(held(said, "share of the 18 steps, L2ARC", ours, theirs))
    return rows


def off_product(rows: Iterable[tuple[float, float]], disk_iops: float) -> float:
    """The largest distance of IOPS times the disk's share from what the disk does, as a share of that."""
    return max(abs(iops * disk / disk_iops - 1) for iops, disk in rows)


def _products(found: HcaFigure) -> list[Finding]:
    """Random read's IOPS are the disk's, over its share."""
    own = found.sized(RANDOM, "l2arc").values()
    paper: list[Cell] = [one for one in cells(RANDOM) if one.key not in SWAPPED]
    theirs = off_product(((one.iops, one.disk) for one in paper), DISK_IOPS)
    ours = off_product(((one.iops, one.disk) for one in own), found.disk_iops)
    claim = f"Table V: IOPS are {DISK_IOPS:.0f} over the disk's share"
    return [held(claim, f"the largest distance, ours from {found.disk_iops:.0f} over it", ours, theirs, at_most=True)]


def _shares(found: HcaFigure) -> list[Finding]:
    """OLTP: where most reads come from."""
    rows = []
    for sets, what in (((10, 15, 20), "all set-ups"), ((20,), "the set-ups of 20 GB")):

        def most(runs: Iterable[tuple[int, float, float, float]], sets: tuple[int, ...] = sets) -> float:
            own = [disk > max(ram, ssd) for set_gb, ram, ssd, disk in runs if set_gb in sets]
            return sum(own) / len(own)

        theirs = most((one.set_gb, one.ram, one.ssd, one.disk) for one in cells(OLTP))
        ours = most((one.set_gb, one.ram, one.ssd, one.disk) for one in found.sized(OLTP, "l2arc").values())
        rows.append(held(f"Tables VI, VII, OLTP: the disk serves more than RAM and more than the SSD, {what}",
                         "share of them, L2ARC", ours, theirs))  # fmt: skip
    return rows


def _of(points: Sequence[CurvePoint], category: str) -> list[CurvePoint]:
    return [one for one in points if one.category == category]


def _by_buffer(points: Sequence[CurvePoint]) -> dict[tuple[str, float], dict[int, CurvePoint]]:
    """By trace and ratio, then by the buffer's bytes."""
    found: dict[tuple[str, float], dict[int, CurvePoint]] = {}
    for one in sorted(points, key=lambda one: (one.at, one.buffer_bytes)):
        found.setdefault(one.at, {})[one.buffer_bytes] = one
    return found


def _stepwise(
    rows: Iterable[Sequence[CurvePoint]], value: Callable[[CurvePoint], float], *, rises: bool
) -> float | None:
    """Share of the steps from a point to its neighbour that go one way; equal ones do not count as going."""
    own = [(value(high) - value(low)) * (1 if rises else -1) > 0
           for row in rows for low, high in pairwise(row)]  # fmt: skip
    return sum(own) / len(own) if own else None


def _by_ratio(points: Sequence[CurvePoint]) -> list[list[CurvePoint]]:
    """For each trace and buffer, the points by rising RAM."""
    found: dict[tuple[str, int], list[CurvePoint]] = {}
    for one in sorted(points, key=lambda one: one.ratio):
        found.setdefault((one.trace, one.buffer_bytes), []).append(one)
    return list(found.values())


def _least(points: Sequence[CurvePoint], value: Callable[[CurvePoint], float]) -> float | None:
    return min((value(one) for one in points), default=None)


def _times(one: float, other: float) -> float | None:
    """How many times the other; None where that is nothing."""
    return one / other if other else None


def _curves(points: Sequence[CurvePoint]) -> list[Finding]:
    """Figs. 23 to 28."""
    fixed = [one for one in points if one.buffer_bytes == BUFFER]
    buffers = list(_by_buffer(points).values())
    risen = fmean([one.ram > one.base_ram for one in fixed])
    most = max((one.ram - one.base_ram for one in fixed), default=None)
    financial, web = (fmean([one.ssd for one in _of(fixed, name)]) for name in (FINANCIAL, WEB))
    return [
        held("Figs. 23, 24: the disk's share is below the baseline's at every ratio of sizes",
             "the least that is gained", _least(fixed, lambda one: one.base_disk - one.disk), 0.0, "points"),
        held("Figs. 23, 24: RAM's share rises, because the buffer's hits count as RAM's",
             "share of the sizes at which it does, 64 KiB of buffer", risen, 1.0),
        held("Figs. 23, 24: and it rises slightly (here: by a point at most)", "the largest rise",
             most, SLIGHT, "points", at_most=True),
        held("Fig. 23: RAM's share rises with RAM", "share of the steps",
             _stepwise(_by_ratio(fixed), lambda one: one.ram, rises=True), 1.0),
        held("Figs. 23, 24: the SSD's share rises over time, as it fills",
             "last tenth of a trace less its first, the least",
             _least(fixed, lambda one: one.ssd_late - one.ssd_early), 0.0, "points"),
        held("Figs. 23, 24: the SSD serves more of the web trace than of the financial one",
             "mean share, web's over database's", _times(web, financial), 1.0, "times"),
        *_response(points),
        held("Figs. 27, 28: XCIOPS fall as the buffer grows", "share of the steps",
             _stepwise([list(row.values()) for row in buffers], lambda one: one.xciops, rises=False), 1.0),
        held("Figs. 27, 28: XCIOPS fall as RAM grows", "share of the steps",
             _stepwise(_by_ratio(points), lambda one: one.xciops, rises=False), 1.0),
        held("Figs. 27, 28: XCIOPS of the web trace are 4.7 times those of the financial one (14,000 and 3,000)",
             "the highest of each, web's over database's",
             _times(*(max(one.xciops for one in _of(points, name)) for name in (WEB, FINANCIAL))),
             round(PAPER_XCIOPS[WEB] / PAPER_XCIOPS[FINANCIAL], 2), "times"),
    ]  # fmt: skip


def _response(points: Sequence[CurvePoint]) -> list[Finding]:
    """Figs. 25 and 26: HCRTA as printed."""
    change = {
        name: [row[BUFFER].hcrta_us / row[0].hcrta_us - 1 for row in _by_buffer(_of(points, name)).values()]
        for name in (FINANCIAL, WEB)
    }
    spread = {}
    for name in (FINANCIAL, WEB):
        small = [one for one in _of(points, name) if one.buffer_bytes == BUFFER and one.ratio <= SMALL_RAM]
        traces = [
            [one.hcrta_us for one in small if one.trace == trace] for trace in sorted({one.trace for one in small})
        ]
        spread[name] = fmean([pstdev(own) / fmean(own) for own in traces])
    return [
        held("Fig. 25: the buffer shortens HCRTA of the financial trace", "64 KiB against none, the largest change",
             max(change[FINANCIAL]), 0.0, at_most=True),
        held("Fig. 26: it has almost no impact on the web trace (here: 5 %)", "the largest change either way",
             max(abs(one) for one in change[WEB]), ALMOST_NONE, at_most=True),
        held("Figs. 25, 26: HCRTA of the financial trace fluctuates where RAM is small, the web trace's is stable",
             "standard deviation over mean along ratios up to 1:2, database's less web's",
             spread[FINANCIAL] - spread[WEB], 0.0),
    ]  # fmt: skip
