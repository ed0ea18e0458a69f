"""The learned admission on test traces, next to AcceptAll, CoinFlip, RejectX and OPT.

All run in the same flash simulator. Two comparisons, since a threshold chosen on validation need not meet the
budget on a test trace:

- `deployed`: the model as shipped, threshold untouched; the others are given its segment writes, which they meet
  within `budget_tolerance`; the headline comes from here.
- `at_budget`: every policy's knob, the model's too, meets the configured budget on the test trace itself.
  Where RejectX cannot reach the budget, `at_rejectx_rate` repeats this at the writes RejectX does reach.

The gap is compared at no more writes than RejectX makes: where the model is ahead of it within the tolerance, its
threshold is raised for the gap until it writes no more.

Source: Baleen post, "Evaluation"; the share of the RejectX to OPT gap is ours.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cachezoo.config.baleen import FlashPolicy
from cachezoo.evaluation.bootstrap import interval
from cachezoo.evaluation.flash_load import (
    LoadWindows,
    load_curve,
    load_windows,
    measure,
    resamples,
    time_scale,
)
from cachezoo.kernels.episodes import Episodes
from cachezoo.kernels.flash import FlashRun
from cachezoo.labels.episode_file import describe
from cachezoo.labels.episodes import choose_episodes, label_problem
from cachezoo.labels.flash_problem import FlashProblem, flash_problem
from cachezoo.models.admission import load_admission
from cachezoo.policies.admission import AdmissionServing
from cachezoo.policies.flash import Tuned, coin_flip, learned, rejectx
from cachezoo.seeds import derive_seed
from cachezoo.traces.table import OP_READ, Trace
from cachezoo.training.episode_rows import serve_trace

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
MODEL = "baleen"


def admission_page_decisions(model: Path | AdmissionServing, trace: Trace) -> Bool:
    """The model's decision for every request of a trace, from a fresh history.

    For a page cache that asks it: True admits what a read misses. Writes get False: the model decides on
    reads only.

    Args:
        model: folder of a trained admission model, or a serving object that has served nothing yet.
        trace: requests.

    Returns:
        bool[n].
    """
    serving = load_admission(model)[1] if isinstance(model, Path) else model
    decided: Bool = serving.decide(serve_trace(serving, trace)) & (trace.op == OP_READ)
    return decided


class _Bench:
    """One test trace: windows, draws and what turns runs into rows."""

    def __init__(
        self, trace: Trace, problem: FlashProblem, episodes: Episodes, flash: FlashPolicy, seed: int
    ) -> None:
        self.problem, self.episodes, self.flash = problem, episodes, flash
        self.windows: LoadWindows = load_windows(trace.time_us, problem, flash, time_scale(trace))
        self.coin_seed = derive_seed(seed, "coin_flip", trace.meta.trace_id)
        draw_seed = derive_seed(seed, "flash_bootstrap", trace.meta.trace_id)
        self.draws: I64 = resamples(self.windows.count, flash.bootstrap_samples, draw_seed)

    def row(self, run: FlashRun, knob: float | None, reached: bool | None) -> dict[str, Any]:
        """A policy's figures."""
        return {**measure(self.problem, run, self.windows, self.draws), "knob": knob, "reached": reached}

    def curve(self, run: FlashRun) -> F64:
        """Its load in each window."""
        return load_curve(self.problem.dt_seconds(run), self.windows)

    def gap(self, model: FlashRun, baseline: FlashRun, best: FlashRun, scores: F64) -> dict[str, Any]:
        """Share of the RejectX to OPT gap closed, by peak and by mean.

        Null where there is hardly a gap, or where the model writes more than RejectX can; a model that writes more
        only by what both miss their budget by is raised in threshold, `gap_segment_writes` being what it then writes.
        """
        no_more = model.segment_writes <= baseline.segment_writes * (1 + 2 * self.problem.tolerance)
        if no_more and model.segment_writes > baseline.segment_writes:
            model = learned(replace(self.problem, budget=float(baseline.segment_writes), tolerance=0.0), scores).run
        curves = {
            name: self.curve(run) for name, run in (("model", model), ("rejectx", baseline), ("opt", best))
        }
        out: dict[str, Any] = {"no_more_writes": no_more, "gap_segment_writes": model.segment_writes}
        for name, statistic in (("peak", np.max), ("mean", np.mean)):
            ours, theirs, ideal = (float(statistic(curves[who])) for who in ("model", "rejectx", "opt"))
            wide = no_more and theirs > 0 and theirs - ideal >= self.flash.min_gap * theirs
            out[f"{name}_gap_closed"] = (theirs - ours) / (theirs - ideal) if wide else None
            out[f"{name}_dt_saved"] = (theirs - ours) / theirs if theirs > 0 else 0.0
            out[f"{name}_opt_dt_saved"] = (theirs - ideal) / theirs if theirs > 0 else 0.0
        difference = (curves["rejectx"] - curves["model"])[self.draws].mean(axis=1)
        out["mean_dt_saved_interval"] = [
            value / max(float(curves["rejectx"].mean()), 1e-12) for value in interval(difference)
        ]
        return out

    def compare(self, budget: float, model: Tuned | None, scores: F64) -> dict[str, Any]:
        """All policies at one write budget; `model` None has its threshold calibrated to it as well."""
        problem = replace(self.problem, budget=budget)
        ours = learned(problem, scores) if model is None else model
        baseline, coin, best = (
            rejectx(problem),
            coin_flip(problem, self.coin_seed),
            choose_episodes(problem, self.episodes),
        )
        opt = Tuned(best.run, float(best.calibration.index), best.calibration.reached)
        named = {"coin_flip": coin, "rejectx": baseline, "opt": opt, MODEL: ours}
        return {
            "budget_writes": budget,
            "rows": {name: self.row(tuned.run, tuned.knob, tuned.reached) for name, tuned in named.items()},
            "gap": self.gap(ours.run, baseline.run, opt.run, scores),
        }


def _evaluate_trace(
    trace: Trace, serving: AdmissionServing, params: "Params"
) -> dict[str, Any]:
    label, flash = params.label.episodes.of(trace.meta.category), params.policy.flash
    problem = flash_problem(trace, label, flash)
    found = label_problem(problem, label)
    figures = describe(trace, problem, found)
    bench = _Bench(trace, problem, found.episodes, flash, params.seed)
    scores = serving.scores(serve_trace(serving, trace))
    shipped = Tuned(problem.run(scores >= serving.threshold), serving.threshold, True)
    at_budget = bench.compare(problem.budget, None, scores)
    result = {
        "figures": figures,
        "warmup_request": bench.windows.warmup,
        "windows": {
            "count": bench.windows.count,
            "seconds": bench.windows.seconds,
            "reads": bench.windows.reads,
            "enough_reads": bench.windows.reads >= flash.window_min_reads,
        },
        "accept_all": bench.row(problem.accept_all, None, None),
        "deployed": bench.compare(float(max(1, shipped.run.segment_writes)), shipped, scores),
        "at_budget": at_budget,
        "at_rejectx_rate": None,
    }
    reference = at_budget["rows"]["rejectx"]
    if not reference["reached"] and reference["segment_writes"] > 0:
        result["at_rejectx_rate"] = bench.compare(float(reference["segment_writes"]), None, scores)
    return result


def evaluate_admission(
    model_dir: Path,
    traces: Mapping[str, Trace],
    params: "Params",
) -> dict[str, Any]:
    """Evaluate a trained admission model; plain JSON values.

    Args:
        model_dir: `models/trained/admission.<category>.lgbm`.
        traces: test traces by key.
        params: sections label.episodes, policy.flash and seed are read.

    Returns:
        `model_id`, `trained`, `beats_baseline`, `reason`, `transfer_note` (null, or that disk-head time
        amounts to an I/O count), and `traces`: for each key `figures` (blocks, episodes, inflation, eviction
        age …), `windows`, `warmup_request`, `accept_all` (LRU without budget) and the comparisons `deployed`,
        `at_budget` and `at_rejectx_rate` (or null). A comparison holds `rows` by policy id (coin_flip,
        rejectx, opt, baleen) as `cachezoo.evaluation.flash_load.measure` gives them, with knob and `reached`,
        and `gap`: `peak_gap_closed` = (RejectX - model) / (RejectX - OPT) on peak read disk-head time, null
        where that gap is below `min_gap` of RejectX's peak or the model wrote more than RejectX could
        (`no_more_writes` False), and the same for the mean.
        Headline: `traces[key]["deployed"]["gap"]["peak_gap_closed"]`.

    Raises:
        TrainingError: the folder holds no readable model.
    """
    trained, _ = load_admission(model_dir)
    results = {}
    for key, trace in traces.items():
        _, serving = load_admission(model_dir)
        results[key] = _evaluate_trace(trace, serving, params)
    shares = [result["accept_all"]["transfer_share"] for result in results.values()]
    note = (
        "transfer is below 10 % of disk-head time: it amounts to an I/O count"
        if shares and max(shares) < 0.1
        else None
    )
    return {
        "model_id": trained.model_id,
        "trained": trained.trained,
        "beats_baseline": trained.beats_baseline,
        "reason": trained.reason,
        "transfer_note": note,
        "traces": results,
    }
