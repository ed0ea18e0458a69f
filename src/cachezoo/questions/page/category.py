"""A category's test traces: classics, bounds and models in one page cache."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.console import progress
from cachezoo.contest.blocks import block_means
from cachezoo.contest.counting import first_access
from cachezoo.contest.gap import gap
from cachezoo.contest.lead import mean_of, ratio_of
from cachezoo.devices.responses import one_provenance, read_responses
from cachezoo.devices.service import ServiceTimes
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.metrics.page import CategoryMetrics, ModelRow, PageModel, PageTrace, PolicyRow, RowKind
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.params import entry_of, traces_of
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.registry import OPTIMUM, classics, policy
from cachezoo.policies.simulate import Simulator, parse_capacity
from cachezoo.policies.tuned import tuned_classics
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.zoo.page_case import PageCase
from cachezoo.zoo.registry import SYSTEMS

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

FLOOR = 0.01


class _Bench:
    """One trace with its responses, at the capacity and warm-up index that all policies share."""

    def __init__(self, params: "Params", category: str, key: str) -> None:
        self.settings = params.evaluate
        trace, pages = read_trace(paths.requests(category, key)), read_pages(paths.requests(category, key))
        self.times = ServiceTimes.of(trace, *read_responses(paths.responses(category, key), len(trace)))
        fraction = self.settings.capacity_fraction
        capacity = parse_capacity(f"{100 * fraction}%", pages.n_pages)
        warmup = first_access(pages)
        self.case = PageCase(category, key, trace, pages, fraction, capacity, warmup, params.label.benefit)
        self.simulator = Simulator(trace, pages)

    def by_id(self, policy_id: str) -> Simulation:
        """A registered policy, or a composition."""
        return self.simulator.run(policy_id, self.case.capacity, self.case.warmup)

    def tuned(self, texts: Sequence[str]) -> dict[str, int]:
        """Page hits of classics with values of their own."""
        with progress(f"tuned classics on {self.case.key}", len(texts)) as advance:
            found = {}
            for done, text in enumerate(texts):
                advance(done)
                found[text] = self.by_id(text).hits
        return found

    def model(self, model: TrainedModel) -> tuple[Simulation, dict[str, float | None]]:
        """A model in the page cache, and what its system says of it besides."""
        part = SYSTEMS[model.kind].page_cache
        if part is None:
            raise ConfigError(f"{model.model_id}: a {model.kind} model decides nothing in a page cache")
        found: tuple[Simulation, dict[str, float | None]] = part.load()(model, self.case)
        return found

    def blocks(self, result: Simulation) -> F64:
        """float64[B]: hit ratio in each block of time that counts."""
        return block_means(result.outcome[self.case.warmup :] == HIT)


def _row(
    bench: _Bench, result: Simulation, kind: RowKind, best: Simulation, optimum: Simulation, decision_us: float = 0.0
) -> PolicyRow:
    closed, points = gap(result.hit_ratio, best.hit_ratio, optimum.hit_ratio)
    mine, theirs, most = bench.blocks(result), bench.blocks(best), bench.blocks(optimum)
    return PolicyRow(
        policy=result.policy,
        kind=kind,
        hits=result.hits,
        hit_ratio=result.hit_ratio,
        hit_ratio_interval=mean_of(mine, result.hit_ratio).ends,
        request_hit_ratio=result.request_hit_ratio,
        byte_hit_ratio=result.byte_hit_ratio,
        ssd_writes=result.ssd_writes,
        ssd_writes_per_100_io=100 * result.ssd_writes / max(result.requests, 1),
        mean_response_us=result.mean_response_us(bench.times, decision_us),
        mean_response_waiting_us=result.mean_response_waiting_us(bench.times, decision_us),
        dirty_evictions=result.dirty_evictions,
        decision_us=decision_us,
        gap_closed=closed,
        gap_closed_interval=None if closed is None else ratio_of(mine - theirs, most - theirs, closed).ends,
        gap_points=points,
    )


def evaluate_trace(
    params: "Params", category: str, key: str, models: list[TrainedModel], tuned: Sequence[str], choice: str | None
) -> PageTrace:
    """Every classic, policy of params.yaml and model on one trace, best hit ratio first.

    Args:
        params: the whole of params.yaml.
        category: the trace's.
        key: the trace.
        models: trained admission and caching models to run beside the policies.
        tuned: classics with values of their own to run as well; of these only the best and the choice get a row.
        choice: the classic that validation chose, on a test trace.
    """
    bench = _Bench(params, category, key)
    ran = {name: bench.by_id(name) for name in classics()}
    own = bench.tuned(tuned)
    contenders = {**{name: result.hits for name, result in ran.items()}, **own}
    best_id = min(contenders, key=lambda name: (-contenders[name], name))
    for name in (*params.evaluate.policies, OPTIMUM, best_id, choice):
        if name is not None and name not in ran:
            ran[name] = bench.by_id(name)
    best = ran[best_id]
    rows, tags = [], {}
    for policy_id, result in ran.items():
        kind: RowKind = "classic" if policy_id in own else policy(policy_id).kind
        rows.append(_row(bench, result, kind, best, ran[OPTIMUM]))
    for model in models:
        result, figures = bench.model(model)
        if figures:
            tags[model.model_id] = figures
        decision_us = params.evaluate.decision_cost_us[model.kind]
        rows.append(_row(bench, result, "model", best, ran[OPTIMUM], decision_us))
    return PageTrace(
        role=entry_of(params, key).role,
        requests=len(bench.case.trace),
        page_accesses=len(bench.case.pages.page_ids),
        distinct_pages=bench.case.pages.n_pages,
        capacity=bench.case.capacity,
        warmup=bench.case.warmup,
        best_classic=best.policy,
        tuned={name: hits / best.page_accesses for name, hits in own.items()},
        optimum=OPTIMUM,
        tags=tags,
        rows=sorted(rows, key=lambda row: (-row.hits, row.policy)),
    )


def _row_of(trace: PageTrace, model_id: str, choice: str | None) -> ModelRow:
    """A model's row on a trace, what its system says of it besides within.

    `gap_to_choice_points` is its lead over the classic that validation chose, in points of 0.01; `choice_gap_closed` is
    that as a share of the gap from there to the optimum (both None without a choice). `above_floor` says whether it
    stays within 0.01 of the trace's best classic.
    """
    rows = {row.policy: row for row in trace.rows}
    row = rows[model_id]
    closed, lead = None, None
    if choice:
        closed, lead = gap(row.hit_ratio, rows[choice].hit_ratio, rows[trace.optimum].hit_ratio)
    above = row.hit_ratio >= trace.best().hit_ratio - FLOOR
    own = {**row.model_dump(), **trace.tags.get(model_id, {}), "gap_to_choice_points": lead}
    own |= {"choice_gap_closed": closed, "above_floor": above}
    return ModelRow.model_validate(own)


def _validation_choice(traces: Mapping[str, PageTrace]) -> str | None:
    """The classic, tuned or not, with the best mean hit ratio on validation: what one would have deployed."""
    totals: dict[str, float] = {}
    for trace in traces.values():
        if trace.role == "validation":
            found = {row.policy: row.hit_ratio for row in trace.rows if row.kind == "classic"} | trace.tuned
            for name, hit_ratio in found.items():
                totals[name] = totals.get(name, 0.0) + hit_ratio
    return max(sorted(totals), key=lambda policy_id: totals[policy_id]) if totals else None


def page_cache_models(params: "Params", category: str) -> list[str]:
    """Ids of the models that run in a category's page cache; those of page categories alone only in such a one."""
    page = category in params.data.page_categories
    found = [
        system for system in SYSTEMS.values() if system.page_cache is not None and (page or system.scope == "category")
    ]
    return [
        ".".join([system.id, *([] if system.scope == "all" else [category]), getattr(params.model, system.id).arch])
        for system in found
    ]


def evaluate_category(params: "Params", category: str) -> CategoryMetrics:
    """What the evaluate stages write: page-cache rows of every validation and test trace.

    Categories of large objects have no caching model.

    Models run on the test traces only; what validation says of them was found when they were trained.

    A model is promoted only where it trained and beat its baseline on validation (its own verdict, in train.json);
    test figures decide nothing.
    """
    models = [read_trained(paths.trained(model_id)) for model_id in page_cache_models(params, category)]
    judged = traces_of(params, category, "test")
    shown = [*traces_of(params, category, "validation"), *judged]
    provenance = one_provenance(paths.responses(category, key) for key in shown)
    # Tuned for the verdict on a caching model; of large objects there is none.
    tuned = tuned_classics(params.policy.classics) if category in params.data.page_categories else []
    traces = {
        key: evaluate_trace(params, category, key, [], tuned, None) for key in traces_of(params, category, "validation")
    }
    choice = _validation_choice(traces)
    traces |= {key: evaluate_trace(params, category, key, models, tuned, choice) for key in judged}
    return CategoryMetrics(
        category=category,
        response_times=provenance,
        capacity_fraction=params.evaluate.capacity_fraction,
        traces=traces,
        validation_choice=choice,
        models={
            model.model_id: PageModel(
                trained=model.trained,
                promoted=model.promoted,
                reason=model.reason,
                validation=model.validation,
                test={key: _row_of(traces[key], model.model_id, choice) for key in judged},
            )
            for model in models
        },
    )
