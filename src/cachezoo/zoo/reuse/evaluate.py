"""The trained cache on page traces: in a category's table, from a bundle, and on all test traces at home and away."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cachezoo import paths
from cachezoo.contest.counting import first_access
from cachezoo.contest.gap import gap
from cachezoo.jobs import spread
from cachezoo.metrics.base import Judged
from cachezoo.models.forest import Scorer
from cachezoo.models.trained import TrainedModel, read_fitted, read_trained
from cachezoo.params import At, Picked
from cachezoo.policies.accounting import Simulation, account
from cachezoo.policies.following import Followed
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.tuned import tuned_classics
from cachezoo.serving.requests import batch_of
from cachezoo.settings.data import Corpus, CorpusEntry, Roles, TraceEntry
from cachezoo.settings.page_cache import ClassicsPolicy
from cachezoo.traces.pages import PageAccesses, capacity_pages, expand_pages
from cachezoo.traces.table import Trace
from cachezoo.zoo.page_case import PageCase, counted_hit_ratio
from cachezoo.zoo.reuse.cache import Plan, plan_of
from cachezoo.zoo.reuse.fit import model_id
from cachezoo.zoo.reuse.judge import allowed, base_policy, calibration_of, scorers_of
from cachezoo.zoo.reuse.metrics import ReuseMetrics, ReuseRow, ReuseTrace, Where
from cachezoo.zoo.reuse.model import load_reuse
from cachezoo.zoo.reuse.prepared import Prepared, places
from cachezoo.zoo.reuse.serve import ReuseServing

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    classics: Annotated[ClassicsPolicy, At("policy.classics")]
    arch: Annotated[str, At("model.reuse.arch")]
    categories: Annotated[list[str], At("data.page_categories")]
    roles: Annotated[dict[str, Roles], At("data.roles")]
    traces: Annotated[dict[str, TraceEntry], At("data.traces")]
    corpus: Annotated[Corpus, At("data.corpus")]


def _serve(
    serving: ReuseServing, name: str, trace: Trace, pages: PageAccesses, capacity: int, warmup: int
) -> tuple[Simulation, Followed]:
    start = time.perf_counter()
    served = serving.run(batch_of(trace), pages, capacity)
    seconds = time.perf_counter() - start
    return account(name, served.seen.stream, served.followed.run, capacity, warmup, seconds), served.followed


def page_cache(model: TrainedModel, case: PageCase) -> tuple[Simulation, dict[str, float | None]]:
    """The trained cache; beside it, how long its forest led."""
    serving = load_reuse(paths.trained(model.model_id))[1]
    found, followed = _serve(serving, model.model_id, case.trace, case.pages, case.capacity, case.warmup)
    return found, {"forest_led": float((followed.leader[case.warmup :] == 0).mean())}


def page_bundle(
    serving: ReuseServing, name: str, trace: Trace, pages: PageAccesses, capacity: int, warmup: int
) -> Simulation:
    """The whole cache of a loaded bundle."""
    first = trace.rows(0, 1)
    _serve(serving, name, first, expand_pages(first), 1, 0)
    return _serve(serving, name, trace, pages, capacity, warmup)[0]


@dataclass(frozen=True)
class _Bench:
    """The model's policy and capacities; its plans and forests by seed, the kept one first; and the rivals."""

    model: TrainedModel
    policy: Mapping[str, Any]
    capacities: Sequence[float]
    plans: Sequence[Plan]
    scorers: Sequence[Scorer]
    tuned: Sequence[str]

    @property
    def fraction(self) -> float:
        """The capacity of the verdict."""
        return float(self.model.calibration["capacity"])

    def row(self, part: Prepared, fraction: float, seeded: bool) -> ReuseRow:
        """A trace at one capacity; by all seeds and against tuned classics, or by the kept one."""
        capacity = capacity_pages(fraction, part.pages.n_pages)
        warmup, seen = first_access(part.pages), part.look(capacity, self.policy)
        seeds = len(self.plans) if seeded else 1
        kept = zip(self.plans[:seeds], self.scorers[:seeds], strict=True)
        runs = [seen.serve(score(seen.inputs), plan) for plan, score in kept]
        own = [account(self.model.model_id, part.stream, run.run, capacity, warmup, 0.0) for run in runs]
        simulator = Simulator(part.trace, part.pages)
        names = [*classics(), *(self.tuned if seeded else ())]
        hits = {name: simulator.run(name, capacity, warmup).hits for name in names}
        best = simulator.run(max(sorted(hits), key=lambda name: hits[name]), capacity, warmup)
        optimum = simulator.run(OPTIMUM, capacity, warmup).hit_ratio
        mean = float(np.mean([run.hit_ratio for run in own]))
        closed, points = gap(mean, best.hit_ratio, optimum)
        return ReuseRow(
            policy=self.model.model_id,
            capacity_fraction=fraction,
            capacity=capacity,
            hit_ratio=own[0].hit_ratio,
            seed_hit_ratios=[run.hit_ratio for run in own] if seeded else [],
            rivals=len(names),
            best_classic=best.policy,
            best_classic_hit_ratio=best.hit_ratio,
            optimum_hit_ratio=optimum,
            gap_closed=closed,
            gap_points=points,
            above_floor=mean >= best.hit_ratio - allowed(capacity, own[0].page_accesses),
            ssd_writes=own[0].ssd_writes,
            best_classic_ssd_writes=best.ssd_writes,
            forest_led=float((runs[0].leader[warmup:] == 0).mean()),
        )


def where_of(entry: TraceEntry | CorpusEntry) -> Where:
    """What of a test trace was trained on."""
    if entry.unseen:
        return "program"
    return "set-up" if isinstance(entry, CorpusEntry) else "home"


def _bench(settings: Settings) -> _Bench:
    name = model_id(settings.arch)
    model, fitted = read_trained(paths.trained(name), "reuse"), read_fitted(paths.fitted(name), "reuse")
    scorers, policies = scorers_of(paths.fitted(name), fitted), base_policy(fitted)
    kept, weight = int(model.calibration["forest"]), float(model.calibration["weight"])
    order = [kept, *(k for k in range(len(scorers)) if k != kept)]
    plans = [plan_of(policies, calibration_of(fitted, k, weight)) for k in order]
    forests, tuned = [scorers[k] for k in order], tuned_classics(settings.classics)
    return _Bench(model, policies, fitted.learned["capacities"], plans, forests, tuned)


def entries_of(
    traces: Mapping[str, TraceEntry], corpus: Corpus
) -> dict[str, tuple[str, TraceEntry | CorpusEntry]]:  # fmt: skip
    """Category and row of the matrix of each test trace, the corpus's after the others'."""
    tests = {key: (row.category, row) for key, row in traces.items() if row.role == "test"}
    away = {
        key: (category, row)
        for category, rows in sorted(corpus.items()) for key, row in sorted(rows.items()) if row.role == "test"
    }  # fmt: skip
    return {**tests, **away}


def evaluate_reuse(params: "Params") -> ReuseMetrics:
    """What the stage evaluate_reuse writes: the model on every test trace of page categories, at three capacities.

    At the capacity of the verdict all seeds are run, against all ways to run a classic; at the others the forest that
    is kept, against the classics with their defaults.
    """
    settings = Settings.of(params)
    bench, entries = _bench(settings), entries_of(settings.traces, settings.corpus)
    where = places(settings.categories, settings.roles, settings.corpus, "test")
    jobs = [(bench, key, path, entries[key]) for key, path in where.items()]
    traces = dict(zip(where, spread("reuse: test traces", _trace, jobs), strict=True))
    model = bench.model
    judged = Judged(
        trained=model.trained, promoted=model.promoted, reason=model.reason, validation=model.validation
    )  # fmt: skip
    return ReuseMetrics(capacity_fraction=bench.fraction, traces=traces, models={model.model_id: judged})


def _trace(bench: _Bench, key: str, path: Path, entry: tuple[str, TraceEntry | CorpusEntry]) -> ReuseTrace:
    part, (category, row), fraction = Prepared.read(key, path), entry, bench.fraction
    captured = row if isinstance(row, CorpusEntry) else None
    others = [bench.row(part, other, seeded=False) for other in bench.capacities if other != fraction]
    return ReuseTrace(
        category=category,
        program=captured.program if captured else None,
        setup=captured.setup if captured else None,
        where=where_of(row),
        role=row.role,
        requests=len(part.trace),
        page_accesses=len(part.pages.page_ids),
        rows=sorted([bench.row(part, fraction, seeded=True), *others], key=lambda one: one.capacity_fraction),
    )


def test_hit_ratios(folder: Path, params: "Params") -> dict[str, float]:
    """Page hit ratio on each test trace of the page categories, at the capacity of the verdict; without the corpus."""
    (model, serving), found = load_reuse(folder), {}
    for key, path in places(params.data.page_categories, params.data.roles, {}, "test").items():
        part = Prepared.read(key, path)
        capacity = capacity_pages(float(model.calibration["capacity"]), part.pages.n_pages)
        served = serving.run(batch_of(part.trace), part.pages, capacity)
        found[key] = counted_hit_ratio(served.followed.run.outcome, part.pages)
    return found
