"""A LightGBM model in the place of the search of `cachezoo size`: from what a trace is like to hierarchy and split.

Models are tried, each taught by the searches of other categories' traces, at eight sums each:

- *direct*: a regressor to RAM's part of the best point's sum, and a classifier to its hierarchy;
- *estimate*: LRU's curve tells each point's mean time roughly, a regressor by how much that is off, and the point that
  is told the least is taken; or the best of so many that are told the least, once they are simulated in full;
- *curve*: the same with a mean of each hierarchy in the regressor's place, so no model.

Taught are the corpus's train traces and thirds of the captured train traces. Judged is a category by a model that was
taught the three others: its corpus train traces and its captured validation trace; and public traces by a model of all
four. Printed is how much longer a page read takes with the model's choice than with the search's, by a simulation in
full on the half that chose, mean over traces and four sums; and the seconds of CPU of a choice for one sum: the model's
with its inputs and what it simulates in full, and the search's of that sum alone.

    python benchmarks/sizing_model.py            # public traces too, where CACHEZOO_PUBLIC_TRACES has them
"""

import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from lightgbm import LGBMClassifier, LGBMRegressor

from cachezoo.devices.analytic import t_hdd_us
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.kernels.stack_distance import COLD, stack_distances
from cachezoo.seeds import derive_seed
from cachezoo.sizing.advice import MOST_ACCESSES
from cachezoo.sizing.asked import Asked
from cachezoo.sizing.candidates import TEXTS
from cachezoo.sizing.ledger import Ledger
from cachezoo.sizing.miniature import Miniature
from cachezoo.sizing.points import Point, affordable, all_cost, ram_sizes, rungs
from cachezoo.sizing.search import SPENT, Found, Search
from cachezoo.sizing.whole import Whole
from cachezoo.sizing.work import Runner, Task
from cachezoo.tiers.hierarchy import Hierarchy
from cachezoo.tiers.prices import BUILT_IN as PRICES
from cachezoo.tiers.reduced import volume_trace
from cachezoo.tiers.response import DRAM_US
from cachezoo.tiers.stream import tier_stream
from cachezoo.traces.read import read_any
from cachezoo.traces.table import Trace
from cachezoo.yaml_file import read_yaml

F64 = npt.NDArray[np.float64]
PUBLIC = ("cloudphysics.vscsi", "hp_ajw.srt.gz", "ms_dtrs.disksim.gz", "postmark.disksim.gz")
SHARES = rungs(1 / 256, 1 / 2, 2.0)
"""Sums that are taught, as parts of what RAM for all pages costs."""
JUDGED = SHARES[1::2]
ONE = JUDGED[1]
"""The sum whose choice is timed."""
PARTS = 3
CURVE = np.geomspace(1 / 1024, 1.0, 11)
"""Parts of all pages at which a trace's inputs have LRU's hit ratio."""
SSD_US = 100.0
"""What a read from the SSD is told to take, in the rough estimate."""
CONFIRMED = (1, 4, 16)
"""Points told the least of which the best is taken."""
GOAL = 0.02
ASKED = Asked()
HIERARCHIES: dict[str, Hierarchy] = {str(one): one for one in ASKED.hierarchies}
PLACES = {text: place for place, text in enumerate(TEXTS)}
MODEL: dict[str, Any] = {
    "n_estimators": 300, "learning_rate": 0.05, "num_leaves": 15, "min_child_samples": 20, "verbosity": -1, "n_jobs": 1,
    "random_state": derive_seed(0, "benchmark_sizing_model"), "deterministic": True, "force_row_wise": True,
}  # fmt: skip


class Traits:
    """What a trace's first half is like.

    Attributes:
        n_pages: distinct pages of the trace.
        disk_us: mean time that a request takes on the disk without a cache.
        values: float64[17] inputs that do not depend on the sum.
    """

    def __init__(self, whole: Whole) -> None:
        """Count."""
        head, self.n_pages = whole.head, whole.stream.pages.n_pages
        distances = stack_distances(head.pages.page_ids, head.pages.n_pages)[whole.first :]
        read = distances[~head.write[whole.first :]]
        self._reads = max(1, len(read))
        self._distances = np.sort(read[read != COLD])
        self.disk_us = float(t_hdd_us(volume_trace(head), BUILT_IN.hdd).mean())
        top = np.sort(np.bincount(head.pages.page_ids, minlength=head.pages.n_pages))[::-1]
        hot = [top[: max(1, round(part * len(top)))].sum() / len(head) for part in (0.01, 0.1)]
        rest = [
            head.write.mean(), np.log(len(head) / len(top)), np.log(len(head) / len(head.trace)),
            np.log(self.disk_us), *hot,
        ]  # fmt: skip
        self.values = np.array([*self.hits(CURVE * self.n_pages), *rest])

    def hits(self, pages: F64) -> F64:
        """Hit ratios of an LRU cache of so many pages, of the page reads in the window that chooses."""
        found: F64 = np.searchsorted(self._distances, pages) / self._reads
        return found

    def of_sum(self, share: float) -> F64:
        """Inputs of the direct model: the trace, the sum, and what all in RAM and all on the SSD would hit."""
        unit = ASKED.unit(PRICES, self.n_pages)
        return np.array(
            [*self.values, np.log(share), *self.hits(self.n_pages * share * np.array([1, unit.ram / unit.ssd]))]
        )

    def of_points(self, points: Sequence[Point], share: float) -> tuple[F64, F64]:
        """Inputs of the estimate, a row a point, and the logarithms of their mean times by LRU's curve."""
        ram, ssd = np.array([(one.ram_pages, one.ssd_pages) for one in points], np.float64).T
        above, both = self.hits(ram), self.hits(ram + ssd)
        told = np.log(above * DRAM_US + (both - above) * SSD_US + (1 - both) * self.disk_us)
        names = np.array([PLACES[one.hierarchy] for one in points], np.float64)
        sizes = [np.log(ram / self.n_pages), np.log((ram + ssd) / self.n_pages), ram / (share * self.n_pages)]
        columns = [names, *sizes, above, both, self.hits(ssd), told, np.full(len(points), np.log(share))]
        trace = np.broadcast_to(self.values, (len(points), len(self.values)))
        return np.hstack([np.stack(columns, axis=1), trace]), told


@dataclass(frozen=True)
class Known:
    """A trace with what the searches found.

    Attributes:
        name: of the trace.
        category: of it; `public` for a public one.
        learn: whether models may learn from it.
        whole: the trace.
        search: what is known of its points.
        alone: a search of one sum alone: its seconds of CPU, and the time of a page read by it over the search's of
            all, less 1; None where the trace is only taught.
    """

    name: str
    category: str
    learn: bool
    whole: Whole
    search: Search
    alone: tuple[float, float] | None

    @cached_property
    def traits(self) -> Traits:
        """What it is like."""
        return Traits(self.whole)

    def money(self, share: float) -> float:
        """Dollars of a sum."""
        return share * all_cost(self.search.n_pages, self.search.unit)

    def points(self, share: float) -> list[Point]:
        """What a sum buys, RAM in halves of a doubling."""
        sizes = ram_sizes(self.search.n_pages, 2)
        return self.search.line(self.money(share), sizes)

    def taught(self, share: float) -> list[Found]:
        """All points known that spend a sum."""
        money = self.money(share)
        return [one for one in self.search.found() if SPENT * money <= one.cost <= money * (1 + 1e-9)]


def searched(name: str, category: str, trace: Trace, *, learn: bool, judged: bool) -> Known:
    """Search a trace: all sums, those that are judged closely, and one alone for its time."""
    whole = Whole.of(tier_stream(trace), BUILT_IN, PRICES)
    n_pages = whole.stream.pages.n_pages
    unit = ASKED.unit(PRICES, n_pages)

    def search() -> Search:
        task = Task(name, Miniature.of(whole.head, whole.first, BUILT_IN.hdd, MOST_ACCESSES), whole)
        return Search(Runner(task, None), Ledger(None, {}), unit, ASKED.hierarchies, n_pages)

    dollars = {share: share * all_cost(n_pages, unit) for share in SHARES}
    known = search()
    known.survey(list(dollars.values()))
    alone = None
    if judged:
        sums = [dollars[share] for share in JUDGED]
        known.survey(sums, closely=sums)
        money, start = dollars[ONE], time.process_time()
        own = search()
        own.survey([money], closely=[money])
        alone = time.process_time() - start, own.best(money)[0].amat_us / known.best(money)[0].amat_us - 1
    return Known(name, category, learn, whole, known, alone)


class Direct:
    """RAM's part of a sum by a regressor, and the hierarchy by a classifier."""

    def __init__(self, others: Sequence[Known]) -> None:
        """Learn from the searches' answers."""
        inputs, part, name = [], [], []
        for one in others:
            for share in SHARES:
                point = one.search.best(one.money(share))[0].point
                inputs.append(one.traits.of_sum(share))
                part.append(point.ram_pages / (share * one.search.n_pages))
                name.append(PLACES[point.hierarchy])
        self._part = LGBMRegressor(**MODEL).fit(np.array(inputs), part)
        self._name = LGBMClassifier(**MODEL).fit(np.array(inputs), name)

    def choose(self, one: Known, traits: Traits, share: float) -> list[Point]:
        """The point that a sum should buy."""
        inputs, search = traits.of_sum(share)[None, :], one.search
        hierarchy = HIERARCHIES[TEXTS[int(self._name.predict(inputs)[0])]]
        wanted = float(self._part.predict(inputs)[0]) * share * search.n_pages
        points = affordable(hierarchy, one.money(share), search.unit, search.n_pages, [max(1, round(wanted))])
        return [min(points, key=lambda point: abs(point.ram_pages - wanted))]


class Estimate:
    """Mean times of points: LRU's curve, corrected by a regressor."""

    def __init__(self, others: Sequence[Known]) -> None:
        """Learn from all points of the searches."""
        inputs, off = [], []
        for one in others:
            for share in SHARES:
                known = one.taught(share)
                rows, told = one.traits.of_points([found.point for found in known], share)
                inputs.append(rows)
                off.append(np.log([found.amat_us for found in known]) - told)
        self._learn(np.vstack(inputs), np.concatenate(off))

    def _learn(self, inputs: F64, off: F64) -> None:
        self._off: Any = LGBMRegressor(**MODEL).fit(inputs, off, categorical_feature=[0])

    def _corrections(self, inputs: F64) -> F64:
        found: F64 = self._off.predict(inputs)
        return found

    def choose(self, one: Known, traits: Traits, share: float) -> list[Point]:
        """The points told the least, the least first."""
        points = one.points(share)
        inputs, told = traits.of_points(points, share)
        order = np.argsort(told + self._corrections(inputs), kind="stable")
        return [points[place] for place in order[: max(CONFIRMED)]]


class Curve(Estimate):
    """The same without a model: of each hierarchy the mean by which its points are off."""

    def _learn(self, inputs: F64, off: F64) -> None:
        self._mean: F64 = np.array([off[inputs[:, 0] == place].mean() for place in range(len(TEXTS))])

    def _corrections(self, inputs: F64) -> F64:
        found: F64 = self._mean[inputs[:, 0].astype(np.int64)]
        return found


@dataclass(frozen=True)
class Chosen:
    """What a model chose for a trace.

    Attributes:
        longer: float64[S, k] the least time of the first 1 ... k points over the search's, less 1, at each sum.
        seconds: float64[k] CPU of a choice of so many points, mean over the sums.
    """

    longer: F64
    seconds: F64


def chosen(model: Direct | Estimate, one: Known) -> Chosen:
    """Ask a model, and simulate in full what it says."""
    longer, seconds = [], []
    for share in JUDGED:
        start = time.process_time()
        points = model.choose(one, Traits(one.whole), share)
        times, took = [], []
        for point in points:
            times.append(one.whole.chosen([point])[0].amat_us)
            took.append(time.process_time() - start)
        best = one.search.best(one.money(share))[0].amat_us
        longer.append(np.minimum.accumulate(times) / best - 1)
        seconds.append(took)
    return Chosen(np.array(longer), np.mean(seconds, axis=0))


def captured() -> list[Known]:
    """Captured traces and the corpus's; thirds of train traces are taught, all others judged too."""
    rows = read_yaml(Path("conf/matrix.yaml"))
    found = []
    for name, row in rows["page_traces"].items():
        if row["role"] == "test":
            continue
        trace = read_any(Path(row["path"]), quiet=True)
        if row["role"] == "validation":
            found.append(searched(name, row["category"], trace, learn=False, judged=True))
            continue
        edges = np.linspace(0, len(trace), PARTS + 1).astype(int)
        for low, high in itertools.pairwise(edges):
            found.append(searched(name, row["category"], trace.take(np.arange(low, high)), learn=True, judged=False))
    for name, row in rows["corpus"].items():
        if row["role"] == "train":
            trace = read_any(Path(row["path"]), quiet=True)
            found.append(searched(name, row["category"], trace, learn=True, judged=True))
    return found


def public() -> list[Known]:
    """Public traces, where there are any."""
    folder = os.environ.get("CACHEZOO_PUBLIC_TRACES")
    if folder is None:
        print("CACHEZOO_PUBLIC_TRACES names no folder: no public traces")
        return []
    paths = [Path(folder) / "block" / name for name in PUBLIC]
    return [searched(path.name, "public", read_any(path, quiet=True), learn=False, judged=True) for path in paths]


def line(what: str, longer: F64, seconds: float, search_s: float) -> None:
    """A row of the table: of all sums of some traces."""
    more = longer.ravel()
    cells = (
        what, f"{100 * more.mean():+.1f} %", f"{100 * np.median(more):+.1f} %", f"{100 * more.max():+.1f} %",
        f"{np.count_nonzero(more <= GOAL)} of {more.size}", f"{seconds:.2f}", f"{search_s:.2f}",
    )  # fmt: skip
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print a row a category and model."""
    known = captured()
    traces = [*known, *public()]
    print(f"\n{len(traces)} traces searched, {sum(one.learn for one in traces)} of them to learn from")
    titles = ("judged, by", "longer: mean", "median", "worst", "within 2 %", "seconds", "of the search")
    print("\n| " + " | ".join(titles) + " |")
    print("|" + "---|" * len(titles))
    for category in dict.fromkeys(one.category for one in traces):
        others = [one for one in known if one.learn and one.category != category]
        judged = [one for one in traces if one.category == category and one.alone]
        alone = np.array([one.alone for one in judged])
        search_s = float(alone[:, 0].mean())
        line(f"{category}: {len(judged)} traces, the search of one sum", alone[:, 1], search_s, search_s)
        models = (Direct(others), (1,)), (Estimate(others), CONFIRMED), (Curve(others), CONFIRMED)
        for model, counts in models:
            found = [chosen(model, one) for one in judged]
            for count in counts:
                longer = np.concatenate([own.longer[:, count - 1] for own in found])
                seconds = float(np.mean([own.seconds[count - 1] for own in found]))
                what = f"{type(model).__name__.lower()}, {count} in full"
                line(f"{category}: {len(judged)} traces, {what}", longer, seconds, search_s)


if __name__ == "__main__":
    main()
