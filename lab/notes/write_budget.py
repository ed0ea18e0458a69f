"""A write budget that is kept: the controller against thresholds, fixed or set in hindsight, at four budgets.

    write_budget.py [--role validation] [--budgets 5,10,25,50] [--horizons 0.25,0.5,1,3,6,24] [--windows 4096,65536]
                                        needs the pipeline's requests and trained admission models
    write_budget.py --rivals            the same of policies without a model; needs the requests alone

On each trace the full, block and small admission runs in its plain prefetch mode, with read disk-head time counted as
the evaluation counts it. *Fixed* is the threshold that meets the budget on validation; *kept* the controller, beginning
with the shipped threshold, once following the load and once not. `writes` is over the budget; mean and peak are changes
against the threshold set in hindsight on the trace itself, above 0 is worse. Last come means over all traces, budgets
and models that can write the budget, and how far writes were over the budget at any moment, in shares of the whole
budget: by horizon, in hours of recorded time, and by the reads that miss which the controller remembers. Nothing here
is random; three forests a category stand for seeds.

Policies without a model run without prefetch and with read-ahead, RejectX by Bloom filters with several numbers and
sizes (in capacities) of filters.
"""

import argparse
import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64, I64
from cachezoo.config.load import load_params
from cachezoo.flash_cache import problem as problems
from cachezoo.flash_cache.load import LoadWindows, load_curve, load_windows
from cachezoo.flash_cache.modes import NONE
from cachezoo.flash_cache.policies import (
    ADMISSIONS,
    BLOOM_REJECTX,
    Tuned,
    baseline,
    controlled,
    learned,
    prefetch_of,
    threshold_for_budget,
)
from cachezoo.flash_cache.problem import FlashProblem, flash_problem, label_of
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.kernels.write_budget import Controller
from cachezoo.params import traces_of
from cachezoo.settings.params import Params
from cachezoo.traces.clock import time_scale
from cachezoo.traces.store import read_trace
from cachezoo.zoo.admission.fit import VARIANTS, model_id
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.admission.serve import serve_trace

WAYS = {"kept": True, "kept, load ignored": False}
MODES = (NONE, "next(8)", "next(64)")
FILTERS = ((8, 1.0), (8, 0.25), (16, 0.5), (32, 0.25))
Figures = tuple[float, float, float, float]  # writes over the budget, mean, peak, and over the budget at any moment


@dataclass(frozen=True)
class Case:
    """A trace with an admission model's scores, its plain mode and its shipped threshold."""

    name: str
    problem: FlashProblem
    windows: LoadWindows
    time: I64
    scores: F64
    fetched: Prefetch | None
    threshold: float

    def at(self, share: float) -> FlashProblem:
        """The problem at a share of what AcceptAll writes."""
        return replace(self.problem, budget=share * self.problem.accept_all.segment_writes)

    def curve(self, run: FlashRun) -> F64:
        """Disk-head seconds a second, by window."""
        return load_curve(self.problem.dt_seconds(run), self.windows)

    def over(self, run: FlashRun, budget: float) -> float:
        """How far writes were over the rate at any moment, in shares of the budget."""
        since = (self.time - self.time[0]) / max(1, int(self.time[-1] - self.time[0]))
        return float((np.cumsum(run.written) / budget - since).max())


def cases(params: Params, category: str, model: str, role: str) -> list[Case]:
    """A model on a category's traces of a role."""
    label, flash, found = label_of(params.label.episodes, category), params.policy.flash, []
    for key in traces_of(params, category, role):
        trained, serving = load_admission(paths.trained(model))
        trace, setting = read_trace(paths.requests(category, key)), trained.calibration["with_prefetch"]
        problem = flash_problem(trace, label, flash)
        windows = load_windows(trace.time_us, problem, flash, time_scale(trace))
        scores, fetched = serving.scores(serve_trace(serving, trace)), prefetch_of(problem, setting["mode"])
        name = f"{key} {model.rsplit('.', 1)[1]}"
        found.append(Case(name, problem, windows, trace.time_us, scores, fetched, float(setting["threshold"])))
    return found


def against(case: Case, run: FlashRun, best: Tuned, budget: float) -> tuple[float, float, float]:
    """Writes over the budget; mean and peak against the threshold set in hindsight."""
    ours, theirs = case.curve(run), case.curve(best.run)
    return run.segment_writes / budget, ours.mean() / theirs.mean() - 1, ours.max() / theirs.max() - 1


def pairs(params: Params, role: str) -> Iterator[tuple[list[Case], Case]]:
    """Each case of a role, with those that thresholds are chosen on."""
    for category in sorted(params.data.roles):
        if not traces_of(params, category, role):
            continue
        for variant in VARIANTS:
            model = model_id(category, variant.arch(params.model.admission.arch))
            if not paths.trained(model).is_dir():
                continue
            chosen_on = cases(params, category, model, "validation")
            for case in cases(params, category, model, role):
                yield chosen_on, case


def models(
    params: Params, role: str, shares: list[float], rules: dict[str, Controller]
) -> Iterator[tuple[str, Figures]]:
    """Print a row a trace, model and budget; what each set of rules gives there, where hindsight meets the budget."""
    heads = "trace, model", "budget", "fixed: writes, mean", "kept: writes, mean, peak", "load ignored"
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for chosen_on, case in pairs(params, role):
        for share in shares:
            own = case.at(share)
            best = learned(own, case.scores, case.fetched)
            calibrating = [one.at(share) for one in chosen_on]
            fixed, _ = threshold_for_budget(
                calibrating, [one.scores for one in chosen_on], [one.fetched for one in chosen_on]
            )
            run = case.problem.run(case.scores >= fixed, case.fetched)
            writes, mean, _ = against(case, run, best, own.budget)
            cells = [case.name, f"{share:.0%}", f"{writes:.3f}, {mean:+.1%}"]
            for name, one in rules.items():
                for way, follows in WAYS.items():
                    how = replace(one, follows_load=follows)
                    run = controlled(own, case.scores, case.threshold, how, case.fetched).run
                    found = against(case, run, best, own.budget)
                    if one is next(iter(rules.values())):
                        cells.append("{:.3f}, {:+.1%}, {:+.1%}".format(*found))
                    if best.reached:
                        yield f"{way}, {name}", (*found, case.over(run, own.budget))
            print(f"| {' | '.join(cells)} |", flush=True)


def rivals(
    params: Params, role: str, shares: list[float], rules: dict[str, Controller]
) -> Iterator[tuple[str, Figures]]:
    """What each set of rules gives of a policy without a model, where hindsight meets the budget."""
    for category in sorted(params.data.roles):
        label, flash = label_of(params.label.episodes, category), params.policy.flash
        for key in traces_of(params, category, role):
            trace = read_trace(paths.requests(category, key))
            problem = flash_problem(trace, label, flash)
            windows = load_windows(trace.time_us, problem, flash, time_scale(trace))
            case = Case(key, problem, windows, trace.time_us, np.zeros(len(trace)), None, 0.0)
            for share, mode, policy in itertools.product(shares, MODES, ADMISSIONS):
                own, fetched = case.at(share), prefetch_of(problem, mode)
                best = baseline(policy, params.seed, key)(own, fetched)
                if not best.reached:
                    continue
                for name, one in rules.items():
                    for filters in FILTERS if policy == BLOOM_REJECTX else FILTERS[:1]:
                        problems.GENERATIONS, problems.GENERATION = filters
                        run = baseline(policy, params.seed, key, one)(own, fetched).run
                        shape = f" of {filters[0]} filters, {filters[1]:g} each" if policy == BLOOM_REJECTX else ""
                        figures = (*against(case, run, best, own.budget), case.over(run, own.budget))
                        yield f"{policy}{shape}, {name}", figures


def main() -> None:
    """Print the table and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--role", choices=["validation", "test"], default="validation")
    parser.add_argument("--budgets", default="5,10,25,50")
    parser.add_argument("--horizons", default="0.5")
    parser.add_argument("--windows", default="4096")
    parser.add_argument("--rivals", action="store_true")
    given = parser.parse_args()
    problems.HORIZONS = 1  # as long as is asked for, whatever the trace's length
    shares, hours, windows = (
        [float(text) for text in one.split(",")] for one in (given.budgets, given.horizons, given.windows)
    )
    rules = {
        f"{hour:g} h, {window:.0f} misses": Controller(horizon_s=3600 * hour, window_misses=int(window))
        for hour, window in itertools.product(hours, windows)
    }
    means: dict[str, list[Figures]] = defaultdict(list)
    run = rivals if given.rivals else models
    for name, figures in run(load_params(), given.role, [share / 100 for share in shares], rules):
        means[name].append(figures)
    for name, rows in means.items():
        writes, mean, peak, over = np.array(rows).T
        print(
            f"{name}, {len(rows)} runs: writes {writes.min():.3f} to {writes.max():.3f}, "
            f"mean {mean.mean():+.2%} ({mean.min():+.1%} to {mean.max():+.1%}), "
            f"peak {peak.mean():+.2%} ({peak.min():+.1%} to {peak.max():+.1%}), over {over.max():.1%}"
        )


if __name__ == "__main__":
    main()
