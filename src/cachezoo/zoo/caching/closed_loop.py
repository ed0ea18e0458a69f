"""A network of the fit in its own cache, in every way that the candidates say, on the judge's traces."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from cachezoo.arrays import F32, U8
from cachezoo.console import progress
from cachezoo.contest.blocks import halves
from cachezoo.kernels.manager_limits import ByCapacity
from cachezoo.models.trained import FittedModel
from cachezoo.policies.simulate import Outcomes, count
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import percent
from cachezoo.zoo.caching.candidates import Candidate, candidates_of, thresholds_of
from cachezoo.zoo.caching.case import Case, Settings
from cachezoo.zoo.caching.infer import one_teacher, teacher_outputs, torch_serving
from cachezoo.zoo.caching.metrics import PAPER_RULES
from cachezoo.zoo.caching.objective import best_of
from cachezoo.zoo.caching.prepared import judging_requests
from cachezoo.zoo.caching.serve import CachingServing, Served

# Where outputs are wanted before there is a threshold.
EVEN_ODDS = 0.5
# What a candidate is but for the threshold.
KIND = ("network", "teacher", "on_hit", "queues")
Row = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """What a network makes of a trace at a case's capacity.

    Attributes:
        outputs: float32[n, 1, K, 4] of every teacher's heads; of a model fed its own tags, at even odds.
        ratio: float32[n, 1], log2(capacity / distinct pages of the recent window) before each request.
    """

    outputs: F32
    ratio: F32


@dataclass(frozen=True)
class Ran:
    """A candidate on one trace: hits after warm-up, pages written, and the outputs float32[n, 4] that it acted on."""

    hits: U8
    written: int
    outputs: F32
    waited_us: float  # service times of the choosing requests, in all; 0 without times


@dataclass(frozen=True)
class Tried:
    """A network in every way."""

    candidates: list[Candidate]
    rows: list[Row]  # of each candidate its values, `hit_ratio` on the choosing blocks and `ssd_writes`
    best: int  # the place of the best
    runs: list[Ran]  # the best one's, trace by trace
    paper: list[Ran] | None  # those of the best one with the paper's rules; None where these are no candidates

    @property
    def chosen(self) -> Candidate:
        """The best."""
        return self.candidates[self.best]

    @property
    def row(self) -> Row:
        """Of the best."""
        return self.rows[self.best]

    def kinds(self) -> list[list[Row]]:
        """The rows of each kind, in the order of the candidates."""
        found: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            found.setdefault(_kind(row), []).append(row)
        return list(found.values())

    def curve(self) -> list[Row]:
        """The rows of the best one's kind."""
        return [row for row in self.rows if _kind(row) == _kind(self.row)]


def _kind(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in KIND)


@dataclass(frozen=True)
class ClosedLoop:
    """A network of the fit, with the heads of some teachers."""

    network: int  # its place in the fit
    model_id: str
    teachers: list[str]
    weights: Mapping[str, F32]
    threads: int
    serving: CachingServing  # with the first teacher's heads, where it steps by itself
    settings: Settings

    @classmethod
    def of(
        cls,
        network: int,
        model: FittedModel,
        weights: Mapping[str, F32],
        settings: Settings,
        teacher: str | None = None,
    ) -> "ClosedLoop":
        """With the heads of all teachers, or of one."""
        teachers = list(model.learned["teachers"])
        if teacher is not None:
            weights, teachers = one_teacher(weights, teachers.index(teacher)), [teacher]
        values, threads = model.model_dump(mode="json"), int(model.arch["threads"])
        policy, alone = base_policy(model, settings), one_teacher(weights, 0)
        serving = torch_serving(values, policy, {"threshold": EVEN_ODDS}, alone, threads)
        return cls(network, model.model_id, teachers, weights, threads, serving, settings)

    def see(self, case: Case) -> Seen:
        """What the network makes of a trace."""
        batch, pages = batch_of(case.part.trace), case.part.pages
        with progress(f"{self.model_id}: outputs on {case.part.key}", len(batch)) as advance:
            rows, ratio = self.serving.read(batch, pages, [case.capacity])
            if not self.serving.fed_back:
                every = teacher_outputs(self.weights, rows, self.threads, self.serving.reset_every, advance)
                return Seen(every, ratio)
            cache = self.serving.cache(case.capacity)
            own: F32 = self.serving.run(batch, pages, [cache], keep=True, advance=advance).outputs[0]
            return Seen(own[:, None, None], ratio)

    def run(
        self, case: Case, seen: Seen, candidates: Sequence[Candidate], by_capacity: ByCapacity | None = None
    ) -> list[Ran]:
        """Run candidates on a trace.

        Only where a cache's own tags enter the outputs, they are computed anew. `by_capacity` takes the place of the
        candidates' thresholds and queue rules.
        """
        pages, found = case.part.pages, []
        for teacher in dict.fromkeys(candidate.teacher for candidate in candidates):
            caches = [candidate.cache(case.capacity) for candidate in candidates if candidate.teacher == teacher]
            caches = [replace(cache, by_capacity=by_capacity) for cache in caches]
            if self.serving.fed_back:
                served = self.serving.run(batch_of(case.part.trace), pages, caches, keep=True)
                each = list(served.outputs)
            else:
                own = np.ascontiguousarray(seen.outputs[:, :, self.teachers.index(teacher)])
                lanes = np.zeros(len(caches), np.int64)
                served = self.serving.serve(case.part.trace.op, pages, caches, own, seen.ratio, lanes)
                each = [own[:, 0]] * len(caches)
            hits = [served.hits(lane)[case.warmup :] for lane in range(len(caches))]
            written = [int(row["ssd_writes"]) for row in served.totals]
            waited = [_waited_us(case, served, lane) for lane in range(len(caches))]
            found += [Ran(*one) for one in zip(hits, written, each, waited, strict=True)]
        return found

    def tried(self, cases: Sequence[Case], seen: Sequence[Seen], share: float, on_hit: Sequence[str]) -> Tried:
        """Run the network in every way on every trace, at a share of the working set."""
        thresholds = {
            teacher: self._thresholds(cases, teacher, [own.outputs[:, 0, place, 0] for own in seen], share)
            for place, teacher in enumerate(self.teachers)
        }
        candidates = candidates_of(self.network, thresholds, on_hit, self.settings.manager.queues)
        runs = [self.run(case, own, candidates) for case, own in zip(cases, seen, strict=True)]
        rows = rows_of(cases, candidates, runs)

        def best_among(places: Sequence[int]) -> int:
            options = self.settings.judge
            return places[best_of([rows[k] for k in places], options.objective, options.least_gain)]

        best = best_among(range(len(rows)))
        paper = [k for k, row in enumerate(rows) if (row["on_hit"], row["queues"]) == PAPER_RULES]
        runs_of_paper = [own[best_among(paper)] for own in runs] if paper else None
        return Tried(candidates, rows, best, [own[best] for own in runs], runs_of_paper)

    def _thresholds(self, cases: Sequence[Case], teacher: str, outputs: Sequence[F32], share: float) -> list[float]:
        """Candidates for a teacher: quantiles of the outputs where its oracle was asked, on what does not judge.

        `outputs` are float32[n] of its cached head on each trace, at a share of the working set; the oracle's are those
        at the nearest share that is labelled.
        """
        options, asked = self.settings.judge, []
        labelled = min(self.settings.label.capacities, key=lambda one: abs(np.log2(one / share)))
        for case, cached in zip(cases, outputs, strict=True):
            tags = case.part.labels.tags[teacher, percent(labelled)]
            judging = judging_requests(case.part.pages, options.closed_loop_requests)
            asked.append(cached[tags.consulted & ~judging])
        return thresholds_of(np.concatenate(asked), options.thresholds)


def _waited_us(case: Case, served: Served, lane: int) -> float:
    """Service times of the choosing requests behind a lane's cache, in all; 0 without times."""
    if case.times is None:
        return 0.0
    outcomes = Outcomes(served.outcome[lane], served.replaced[lane], served.dirty_evicted[lane])
    run = count(case.part.trace, case.part.pages, "lane", case.capacity, case.warmup, outcomes)
    return float(case.times.served(run.missing)[case.choosing].sum())


def rows_of(cases: Sequence[Case], candidates: Sequence[Candidate], runs: Sequence[Sequence[Ran]]) -> list[Row]:
    """Of each candidate its values and what the choosing blocks say of it; `runs` by trace, then by candidate."""
    rows: list[Row] = []
    asked = sum(int(case.choosing.sum()) for case in cases if case.times is not None)
    for k, candidate in enumerate(candidates):
        own = [runs_of_trace[k] for runs_of_trace in runs]
        row = {
            **asdict(candidate),
            "hit_ratio": pooled([halves(run.hits)[0] for run in own]),
            "ssd_writes": sum(run.written for run in own),
        }
        rows.append(row | ({"response_us": sum(run.waited_us for run in own) / asked} if asked else {}))
    return rows


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
        "decide": "admitted iff cached >= calibration.threshold, or that of calibration.by_capacity, which names the "
        "queue rule, too; queues three: to the likeliest of soon, mean, late; queues single: to mean; on_hit requeue: "
        "hits are decided on too",
        "capacity_ratio_log2": learned["capacity_ratio_log2"],
    }
