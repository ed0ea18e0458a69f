"""Policies and models side by side on one trace, with the optimum, at several sizes: `compare`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cachezoo.console import Advance
from cachezoo.contest.gap import gap
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
    policies: Callable[[], Sequence[Row]], advance: Advance | None = None,
) -> Comparison:  # fmt: skip
    """Run models, then policies, and put them side by side.

    Args:
        bench: the trace.
        models: their caches.
        sizes: of the cache.
        decision_us: time of one decision of a model in µs, charged to every request.
        policies: runs policies, the optimum among them; a row for each of these and each size, in this order.
        advance: progress, in models.

    Raises:
        ConfigError: a size that a cache cannot have.
        BundleError: a bundle that decides nothing in a page cache.
    """
    capacities, ran = [bench.size(own) for own in sizes], list[list[Row]]()
    outside: list[dict[str, tuple[float, float]]] = [{} for _ in sizes]
    for done, model in enumerate(models):
        if advance is not None:
            advance(done, model.policy)
        ran.append([model.run(bench, capacity, decision_us).values() for capacity in capacities])
        for capacity, strange in zip(capacities, outside, strict=True):
            if (chosen := model.out_of_calibration(bench, capacity)) is not None:
                strange[model.policy] = chosen
    rows, count = policies(), len(sizes)
    runs = [
        {**with_gaps([*rows[k::count], *(own[k] for own in ran)]), "out_of_calibration": sorted(outside[k])}
        for k in range(count)
    ]
    return Comparison(runs, outside)


def with_gaps(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows of one trace at one capacity, with their gaps to the best classic among them.

    Args:
        rows: of policies, the optimum among them, and of models (kind ``model``); keys `policy`, `kind`, `capacity`,
            `warmup`, `hits`, `hit_ratio` are read.

    Returns:
        JSON values: `capacity`, `warmup`, `best_classic` (None where no classic is among the rows), `optimum`, `rows`
        (best hit ratio first) with `gap_closed` and `gap_points`, None without a classic.
    """
    kept = [dict(row) for row in sorted(rows, key=lambda row: (-row["hits"], row["policy"]))]
    best = next((row for row in kept if row["kind"] == "classic"), None)
    optimum = next(row for row in kept if row["policy"] == OPTIMUM)
    for row in kept:
        gaps = gap(row["hit_ratio"], best["hit_ratio"], optimum["hit_ratio"]) if best else (None, None)
        row["gap_closed"], row["gap_points"] = gaps
    return {
        "capacity": optimum["capacity"],
        "warmup": optimum["warmup"],
        "best_classic": best["policy"] if best else None,
        "optimum": OPTIMUM,
        "rows": kept,
    }
