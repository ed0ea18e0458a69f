"""What the admission forest may learn: OPT's decision at one budget, or a value that ranks for every budget.

    .venv/bin/python lab/notes/admission_labels.py [CATEGORY …] [--seeds N] [--bounds] [--inputs] [--test]

Prints the mean read disk-head time of each way to label, in ms a read, with the threshold at each budget and in the
plain prefetch mode that is best there: the mean over seeds, and the share of the gap from the best policy without a
model to OPT that is closed. All learn from the train traces; the figures are those of validation. With --test they are
of the test traces, in the mode that validation chose. --bounds says where the gap is lost: OPT's episodes with plain
prefetch, and forests that were fitted on the judged trace itself. --inputs adds inputs that a cache does not compute.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cachezoo.arrays import F32, F64, I64, Bool
from cachezoo.config.load import load_params
from cachezoo.features.history import READS, AdmissionFeatures, feature_list
from cachezoo.flash_cache.policies import best_without_model, learned, modes_of, prefetch_of
from cachezoo.flash_cache.problem import FlashProblem, flash_problem, label_of
from cachezoo.kernels.episodes import Episodes, find_episodes
from cachezoo.kernels.flash import FlashRun
from cachezoo.labels.episodes import (
    OPT_MODES,
    EpisodeLabels,
    OptMode,
    label_problem,
    price_of_writes,
    remaining_scores,
    score_episodes,
)
from cachezoo.models.forest import ForestRows, fit_forest, fit_regression, forest_scorer
from cachezoo.params import traces_of
from cachezoo.seeds import derive_seed
from cachezoo.settings.params import Params
from cachezoo.traces.table import OP_READ, Trace
from cachezoo.training.episodes import Unlabelled, encodings, held_out, read_traces
from cachezoo.zoo.admission.fit import Settings
from cachezoo.zoo.admission.serve import HistoryServing, serve_trace

LEAST = 1e-4  # disk-head seconds a segment, added before the logarithm
LOG_TREES = 100
Target = Callable[["Part", int], F32 | Bool]


class Part:
    """A trace with what OPT makes of it at each budget."""

    def __init__(self, params: Params, category: str, trace: Trace) -> None:
        """Read nothing; the cache is params.yaml's."""
        self.label, self.trace = label_of(params.label.episodes, category), trace
        self.problem = flash_problem(trace, self.label, params.policy.flash)
        self._opt: dict[tuple[float, OptMode], EpisodeLabels] = {}
        self.held = held_out(trace, self.label, 5)

    def at(self, budget: float) -> FlashProblem:
        """The cache with another budget, a share of AcceptAll's writes."""
        return replace(self.problem, budget=self.problem.accept_all.segment_writes * budget)

    def opt(self, budget: float, mode: OptMode | None = None) -> EpisodeLabels:
        """OPT's choice."""
        key = (budget, mode or self.label.opt_prefetch)
        if key not in self._opt:
            self._opt[key] = label_problem(self.at(budget), self.label, key[1])
        return self._opt[key]

    def episodes(self, age: int) -> Episodes:
        """Cut by an eviction age."""
        return find_episodes(self.problem.accesses, self.problem.read, age)

    def rows(self, age: int) -> Bool:
        """bool[n]: reads that are learned from."""
        episodes, n = self.episodes(age), len(self.problem)
        horizon = min(age, int(n * self.label.horizon_fraction))
        settled: Bool = np.append(episodes.first < n - horizon, False)[episodes.episode]
        return settled & (episodes.index >= 0) & (episodes.index < self.label.first_accesses)

    def whole(self, age: int) -> F64:
        """float64[n]: the score of each read's whole episode."""
        episodes = self.episodes(age)
        return np.append(score_episodes(self.problem, episodes, self.label.opt_prefetch).score, 0.0)[episodes.episode]

    def left(self, age: int) -> F64:
        """float64[n]: the score of what its episode has left from each read on."""
        episodes, label = self.episodes(age), self.label
        return remaining_scores(self.problem, episodes, label.opt_prefetch, label.first_accesses)

    def share(self, scores: F64, age: int) -> F32:
        """float32[n]: of the budgets, at how many prices a score is enough."""
        episodes, label = self.episodes(age), self.label
        prices = [price_of_writes(self.problem, episodes, label.opt_prefetch, one) for one in label.budgets]
        share: F32 = np.mean([scores >= price for price in prices], axis=0).astype(np.float32)
        return share

    def milliseconds(self, run: FlashRun) -> float:
        """Mean read disk-head time after the warm-up, a read."""
        first, problem = self.problem.first, self.problem
        return 1e3 * float(problem.dt_seconds(run)[first:].sum()) / int(problem.read[first:].sum())

    def best(self, scores: F64, budget: float, modes: Sequence[str] | None = None) -> tuple[float, str]:
        """Milliseconds at the budget in the best of some plain modes, and that mode."""
        problem = self.at(budget)
        tried = {
            mode: self.milliseconds(learned(problem, scores, prefetch_of(problem, mode)).run)
            for mode in modes or modes_of([problem])
        }
        mode = min(tried, key=lambda one: tried[one])
        return tried[mode], mode

    def rival(self, budget: float, seed: int) -> float:
        """Milliseconds of the best policy without a model."""
        own = best_without_model([self.at(budget)], [self.trace.meta.trace_id], seed)
        return 1e3 * own.figures.mean_dt

    def bound(self, budget: float) -> float:
        """Milliseconds of OPT in its best mode."""
        return min(self.milliseconds(self.opt(budget, mode).choice.run) for mode in OPT_MODES)


@dataclass(frozen=True)
class Recipe:
    """A way to label."""

    target: Target
    one_age: bool = True  # the eviction age of the configured budget; else each budget has a forest of its own
    rising: bool = False
    beside: bool = False  # with inputs of the blocks before and after


def _class_at(part: Part, budget: float) -> Bool:
    return part.opt(budget).opt()


def _log(part: Part, age: int) -> F32:
    return np.log(np.maximum(part.left(age), 0) + LEAST).astype(np.float32)


RECIPES = {
    "OPT's class at 25 %": Recipe(lambda part, age: _class_at(part, part.label.write_budget)),
    "OPT's class at each budget": Recipe(lambda part, age: _class_at(part, part.label.write_budget), one_age=False),
    "share of budgets, whole episode": Recipe(lambda part, age: part.share(part.whole(age), age)),
    "share of budgets, what is left": Recipe(lambda part, age: part.share(part.left(age), age)),
    "the same, monotone": Recipe(lambda part, age: part.share(part.left(age), age), rising=True),
    "logarithm of what is left": Recipe(_log),
}
MORE_INPUTS = {
    "the same, with the blocks beside": Recipe(lambda part, age: part.share(part.left(age), age), beside=True),
}


def blocks_beside(part: Part, width: int, windows: Sequence[int]) -> F32:
    """float32[n, 2 w]: reads of the block before, and of that after, in the windows of the history."""
    trace, n = part.trace, len(part.trace)
    block = trace.offset // part.label.block_bytes + (trace.volume.codes.astype(np.int64) << 40)
    numbers, of = np.unique(block, return_inverse=True)
    rows = np.flatnonzero(trace.op == OP_READ)
    reads = np.sort(of[rows].astype(np.int64) * n + rows)
    columns = []
    for step in (-1, 1):
        place = np.minimum(np.searchsorted(numbers, block + step), len(numbers) - 1)
        base: I64 = np.where(numbers[place] == block + step, place, len(numbers)).astype(np.int64) * n
        for window in windows:
            since = np.maximum((np.arange(n) // width - window + 1) * width, 0)
            columns.append(np.searchsorted(reads, base + np.arange(n)) - np.searchsorted(reads, base + since))
    return np.stack(columns, axis=1).astype(np.float32)


class Category:
    """The traces of a category, and forests of its train trace."""

    def __init__(self, params: Params, name: str, test: bool) -> None:
        """Read them."""
        self.params, self.name, self.test = params, name, test
        self.settings = Settings.of(params, name)

    def parts(self, role: str) -> list[Part]:
        """Its traces of a role."""
        return [
            Part(self.params, self.name, one.trace)
            for one in read_traces(self.name, traces_of(self.params, self.name, role))[0]
        ]

    @cached_property
    def train(self) -> Part:
        """What is learned from."""
        return self.parts("train")[0]

    @cached_property
    def validation(self) -> Part:
        """What chooses the mode."""
        return self.parts("validation")[0]

    def inputs(self, part: Part, age: int, beside: bool) -> F32:
        """float32[n, F], with windows in this eviction age."""
        windows = list(self.settings.history.windows)
        width = max(1, round(age * self.settings.history.bucket_of_age))
        geometry = {"block_bytes": part.label.block_bytes, "segment_bytes": part.label.segment_bytes}
        codes = encodings([Unlabelled("train", self.train.trace)])
        history = {"bucket_requests": width, "windows": windows}
        rows = serve_trace(
            HistoryServing(AdmissionFeatures(feature_list(windows), codes, geometry, history)), part.trace
        )
        return np.concatenate([rows, blocks_beside(part, width, windows)], axis=1) if beside else rows

    def scores(self, recipe: Recipe, budget: float, own: Part, seed: int, judged: Sequence[Part]) -> list[F64]:
        """Scores of some traces by a forest that learned from one, as the recipe labels it."""
        at = own.label.write_budget if recipe.one_age else budget
        age = own.opt(at).episodes.age
        target = recipe.target(own, age) if recipe.one_age else _class_at(own, budget)
        keep, rows = own.rows(age), self.inputs(own, age, recipe.beside)
        names = [str(place) for place in range(rows.shape[1])]
        rising = [one["formula"].startswith(READS) for one in feature_list(self.settings.history.windows)]
        model, fit = self.settings.model, self.settings.fit
        if recipe.target is _log:
            shape = {
                key: getattr(model, key) for key in ("num_leaves", "learning_rate", "min_data_in_leaf", "lambda_l2")
            }
            forest = fit_regression(
                rows[keep], target[keep].astype(np.float32), names, LOG_TREES, shape, fit.threads, seed
            )
        else:
            data = ForestRows(rows[keep], target[keep], own.held[keep], names, None, rising if recipe.rising else None)
            forest = fit_forest(data, model, fit, seed)
        scorer = forest_scorer(forest.text)
        return [scorer(self.inputs(part, age, recipe.beside)) for part in judged]


def measured(category: Category, recipe: Recipe, seed: int, judged: Sequence[Part]) -> dict[float, list[float]]:
    """Milliseconds on each judged trace at each budget."""
    found: dict[float, list[float]] = {}
    for budget in category.train.label.budgets:
        if recipe.one_age and found:
            break
        chosen = [category.validation, *(judged if category.test else [])]
        scores = category.scores(recipe, budget, category.train, seed, chosen)
        for own in category.train.label.budgets if recipe.one_age else (budget,):
            value, mode = category.validation.best(scores[0], own)
            found[own] = [value]
            if category.test:
                found[own] = [part.best(one, own, [mode])[0] for part, one in zip(judged, scores[1:], strict=True)]
    return found


def bounds(category: Category, part: Part, seed: int) -> Iterator[tuple[str, dict[float, float]]]:
    """Milliseconds of OPT's episodes with plain prefetch, and of forests that were fitted on the trace itself."""
    budgets = part.label.budgets
    yield (
        "OPT's episodes, plain prefetch",
        {one: part.best(np.maximum(part.whole(part.opt(one).episodes.age), -1.0), one)[0] for one in budgets},
    )
    recipe = RECIPES["OPT's class at each budget"]
    itself = {one: category.scores(recipe, one, part, seed, [part])[0] for one in budgets}
    yield "class, fitted on the judged trace", {one: part.best(itself[one], one)[0] for one in budgets}


def main() -> None:
    """Print a table for each category."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("categories", nargs="*", help="of the matrix; all if none is named")
    parser.add_argument("--seeds", type=int, default=5, help="forests of each kind")
    parser.add_argument("--bounds", action="store_true", help="say where the gap is lost")
    parser.add_argument("--inputs", action="store_true", help="try inputs that a cache does not compute")
    parser.add_argument("--test", action="store_true", help="the test traces, in the mode that validation chose")
    asked = parser.parse_args()
    params = load_params()
    seeds = [params.seed, *(derive_seed(params.seed, "admission_labels", str(k)) for k in range(1, asked.seeds))]
    for name in asked.categories or sorted(params.data.roles):
        category = Category(params, name, asked.test)
        judged = category.parts("test") if asked.test else [category.validation]
        budgets = category.train.label.budgets
        ends = [{one: (part.rival(one, params.seed), part.bound(one)) for one in budgets} for part in judged]
        lines: dict[str, list[dict[float, list[float]]]] = {}
        for title, recipe in (RECIPES | (MORE_INPUTS if asked.inputs else {})).items():
            lines[title] = [measured(category, recipe, seed, judged) for seed in seeds]
        for place, part in enumerate(judged):
            print(f"\n**{part.trace.meta.trace_id}**, {len(seeds)} seeds: ms a read, lowest to highest; gap closed\n")
            print("| label | " + " | ".join(f"{one:.0%}" for one in budgets) + " |\n|---" + "|---" * len(budgets) + "|")
            for title, runs in lines.items():
                cells = []
                for one in budgets:
                    values, (rival, bound) = [run[one][place] for run in runs], ends[place][one]
                    closed = (rival - float(np.mean(values))) / (rival - bound)
                    cells.append(f"{np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f}), {closed:.0%}")
                print(f"| {title} | " + " | ".join(cells) + " |", flush=True)
            for title, own in bounds(category, part, params.seed) if asked.bounds else ():
                cells = []
                for one in budgets:
                    rival, bound = ends[place][one]
                    cells.append(f"{own[one]:.3f}, {(rival - own[one]) / (rival - bound):.0%}")
                print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
