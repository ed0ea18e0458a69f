"""lab/results/baleen.json: Baleen at several write budgets and cache sizes, its ablations, and the paper's claims."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Literal

import numpy as np

from cachezoo.documents import Document, Interval
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE, read
from lab.claims.evaluate import judged
from lab.claims.finding import Figure

FILE = Path("lab/results/baleen.json")
TRACES_PLOT, SWEEP_PLOT, ABLATIONS_PLOT = (Path(f"lab/results/baleen{name}.png") for name in ("_5", "_6", "_ablations"))
BALEEN, REJECTX, COIN_FLIP, OPT, REJECTX_ALONE = "baleen", "rejectx", "coin_flip", "opt", "rejectx_no_prefetch"
Taught = Literal["disk time", "I/Os", "bytes"]
DISK_TIME: Taught = "disk time"
SIZE, BUDGET = 0.1, 0.25
"""At which budgets and sizes are varied, and the ablations are made: a share of the trace's distinct segments, and of
what AcceptAll writes."""


class PolicyRun(Document):
    """A policy on a test trace, kept to the budget by a controller; a figure for each training of the model."""

    policy: Annotated[str, Means("policy; rejectx_no_prefetch is the paper's baseline")]
    prefetch: Annotated[list[str], Means("mode, chosen on validation; OPT's on the trace itself")]
    mean_dt: Annotated[list[float], Means("mean read load of the disks", "disk-head s/s")]
    peak_dt: Annotated[list[float], Means("that of the busiest window", "disk-head s/s")]
    writes: Annotated[list[float], Means("segments written", "share of AcceptAll's")]
    io_hit_ratio: Annotated[list[float], Means("reads without an I/O of the disks", "ratio")]
    byte_hit_ratio: Annotated[list[float], Means("segments read from flash", "ratio")]


class SweepCase(Document):
    """A test trace at a cache size and a write budget."""

    trace: Annotated[str, Means("test trace")]
    category: Annotated[str, Means("its category")]
    capacity_fraction: Annotated[float, Means("of the cache", "share of the distinct segments")]
    write_budget: Annotated[float, Means("that thresholds are set for on validation", "share of AcceptAll's writes")]
    taught: Annotated[Taught, Means("what OPT saves most of where it labels the train traces")]
    best_policy: Annotated[str, Means("without a model, best on validation in its prefetch mode")]
    saved: Annotated[float, Means("of best_policy's mean load by the model", "share")]
    saved_interval: Annotated[Interval | None, Means("90 % interval of it over trainings and windows", "share")]
    runs: Annotated[list[PolicyRun], Each("one policy", "trace, capacity_fraction, write_budget, taught and policy")]

    def run(self, policy: str) -> PolicyRun:
        """A policy's."""
        return next(run for run in self.runs if run.policy == policy)

    @property
    def is_base(self) -> bool:
        """At the size and the budget at which nothing is varied."""
        return (self.capacity_fraction, self.write_budget, self.taught) == (SIZE, BUDGET, DISK_TIME)

    def peak_saved(self, rival: str) -> list[float]:
        """Share of a rival's peak that the model saves, of each training."""
        return _saved(self.run(BALEEN).peak_dt, self.run(rival).peak_dt)

    def peak_spread(self, rival: str) -> float:
        """Standard deviation of its mean over the trainings."""
        return spread(self.peak_saved(rival))

    def mean_saved(self, rival: str) -> list[float]:
        """The same of the mean."""
        return _saved(self.run(BALEEN).mean_dt, self.run(rival).mean_dt)

    def closed(self, of: Callable[[PolicyRun], list[float]]) -> float | None:
        """Share of the way from the best policy without a model to OPT; None where OPT saves less than 2 %."""
        rival, ours, least = (fmean(of(self.run(name))) for name in (self.best_policy, BALEEN, OPT))
        return (rival - ours) / (rival - least) if rival - least >= LEAST_GAP * rival and rival > 0 else None

    @property
    def mean_closed(self) -> float | None:
        """Of the mean load."""
        return self.closed(lambda run: run.mean_dt)

    @property
    def peak_closed(self) -> float | None:
        """Of the peak."""
        return self.closed(lambda run: run.peak_dt)

    @property
    def kept(self) -> float:
        """What the model writes over its budget, relative; of the training that is farthest off."""
        return max(abs(own / self.write_budget - 1) for own in self.run(BALEEN).writes)


LEAST_GAP = 0.02
"""Of a rival's load that OPT has to save, for the way to it to be measured; `policy.flash.min_gap`."""


class ModeRun(Document):
    """A policy in a prefetch mode on a test trace, at the budget of the base."""

    trace: Annotated[str, Means("test trace")]
    policy: Annotated[str, Means("the model with validation's threshold for the mode; or a policy without one")]
    mode: Annotated[str, Means("of prefetch")]
    mean_dt: Annotated[list[float], Means("mean read load of the disks, of each training", "disk-head s/s")]
    peak_dt: Annotated[list[float], Means("that of the busiest window", "disk-head s/s")]
    writes: Annotated[list[float], Means("segments written", "share of AcceptAll's")]


class BaleenFigure(Figure):
    """Baleen's sweep and ablations."""

    seeds: Annotated[int, Means("trainings of each model")]
    cases: Annotated[list[SweepCase], Each("one test trace", "trace, capacity_fraction, write_budget and taught")]
    modes: Annotated[list[ModeRun], Each("one policy in a prefetch mode", "trace, policy and mode")]

    @property
    def base(self) -> list[SweepCase]:
        """Every trace where nothing is varied."""
        return [case for case in self.cases if case.is_base]

    @property
    def budgets(self) -> list[float]:
        """Write budgets, rising."""
        return sorted({case.write_budget for case in self.cases})

    @property
    def sizes(self) -> list[float]:
        """Cache sizes, rising."""
        return sorted({case.capacity_fraction for case in self.cases})

    @property
    def traces(self) -> list[str]:
        """Test traces."""
        return [case.trace for case in self.base]

    def at(self, *, budget: float = BUDGET, size: float = SIZE, taught: Taught = DISK_TIME) -> list[SweepCase]:
        """The cases at a size and a budget, in the order of `traces`."""
        asked = (size, budget, taught)
        return [one for one in self.cases if (one.capacity_fraction, one.write_budget, one.taught) == asked]

    def mode(self, trace: str, policy: str, name: str) -> ModeRun | None:
        """A policy in a prefetch mode."""
        own = (one for one in self.modes if (one.trace, one.policy, one.mode) == (trace, policy, name))
        return next(own, None)

    def smaller(self, trace: str, rival: str) -> float | None:
        """Share of the cache that the model does without at a rival's peak in the base.

        None where even the largest size does not reach it.
        """
        own = [case for size in self.sizes for case in self.at(size=size) if case.trace == trace]
        base = next(case for case in own if case.is_base)
        needed = size_for(
            [case.capacity_fraction for case in own], [fmean(case.run(BALEEN).peak_dt) for case in own],
            fmean(base.run(rival).peak_dt),
        )  # fmt: skip
        return None if needed is None else 1 - needed / SIZE


def size_for(sizes: Sequence[float], peaks: Sequence[float], wanted: float) -> float | None:
    """The least size at which a load falls to what is wanted, between sizes by the logarithm of them.

    Args:
        sizes: rising.
        peaks: at these; one that rises with the size counts as what a smaller one had.
        wanted: load.

    Returns:
        The smallest size where it is reached there already; None where no size reaches it.
    """
    least = np.minimum.accumulate(np.asarray(peaks, np.float64))
    reached = np.flatnonzero(least <= wanted)
    if not len(reached):
        return None
    place = int(reached[0])
    if place == 0:
        return sizes[0]
    before, after = least[place - 1], least[place]
    share = float((before - wanted) / (before - after))
    return float(sizes[place - 1] * (sizes[place] / sizes[place - 1]) ** share)


def _saved(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    return [1 - own / rival if rival > 0 else 0.0 for own, rival in zip(ours, theirs, strict=True)]


def spread(values: Sequence[float]) -> float:
    """Standard deviation of the mean of some trainings; 0 of one."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def figure_of(cases: Sequence[SweepCase], modes: Sequence[ModeRun], seeds: int) -> BaleenFigure:
    """The figure and its claims."""
    found = BaleenFigure(
        id="baleen", source="Baleen, Figs. 5 and 6", title="Disk-head time by write budget and cache size",
        note="", findings=[], seeds=seeds, cases=list(cases), modes=list(modes),
    )  # fmt: skip
    note = (
        f"{len(found.traces)} test traces, means of {seeds} trainings. Thresholds, prefetch modes, rivals' evictions "
        "and the best policy without a model are chosen on validation at each size and budget; the same controller "
        "keeps the budget of all, OPT writes what the model does. Loads are of reads; windows are those of "
        "docs/baleen.md, and a peak is of one trace."
    )
    return judged(found.model_copy(update={"note": note}), "baleen")


def read_baleen(path: Path) -> BaleenFigure:
    """lab/results/baleen.json, see `cachezoo.metrics.files.read`."""
    return read(path, BaleenFigure, MAKE)
