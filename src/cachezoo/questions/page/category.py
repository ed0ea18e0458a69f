"""A category's test traces: classics, bounds and models in one page cache."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.console import progress
from cachezoo.contest.choice import Goal, choose
from cachezoo.contest.gap import gap
from cachezoo.contest.lead import ratio_of
from cachezoo.devices.responses import one_provenance, read_responses
from cachezoo.devices.service import ServiceTimes
from cachezoo.errors import ConfigError
from cachezoo.metrics.page import CategoryMetrics, ModelRow, PageModel, PageTrace, PolicyRow, RowKind
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.params import entry_of, traces_of
from cachezoo.policies.registry import OPTIMUM, classics, policy
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.tuned import tuned_classics
from cachezoo.questions.page.bench import Bench, Run
from cachezoo.sizes import pages_of
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.zoo.page_case import PageCase
from cachezoo.zoo.registry import SYSTEMS

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

FLOOR = 0.01


def _row(run: Run, kind: RowKind, best: Run, optimum: Run, decision_us: float = 0.0) -> PolicyRow:
    closed, points = gap(run.hit_ratio, best.hit_ratio, optimum.hit_ratio)
    ahead = None if closed is None else ratio_of(run.blocks - best.blocks, optimum.blocks - best.blocks, closed)
    return PolicyRow(
        policy=run.policy,
        kind=kind,
        hits=run.hits,
        hit_ratio=run.hit_ratio,
        hit_ratio_interval=run.estimate.ends,
        request_hit_ratio=run.request_hit_ratio,
        byte_hit_ratio=run.byte_hit_ratio,
        ssd_writes=run.ssd_writes,
        ssd_writes_per_100_io=100 * run.ssd_writes / max(run.requests, 1),
        mean_response_us=run.response_us,
        mean_response_waiting_us=run.mean_response_waiting_us,
        dirty_evictions=run.dirty_evictions,
        decision_us=decision_us,
        gap_closed=closed,
        gap_closed_interval=None if ahead is None else ahead.ends,
        gap_points=points,
    )


def evaluate_trace(
    params: "Params", category: str, key: str, models: list[TrainedModel], tuned: Sequence[str], choice: str | None
) -> PageTrace:
    """Every classic, policy of params.yaml and model on one trace, best hit ratio first.

    Args:
        params: all of params.yaml.
        category: the trace's.
        key: the trace.
        models: trained admission and caching models to run in the same cache.
        tuned: classics with values of their own to run as well; of these only the best and the choice get a row.
        choice: the classic that validation chose, on a test trace.
    """
    trace, pages = read_trace(paths.requests(category, key)), read_pages(paths.requests(category, key))
    times = ServiceTimes.of(trace, *read_responses(paths.responses(category, key), len(trace)))
    bench, fraction = Bench(Simulator(trace, pages), times), params.evaluate.capacity_fraction
    capacity = pages_of(100 * fraction, pages.n_pages)
    case = PageCase(category, key, trace, pages, fraction, capacity, bench.first(), params.label.benefit)
    ran = {name: bench.run(name, capacity) for name in classics()}
    own = dict[str, int]()
    with progress(f"tuned classics on {key}", len(tuned)) as advance:
        for done, text in enumerate(tuned):
            advance(done)
            own[text] = bench.run(text, capacity).hits
    hits = {**{name: run.hits for name, run in ran.items()}, **own}
    best_id = min(hits, key=lambda name: (-hits[name], name))
    for name in (*params.evaluate.policies, OPTIMUM, best_id, choice):
        if name is not None and name not in ran:
            ran[name] = bench.run(name, capacity)
    best, optimum = ran[best_id], ran[OPTIMUM]
    rows, tags = [], {}
    for policy_id, run in ran.items():
        rows.append(_row(run, "classic" if policy_id in own else policy(policy_id).kind, best, optimum))
    for model in models:
        part = SYSTEMS[model.kind].page_cache
        if part is None:
            raise ConfigError(f"{model.model_id}: a {model.kind} model decides nothing in a page cache")
        found, figures = part.load()(model, case)
        if figures:
            tags[model.model_id] = figures
        decision_us = params.evaluate.decision_cost_us[model.kind]
        rows.append(_row(bench.counted_run(found, "model", decision_us), "model", best, optimum, decision_us))
    return PageTrace(
        role=entry_of(params, key).role,
        requests=len(trace),
        page_accesses=len(pages.page_ids),
        distinct_pages=pages.n_pages,
        capacity=capacity,
        warmup=case.warmup,
        best_classic=best.policy,
        tuned={name: count / best.page_accesses for name, count in own.items()},
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
    ratios = dict[str, list[float | None]]()
    for trace in traces.values():
        if trace.role == "validation":
            found = {row.policy: row.hit_ratio for row in trace.rows if row.kind == "classic"} | trace.tuned
            for name, hit_ratio in found.items():
                ratios.setdefault(name, []).append(hit_ratio)
    choice = choose({name: ratios[name] for name in sorted(ratios)}, Goal.GAIN)
    return None if choice is None else choice.chosen


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
