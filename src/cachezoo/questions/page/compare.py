"""Policies and models side by side on one trace, with the optimum, at several sizes: `compare`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cachezoo.arrays import F64
from cachezoo.console import Advance
from cachezoo.contest.gap import gap, gap_errors
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.questions.page.bench import Bench, Row, Run
from cachezoo.sizes import Size


class ModelCache(Protocol):
    """A model's own cache, such as `bundle.BundleCache` and `turns.TurnsCache`."""

    @property
    def policy(self) -> str:
        """What its runs are called."""

    def run(self, bench: Bench, capacity: int, decision_us: float = 0.0) -> Run:
        """Serve a trace from an empty cache of so many pages."""

    def out_of_calibration(self, bench: Bench, capacity: int) -> tuple[float, float] | None:
        """As `cachezoo.questions.page.bundle.out_of_calibration`."""


@dataclass(frozen=True)
class Comparison:
    """Runs side by side."""

    # Of each size, JSON values: as of `with_gaps`, and `out_of_calibration`, the models that were chosen for others.
    runs: list[dict[str, Any]]
    outside: list[dict[str, tuple[float, float]]]  # of each size, by such a model the parts that it was chosen for

    @property
    def rows(self) -> list[Row]:
        """Of all sizes, best first at each."""
        return [row for run in self.runs for row in run["rows"]]


def names_of(policies: Sequence[str], every: bool) -> list[str]:
    """The policies that are run: those given, every classic where wanted, and the optimum."""
    return [*dict.fromkeys([*policies, *(classics() if every else []), OPTIMUM])]


def compared(
    bench: Bench, models: Sequence[ModelCache], sizes: Sequence[Size], decision_us: float,
    policies: Callable[[], Sequence[Run]], advance: Advance | None = None, trace: str | None = None,
) -> Comparison:  # fmt: skip
    """Run models, then policies, and put them side by side.

    Args:
        bench: the trace.
        models: their caches.
        sizes: of the cache.
        decision_us: time of one decision of a model in µs, charged to every request.
        policies: runs policies, the optimum among them; a run for each of these and each size, in this order.
        advance: progress, in models.
        trace: what the rows of policies call it; None: they do not name it.

    Raises:
        ConfigError: a size that a cache cannot have.
        BundleError: a bundle that decides nothing in a page cache.
    """
    capacities, ran = [bench.size(own) for own in sizes], list[list[Run]]()
    outside: list[dict[str, tuple[float, float]]] = [{} for _ in sizes]
    for done, model in enumerate(models):
        if advance is not None:
            advance(done, model.policy)
        ran.append([model.run(bench, capacity, decision_us) for capacity in capacities])
        for capacity, strange in zip(capacities, outside, strict=True):
            if (chosen := model.out_of_calibration(bench, capacity)) is not None:
                strange[model.policy] = chosen
    swept, count, runs = policies(), len(sizes), list[dict[str, Any]]()
    named = {} if trace is None else {"trace": trace}
    for k in range(count):
        own, deciding = swept[k::count], [each[k] for each in ran]
        rows = [*({**named, **run.values()} for run in own), *(run.values() for run in deciding)]
        found = with_gaps(rows, [run.groups for run in (*own, *deciding)])
        runs.append({**found, "out_of_calibration": sorted(outside[k])})
    return Comparison(runs, outside)


def with_gaps(rows: Sequence[Row], groups: Sequence[F64 | None] = ()) -> dict[str, Any]:
    """Rows of one trace at one capacity, with their gaps to the best classic among them.

    Args:
        rows: of policies, the optimum among them, and of models (kind ``model``); keys `policy`, `kind`, `capacity`,
            `warmup`, `hits`, `hit_ratio` are read.
        groups: float64[GROUPS] of each row, its hit ratios in the groups of a sample; none of a whole trace.

    Returns:
        JSON values: `capacity`, `warmup`, `best_classic` (None where no classic is among the rows), `optimum`, `rows`
        (best hit ratio first) with `gap_closed` and `gap_points`, None without a classic; of a sample with
        `gap_closed_error_90` and `gap_points_error_90`, which are of the way from the best classic that is named.
    """
    kept = [(dict(row), parts) for row, parts in zip(rows, groups or [None] * len(rows), strict=True)]
    kept.sort(key=lambda own: (-own[0]["hits"], own[0]["policy"]))
    best = next((own for own in kept if own[0]["kind"] == "classic"), None)
    optimum = next(own for own in kept if own[0]["policy"] == OPTIMUM)
    for own in kept:
        row, three = own[0], [] if best is None else [own, best, optimum]
        ratios, parts = [one["hit_ratio"] for one, _ in three], [part for _, part in three if part is not None]
        row["gap_closed"], row["gap_points"] = gap(*ratios) if three else (None, None)
        if parts:
            errors = gap_errors(np.array(ratios), np.stack(parts))
            row["gap_closed_error_90"], row["gap_points_error_90"] = errors
    return {
        "capacity": optimum[0]["capacity"],
        "warmup": optimum[0]["warmup"],
        "best_classic": best[0]["policy"] if best else None,
        "optimum": OPTIMUM,
        "rows": [row for row, _ in kept],
    }
