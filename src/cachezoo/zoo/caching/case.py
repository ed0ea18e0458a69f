"""What stage judge_caching reads, and a trace on which it runs caches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np

from cachezoo.arrays import F64, U8, Bool
from cachezoo.contest.counting import first_access
from cachezoo.devices.service import ServiceTimes
from cachezoo.kernels.outcome import HIT
from cachezoo.labels.tags import Labels, Tags
from cachezoo.params import At, Picked
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.tuned import tuned_classics
from cachezoo.settings.data import Roles
from cachezoo.settings.page_cache import BenefitLabel, ClassicsPolicy, ManagerPolicy
from cachezoo.traces.pages import capacity_pages
from cachezoo.zoo.caching.prepared import Prepared, first_requests, judging_requests
from cachezoo.zoo.caching.settings import Judge


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
    times: ServiceTimes | None  # of its requests, where response times choose

    @property
    def counted(self) -> Bool:
        """bool[n]: requests after warm-up."""
        after: Bool = self.part.pages.request_start[:-1] >= self.warmup
        return after

    @cached_property
    def choosing(self) -> Bool:
        """bool[n]: counted requests without a page access in a judging block."""
        return self.counted & ~judging_requests(self.part.pages, self.part.pages.n_requests)

    def at(self, share: float) -> "Case":
        """With a cache of a share of the working set; classics and optimum stay those of its own size."""
        return replace(self, capacity=capacity_pages(share, self.part.pages.n_pages))


def case_of(part: Prepared, settings: Settings, times: tuple[F64, F64] | None = None) -> Case:
    """The first requests of a trace; the working set, and so the capacity, stays the whole trace's.

    `times` are its requests' on the disk and the SSD, where response times choose.
    """
    requests = settings.judge.closed_loop_requests
    pages = first_requests(part.pages, requests)
    tags = {key: Tags(own.bits[:requests]) for key, own in part.labels.tags.items()}
    labels: Labels = replace(part.labels, tags=tags)
    short = replace(part, trace=part.trace.rows(0, requests), pages=pages, labels=labels)
    capacity = capacity_pages(settings.manager.capacity, pages.n_pages)
    warmup = first_access(pages)
    names = [*classics(), *tuned_classics(settings.classics), OPTIMUM]
    rivals = {name: hits[warmup:] for name, hits in classic_hits(short, names, capacity)}
    served = None if times is None else ServiceTimes.of(short.trace, *(own[:requests] for own in times))
    return Case(short, capacity, warmup, rivals, rivals.pop(OPTIMUM), served)


def classic_hits(part: Prepared, names: Sequence[str], capacity: int) -> Iterator[tuple[str, U8]]:
    """Each policy's page hits, uint8[m], on the very stream that the evaluation of a category runs it on."""
    simulator = Simulator(part.trace, part.pages)
    for name in names:
        yield name, (simulator.run(name, capacity, 0).outcome == HIT).astype(np.uint8)
