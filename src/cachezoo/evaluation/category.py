"""A category's test traces: classics, bounds and models in one page cache."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.config.schema import Params
from cachezoo.console import progress
from cachezoo.devices.responses import one_provenance, read_responses
from cachezoo.evaluation.admission import admission_page_decisions
from cachezoo.evaluation.bootstrap import interval, resampled_ratios
from cachezoo.evaluation.caching import evaluate_caching
from cachezoo.evaluation.compare import MIN_GAP, gap
from cachezoo.kernels.outcome import HIT
from cachezoo.labels.benefit import percent, read_benefit_labels
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.registry import OPTIMUM, classics, policy
from cachezoo.policies.simulate import Replay, auto_warmup, count, parse_capacity, simulate_admission
from cachezoo.seeds import derive_seed
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import Trace

FLOOR = 0.01
F64 = npt.NDArray[np.float64]


class _Bench:
    """One trace with its responses, at the capacity and warm-up index that all policies share."""

    def __init__(self, params: Params, category: str, key: str) -> None:
        self.settings = params.evaluate
        self.trace: Trace = read_trace(paths.requests(category, key))
        self.pages: PageAccesses = read_pages(paths.requests(category, key))
        self.t_hdd_us, self.t_ssd_us = read_responses(paths.responses(category, key), len(self.trace))
        share = f"{100 * self.settings.capacity_fraction}%"
        self.capacity = parse_capacity(share, self.pages.n_pages)
        self.warmup = auto_warmup(self.pages, self.capacity)
        self.replay = Replay(self.trace, self.pages)
        self.seed = derive_seed(params.seed, "evaluate", category, key)
        self.category, self.key = category, key
        self.benefit = params.label.benefit

    def by_id(self, policy_id: str) -> Simulation:
        """A registered policy, or a composition."""
        return self.replay.run(policy_id, self.capacity, self.warmup)

    def admission(self, model_id: str) -> Simulation:
        """LRU behind the trained admission: it decides on read misses, write misses go around the cache."""
        decided = admission_page_decisions(paths.trained(model_id), self.trace)
        return simulate_admission(self.trace, self.pages, model_id, decided, self.capacity, self.warmup)

    def caching(self, model_id: str) -> tuple[Simulation, dict[str, float | None]]:
        """RC-RNN's manager with the trained model; beside it the tags' metrics, where the capacity is labelled."""
        share = self.settings.capacity_fraction
        labels = read_benefit_labels(
            paths.labels("benefit", self.category, self.key), self.benefit, len(self.trace)
        )  # fmt: skip
        labelled = any(capacity == percent(share) for _, capacity in labels.tags)
        with progress(f"{model_id}: cache on {self.key}", len(self.trace)) as advance:
            run = evaluate_caching(
                paths.trained(model_id), self.trace, self.pages, self.capacity,
                labels if labelled else None, share, advance,
            )  # fmt: skip
        return count(self.trace, self.pages, model_id, self.capacity, self.warmup, run.outcome), run.figures

    def ratios(self, result: Simulation) -> F64:
        """Resampled hit ratios, paired across policies."""
        hits = result.outcome[self.warmup :] == HIT
        return resampled_ratios(hits, self.settings.bootstrap_blocks, self.settings.bootstrap_samples, self.seed)


def _row(
    bench: _Bench, result: Simulation, kind: str, best: Simulation, optimum: Simulation, decision_us: float = 0.0
) -> dict[str, Any]:
    closed, points = gap(result.hit_ratio, best.hit_ratio, optimum.hit_ratio)
    mine, theirs, most = bench.ratios(result), bench.ratios(best), bench.ratios(optimum)
    wide = most - theirs >= MIN_GAP
    shares = (mine[wide] - theirs[wide]) / (most[wide] - theirs[wide])
    return {
        "policy": result.policy,
        "kind": kind,
        "hits": result.hits,
        "hit_ratio": result.hit_ratio,
        "hit_ratio_interval": interval(mine),
        "request_hit_ratio": result.request_hit_ratio,
        "byte_hit_ratio": result.byte_hit_ratio,
        "ssd_writes": result.ssd_writes,
        "ssd_writes_per_100_io": 100 * result.ssd_writes / max(result.requests, 1),
        "mean_response_us": result.mean_response_us(bench.t_hdd_us, bench.t_ssd_us, decision_us),
        "dirty_evictions": result.dirty_evictions,
        "decision_us": decision_us,
        "gap_closed": closed,
        "gap_closed_interval": interval(shares) if closed is not None and len(shares) else None,
        "gap_points": points,
    }


def evaluate_trace(
    params: Params, category: str, key: str, models: list[TrainedModel], tuned: Sequence[str] = ()
) -> dict[str, Any]:
    """Every classic, policy of params.yaml and model on one trace, best hit ratio first.

    Args:
        params: the whole of params.yaml.
        category: the trace's.
        key: the trace.
        models: trained admission and caching models to run beside the policies.
        tuned: classics with values of their own to run as well; the best classic is one with its defaults.
    """
    bench = _Bench(params, category, key)
    ids = dict.fromkeys([*classics(), *params.evaluate.policies, OPTIMUM, *tuned])
    ran = {policy_id: bench.by_id(policy_id) for policy_id in ids}
    best = min((ran[policy_id] for policy_id in classics()), key=lambda result: (-result.hits, result.policy))
    kinds = {policy_id: "classic" if policy_id in tuned else policy(policy_id).kind for policy_id in ids}
    rows = [_row(bench, result, kinds[policy_id], best, ran[OPTIMUM]) for policy_id, result in ran.items()]
    tags = {}
    for model in models:
        if model.kind == "caching":
            result, tags[model.model_id] = bench.caching(model.model_id)
        else:
            result = bench.admission(model.model_id)
        decision_us = getattr(params.evaluate.decision_cost_us, model.kind)
        rows.append(_row(bench, result, "model", best, ran[OPTIMUM], decision_us))
    return {
        "role": params.traces[key].role,
        "requests": len(bench.trace),
        "page_accesses": len(bench.pages.page_ids),
        "distinct_pages": bench.pages.n_pages,
        "capacity": bench.capacity,
        "warmup": bench.warmup,
        "best_classic": best.policy,
        "optimum": OPTIMUM,
        "tags": tags,
        "rows": sorted(rows, key=lambda row: (-row["hits"], row["policy"])),
    }


def _row_of(result: dict[str, Any], policy_id: str, choice: str | None) -> dict[str, Any]:
    """A model's row on a trace, its tags' metrics within.

    `gap_to_choice_points` is its lead over the classic that validation chose, in points of 0.01 (None without one);
    `above_floor` says whether it stays within 0.01 of the trace's best classic.
    """
    rows = {row["policy"]: row for row in result["rows"]}
    row, best = rows[policy_id], rows[result["best_classic"]]
    lead = 100 * (row["hit_ratio"] - rows[choice]["hit_ratio"]) if choice else None
    above = row["hit_ratio"] >= best["hit_ratio"] - FLOOR
    return {**row, **result["tags"].get(policy_id, {}), "gap_to_choice_points": lead, "above_floor": above}


def _validation_choice(traces: dict[str, dict[str, Any]]) -> str | None:
    """The classic, tuned or not, with the best mean hit ratio on validation: what one would have deployed."""
    totals: dict[str, float] = {}
    for result in traces.values():
        if result["role"] == "validation":
            for row in result["rows"]:
                if row["kind"] == "classic":
                    totals[row["policy"]] = totals.get(row["policy"], 0.0) + row["hit_ratio"]
    return max(sorted(totals), key=lambda policy_id: totals[policy_id]) if totals else None


def evaluate_category(params: Params, category: str) -> dict[str, Any]:
    """What the evaluate stages write: page-cache rows of every validation and test trace.

    Categories of large objects have no caching model.

    Models run on the test traces only; what validation says of them was found when they were trained.

    A model is promoted only where it trained and beat its baseline on validation (its own verdict, in train.json);
    test figures decide nothing.
    """
    kinds = ["admission", "caching"] if category in params.page_categories else ["admission"]
    ids = [f"{kind}.{category}.{getattr(params.model, kind).arch}" for kind in kinds]
    models = [read_trained(paths.trained(model_id)) for model_id in ids]
    judged = params.traces_of(category, "test")
    shown = [*params.traces_of(category, "validation"), *judged]
    provenance = one_provenance(paths.responses(category, key) for key in shown)
    tuned = [policy(text).id for text in params.evaluate.tuned]
    traces = {
        key: evaluate_trace(params, category, key, [], tuned) for key in params.traces_of(category, "validation")
    }
    choice = _validation_choice(traces)
    chosen = [choice] if choice in tuned else []
    traces |= {key: evaluate_trace(params, category, key, models, chosen) for key in judged}
    return {
        "category": category,
        "response_times": provenance,
        "capacity_fraction": params.evaluate.capacity_fraction,
        "traces": traces,
        "validation_choice": choice,
        "models": {
            model.model_id: {
                "trained": model.trained,
                "promoted": model.trained and model.beats_baseline,
                "reason": model.reason,
                "validation": model.validation,
                "test": {key: _row_of(traces[key], model.model_id, choice) for key in judged},
            }
            for model in models
        },
    }
