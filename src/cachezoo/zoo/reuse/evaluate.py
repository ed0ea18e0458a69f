"""The trained cache on page traces: in a category's table, from a bundle, and on long test streams at home and away.

A stream counts from where the cache is full, so that a policy that never lets go of what came first gains nothing by
that. Its first half chooses what an operator would run: the best of all ways to run a classic. Its second half judges
that, ours, and everything else. Of streams that are joined of two, so that their workload changes, all that lies before
a change chooses, and what follows it judges.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64, U8
from cachezoo.contest.blocks import block_means
from cachezoo.contest.choice import Goal, choose
from cachezoo.contest.counting import AUTO, Count, first_access
from cachezoo.contest.gap import gap
from cachezoo.contest.lead import over_seeds
from cachezoo.errors import ConfigError
from cachezoo.io import read_extent
from cachezoo.jobs import spread
from cachezoo.kernels.outcome import HIT
from cachezoo.metrics.base import Judged
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.params import At, Picked
from cachezoo.policies.accounting import Simulation, account
from cachezoo.policies.evictions import EVICTIONS
from cachezoo.policies.following import Followed
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.tuned import tuned_classics
from cachezoo.serving.requests import batch_of
from cachezoo.settings.data import Corpus, CorpusEntry
from cachezoo.settings.page_cache import ClassicsPolicy
from cachezoo.show.formats import words
from cachezoo.traces.joined import join
from cachezoo.traces.pages import PageAccesses, capacity_pages, expand_pages
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace
from cachezoo.zoo.page_case import PageCase, counted_hit_ratio
from cachezoo.zoo.reuse.changes import Change, Hits, changes_of, shared_pages
from cachezoo.zoo.reuse.fit import Learned, model_id
from cachezoo.zoo.reuse.judge import FLOOR, allowed
from cachezoo.zoo.reuse.metrics import LRU, ReuseChange, ReuseJoined, ReuseMetrics, ReuseRow, ReuseTrace, Where
from cachezoo.zoo.reuse.model import load_reuse
from cachezoo.zoo.reuse.prepared import Prepared, places
from cachezoo.zoo.reuse.serve import ReuseServing
from cachezoo.zoo.reuse.settings import Pair
from cachezoo.zoo.reuse.trained import Trained, serve_all

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    classics: Annotated[ClassicsPolicy, At("policy.classics")]
    arch: Annotated[str, At("model.reuse.arch")]
    capacities: Annotated[list[float], At("judge.reuse.sizes")]
    changes: Annotated[list[Pair], At("judge.reuse.changes")]
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


FULL = Count(AUTO)
QUARTERS = 4
LEARNED = tuple(own.id for own in EVICTIONS if own.learn)
"""Caches of others that learn as a trace goes."""


@dataclass(frozen=True)
class Counted:
    """The page accesses of a stream that count."""

    first: int  # the one from which on the cache is full
    middle: int  # the first that is judged; those between choose

    @classmethod
    def of(cls, pages: PageAccesses, capacity: int) -> "Counted":
        """Those of a cache of so many pages."""
        first = first_access(pages, FULL, capacity)
        return cls(first, first_access(pages, Count(str((first + len(pages.page_ids)) // 2))))

    def first_half(self, outcome: U8) -> float:
        """Page hits per access where they choose."""
        return float((outcome[self.first : self.middle] == HIT).mean())

    def judged(self, outcome: U8) -> U8:
        """uint8[k]: whether each judged access hits."""
        hits: U8 = (outcome[self.middle :] == HIT).astype(np.uint8)
        return hits

    def quarters(self, outcome: U8) -> F64:
        """float64[QUARTERS]: hit ratios of consecutive quarters."""
        return block_means((outcome[self.first :] == HIT).astype(np.uint8), QUARTERS)


@dataclass(frozen=True)
class _Bench:
    """The model; its policy, and its forests by seed, the kept one first; and the rivals."""

    model: TrainedModel
    policy: dict[str, Any]
    forests: Sequence[Learned]
    tuned: Sequence[str]

    @property
    def fraction(self) -> float:
        """The capacity of the verdict."""
        return float(self.model.calibration["capacity"])

    @property
    def _ways(self) -> list[str]:
        """All ways to run a classic, those with their defaults first."""
        return [*classics(), *self.tuned]

    def _runs(self, part: Prepared, capacity: int) -> list[Followed]:
        """What every seed's forest does."""
        return serve_all(part, capacity, self.forests, self.policy)

    def row(self, part: Prepared, fraction: float) -> ReuseRow:
        """A stream at one capacity: every seed's forest, every way to run a classic, and what else learns."""
        capacity = capacity_pages(fraction, part.pages.n_pages)
        counted, runs = Counted.of(part.pages, capacity), self._runs(part, capacity)
        own = [account(self.model.model_id, part.stream, run.run, capacity, counted.middle, 0.0) for run in runs]
        simulator = Simulator(part.trace, part.pages)

        def served(name: str) -> Simulation:
            return simulator.run(name, capacity, counted.middle)

        chosen, judged = {}, {}
        for name in self._ways:
            found = served(name)
            chosen[name], judged[name] = [counted.first_half(found.outcome)], found.hit_ratio
        choice = choose(chosen, Goal.GAIN)
        assert choice is not None  # there are classics
        rival, optimum = served(choice.chosen), served(OPTIMUM).hit_ratio
        best = max(sorted(classics()), key=lambda name: judged[name])
        mean = float(np.mean([run.hit_ratio for run in own]))
        blocks = block_means(counted.judged(rival.outcome))
        leads = [block_means(counted.judged(run.run.outcome)) - blocks for run in runs]
        lead = over_seeds(leads, mean - rival.hit_ratio)
        closed, points = gap(mean, judged[best], optimum)
        return ReuseRow(
            policy=self.model.model_id,
            capacity_fraction=fraction,
            capacity=capacity,
            capacities=len(part.pages.page_ids) / capacity,
            hit_ratio=own[0].hit_ratio,
            seed_hit_ratios=[run.hit_ratio for run in own],
            quarters=np.mean([counted.quarters(run.run.outcome) for run in runs], axis=0).tolist(),
            rivals=len(judged),
            rival=rival.policy,
            rival_hit_ratio=rival.hit_ratio,
            rival_quarters=counted.quarters(rival.outcome).tolist(),
            lead_points=100 * lead.value,
            lead_interval=None if lead.interval is None else (100 * lead.interval[0], 100 * lead.interval[1]),
            above_floor=mean >= rival.hit_ratio - allowed(capacity, own[0].page_accesses),
            hit_ratios={
                **{name: judged[name] for name in classics()},
                **{name: served(name).hit_ratio for name in LEARNED},
            },
            best_classic=best,
            best_classic_hit_ratio=judged[best],
            best_way_hit_ratio=max(judged.values()),
            optimum_hit_ratio=optimum,
            gap_closed=closed,
            gap_points=points,
            gap_closed_of_all=gap(mean, max(judged.values()), optimum)[0],
            ssd_writes=own[0].ssd_writes,
            rival_ssd_writes=rival.ssd_writes,
            forest_led=float((runs[0].leader[counted.middle :] == 0).mean()),
        )

    def joined(self, pair: Pair, first: Trace, second: Trace) -> ReuseJoined:
        """A stream that is joined of two, at the capacity of the verdict: every seed's forest, and every classic."""
        stream = join(pair.kind, first, second)
        pages = expand_pages(stream.trace)
        part = Prepared(stream.trace.meta.trace_id, None, stream.trace, pages)
        capacity = capacity_pages(self.fraction, pages.n_pages)
        changes = changes_of(pages, stream.at, capacity)
        own = [[change.hits(run.run.outcome) for change in changes] for run in self._runs(part, capacity)]
        simulator, ways = Simulator(part.trace, pages), {}
        for name in self._ways:
            outcome = simulator.run(name, capacity, 0).outcome
            ways[name] = [change.hits(outcome) for change in changes]
        return ReuseJoined(
            policy=self.model.model_id,
            kind=pair.kind,
            first=pair.first,
            second=pair.second,
            requests=len(stream.trace),
            page_accesses=len(pages.page_ids),
            capacity_fraction=self.fraction,
            capacity=capacity,
            shared_pages=shared_pages(stream.trace, pages),
            rivals=len(ways),
            changes=[
                _judged(change, capacity, [hits[k] for hits in own], {name: hits[k] for name, hits in ways.items()})
                for k, change in enumerate(changes)
            ],
        )


def _judged(change: Change, capacity: int, own: Sequence[Hits], ways: Mapping[str, Hits]) -> ReuseChange:
    """The seeds' hits around a change against those of all ways to run a classic."""
    choice = choose({name: [hits.before] for name, hits in ways.items()}, Goal.GAIN)
    assert choice is not None  # there are classics
    rival, lru = ways[choice.chosen], ways[LRU]
    mean, counted = fmean(hits.settled for hits in own), change.end - change.settled
    return ReuseChange(
        capacities=(change.end - change.at) / capacity,
        seed_hit_ratios=[hits.settled for hits in own],
        rival=choice.chosen,
        rival_hit_ratio=rival.settled,
        hit_ratios={name: ways[name].settled for name in classics()},
        best_way_hit_ratio=max(hits.settled for hits in ways.values()),
        early_hit_ratio=fmean(hits.early for hits in own),
        early_rival_hit_ratio=rival.early,
        early_lru_hit_ratio=lru.early,
        above_rival=mean >= rival.settled - allowed(capacity, counted),
        above_lru=mean >= lru.settled - FLOOR,
    )


def where_of(entry: CorpusEntry) -> Where:
    """What of a test stream was trained on."""
    if entry.home:
        return "home"
    return "program" if entry.unseen else "set-up"


def _bench(settings: Settings) -> _Bench:
    model, trained = read_trained(paths.trained(model_id(settings.arch)), "reuse"), Trained.read(settings.arch)
    forests = trained.forests(settings.arch)
    kept = forests.pop(int(model.calibration["forest"]))
    return _Bench(model, trained.policy, [kept, *forests], tuned_classics(settings.classics))


class Stream(NamedTuple):
    """A test stream: its key, canonical requests, category, and row of the matrix."""

    key: str
    path: Path
    category: str
    entry: CorpusEntry


def streams_of(corpus: Corpus) -> list[Stream]:
    """The corpus's long traces."""
    return [
        Stream(key, paths.corpus(category) / f"{key}.parquet", category, row)
        for category, rows in sorted(corpus.items()) for key, row in sorted(rows.items()) if row.long
    ]  # fmt: skip


def evaluate_reuse(params: "Params") -> ReuseMetrics:
    """What the stage evaluate_reuse writes: the model on every test stream, at every capacity, with all seeds."""
    settings = Settings.of(params)
    bench, streams, sizes = _bench(settings), streams_of(settings.corpus), settings.capacities
    joined = [(bench, pair, *_paths(pair, streams)) for pair in settings.changes]
    jobs = [(bench, stream.key, stream.path, fraction) for stream in streams for fraction in sizes]
    rows = spread("reuse: test streams", _row, jobs)
    traces = {
        stream.key: _trace(stream, rows[len(sizes) * k : len(sizes) * (k + 1)]) for k, stream in enumerate(streams)
    }
    model = bench.model
    judged = Judged(
        trained=model.trained, promoted=model.promoted, reason=model.reason, validation=model.validation
    )  # fmt: skip
    changes = spread("reuse: streams whose workload changes", _joined, joined)
    return ReuseMetrics(
        capacity_fraction=bench.fraction, traces=traces, changes=changes, models={model.model_id: judged}
    )


def _paths(pair: Pair, streams: Sequence[Stream]) -> list[Path]:
    """Canonical requests of the two traces that a stream is joined of.

    Raises:
        ConfigError: one is no long stream of the corpus.
    """
    known = {stream.key: stream.path for stream in streams}
    for key in (pair.first, pair.second):
        if key not in known:
            message = f"judge.reuse.changes: {key} is no long stream of the corpus; give two of {words([*known])}"
            raise ConfigError(message)
    return [known[pair.first], known[pair.second]]


def _joined(bench: _Bench, pair: Pair, first: Path, second: Path) -> ReuseJoined:
    return bench.joined(pair, read_trace(first), read_trace(second))


def _row(bench: _Bench, key: str, path: Path, fraction: float) -> ReuseRow:
    return bench.row(Prepared.read(key, path), fraction)


def _trace(stream: Stream, rows: list[ReuseRow]) -> ReuseTrace:
    extent, entry = read_extent(stream.path), stream.entry
    return ReuseTrace(
        category=stream.category,
        program=entry.program,
        setup=entry.setup,
        where=where_of(entry),
        role=entry.role,
        requests=extent["offset"],
        page_accesses=extent["page_ids"],
        rows=rows,
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
