"""Admission models without names, small ones and distilled ones beside the full one, over seeds of their forests.

    admission_variants.py [CATEGORY …] [--seeds 5] [--all]      needs the pipeline's requests and labels

Each learns from the train traces, takes prefetch mode and threshold from the validation traces, and is run on the test
traces in that mode at the write budget. Figures are read disk-head time, in disk-head seconds per second: the mean over
seeds, then the lowest and highest of them. *Against full* and *block* are relative changes of the mean, where below 0
is better, with the lowest and highest of the same seeds beside each other. *Nodes* are the comparisons of one decision.
A last line says what the full one does as shipped where no name is known: its threshold is not set anew then.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import lightgbm as lgb
import numpy as np

from cachezoo.arrays import F32, F64
from cachezoo.config.load import load_params
from cachezoo.flash_cache.load import load_curve, load_windows
from cachezoo.flash_cache.policies import learned, prefetch_of
from cachezoo.flash_cache.problem import FlashProblem, flash_problem, label_of
from cachezoo.kernels.flash import FlashRun
from cachezoo.models.forest import Forest, Scorer, fit_regression, forest_scorer
from cachezoo.models.trained import FittedModel
from cachezoo.params import traces_of
from cachezoo.seeds import derive_seed
from cachezoo.settings.params import Params
from cachezoo.traces.clock import time_scale
from cachezoo.traces.table import OP_READ, Trace
from cachezoo.training.episodes import Prepared, read_prepared, read_traces
from cachezoo.zoo.admission.fit import BLOCK, CONTEXT, FULL, SMALL, Settings, Variant, fit_prepared, training_rows
from cachezoo.zoo.admission.judge import plain_settings
from cachezoo.zoo.admission.serve import history_of, serve_trace
from cachezoo.zoo.admission.settings import Small

NAMES, UNKNOWN = ("namespace", "user"), -1
SMALL_WITH_NAMES = Variant("_small", names=True, small=True)
SHAPES = ((31, 0.2), (16, 0.3), (31, 0.3))
COUNTED = 5000


@dataclass(frozen=True)
class Case:
    """A validation or test trace, and its inputs with names and without."""

    trace: Trace
    problem: FlashProblem
    rows: dict[bool, F32]

    def load(self, run: FlashRun, params: Params) -> F64:
        """In each window."""
        windows = load_windows(self.trace.time_us, self.problem, params.policy.flash, time_scale(self.trace))
        return load_curve(self.problem.dt_seconds(run), windows)


@dataclass(frozen=True)
class Tried:
    """A forest with one seed: its scores on a trace's inputs, and how many nodes a decision passes."""

    names: bool
    scores: Scorer
    nodes: float


@dataclass(frozen=True)
class Measured:
    """Load by `validation`, then by test trace: mean and peak over the windows; what a decision passes."""

    mean: dict[str, float]
    peak: dict[str, float]
    nodes: float
    mode: str


class Category:
    """What all trainings of a category share."""

    def __init__(self, params: Params, name: str) -> None:
        """Read its traces and labels."""
        self.params, self.name = params, name
        self.settings = Settings.of(params, name)
        self.label = label_of(params.label.episodes, name)
        self.parts: list[Prepared] = read_prepared(name, traces_of(params, name, "train"))[0]

    def fit(self, variant: Variant, seed: int, shape: Small | None = None) -> tuple[FittedModel, Forest]:
        """A variant's forest with a seed, a small one of this shape."""
        own = replace(self.settings, seed=seed)
        if shape is not None:
            own = replace(own, model=own.model.model_copy(update={"small": shape}))
        return fit_prepared(self.name, self.parts, own, {}, variant)

    def cases(self, role: str) -> list[Case]:
        """Traces of a role."""
        found = []
        for part in read_traces(self.name, traces_of(self.params, self.name, role))[0]:
            rows = {names: serve_trace(history_of(model), part.trace) for names, model in self.models.items()}
            found.append(Case(part.trace, flash_problem(part.trace, self.label, self.params.policy.flash), rows))
        return found

    @cached_property
    def models(self) -> dict[bool, FittedModel]:
        """One model with names and one without: which inputs they have hangs on no seed."""
        return {variant.names: self.fit(variant, self.params.seed)[0] for variant in (FULL, BLOCK)}

    @cached_property
    def validation(self) -> list[Case]:
        """Its validation traces."""
        return self.cases("validation")

    @cached_property
    def test(self) -> list[Case]:
        """Its test traces."""
        return self.cases("test")

    def learning_rows(self, names: bool, every: bool) -> F32:
        """What a forest learns from: the rows that have labels, or every read of the train traces."""
        served = [serve_trace(history_of(self.models[names]), part.trace) for part in self.parts]
        if every:
            pairs = zip(served, self.parts, strict=True)
            return np.concatenate([rows[part.trace.op == OP_READ] for rows, part in pairs])
        return training_rows(self.parts, served, self.label, self.settings).features

    def tried(self, names: bool, forest: Forest) -> Tried:
        """A forest, and the nodes that it passes on reads of validation."""
        case = self.validation[0]
        reads = case.rows[names][case.trace.op == OP_READ][:COUNTED]
        return Tried(names, forest_scorer(forest.text), nodes_passed(forest, reads))

    def measure(self, tried: Tried) -> Measured:
        """Mode and threshold from validation; on the tests the mode, and the threshold at the write budget."""
        cases = self.validation
        scores = [tried.scores(case.rows[tried.names]) for case in cases]
        best = plain_settings([case.problem for case in cases], scores)[0]
        loads = {
            "validation": np.concatenate(
                [case.load(run, self.params) for case, run in zip(cases, best.runs, strict=True)]
            )
        }
        for case in self.test:
            own = learned(case.problem, tried.scores(case.rows[tried.names]), prefetch_of(case.problem, best.mode))
            loads[case.trace.meta.trace_id] = case.load(own.run, self.params)
        means, peaks = ({name: float(of(load)) for name, load in loads.items()} for of in (np.mean, np.max))
        return Measured(means, peaks, tried.nodes, best.mode)


def nodes_passed(forest: Forest, rows: F32) -> float:
    """Mean number of comparisons that the forest makes for a row, over all trees."""
    booster = lgb.Booster(model_str=forest.text)
    total = 0.0
    leaves = np.asarray(booster.predict(rows, pred_leaf=True)).reshape(len(rows), -1)
    for number, tree in enumerate(booster.dump_model()["tree_info"]):
        depths, todo = {0: 0}, [(tree["tree_structure"], 0)]
        while todo:
            node, depth = todo.pop()
            if "leaf_value" in node:
                depths[node.get("leaf_index", 0)] = depth
            else:
                todo += [(node[side], depth + 1) for side in ("left_child", "right_child")]
        total += float(np.mean([depths[leaf] for leaf in leaves[:, number].tolist()]))
    return total


def unknown_names(category: Category, full: Tried) -> Tried:
    """The full forest where no name is known."""
    places = [place for place, one in enumerate(category.models[True].features) if one.name in NAMES]

    def scores(rows: F32) -> F64:
        blind = rows.copy()
        blind[:, places] = UNKNOWN
        return full.scores(blind)

    return replace(full, scores=scores)


def unknown_as_shipped(category: Category, full: Tried) -> tuple[float, float]:
    """Share of the reads of validation whose decision turns where no name is known, and what is written of the budget.

    Mode and threshold are those of known names.
    """
    cases = category.validation
    known, blind = ([one.scores(case.rows[True]) for case in cases] for one in (full, unknown_names(category, full)))
    best = plain_settings([case.problem for case in cases], known)[0]
    pairs = zip(cases, known, blind, strict=True)
    turned = [((own >= best.threshold) != (other >= best.threshold))[case.problem.read] for case, own, other in pairs]
    runs = [
        case.problem.run(other >= best.threshold, fetched)
        for case, other, fetched in zip(cases, blind, best.prefetches, strict=True)
    ]
    budget = sum(case.problem.budget for case in cases)
    return float(np.concatenate(turned).mean()), sum(run.segment_writes for run in runs) / budget


def distilled(category: Category, teacher: Tried, seed: int, small: Small, every: bool) -> Tried:
    """A small forest without names that learns the raw scores of another one."""
    shape = {name: getattr(category.settings.model, name) for name in ("feature_fraction", "bagging_fraction")}
    shape |= {name: getattr(category.settings.model, name) for name in ("bagging_freq", "min_data_in_leaf")}
    shape |= {"num_leaves": small.num_leaves, "learning_rate": small.learning_rate}
    rows = category.learning_rows(names=False, every=every)
    targets = teacher.scores(category.learning_rows(teacher.names, every)).astype(np.float32)
    names = [feature.name for feature in category.models[False].features]
    threads = category.settings.fit.threads
    return category.tried(False, fit_regression(rows, targets, names, small.max_trees, shape, threads, seed))


def recipes(category: Category, seed: int, everything: bool) -> Iterator[tuple[str, Tried]]:
    """Name and forest of each way to make one."""

    def fitted(variant: Variant, shape: Small | None = None) -> Tried:
        return category.tried(variant.names, category.fit(variant, seed, shape)[1])

    full, block = fitted(FULL), fitted(BLOCK)
    yield "full", full
    yield "full, names unknown", unknown_names(category, full)
    yield "block", block
    yield "small", fitted(SMALL)
    yield "small, with names", fitted(SMALL_WITH_NAMES)
    if not everything:
        return
    trees, own = category.settings.model.small.max_trees, derive_seed(seed, CONTEXT, category.name)
    for leaves, rate in SHAPES:
        shape = Small(num_leaves=leaves, max_trees=trees, learning_rate=rate)
        yield f"boosted, {leaves} leaves, rate {rate}", fitted(SMALL, shape)
    for rate in (0.3, 0.5):
        shape = Small(num_leaves=31, max_trees=trees, learning_rate=rate)
        for name, teacher in (("full", full), ("block", block)):
            yield f"distilled of {name}, rate {rate}", distilled(category, teacher, own, shape, every=False)
        yield f"the same of block, all reads, rate {rate}", distilled(category, block, own, shape, every=True)


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Mean, and lowest to highest."""
    return f"{np.mean(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def change(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Relative change of the mean in percent, and over pairs of one seed the lowest and highest."""
    each = [100 * (own / other - 1) for own, other in zip(ours, theirs, strict=True)]
    return f"{100 * (np.mean(ours) / np.mean(theirs) - 1):+.1f} % ({min(each):+.1f} to {max(each):+.1f})"


def table(found: dict[str, list[Measured]]) -> Iterator[str]:
    """Lines of a category's table in Markdown."""
    traces = list(found["full"][0].mean)
    heads = ["forest", "nodes", "validation: against full", "against block"]
    heads += [f"{trace}: mean, peak" for trace in traces] + [f"{trace}: against full" for trace in traces[1:]]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for name, runs in found.items():
        means = {trace: [run.mean[trace] for run in runs] for trace in traces}
        full, block = ([run.mean for run in found[other]] for other in ("full", "block"))
        cells = [name, f"{np.mean([run.nodes for run in runs]):.0f}"]
        cells += [change(means[traces[0]], [own[traces[0]] for own in other]) for other in (full, block)]
        for trace in traces:
            cells.append(f"{spread(means[trace])}, {spread([run.peak[trace] for run in runs], 2)}")
        cells += [change(means[trace], [own[trace] for own in full]) for trace in traces[1:]]
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a table for each category, and over all of them the mean change on validation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("categories", nargs="*", help="of the matrix; all if none is named")
    parser.add_argument("--seeds", type=int, default=5, help="forests of each kind")
    parser.add_argument("--all", action="store_true", help="small forests of other shapes, and distilled ones, too")
    asked = parser.parse_args()
    params = load_params()
    seeds = [params.seed, *(derive_seed(params.seed, "admission_variants", str(k)) for k in range(1, asked.seeds))]
    changes: dict[str, list[float]] = {}
    for name in asked.categories or sorted(params.data.roles):
        category = Category(params, name)
        found: dict[str, list[Measured]] = {}
        shipped = []
        for seed in seeds:
            for recipe, tried in recipes(category, seed, asked.all):
                found.setdefault(recipe, []).append(category.measure(tried))
                if recipe == "full":
                    shipped.append(unknown_as_shipped(category, tried))
        print(f"\n**{name}**, {len(seeds)} seeds\n")
        for line in table(found):
            print(line, flush=True)
        turned, written = ([value[place] for value in shipped] for place in (0, 1))
        print("\nThe full one as shipped where no name is known:")
        print(f"share of decisions turned {spread(turned)}, of the budget written {spread(written)}")
        means = {recipe: np.mean([run.mean["validation"] for run in runs]) for recipe, runs in found.items()}
        for recipe, mean in means.items():
            changes.setdefault(recipe, []).append(float(mean / means["full"]) - 1)
    print("\nOver the categories, validation against full:\n")
    for recipe, values in changes.items():
        each = " ".join(f"{100 * value:+.1f}" for value in values)
        print(f"{recipe:<40}{100 * np.mean(values):+6.2f} %   {each}")


if __name__ == "__main__":
    main()
