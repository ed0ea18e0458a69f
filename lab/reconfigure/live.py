"""lab/results/reconfigure_live.json, its plot and table: two programs in turn before a mounted cache, as in Fig. 17.

`benchmarks/fig17_live.py` measures it.
"""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from statistics import fmean
from typing import Annotated

import numpy as np

from cachezoo.contest.lead import Mean
from cachezoo.documents import Document, Interval
from cachezoo.io import atomic_file
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import read
from cachezoo.show.formats import NONE, number, percent, span, words
from cachezoo.show.palette import POLICIES
from cachezoo.show.style import BLACK, BLUE, DPI, GREEN, GREY, LIGHT, PINK, VERMILION, panels, settings
from cachezoo.show.table import Cell, Column, Table

FILE, PLOT = Path("lab/results/reconfigure_live.json"), Path("lab/results/reconfigure_live.png")
COMMAND = ".venv/bin/python -m benchmarks.fig17_live"
NO_CACHE, IN_TURN, NAMING = "no cache", "models in turn", "models in turn, no unknown"
TURNING = (IN_TURN, NAMING)
COLOURS = {IN_TURN: BLUE, NAMING: VERMILION}
ALONE = (GREEN, PINK, BLACK, GREY)  # a model of one program


class Load(Document):
    """A program that has its turns."""

    program: Annotated[str, Means("what runs")]
    recipe: Annotated[str, Means("the capture recipe that says how it is set up")]
    category: Annotated[str, Means("its category")]


class Turn(Document):
    """A program's turn before a cache."""

    program: Annotated[str, Means("the program whose turn it is")]
    seconds: Annotated[float, Means("how long it is", "s")]
    operations: Annotated[float, Means("what the program did: transactions, pages of a site", "per second")]
    response_ms: Annotated[float, Means("mean response time of these, as its clients measure it", "ms")]
    read_ms: Annotated[float, Means("mean time of a read of the mounted disk, as the kernel measures it", "ms")]
    accesses: Annotated[int, Means("page accesses that reach the cache; 0 without a cache")]
    hits: Annotated[int, Means("those that hit")]
    ssd_mib: Annotated[float, Means("written to the SSD", "MiB")]
    takeovers: Annotated[int, Means("times that another model began to decide")]
    right_after_s: Annotated[
        float | None,
        Means(
            "until the model of its category decides, within a quarter of a second; 0 if at once, null if never",
            "s",
        ),
    ]
    right_after_requests: Annotated[int | None, Means("likewise, requests that reach the cache")]
    periods: Annotated[
        list[float | None], Means("page hit ratio of each period; null of one without accesses", "ratio")
    ]


class Run(Document):
    """All turns before one cache, in one repeat."""

    repeat: Annotated[int, Means("place of the repeat, from 0")]
    cache: Annotated[str, Means("what decides")]
    turns: Annotated[list[Turn], Each("one turn", "place in the list")]

    @property
    def hit_ratio(self) -> float:
        """Of all accesses of all turns; 0 without a cache."""
        return sum(one.hits for one in self.turns) / max(1, sum(one.accesses for one in self.turns))

    @property
    def ssd_mib(self) -> float:
        """Written to the SSD in all turns."""
        return sum(one.ssd_mib for one in self.turns)


class Row(Document):
    """A cache, over the repeats."""

    cache: Annotated[str, Means("what decides")]
    hit_ratio: Annotated[float, Means("page hits per page access of all turns, the mean of the repeats", "ratio")]
    hit_ratio_interval: Annotated[Interval | None, Means("90 % interval over the repeats; null of one", "ratio")]
    turn_hit_ratios: Annotated[list[float], Means("of each turn, the mean", "ratio")]
    behind: Annotated[
        float | None,
        Means("by how much the models in turn are ahead, paired by repeat; null of them", "points of 0.01"),
    ]
    behind_interval: Annotated[Interval | None, Means("90 % interval over the repeats", "points of 0.01")]
    speed: Annotated[
        float,
        Means("operations per second over those without a cache, geometric mean of the turns and repeats", "ratio"),
    ]
    speed_interval: Annotated[Interval | None, Means("90 % interval over the repeats", "ratio")]
    slower: Annotated[float | None, Means("speed of the models in turn over its own, less 1; null of them", "share")]
    slower_interval: Annotated[Interval | None, Means("90 % interval over the repeats", "share")]
    operations: Annotated[list[float], Means("of each turn, the mean", "per second")]
    response_ms: Annotated[list[float], Means("of each turn, the mean", "ms")]
    ssd_mib: Annotated[float, Means("written to the SSD in all turns, the mean", "MiB")]
    takeovers: Annotated[float, Means("times that another model began to decide, the mean")]
    changes: Annotated[
        int, Means("turns that begin under another category's model, in all repeats; 0 where nothing takes turns")
    ]
    found: Annotated[int, Means("those after which the right model came to decide within the turn")]
    right_after_s: Annotated[float | None, Means("how long that took, the mean; null where none did", "s")]
    right_after_requests: Annotated[float | None, Means("likewise, requests")]


class Live(Document):
    """Caches at work before programs that take turns."""

    loads: Annotated[list[Load], Each("one program", "its place in a round of turns")]
    turn_s: Annotated[int, Means("seconds of a turn", "s")]
    turns: Annotated[int, Means("turns of both programs together")]
    repeats: Annotated[int, Means("how often each cache has run")]
    cache_pages: Annotated[int, Means("of the cache", "4 KiB pages")]
    disk_ms: Annotated[int, Means("that the disk takes for a request; it serves one at a time", "ms")]
    period_s: Annotated[float, Means("of a period", "s")]
    models: Annotated[dict[str, str], Each(name="bundle", text="digest of its content")]
    checked: Annotated[int, Means("runs after which data and filesystem were looked through: all, without a fault")]
    runs: Annotated[list[Run], Each("one cache in one repeat", "repeat and cache")]
    rows: Annotated[list[Row], Each("one cache", "cache")]


def _over_repeats(values: Sequence[float]) -> Mean:
    """Repeats begin alike and are independent of each other."""
    n = len(values)
    return Mean(fmean(values), float(np.var(values, ddof=1)) / n if n > 1 else None, n - 1.0)


def _as_ratio(logarithms: Mean, less: float = 0.0) -> tuple[float, Interval | None]:
    """The ratio whose logarithm it is, less a number."""
    low_high = logarithms.interval
    ends = None if low_high is None else (float(np.exp(low_high[0])) - less, float(np.exp(low_high[1])) - less)
    return float(np.exp(logarithms.value)) - less, ends


def _speeds(run: Run, base: Run) -> float:
    """Logarithm of the operations over another run's, the mean of the turns."""
    return fmean(float(np.log(own.operations / its.operations)) for own, its in zip(run.turns, base.turns, strict=True))


def _row(cache: str, runs: Sequence[Run]) -> Row:
    def of(name: str) -> list[Run]:
        return [run for run in runs if run.cache == name]

    mine, bare, models = of(cache), of(NO_CACHE), of(IN_TURN)
    turns = list(zip(*(run.turns for run in mine), strict=True))
    hit = _over_repeats([run.hit_ratio for run in mine])
    speed, speed_interval = _as_ratio(_over_repeats([_speeds(*pair) for pair in zip(mine, bare, strict=True)]))
    lead = _over_repeats([100 * (its.hit_ratio - own.hit_ratio) for own, its in zip(mine, models, strict=True)])
    slower, slower_interval = _as_ratio(_over_repeats([_speeds(*pair) for pair in zip(models, mine, strict=True)]), 1.0)
    base = cache == IN_TURN
    after = [one for run in mine for one in run.turns if one.right_after_s != 0] if cache in TURNING else []
    found = [one for one in after if one.right_after_s is not None]
    return Row(
        cache=cache,
        hit_ratio=hit.value,
        hit_ratio_interval=hit.interval,
        turn_hit_ratios=[fmean(one.hits / max(1, one.accesses) for one in each) for each in turns],
        behind=None if base else lead.value,
        behind_interval=None if base else lead.interval,
        speed=speed,
        speed_interval=speed_interval,
        slower=None if base else slower,
        slower_interval=None if base else slower_interval,
        operations=[fmean(one.operations for one in each) for each in turns],
        response_ms=[fmean(one.response_ms for one in each) for each in turns],
        ssd_mib=fmean(run.ssd_mib for run in mine),
        takeovers=fmean(sum(one.takeovers for one in run.turns) for run in mine),
        changes=len(after),
        found=len(found),
        right_after_s=fmean(one.right_after_s or 0.0 for one in found) if found else None,
        right_after_requests=fmean(one.right_after_requests or 0 for one in found) if found else None,
    )


def rows_of(runs: Sequence[Run]) -> list[Row]:
    """A line for each cache, in the order of the first repeat.

    Args:
        runs: of whole repeats, all with the same caches and turns; `NO_CACHE` and `IN_TURN` are among them.
    """
    ordered = sorted(runs, key=lambda run: run.repeat)
    return [_row(name, ordered) for name in dict.fromkeys(run.cache for run in runs)]


def read_live(path: Path) -> Live:
    """What was measured, see `cachezoo.metrics.files.read`."""
    return read(path, Live, COMMAND)


def table(found: Live) -> Table:
    """A line a cache."""
    turns = [f"turn {k + 1}" for k in range(found.turns)]
    heads = ["cache", "hit ratio", "models in turn ahead, points", *turns, "speed over no cache",
             "models in turn faster", "SSD writes, MiB", "takeovers", "right model after"]  # fmt: skip
    rows = [_cells(row) for row in found.rows]
    times = "once" if found.repeats == 1 else f"{found.repeats} times"
    caption = (
        f"{words([one.program for one in found.loads])} in turn, {found.turns} turns of {found.turn_s} s, {times}: "
        f"operations per second of each turn; {found.cache_pages:,} pages of SSD before an emulated disk of "
        f"{found.disk_ms} ms a request; in brackets the 90 % interval over the repeats"
    )
    return Table(caption, [Column(head, numeric=k > 0) for k, head in enumerate(heads)], rows)


def _cells(row: Row) -> list[Cell]:
    cached = row.cache != NO_CACHE
    after = NONE
    if row.changes:
        after = f"{row.found} of {row.changes}"
        if row.right_after_s is not None:
            after += f", {number(row.right_after_s, 1)} s, {number(row.right_after_requests)} requests"
    return [
        Cell(row.cache),
        Cell(_with(number(row.hit_ratio, 4), span(row.hit_ratio_interval, 4, 1)) if cached else NONE),
        Cell(_with(number(row.behind, 2, signed=True), span(row.behind_interval, 2, 1)) if cached else NONE),
        *(Cell(number(one, 0)) for one in row.operations),
        Cell(_with(number(row.speed, 2), span(row.speed_interval, 2, 1)) if cached else NONE),
        Cell(_with(percent(row.slower, 1, signed=True), span(row.slower_interval, 1, 100))),
        Cell(number(row.ssd_mib, 0) if cached else NONE),
        Cell(number(row.takeovers, 1) if row.changes else NONE),
        Cell(after),
    ]


def _with(value: str, ends: str) -> str:
    return f"{value} {ends}".strip()


def draw(found: Live, path: Path) -> None:
    """Write a PNG: hit ratio by period, and how fast the programs were by turn; its bytes depend on the figures alone.

    Raises:
        CachezooError: the file cannot be written.
    """
    cached = [row for row in found.rows if row.cache != NO_CACHE]
    others = [row.cache for row in cached if row.cache not in COLOURS and row.cache not in POLICIES]
    colours = COLOURS | dict(zip(others, cycle(ALONE), strict=False))
    colours |= {row.cache: POLICIES[row.cache].colour for row in cached if row.cache in POLICIES}
    with settings(), atomic_file(path) as temporary:
        canvas, ((top,), (bottom,)) = panels(2, 1, 5.6)
        for k, row in enumerate(cached):
            colour = colours[row.cache]
            own = [run for run in found.runs if run.cache == row.cache]
            mean = _mean_periods(own)
            middle = (np.arange(len(mean)) + 0.5) * found.period_s
            top.plot(middle, mean, color=colour, linewidth=2.0 if row.cache in TURNING else 1.1, label=row.cache)
            bare = next(one for one in found.rows if one.cache == NO_CACHE)
            place = np.arange(found.turns) + (k - (len(cached) - 1) / 2) * 0.8 / len(cached)
            gains = [mine / its for mine, its in zip(row.operations, bare.operations, strict=True)]
            bottom.bar(place, gains, 0.75 / len(cached), color=colour)
        for turn in range(found.turns):
            if turn:
                top.axvline(turn * found.turn_s, color=BLACK, linewidth=0.8)
            name = found.loads[turn % len(found.loads)].program
            top.text(
                (turn + 0.5) * found.turn_s, 1.0, name, transform=top.get_xaxis_transform(), ha="center", va="bottom"
            )
        top.set(xlim=(0, found.turns * found.turn_s), xlabel="seconds", ylabel="page hit ratio")
        top.set_ylim(bottom=0)
        bottom.axhline(1.0, color=GREY, linewidth=0.8)
        names = [f"{found.loads[k % len(found.loads)].program}, turn {k + 1}" for k in range(found.turns)]
        bottom.set_xticks(range(found.turns), names)
        bottom.set(ylabel="operations over those\nwithout a cache", facecolor="white")
        bottom.grid(axis="x", color=LIGHT, alpha=0)
        canvas.legend(*top.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        canvas.savefig(temporary, format="png", dpi=DPI, metadata={"Software": None})


def _mean_periods(runs: Sequence[Run]) -> list[float]:
    """Of each period the mean of the runs that have accesses in it."""
    series = [[one for turn in run.turns for one in turn.periods] for run in runs]
    found = []
    for values in zip(*series, strict=True):
        known = [value for value in values if value is not None]
        found.append(fmean(known) if known else float("nan"))
    return found
