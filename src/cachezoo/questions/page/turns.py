"""RC-RNN's cache on a trace: caching models that take turns as the workload monitor names the category.

The monitor is the workload bundle of a folder, the models are its caching bundles. A model that takes over does with
the resident pages what the paper's does (`alone`, see `cachezoo.zoo.caching.switching`). Until the monitor's first vote
everything enters; while the workload is unknown, the model that decides keeps deciding. Source: RC-RNN, Sec. 4.2.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import I32
from cachezoo.bundles.reader import Bundle
from cachezoo.bundles.released import load
from cachezoo.errors import ConfigError
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.engine import check_capacity
from cachezoo.policies.simulate import count
from cachezoo.questions.page.bench import Bench, Options, Run
from cachezoo.questions.page.bundle import out_of_calibration, refuse_options, simulate_bundle
from cachezoo.questions.page.likeness import CLASSIFIER, bundles_folder, bundles_of
from cachezoo.questions.page.monitored import monitor_plan
from cachezoo.questions.page.rcrnn import ID, Rcrnn
from cachezoo.serving.requests import batch_of
from cachezoo.show.formats import percent
from cachezoo.traces.pages import expand_pages
from cachezoo.zoo.caching.serve import CachingServing
from cachezoo.zoo.caching.switching import ALL_ENTER, Requeue, SwitchingCache
from cachezoo.zoo.workload.serve import WorkloadServing

CACHING = "caching"
NO_MODEL = "no model"
REQUEUE: Requeue = "alone"


@dataclass(frozen=True)
class Turns:
    """Who decided in a run."""

    policy: str
    capacity: int  # pages
    decided: Mapping[str, float]  # share of the requests by category; `no model` before the monitor's first vote
    takeovers: int  # times that a model began to decide
    asked: int  # requests that the models were asked about for the resident pages, at these times
    moved: int  # pages that they put into another queue

    def words(self) -> str:
        """For people."""
        shares = ", ".join(f"{name} {percent(share, 0)}" for name, share in self.decided.items())
        times = f"{self.takeovers} takeover{'' if self.takeovers == 1 else 's'}"
        return f"{self.policy} at {self.capacity:,} pages: {shares} of all requests; {times}"

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        return {**vars(self), "decided": dict(self.decided)}


class TurnsCache:
    """RC-RNN's cache, with the models of a folder.

    Attributes:
        policy: its canonical text.
        turns: who decided in its runs so far.
    """

    kind = "model"  # as of `Run`

    def __init__(self, asked: Rcrnn, folder: Path | None) -> None:
        """Take the bundles.

        Args:
            asked: the cache.
            folder: of bundles; None where none was found.

        Raises:
            ConfigError: a bundle that it needs is not there.
            BundleError: one is damaged.
        """
        self.policy, self.turns, self._every_s = str(asked), list[Turns](), asked.vote_every_s
        if folder is None:
            raise ConfigError(f"{ID}: {paths.BUNDLES} is not here; make repro exports it, or give another by --models")
        found = bundles_of(folder)
        caching: dict[str, Bundle] = {}
        for path in found.get(CACHING, []):
            own = load(path)
            caching.setdefault(str(own.manifest["category"]), own)
        self._monitor: Bundle | None = None
        names: tuple[str, ...] = (asked.category,) if asked.category is not None else ()
        if not names:
            if CLASSIFIER not in found:
                message = f"{folder}: has no {CLASSIFIER} bundle, by which {ID} takes turns; make repro exports it"
                raise ConfigError(f"{message}, or give a category, {ID}(category=NAME)")
            self._monitor = load(found[CLASSIFIER][0])
            names = self._watching.classes
        if missing := [name for name in names if name not in caching]:
            has = f"it has {', '.join(caching)}" if caching else "it has none"
            message = f"{folder}: has no {CACHING} bundle of {', '.join(missing)}, which {self.policy} needs; {has}"
            raise ConfigError(f"{message}; make repro exports them")
        self._bundles = {name: caching[name] for name in names}

    @cached_property
    def _models(self) -> list[CachingServing]:
        return [bundle.serving() for bundle in self._bundles.values()]

    @cached_property
    def _watching(self) -> WorkloadServing:
        assert self._monitor is not None
        serving: WorkloadServing = self._monitor.serving()
        return serving

    def simulated(self, bench: Bench, capacity: int) -> Simulation:
        """Serve a trace from an empty cache of so many pages, and count.

        Raises:
            ConfigError: a capacity below 1, or a model that cannot take turns.
        """
        check_capacity(capacity)
        trace, pages, warmup = bench.trace, bench.pages, bench.case(capacity).first
        if self._monitor is None:
            ((name, bundle),) = self._bundles.items()
            found = simulate_bundle(bundle, trace, pages, capacity, warmup)
            self.turns.append(Turns(self.policy, capacity, {name: 1.0}, 0, 0, 0))
            return replace(found, policy=self.policy)
        first = trace.rows(0, 1)  # has kernels ready, so that the time below is the run's
        SwitchingCache(self._models, batch_of(first), expand_pages(first), 1).run(np.zeros(1, np.int32), REQUEUE)
        start = time.perf_counter()
        batch = batch_of(trace)
        plan = monitor_plan(self._watching.run(batch, self._every_s).of_requests(len(batch)), "keep")
        switched = SwitchingCache(self._models, batch, pages, capacity).run(plan, REQUEUE)
        seconds = time.perf_counter() - start
        took = switched.takeovers
        asked, moved = sum(one.steps for one in took), sum(one.moved for one in took)
        self.turns.append(Turns(self.policy, capacity, self._decided(plan), len(took), asked, moved))
        return count(trace, pages, self.policy, capacity, warmup, switched.outcomes, seconds)

    def run(self, bench: Bench, capacity: int, decision_us: float = 0.0) -> Run:
        """`simulated` with the figures of a policy's run."""
        return bench.counted_run(self.simulated(bench, capacity), self.kind, decision_us)

    def out_of_calibration(self, bench: Bench, capacity: int) -> tuple[float, float] | None:
        """As `cachezoo.questions.page.bundle.out_of_calibration`, of the first of its models that says so."""
        found = (out_of_calibration(bundle, bench, capacity) for bundle in self._bundles.values())
        return next((own for own in found if own is not None), None)

    def _decided(self, plan: I32) -> dict[str, float]:
        """Shares of the requests, without those who never decide."""
        shares = {name: float((plan == place).mean()) for place, name in enumerate(self._bundles)}
        whole = {NO_MODEL: float((plan == ALL_ENTER).mean()), **shares}
        return {name: share for name, share in whole.items() if share}


def turns_of(asked: Iterable[Rcrnn], models: Path | None, options: Options) -> dict[str, TurnsCache]:
    """RC-RNN's caches by their texts, ready to run.

    Args:
        asked: the caches.
        models: the folder of bundles that was given; None for the usual ones.
        options: how all policies run.

    Raises:
        ConfigError: options that its models cannot have, or a folder or bundle that is not there.
        BundleError: a bundle is damaged.
    """
    refuse_options(options, f"{ID}'s", f"--policy {ID}")
    folder = bundles_folder(models)
    return {str(own): TurnsCache(own, folder) for own in asked}
