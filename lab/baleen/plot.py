"""Tables and plots of Baleen's figures."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from cachezoo.show.formats import number, percent
from cachezoo.show.palette import colour_of
from cachezoo.show.style import AMBER, BLACK, BLUE, GREEN, GREY, PINK, SKY, VERMILION
from cachezoo.show.table import Cell, Column, Table, share_cell
from lab.baleen.document import (
    BALEEN,
    COIN_FLIP,
    DISK_TIME,
    OPT,
    REJECTX,
    REJECTX_ALONE,
    BaleenFigure,
    PolicyRun,
    SweepCase,
    Taught,
)
from lab.claims.finding import GOAL
from lab.claims.plot import bars, headed, page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEST = "best"  # of the policies without a model, whichever it is
NAMES = {
    REJECTX_ALONE: "RejectX, no prefetch", REJECTX: "RejectX", COIN_FLIP: "CoinFlip", BEST: "best without a model",
    BALEEN: "Baleen", OPT: "OPT",
}  # fmt: skip
COLOURS = {
    REJECTX_ALONE: GREY, REJECTX: colour_of("rejectx"), COIN_FLIP: colour_of("coin_flip"), BEST: VERMILION,
    BALEEN: colour_of("baleen"), OPT: colour_of("opt"),
}  # fmt: skip
TAUGHT_COLOURS: dict[Taught, str] = {"disk time": BLUE, "I/Os": VERMILION, "bytes": GREEN}
MODE_COLOURS = (GREY, SKY, AMBER, PINK, BLACK)
MODE_NAMES = {"none": "no prefetch"}
SHOWN_MODES = ("none", "next(1)", "next(16)", "all_on_partial", "all_on_miss")
Load = Callable[[SweepCase, str], float]


def mean_of(case: SweepCase, policy: str) -> float:
    """A policy's mean load, over the trainings."""
    return fmean(_run(case, policy).mean_dt)


def peak_of(case: SweepCase, policy: str) -> float:
    """Its peak."""
    return fmean(_run(case, policy).peak_dt)


def _run(case: SweepCase, policy: str) -> PolicyRun:
    return case.run(case.best_policy if policy == BEST else policy)


def tables(found: BaleenFigure) -> list[Table]:
    """Both, for the terminal."""
    return [sweep_table(found), mode_table(found)]


def sweep_table(found: BaleenFigure) -> Table:
    """A line a trace, size and budget."""
    rows = []
    for case in sorted(found.cases, key=lambda one: (one.taught, one.trace, one.capacity_fraction, one.write_budget)):
        peak = fmean(case.peak_saved(case.best_policy))
        plain = fmean(case.peak_saved(REJECTX_ALONE))
        rows.append(
            [Cell(case.trace), Cell(percent(case.capacity_fraction, 0), case.capacity_fraction),
             Cell(percent(case.write_budget, 0), case.write_budget), Cell(case.taught),
             Cell(case.best_policy), share_cell(case.saved, case.saved_interval),
             share_cell(fmean(case.mean_saved(REJECTX_ALONE))), share_cell(peak), share_cell(plain),
             share_cell(case.mean_closed), share_cell(case.peak_closed), share_cell(fmean(case.run(BALEEN).writes))]
        )  # fmt: skip
    words = ("trace", "cache", "budget", "taught", "best without a model")
    figures = ("saved", "of RejectX alone", "at peak", "of RejectX alone at peak", "gap closed", "at peak", "writes")
    columns = [*(Column(name, numeric=name in ("cache", "budget")) for name in words), *map(Column, figures)]
    return Table("Baleen by size and budget; savings against the best policy without a model", columns, rows)


def mode_table(found: BaleenFigure) -> Table:
    """A line a trace, policy and prefetch mode."""
    rows = [
        [Cell(one.trace), Cell(one.policy), Cell(one.mode), Cell(number(fmean(one.mean_dt), 3), fmean(one.mean_dt)),
         Cell(number(fmean(one.peak_dt), 2), fmean(one.peak_dt)), share_cell(fmean(one.writes))]
        for one in sorted(found.modes, key=lambda one: (one.trace, one.policy, fmean(one.mean_dt)))
    ]  # fmt: skip
    columns = [*(Column(name, numeric=False) for name in ("trace", "policy", "prefetch")), Column("mean"),
               Column("peak"), Column("writes")]  # fmt: skip
    return Table("Prefetch modes: the model and policies without one, kept to the budget", columns, rows)


def about(found: BaleenFigure, *heads: str) -> BaleenFigure:
    """The figure with those of its claims alone that begin so."""
    return found.model_copy(update={"findings": [one for one in found.findings if one.claim.startswith(heads)]})


def draw_traces(found: BaleenFigure, path: Path) -> None:
    """Fig. 5: load of every policy on every trace, of RejectX's without prefetch; peak above, mean below.

    Raises:
        CachezooError: the file cannot be written.
    """
    base = found.base
    with page(about(found, "Fig. 5", GOAL), path, 2, 1, 6.0) as (canvas, axes):
        for panel, load, what in ((axes[0][0], peak_of, "peak"), (axes[1][0], mean_of, "mean")):
            series = {
                NAMES[name]: [_percent_of(load, case, name, case) for case in base] for name in NAMES
            }  # fmt: skip
            bars(panel, [case.trace for case in base], series, {NAMES[name]: COLOURS[name] for name in NAMES})
            panel.set(ylabel="% of RejectX, no prefetch", title=f"Fig. 5, {what} disk-head time of reads")
        headed(canvas, found, axes[0][0])


def _percent_of(load: Load, case: SweepCase, policy: str, base: SweepCase) -> float | None:
    whole = load(base, REJECTX_ALONE)
    return 100 * load(case, policy) / whole if whole > 0 else None


def draw_sweep(found: BaleenFigure, path: Path) -> None:
    """Fig. 6: the mean over the traces of each policy's load, of RejectX's without prefetch in the base.

    Raises:
        CachezooError: the file cannot be written.
    """
    with page(about(found, "Fig. 6"), path, 2, 2, 6.0) as (canvas, axes):
        for row, load, what in ((0, peak_of, "peak"), (1, mean_of, "mean")):
            _lines(axes[row][0], found, load, [(size, found.at(size=size)) for size in found.sizes])
            axes[row][0].set(title=f"Fig. 6a, {what}", xlabel="cache, % of the distinct segments")
            _lines(axes[row][1], found, load, [(budget, found.at(budget=budget)) for budget in found.budgets])
            axes[row][1].set(title=f"Fig. 6b, {what}", xlabel="write budget, % of AcceptAll's writes")
            axes[row][0].set_ylabel("% of RejectX, no prefetch, at 10 and 25 %")
        headed(canvas, found, axes[0][0])


def _lines(axes: "Axes", found: BaleenFigure, load: Load, cases: Sequence[tuple[float, Sequence[SweepCase]]]) -> None:
    bases = {case.trace: case for case in found.base}
    places = [100 * place for place, own in cases if own]
    for name, label in NAMES.items():
        heights = []
        for _, own in cases:
            parts = [_percent_of(load, case, name, bases[case.trace]) for case in own if case.trace in bases]
            known = [part for part in parts if part is not None]
            heights += [fmean(known)] * bool(known)
        axes.plot(places, heights, color=COLOURS[name], marker=".", label=label)
    axes.set_xscale("log")
    axes.set_xticks(places, [f"{place:g}" for place in places])
    axes.set_xticks([], minor=True)
    axes.set_ylim(bottom=0)


def draw_ablations(found: BaleenFigure, path: Path) -> None:
    """The model in each prefetch mode, and the peak of what was taught another cost.

    Raises:
        CachezooError: the file cannot be written.
    """
    base = {case.trace: case for case in found.base}
    with page(about(found, "Prefetch", "Metric"), path, 2, 1, 6.4) as (canvas, axes):
        modes = [mode for mode in SHOWN_MODES if any(one.mode == mode for one in found.modes)]
        traces = [trace for trace in base if any(one.trace == trace for one in found.modes)]
        series = {MODE_NAMES.get(mode, mode): [_mode(found, trace, mode) for trace in traces] for mode in modes}
        bars(axes[0][0], traces, series, dict(zip(series, MODE_COLOURS, strict=False)))
        axes[0][0].set(ylabel="peak, % of that without prefetch", title="The model in each prefetch mode")
        taught = {
            f"by {name}": [_taught(found, trace, name) for trace in base] for name in TAUGHT_COLOURS
        }  # fmt: skip
        bars(axes[1][0], list(base), taught, {f"by {name}": one for name, one in TAUGHT_COLOURS.items()})
        axes[1][0].set(ylabel="peak, % of disk time's", title="What OPT saves most of where it labels")
        headed(canvas, found, axes[0][0], axes[1][0])


def _mode(found: BaleenFigure, trace: str, mode: str) -> float | None:
    own, alone = (found.mode(trace, BALEEN, name) for name in (mode, "none"))
    return 100 * fmean(own.peak_dt) / fmean(alone.peak_dt) if own and alone and fmean(alone.peak_dt) else None


def _taught(found: BaleenFigure, trace: str, name: Taught) -> float | None:
    peaks = {taught: peak_of(case, BALEEN) for taught in (name, DISK_TIME) for case in _cases(found, taught, trace)}
    return 100 * peaks[name] / peaks[DISK_TIME] if name in peaks else None


def _cases(found: BaleenFigure, taught: Taught, trace: str) -> list[SweepCase]:
    return [case for case in found.at(taught=taught) if case.trace == trace]
