"""Do labels that heed how busy the disks are lower the peak?

    .venv/bin/python -m lab.notes.peak_labels [CATEGORY …] [--seeds 5]     needs the pipeline's requests

What an I/O that is spared is worth counts by the load of its time: what AcceptAll lets through to the disks in its
window of time over the mean of the windows, to some power. The power 0 is the label as it is. OPT then ranks its
episodes by these values, and so do the prices of a flash write. On validation each forest has its threshold set to the
budget, in the prefetch mode that is best for the first forest with labels as they are. *OPT* is the oracle of such
labels: how much there is to gain.
"""

import argparse
from dataclasses import dataclass, field, fields
from functools import cache

import numpy as np

from cachezoo.arrays import F64, I32
from cachezoo.config.load import load_params
from cachezoo.flash_cache.load import load_curve, load_windows
from cachezoo.flash_cache.policies import learned, prefetch_of
from cachezoo.flash_cache.problem import EVERY, FlashProblem
from cachezoo.kernels.flash import FlashRun
from cachezoo.labels.episodes import choose_episodes
from cachezoo.params import traces_of
from cachezoo.seeds import derive_seed
from cachezoo.settings.params import Params
from cachezoo.traces.clock import time_scale
from cachezoo.traces.table import Trace
from cachezoo.training.episodes import read_traces
from lab.notes.admission_labels import Category, Part, Recipe

BUDGETS = (0.25, 0.10)
POWERS = (0.5, 1.0)


@dataclass(frozen=True)
class Weighted(FlashProblem):
    """A part whose spared I/Os count by their time."""

    weight: F64 = field(default_factory=lambda: np.ones(0))  # [n]

    def spared_seconds(self, fetched: I32, rows: slice = EVERY) -> F64:
        """By what they count."""
        return super().spared_seconds(fetched, rows) * self.weight[rows]


class Busy(Part):
    """A trace with labels by a power of the load."""

    def __init__(self, params: Params, category: str, trace: Trace, power: float) -> None:
        """Weigh its reads."""
        super().__init__(params, category, trace)
        self.windows = load_windows(trace.time_us, self.problem, params.policy.flash, time_scale(trace))
        curve = self.curve(self.problem.accept_all)
        warm_up = np.zeros(self.windows.first, np.int64)  # it counts as the first window
        weight = ((curve / curve.mean()) ** power)[np.concatenate([warm_up, self.windows.of])]
        own = {one.name: getattr(self.problem, one.name) for one in fields(self.problem)}
        self.problem: FlashProblem = Weighted(**own, weight=weight)

    def curve(self, run: FlashRun) -> F64:
        """Disk-head seconds a second in each window."""
        return load_curve(self.problem.dt_seconds(run), self.windows)

    def load(self, run: FlashRun) -> tuple[float, float]:
        """Mean and peak."""
        curve = self.curve(run)
        return float(curve.mean()), float(curve.max())


class Weighed(Category):
    """A category with labels by a power of the load."""

    def __init__(self, params: Params, name: str, power: float) -> None:
        """Read its traces when they are needed."""
        super().__init__(params, name, False)
        self.power = power

    def parts(self, role: str) -> list[Part]:
        """Its traces of a role."""
        read = read_traces(self.name, traces_of(self.params, self.name, role))[0]
        return [Busy(self.params, self.name, one.trace, self.power) for one in read]


Loads = dict[tuple[float, str], list[tuple[float, float]]]  # mean and peak of each seed, by budget and forest or OPT


def loads(params: Params, name: str, power: float, seeds: list[int], modes: dict[float, str]) -> Loads:
    """Mean and peak on the category's validation trace; modes by budget, chosen where there are none yet."""
    category = Weighed(params, name, power)
    own, judged = category.train, category.validation
    assert isinstance(judged, Busy)
    recipe = Recipe(cache(lambda part, age: part.share(part.left(age), age)), rising=True)
    found: Loads = {}
    scores = [category.scores(recipe, own.label.write_budget, own, seed, [judged])[0] for seed in seeds]
    for budget in BUDGETS:
        problem = judged.at(budget)
        modes.setdefault(budget, judged.best(scores[0], budget)[1])
        runs = [learned(problem, one, prefetch_of(problem, modes[budget])).run for one in scores]
        found[budget, "forest"] = [judged.load(run) for run in runs]
        opt = judged.opt(budget, "opt_range_when")
        found[budget, "OPT"] = [judged.load(choose_episodes(problem, opt.episodes, "opt_range_when").run)]
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("categories", nargs="*", help="of the matrix; all if none is named")
    parser.add_argument("--seeds", type=int, default=5, help="forests of each kind")
    asked = parser.parse_args()
    params = load_params()
    seeds = [params.seed, *(derive_seed(params.seed, "peak_labels", str(k)) for k in range(1, asked.seeds))]
    print("Change of mean and of peak read disk-head time on validation, mean of seeds (lowest to highest).\n")
    print("| budget | category | power | forest, mean | forest, peak | OPT, mean | OPT, peak |\n|" + "---|" * 7)
    changes: dict[tuple[float, float], list[list[float]]] = {}
    for name in asked.categories or sorted(params.data.roles):
        modes = dict[float, str]()
        plain = loads(params, name, 0.0, seeds, modes)
        for power in POWERS:
            own = loads(params, name, power, seeds, modes)
            for budget in BUDGETS:
                cells, means = [], []
                for kind in ("forest", "OPT"):
                    pairs = list(zip(own[budget, kind], plain[budget, kind], strict=True))
                    for at in (0, 1):
                        values = [100 * (new[at] / old[at] - 1) for new, old in pairs]
                        spread = f" ({min(values):+.1f} to {max(values):+.1f})" if len(values) > 1 else ""
                        cells.append(f"{np.mean(values):+.2f} %{spread}")
                        means.append(float(np.mean(values)))
                changes.setdefault((budget, power), []).append(means)
                print(f"| {budget:.0%} | {name} | {power} | " + " | ".join(cells) + " |", flush=True)
    for (budget, power), rows in changes.items():
        cells = [f"{value:+.2f} %" for value in np.mean(rows, axis=0)]
        print(f"| {budget:.0%} | mean | {power} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
