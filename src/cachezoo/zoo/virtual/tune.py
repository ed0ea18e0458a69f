"""Searches for the setting of a virtual cache: most hits on validation, within a limit of transfers.

Proposals are Optuna's tree-structured Parzen estimator's; the paper's settings with each queue are its first. A setting
that makes more transfers than it may counts as worse than all that do not, the more so the more it makes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from cachezoo.zoo.virtual.bench import Bench
from cachezoo.zoo.virtual.metrics import Queue, Setting, Tried
from cachezoo.zoo.virtual.settings import Fit, Judge, Paper

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

STARTUP = 12  # settings drawn at random before the estimator has enough to learn from, the paper's among them
DECAY_DIGITS, COST_DIGITS = 3, 2


@dataclass(frozen=True)
class Space:
    """What is tried.

    Attributes:
        queues: what orders them.
        pages: how long they are: those that every cache fits.
        most_runs: of the cache with the fewest fragments.
        judge: section `judge.virtual`.
    """

    queues: Sequence[Queue]
    pages: Sequence[int]
    most_runs: int
    judge: Judge

    @classmethod
    def of(cls, benches: Sequence[Bench], fit: Fit, judge: Judge) -> "Space":
        """What fits all of some traces' caches."""
        capacities = [bench.capacity for bench in benches]
        fragments = min(bench.capacity // bench.fragment for bench in benches)
        pages = [pages for pages in fit.pages if pages >= max(capacities)]
        return cls(fit.queues, pages, min(judge.most_runs, fragments), judge)

    @property
    def reason(self) -> str:
        """Why nothing can be tried; empty where something can."""
        if not self.pages:
            return "every queue of fit.virtual.pages is shorter than the cache"
        return "" if self.most_runs else "the cache has no room for a fragment"

    def paper(self, queue: Queue) -> Setting:
        """The paper's setting with a queue, the longest there is."""
        return papers(queue, max(self.pages), self.most_runs, self.judge.paper)


def papers(queue: Queue, pages: int, most_runs: int, paper: Paper) -> Setting:
    """The paper's setting, in no more runs than there are fragments."""
    return Setting(
        queue=queue, pages=pages, runs=min(paper.runs, most_runs), decay=paper.decay, quantum=paper.quantum, cost=0.0
    )


def tried(setting: Setting, benches: Sequence[Bench], limit: float) -> Tried:
    """A setting on some traces, from a cold start: hits on the choosing blocks, transfers on all of them.

    The limit of transfers is no figure that is judged, and what a mapping reads comes in lumps, so it is held to whole
    traces.
    """
    runs = [bench.virtual(setting) for bench in benches]
    hit_ratio = fmean(run.half(judging=False).hit_ratio for run in runs)
    transfers = fmean(run.transfers for run in runs)
    return Tried(setting=setting, hit_ratio=hit_ratio, transfers=transfers, allowed=transfers <= limit)


def search(space: Space, benches: Sequence[Bench], limit: float, seed: int) -> list[Tried]:
    """All settings that a search tries, in order.

    Args:
        space: what may be tried.
        benches: validation traces.
        limit: transfers per page access.
        seed: of the proposals.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP, multivariate=True)
    study = optuna.create_study(sampler=sampler, direction="maximize")
    for queue in space.queues:
        first = space.paper(queue)
        study.enqueue_trial({**first.model_dump(), "pages": space.pages.index(first.pages)})
    found: dict[Setting, Tried] = {}
    order = []
    for _ in range(space.judge.trials):
        asked = study.ask(_distributions(space))
        setting = _setting(space, asked.params)
        if setting not in found:
            found[setting] = tried(setting, benches, limit)
        one = found[setting]
        order.append(one)
        study.tell(asked, one.hit_ratio if one.allowed else limit - one.transfers)
    return order


def _distributions(space: Space) -> "dict[str, BaseDistribution]":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    judge = space.judge
    return {
        "queue": CategoricalDistribution(list(space.queues)),
        "pages": IntDistribution(0, len(space.pages) - 1),
        "runs": IntDistribution(1, space.most_runs),
        "decay": FloatDistribution(min(judge.decay), max(judge.decay)),
        "quantum": IntDistribution(min(judge.quantum), max(judge.quantum), log=True),
        "cost": FloatDistribution(min(judge.cost), max(judge.cost)),
    }


def _setting(space: Space, drawn: Mapping[str, Any]) -> Setting:
    return Setting(
        queue=drawn["queue"], pages=space.pages[drawn["pages"]], runs=drawn["runs"],
        decay=round(drawn["decay"], DECAY_DIGITS), quantum=drawn["quantum"], cost=round(drawn["cost"], COST_DIGITS),
    )  # fmt: skip


def best(found: Sequence[Tried]) -> Tried:
    """Most hits among those within the limit of transfers; else the fewest transfers. The first of equals."""
    allowed = [one for one in found if one.allowed]
    if allowed:
        return max(allowed, key=lambda one: (one.hit_ratio, -one.transfers))
    return min(found, key=lambda one: one.transfers)
