"""A stream at work: the caches that models take turns in, and how their runs and those of rivals are counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I32, Bool
from cachezoo.contest.blocks import BLOCKS, block_means
from cachezoo.contest.lead import ahead, mean_of
from cachezoo.kernels.outcome import HIT
from cachezoo.params import At, Picked
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.simulate import Simulator, count
from cachezoo.questions.page.monitored import Unknown, monitor_plan
from cachezoo.serving.requests import batch_of
from cachezoo.settings.data import Roles, TraceEntry
from cachezoo.zoo.caching.serve import CachingServing
from cachezoo.zoo.caching.switching import Requeue, Switched, SwitchingCache
from cachezoo.zoo.reuse.evaluate import page_bundle
from cachezoo.zoo.reuse.serve import ReuseServing
from cachezoo.zoo.workload.serve import WorkloadServing
from lab.reconfigure.document import Cost, Mode, Row
from lab.reconfigure.monitor import Watched, delays, watch
from lab.reconfigure.streams import Changing

PERIOD = 2_000
AFTER = 5_000
DIGITS = 4


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    categories: Annotated[list[str], At("data.page_categories")]
    roles: Annotated[dict[str, Roles], At("data.roles")]
    traces: Annotated[dict[str, TraceEntry], At("data.traces")]
    caching: Annotated[str, At("model.caching.arch")]
    workload: Annotated[str, At("model.workload.arch")]
    reuse: Annotated[str, At("model.reuse.arch")]
    fraction: Annotated[float, At("evaluate.capacity_fraction")]
    decision_us: Annotated[dict[str, float], At("evaluate.decision_cost_us")]


@dataclass(frozen=True)
class Models:
    """Trained models at work.

    Attributes:
        classes: the monitor's categories; models are numbered like them.
        caching: the caching model of each.
        monitors: the workload classifier, by the equal votes that it takes to change the category.
        follower: id and cache of the next-use forest; None where it is not trained.
    """

    classes: tuple[str, ...]
    caching: Sequence[CachingServing]
    monitors: Mapping[int, WorkloadServing]
    follower: tuple[str, ReuseServing] | None


@dataclass(frozen=True)
class Way:
    """How models are changed."""

    requeue: Requeue
    unknown: Unknown
    switch_votes: int


class Bench:
    """A stream with the cache that models take turns in, and what its rows are counted by."""

    def __init__(self, stream: Changing, models: Models, settings: Settings) -> None:
        """Take a stream.

        Args:
            stream: its requests and phases.
            models: who may decide.
            settings: what is charged, and what the bootstrap draws.
        """
        self.stream, self._models, self._settings = stream, models, settings
        self._batch, self.truth = batch_of(stream.trace), stream.codes(models.classes)
        self._cache = SwitchingCache(models.caching, self._batch, stream.pages, stream.capacity)
        self._watched: dict[tuple[int, int], Watched] = {}
        self._simulator = Simulator(stream.trace, stream.pages)
        self._access_of = stream.pages.request_of_access()

    def watched(self, switch_votes: int, every_s: int = 0) -> Watched:
        """What the monitor says that changes its mind after so many equal votes, one in so many seconds at most."""
        key = switch_votes, every_s
        if key not in self._watched:
            self._watched[key] = watch(self._models.monitors[switch_votes], self._batch, self.truth, every_s)
        return self._watched[key]

    def plan(self, way: Way, every_s: int = 0) -> I32:
        """Who decides in multiple_model, or where votes have pauses between them."""
        return monitor_plan(self.watched(way.switch_votes, every_s).in_force, way.unknown)

    def run(self, plan: I32, requeue: Requeue) -> tuple[Switched, Simulation]:
        """Serve the stream by a plan, and count."""
        return self._counted(self._cache.run(plan, requeue))

    def renewed(self, plan: I32, who: int, requeue: Requeue) -> tuple[I32, Switched, Simulation]:
        """The same with one model in the place of all, taken over anew; and the plan as it is then."""
        own = [self._models.caching[who]] * len(self._models.classes)
        cache = SwitchingCache(own, self._batch, self.stream.pages, self.stream.capacity)
        found, simulation = self._counted(cache.run(plan, requeue))
        takeovers = tuple(replace(one, model=who) for one in found.takeovers)
        return np.where(plan < 0, plan, who).astype(np.int32), replace(found, takeovers=takeovers), simulation

    def _counted(self, found: Switched) -> tuple[Switched, Simulation]:
        own = self.stream
        return found, count(own.trace, own.pages, "switching", own.capacity, own.warmup, found.outcomes)

    def simulated(self, policy_id: str) -> Simulation:
        """A policy that is no model."""
        return self._simulator.run(policy_id, self.stream.capacity, self.stream.warmup)

    def followed(self) -> tuple[str, Simulation] | None:
        """The next-use forest's cache; None where it is not trained."""
        if self._models.follower is None:
            return None
        name, serving = self._models.follower
        stream = self.stream
        return name, page_bundle(serving, name, stream.trace, stream.pages, stream.capacity, stream.warmup)

    def cost(self, plan: I32, found: Switched) -> Cost:
        """What the takeovers of a run came to."""
        own, n = found.takeovers, len(plan)
        steps = sum(one.steps for one in own)
        return Cost(
            takeovers=len(own),
            wrong_takeovers=sum(one.model != self.truth[one.request] for one in own),
            right=float((plan == self.truth).mean()),
            delays=delays(plan, self.stream.phases, self.truth),
            resident=sum(one.resident for one in own),
            moved=sum(one.moved for one in own),
            steps=steps,
            steps_us=steps * self._settings.decision_us["caching"] / n,
        )

    def charged(self, plan: I32, found: Switched) -> F64:
        """float64[n] µs of each request for decisions, and for steps as a model takes over."""
        each = self._settings.decision_us["caching"]
        own = each * (plan >= 0).astype(np.float64)
        for one in found.takeovers:
            own[one.request] += each * one.steps
        return own

    def row(
        self, mode: Mode, policy: str, simulation: Simulation, base: Simulation, charged: F64, cost: Cost | None
    ) -> Row:
        """A cache's row; leads are over `base`."""
        stream, first = self.stream, self.stream.first_counted
        hit = simulation.outcome == HIT
        us = stream.times.served(simulation.missing) + charged
        mine, theirs = self._ratios(simulation), self._ratios(base)
        spans = [(phase.first, phase.end) for phase in stream.phases]
        inside = [self._within([span], first) for span in spans]
        soon = self._within([(low, min(low + AFTER, high)) for low, high in spans[1:]], first)
        starts = stream.pages.request_start[:-1:PERIOD]
        accesses = np.diff(np.append(starts, len(hit)))
        return Row(
            stream=stream.name,
            mode=mode,
            policy=policy,
            hit_ratio=simulation.hit_ratio,
            hit_ratio_interval=mean_of(mine, simulation.hit_ratio).ends,
            lead=100 * (simulation.hit_ratio - base.hit_ratio),
            lead_interval=ahead(100 * mine, 100 * theirs).ends,
            phase_hit_ratios=[self._hit_ratio(hit, rows) for rows in inside],
            after_hit_ratio=self._hit_ratio(hit, soon),
            mean_response_us=float(us[first:].mean()),
            phase_response_us=[_mean(us[rows]) for rows in inside],
            after_response_us=_mean(us[soon]),
            ssd_writes_per_100_io=100 * simulation.ssd_writes / simulation.requests,
            cost=cost,
            periods=[round(float(ratio), DIGITS) for ratio in np.add.reduceat(hit.astype(np.int64), starts) / accesses],
        )

    def _ratios(self, simulation: Simulation) -> F64:
        hits = simulation.outcome[self.stream.warmup :] == HIT
        return block_means(hits, BLOCKS)

    def _within(self, spans: Sequence[tuple[int, int]], first: int) -> Bool:
        """bool[n]: requests of the spans that are counted."""
        chosen = np.zeros(len(self.stream.trace), np.bool_)
        for low, high in spans:
            chosen[low:high] = True
        chosen[:first] = False
        return chosen

    def _hit_ratio(self, hit: Bool, rows: Bool) -> float | None:
        return _mean(hit[rows[self._access_of]])


def _mean(values: npt.NDArray[np.generic]) -> float | None:
    return float(values.astype(np.float64).mean()) if len(values) else None
