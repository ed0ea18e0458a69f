"""Other papers' learned admissions and Baleen's in the same flash cache, at equal writes, over seeds.

    python -m lab.notes.flash_rivals [CATEGORY …] [--seeds 5] [--only NAME,…]     needs the pipeline's requests, labels

Each learns from the train traces; prefetch mode and threshold are from the validation traces; on the test traces the
mode is kept and the threshold set to the write budget. The best policy without a model is chosen on validation too,
among admissions, evictions and plain modes. Figures are mean read disk-head time, in disk-head seconds per second, the
mean over seeds, with lowest and highest; *against ours* is the relative change of the mean over seeds, where above 0 is
worse than Baleen's admission. Flashield's linear model draws its rows by the seed.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cachezoo.arrays import F64
from cachezoo.config.load import load_params
from cachezoo.flash_cache.load import load_curve, load_windows
from cachezoo.flash_cache.policies import baseline, best_without_model, learned, prefetch_of
from cachezoo.flash_cache.problem import FlashProblem, flash_problem, label_of
from cachezoo.kernels.flash import FlashRun
from cachezoo.models.forest import forest_scorer
from cachezoo.params import traces_of
from cachezoo.seeds import derive_seed
from cachezoo.settings.params import Params
from cachezoo.traces.clock import time_scale
from cachezoo.traces.table import Trace
from cachezoo.training.episodes import read_prepared, read_traces
from cachezoo.zoo.admission.fit import FULL, Settings, fit_prepared
from cachezoo.zoo.admission.judge import plain_settings
from cachezoo.zoo.admission.serve import history_of, serve_trace
from lab.baleen.rivals import RIVALS, Course, Labelled, Part, scores_of

OURS, WITHOUT, VALIDATION = "ours", "without a model", "validation"
Loads = dict[str, float]  # mean by `validation`, then by test trace


class Category:
    """What all trainings of a category share."""

    def __init__(self, params: Params, name: str) -> None:
        """Read its traces and labels."""
        self.params, self.name = params, name
        self.settings, self.label = Settings.of(params, name), label_of(params.label.episodes, name)
        self.prepared = read_prepared(name, traces_of(params, name, "train"))[0]
        self.model = fit_prepared(name, self.prepared, self.settings, {})[0]  # no seed changes its inputs
        self.validation, self.test = (self.parts(role) for role in ("validation", "test"))
        pairs = zip(self.prepared, self.parts("train"), strict=True)
        train = [Labelled(part.trace, part.problem, part.rows, own.labels) for own, part in pairs]
        age = int(self.model.learned["eviction_age"])
        self.course = Course(name, self.model.features, train, age, self.label, self.settings)

    def problem(self, trace: Trace) -> FlashProblem:
        """A trace's cache and budget."""
        return flash_problem(trace, self.label, self.params.policy.flash)

    def parts(self, role: str) -> list[Part]:
        """Traces of a role."""
        traces = [one.trace for one in read_traces(self.name, traces_of(self.params, self.name, role))[0]]
        return [Part(trace, self.problem(trace), serve_trace(history_of(self.model), trace)) for trace in traces]

    def load(self, part: Part, run: FlashRun) -> F64:
        """Of the disks, in each window."""
        windows = load_windows(part.trace.time_us, part.problem, self.params.policy.flash, time_scale(part.trace))
        return load_curve(part.problem.dt_seconds(run), windows)

    def loads(self, validation: Sequence[FlashRun], test: Sequence[FlashRun]) -> Loads:
        """Means of runs of all traces."""
        pairs = zip(self.validation, validation, strict=True)
        found = {VALIDATION: float(np.concatenate([self.load(part, run) for part, run in pairs]).mean())}
        for part, run in zip(self.test, test, strict=True):
            found[part.trace.meta.trace_id] = float(self.load(part, run).mean())
        return found

    def measure(self, scores: Sequence[F64]) -> Loads:
        """A learned admission by its scores of the validation traces, then the tests."""
        problems = [part.problem for part in (*self.validation, *self.test)]
        count = len(self.validation)
        best = plain_settings(problems[:count], list(scores[:count]))[0]
        pairs = zip(problems[count:], scores[count:], strict=True)
        test = [learned(problem, own, prefetch_of(problem, best.mode)).run for problem, own in pairs]
        return self.loads(best.runs, test)

    def without_model(self) -> tuple[str, Loads]:
        """The best policy without a model on validation: its name and loads."""
        seed = self.params.seed
        problems, ids = zip(*((part.problem, part.trace.meta.trace_id) for part in self.validation), strict=True)
        best = best_without_model(problems, ids, seed)
        test = []
        for part in self.test:
            policy = baseline(best.policy, seed, part.trace.meta.trace_id)
            test.append(policy(part.problem, prefetch_of(part.problem, best.mode)).run)
        return str(best), self.loads(best.runs, test)

    def ours(self, seed: int) -> list[F64]:
        """Scores of Baleen's forest with a seed."""
        forest = fit_prepared(self.name, self.prepared, replace(self.settings, seed=seed), {}, FULL)[1]
        scorer = forest_scorer(forest.text)
        return [scorer(part.rows) for part in (*self.validation, *self.test)]

    def tried(self, seed: int, names: Sequence[str]) -> Iterator[tuple[str, Loads]]:
        """Every admission with a seed."""
        scores = self.ours(seed)
        yield OURS, self.measure(scores)
        for name in names:
            scorer = scores_of(name, self.course, seed)
            yield name, self.measure([scorer(part) for part in (*self.validation, *self.test)])


def spread(values: Sequence[float]) -> str:
    """Mean, and lowest to highest."""
    return f"{np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def table(found: dict[str, list[Loads]]) -> Iterator[str]:
    """Lines of a category's table in Markdown."""
    traces = list(found[OURS][0])
    yield f"| admission | {' | '.join(f'{trace} | against ours' for trace in traces)} |"
    yield "|---" * (1 + 2 * len(traces)) + "|"
    for name, runs in found.items():
        cells = [name]
        for trace in traces:
            means, ours = ([run[trace] for run in own] for own in (runs, found[OURS]))
            cells += [spread(means), f"{100 * (np.mean(means) / np.mean(ours) - 1):+.1f} %"]
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a table for each category."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("categories", nargs="*", help="of the matrix; all if none is named")
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each")
    parser.add_argument("--only", default=",".join(RIVALS), help="rivals to run with ours")
    asked = parser.parse_args()
    params = load_params()
    names = [name for name in asked.only.split(",") if name]
    seeds = [params.seed, *(derive_seed(params.seed, "flash_rivals", str(k)) for k in range(1, asked.seeds))]
    for name in asked.categories or sorted(params.data.roles):
        category = Category(params, name)
        best, loads = category.without_model()
        found: dict[str, list[Loads]] = {f"{WITHOUT}: {best}": [loads]}
        for seed in seeds:
            for admission, own in category.tried(seed, names):
                found.setdefault(admission, []).append(own)
        print(f"\n**{name}**, {len(seeds)} seeds\n")
        for line in table(found):
            print(line, flush=True)


if __name__ == "__main__":
    main()
