"""A caching model's cache on validation traces, in every way that it can be run; and the classics beside it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import numpy as np

from cachezoo.arrays import F32, U8
from cachezoo.console import progress
from cachezoo.contest.blocks import halves
from cachezoo.contest.counting import first_access
from cachezoo.kernels.manager_limits import Cache
from cachezoo.kernels.outcome import HIT
from cachezoo.labels.tags import Labels, Tags
from cachezoo.models.trained import FittedModel
from cachezoo.params import At, Picked
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.tuned import tuned_classics
from cachezoo.serving.requests import batch_of
from cachezoo.settings.data import Roles
from cachezoo.settings.page_cache import BenefitLabel, ClassicsPolicy, ManagerPolicy
from cachezoo.traces.pages import capacity_pages, percent
from cachezoo.zoo.caching.infer import one_teacher, teacher_outputs, torch_serving
from cachezoo.zoo.caching.metrics import PAPER_RULES
from cachezoo.zoo.caching.prepared import Prepared, first_requests, judging_requests
from cachezoo.zoo.caching.serve import CachingServing
from cachezoo.zoo.caching.settings import Judge

# Where outputs are wanted before there is a threshold.
EVEN_ODDS = 0.5
# Ends of every list of thresholds. No probability is above 1.
ADMIT_ALL, ADMIT_NONE = 0.0, 1.5
DIGITS = 3


@dataclass(frozen=True)
class Candidate:
    """One way to run a model's cache: which network of the fit, which oracle's heads, rules and threshold."""

    network: int
    teacher: str
    on_hit: str
    queues: str
    threshold: float

    @property
    def kind(self) -> tuple[int, str, str, str]:
        """What it is but for the threshold."""
        return self.network, self.teacher, self.on_hit, self.queues

    def cache(self, capacity: int) -> Cache:
        """The cache that it runs."""
        return Cache(capacity, self.threshold, self.on_hit, self.queues)


def thresholds_of(cached: F32, count: int) -> list[float]:
    """Thresholds that part a model's outputs into equal shares; between them lie every useful strictness.

    A fixed grid is not enough: a network may say 0.01 of most requests and 0.9 of none, and then the best threshold of
    the grid is its end. Values are rounded, so that few outputs equal a threshold to the last digit.

    Args:
        cached: float32[k] outputs of the requests that the oracle is asked about.
        count: thresholds wanted, both ends included; equal ones are given once.

    Returns:
        Rising, from `ADMIT_ALL` to `ADMIT_NONE`.
    """
    if not len(cached):
        return [ADMIT_ALL, ADMIT_NONE]
    inner = np.quantile(cached.astype(np.float64), np.linspace(0, 1, count)[1:-1])
    return sorted({ADMIT_ALL, *(_rounded(float(value)) for value in inner), ADMIT_NONE})


def _rounded(probability: float) -> float:
    """A probability to three digits of itself, or of what it lacks of 1 where that is less."""
    if probability <= 0.5:
        return float(f"{probability:.{DIGITS}g}")
    return round(1.0 - float(f"{1.0 - probability:.{DIGITS}g}"), 12)


def candidates_of(
    network: int, teachers: Sequence[str], thresholds: Sequence[Sequence[float]], manager: ManagerPolicy
) -> list[Candidate]:
    """Every way to run a network, teacher by teacher."""
    return [
        Candidate(network, teacher, on_hit, queues, threshold)
        for teacher, own in zip(teachers, thresholds, strict=True)
        for on_hit in manager.on_hit
        for queues in manager.queues
        for threshold in own
    ]


@dataclass(frozen=True)
class Settings(Picked):
    """What stage judge_caching reads of params.yaml."""

    label: Annotated[BenefitLabel, At("label.benefit")]
    manager: Annotated[ManagerPolicy, At("policy.manager")]
    classics: Annotated[ClassicsPolicy, At("policy.classics")]
    judge: Annotated[Judge, At("judge.caching")]
    arch: Annotated[str, At("model.caching.arch")]
    roles: Annotated[Roles, At("data.roles.{category}")]


@dataclass(frozen=True)
class Case:
    """A judged trace: its first requests, the cache's pages, and hits after warm-up of each classic and the optimum."""

    part: Prepared
    capacity: int
    warmup: int
    classics: dict[str, U8]
    optimum: U8


@dataclass(frozen=True)
class Ran:
    """A candidate on one trace: hits after warm-up, pages written, and the outputs float32[n, 4] that it acted on."""

    hits: U8
    written: int
    outputs: F32


@dataclass(frozen=True)
class Tried:
    """A network in every way."""

    rows: list[dict[str, Any]]  # of each candidate its values, `hit_ratio` on the choosing blocks and `ssd_writes`
    kinds: list[tuple[int, str, str, str]]  # of each candidate all but the threshold
    best: int  # the place of the best
    chosen: Candidate  # the best
    runs: list[Ran]  # the best one's, trace by trace
    paper: list[Ran] | None  # those of the best one with the paper's rules; None where these are no candidates

    @property
    def rank(self) -> tuple[float, float]:
        """How the best one compares with other networks' best."""
        return _rank(self.rows[self.best])

    def best_of_kinds(self) -> list[dict[str, Any]]:
        """The best threshold's row of each kind."""
        return [
            max((row for row, own in zip(self.rows, self.kinds, strict=True) if own == kind), key=_rank)
            for kind in dict.fromkeys(self.kinds)
        ]

    def curve(self) -> list[dict[str, Any]]:
        """The rows of the best one's kind."""
        return [row for row, own in zip(self.rows, self.kinds, strict=True) if own == self.kinds[self.best]]


def _rank(row: Mapping[str, Any]) -> tuple[float, float]:
    """More hits are better, and at equal hits a higher threshold, which writes less."""
    return row["hit_ratio"], row["threshold"]


def case_of(part: Prepared, settings: Settings) -> Case:
    """The first requests of a trace; the working set, and so the capacity, stays the whole trace's."""
    requests = settings.judge.closed_loop_requests
    pages = first_requests(part.pages, requests)
    tags = {key: Tags(own.bits[:requests]) for key, own in part.labels.tags.items()}
    labels: Labels = replace(part.labels, tags=tags)
    short = replace(part, trace=part.trace.rows(0, requests), pages=pages, labels=labels)
    capacity = capacity_pages(settings.manager.capacity, pages.n_pages)
    warmup = first_access(pages)
    names = [*classics(), *tuned_classics(settings.classics), OPTIMUM]
    rivals = {name: hits[warmup:] for name, hits in classic_hits(short, names, capacity)}
    return Case(short, capacity, warmup, rivals, rivals.pop(OPTIMUM))


def classic_hits(part: Prepared, names: Sequence[str], capacity: int) -> Iterator[tuple[str, U8]]:
    """Each policy's page hits, uint8[m], on the very stream that the evaluation of a category runs it on."""
    simulator = Simulator(part.trace, part.pages)
    for name in names:
        yield name, (simulator.run(name, capacity, 0).outcome == HIT).astype(np.uint8)


def _outputs(case: Case, model: FittedModel, weights: Mapping[str, F32], serving: CachingServing) -> F32:
    """Outputs float32[n, 1, K, 4] of every teacher's heads; of a model fed its own tags, at even odds."""
    batch = batch_of(case.part.trace)
    with progress(f"{model.model_id}: outputs on {case.part.key}", len(batch)) as advance:
        if not serving.fed_back:
            rows = serving.inputs(batch, case.part.pages, [case.capacity])
            return teacher_outputs(weights, rows, int(model.arch["threads"]), serving.reset_every, advance)
        cache = serving.cache(case.capacity)
        own: F32 = serving.run(batch, case.part.pages, [cache], keep=True, advance=advance).outputs[0]
        return own[:, None, None]


def run_all(case: Case, serving: CachingServing, candidates: Sequence[Candidate], outputs: F32) -> list[Ran]:
    """Run a network's candidates on a trace.

    `outputs` float32[n, 1, K, 4] are those of `_outputs`; only where a cache's own tags enter them, `serving` computes
    them.
    """
    pages, found = case.part.pages, []
    for place, teacher in enumerate(dict.fromkeys(candidate.teacher for candidate in candidates)):
        caches = [candidate.cache(case.capacity) for candidate in candidates if candidate.teacher == teacher]
        if serving.fed_back:
            served = serving.run(batch_of(case.part.trace), pages, caches, keep=True)
            each = list(served.outputs)
        else:
            own = np.ascontiguousarray(outputs[:, :, place])
            served = serving.serve(case.part.trace.op, pages, caches, own, np.zeros(len(caches), np.int64))
            each = [own[:, 0]] * len(caches)
        hits = [served.hits(lane)[case.warmup :] for lane in range(len(caches))]
        written = [int(row["ssd_writes"]) for row in served.totals]
        found += [Ran(*one) for one in zip(hits, written, each, strict=True)]
    return found


def _thresholds(cases: Sequence[Case], teacher: str, outputs: Sequence[F32], settings: Settings) -> list[float]:
    """Candidates for a teacher: quantiles of the outputs where its oracle was asked, on what does not judge.

    `outputs` are float32[n] of its cached head on each trace.
    """
    options, asked = settings.judge, []
    for case, cached in zip(cases, outputs, strict=True):
        tags = case.part.labels.tags[teacher, percent(settings.manager.capacity)]
        judging = judging_requests(case.part.pages, options.closed_loop_requests)
        asked.append(cached[tags.consulted & ~judging])
    return thresholds_of(np.concatenate(asked), options.thresholds)


def try_network(
    network: int, model: FittedModel, weights: Mapping[str, F32], cases: Sequence[Case], settings: Settings
) -> Tried:
    """Run a network in every way on every trace."""
    policies, threads = base_policy(model, settings), int(model.arch["threads"])
    values = model.model_dump(mode="json")
    serving = torch_serving(values, policies, {"threshold": EVEN_ODDS}, one_teacher(weights, 0), threads)
    outputs = [_outputs(case, model, weights, serving) for case in cases]
    teachers = model.learned["teachers"]
    thresholds = [
        _thresholds(cases, teacher, [own[:, 0, place, 0] for own in outputs], settings)
        for place, teacher in enumerate(teachers)
    ]
    candidates = candidates_of(network, teachers, thresholds, settings.manager)
    runs = [run_all(case, serving, candidates, own) for case, own in zip(cases, outputs, strict=True)]
    rows = [
        {
            **asdict(candidate),
            "hit_ratio": pooled([halves(own[k].hits)[0] for own in runs]),
            "ssd_writes": sum(own[k].written for own in runs),
        }
        for k, candidate in enumerate(candidates)
    ]
    best = max(range(len(rows)), key=lambda k: _rank(rows[k]))
    paper = [k for k, row in enumerate(rows) if (row["on_hit"], row["queues"]) == PAPER_RULES]
    best_paper = max(paper, key=lambda k: _rank(rows[k])) if paper else None
    return Tried(
        rows, [candidate.kind for candidate in candidates], best, candidates[best], [own[best] for own in runs],
        None if best_paper is None else [own[best_paper] for own in runs],
    )  # fmt: skip


def pooled(hits: Sequence[U8]) -> float:
    """Page hit ratio over several runs."""
    return float(sum(int(h.sum()) for h in hits) / sum(len(h) for h in hits))


def base_policy(model: FittedModel, settings: Settings) -> dict[str, Any]:
    """How a runtime uses the outputs, with the first of the candidate rules."""
    learned, manager = model.learned, settings.manager
    return {
        "type": "three_queue_manager",
        "state": learned["state"],
        "sequence": learned["sequence"],
        "memory": learned["memory"],
        "ranges": learned["ranges"],
        "demote_capacities": manager.demote_capacities,
        "protected_percent": manager.protected_percent,
        "fill_free": manager.fill_free,
        "on_hit": manager.on_hit[0],
        "queues": manager.queues[0],
        "decide": "admitted iff cached >= calibration.threshold; queues three: to the likeliest of soon, mean, late; "
        "queues single: to mean; on_hit requeue: hits are decided on too",
        "capacity_ratio_log2": learned["capacity_ratio_log2"],
    }
