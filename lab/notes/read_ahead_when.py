"""Is read-ahead better where a forest, ML-When, says on which misses it pays?

    .venv/bin/python -m lab.notes.read_ahead_when [CATEGORY …] [--seeds 5]     needs the pipeline's requests

The admission is ours, with forests of several seeds. A miss of what it admits fetches the same segments as in a plain
mode, either always or where ML-When expects a gain. ML-When has a forest for each mode and budget. It learns from the
reads that fetch in the episodes that OPT admits on the train trace. Its label is whether fetching saves disk-head time
after its price: a read that hits thanks to it saves what that read costs where nothing is cached, shared among those
that fetched for it; what is fetched costs its transfer, and what is then not read costs the budget's price of a flash
write besides. Rows are weighted by what is gained or lost. *Known* has that label of the judged trace itself in place
of a forest. Each has its admission threshold set to the budget on the validation trace, and the best mode there.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from cachezoo.arrays import F32, F64, I32, I64, Bool
from cachezoo.config.load import load_params
from cachezoo.devices.analytic import disk_at_rest
from cachezoo.devices.built_in import WDREDPRO2TB
from cachezoo.flash_cache.modes import ALL_ON_PARTIAL, NONE
from cachezoo.flash_cache.policies import learned, modes_of, prefetch_of
from cachezoo.kernels.flash import Prefetch
from cachezoo.kernels.hdd import hdd_transfer_us
from cachezoo.kernels.jit import njit
from cachezoo.labels.episodes import price_of_writes
from cachezoo.models.forest import ForestRows, fit_forest, forest_scorer
from cachezoo.seeds import derive_seed
from cachezoo.settings.forest import ForestShape
from lab.notes.admission_labels import Category, Part, Recipe

BUDGETS = (0.25, 0.10)
Best = dict[str, tuple[float, str]]  # milliseconds a read in the best mode, and that mode, by `PLAIN` and its rivals
PLAIN, GATED, KNOWN = "always", "ML-When", "known"
SHAPE = ForestShape(
    arch="lgbm", num_leaves=31, max_trees=64, learning_rate=0.15, feature_fraction=0.9, bagging_fraction=0.9,
    bagging_freq=5, min_data_in_leaf=20, lambda_l2=1.0,
)  # fmt: skip
SHIPPED = Recipe(cache(lambda part, age: part.share(part.left(age), age)), rising=True)


@njit
def _credit(
    start: I64, placed: I32, rows: tuple[I32, I32, I32], ahead: tuple[I32, I32], age: int, alone: F64, sizes: I64
) -> tuple[F64, I32, I32]:
    block, first, episode = rows
    low, high = ahead
    per_block, n_places = sizes
    saved = np.zeros(len(block))
    fetched, used = np.zeros(len(block), np.int32), np.zeros(len(block), np.int32)
    member, touched = np.full(n_places, -1, np.int32), np.full(n_places, -1, np.int32)
    by = np.full(n_places, -1, np.int32)  # the read that fetched a segment, until it is read
    for i in range(len(block)):
        e = episode[i]
        if e < 0:
            for j in range(start[i], start[i + 1]):
                member[placed[j]] = -1
            continue
        missing, given = 0, 0
        for j in range(start[i], start[i + 1]):
            o = placed[j]
            if member[o] != e or i - touched[o] > age:
                missing += 1
            elif by[o] >= 0:
                given += 1
        for j in range(start[i], start[i + 1]):
            o = placed[j]
            if member[o] == e and i - touched[o] <= age and by[o] >= 0:
                used[by[o]] += 1
                if missing == 0:
                    saved[by[o]] += alone[i] / given
            member[o], touched[o], by[o] = e, i, -1
        if missing == 0:
            continue
        end = first[i] + int(start[i + 1] - start[i])
        for index in range(low[i], high[i]):
            o = block[i] * per_block + index
            if (index < first[i] or index >= end) and (member[o] != e or i - touched[o] > age):
                member[o], touched[o], by[o] = e, i, i
                fetched[i] += 1
    return saved, fetched, used


@dataclass(frozen=True)
class Ahead:
    """What fetching more in a plain mode gives each read, were all episodes admitted."""

    net: F64  # [n] disk-head seconds saved, after the price of what is written in vain
    fetches: Bool  # [n] it misses, and fetches anything more


def ahead_of(part: Part, prefetch: Prefetch, age: int, price: float) -> Ahead:
    """The gain of each read's fetching."""
    problem, accesses = part.problem, part.problem.accesses
    alone = problem.spared_seconds(np.zeros(len(problem), np.int32))
    rows = (accesses.block, accesses.first, part.episodes(age).episode)
    sizes = np.array([accesses.per_block, accesses.n_places], np.int64)
    ranges = (prefetch.low.astype(np.int32), prefetch.high.astype(np.int32))
    saved, fetched, used = _credit(accesses.start, accesses.placed, rows, ranges, age, alone, sizes)
    moved = fetched * np.int64(problem.geometry.segment_bytes)
    transfer = hdd_transfer_us(disk_at_rest(WDREDPRO2TB), problem.offset, moved) / 1e6
    return Ahead(saved - transfer - price * (fetched - used), fetched > 0)


def where(prefetch: Prefetch, wanted: Bool) -> Prefetch:
    """The same, of some reads alone."""
    return Prefetch(prefetch.low, np.where(wanted, prefetch.high, 0).astype(np.int32))


class Budget:
    """A category at a write budget."""

    def __init__(self, category: Category, budget: float) -> None:
        """Find OPT's episodes and its price of a write, of the train trace and of validation."""
        self.category, self.budget = category, budget
        own, other = category.train, category.validation
        self.age = own.opt(own.label.write_budget).episodes.age
        self.ages = {own: self.age, other: other.opt(other.label.write_budget).episodes.age}
        self.prices = {
            part: price_of_writes(part.problem, part.episodes(age), part.label.opt_prefetch, budget)
            for part, age in self.ages.items()
        }

    def ahead(self, part: Part, mode: str) -> tuple[Prefetch, Ahead]:
        """What a plain mode fetches on a trace, and what that gives."""
        prefetch = prefetch_of(part.problem, mode)
        assert prefetch is not None
        return prefetch, ahead_of(part, prefetch, self.ages[part], self.prices[part])

    def gate(self, mode: str, rows: F32, names: list[str], seed: int, judged: F32) -> Bool:
        """bool[n] of the judged trace: where ML-When wants the mode's fetching."""
        own = self.category.train
        ahead = self.ahead(own, mode)[1]
        first = np.append(own.episodes(self.age).first, 0)[own.episodes(self.age).episode]
        horizon = min(self.age, int(len(own.problem) * own.label.horizon_fraction))
        admitted = own.whole(self.age) >= self.prices[own]
        keep = ahead.fetches & admitted & (first < len(own.problem) - horizon) & (ahead.net != 0)
        wanted = ahead.net[keep] > 0
        if wanted.all() or not wanted.any():
            return np.full(len(judged), bool(wanted.all()))
        weights = (np.abs(ahead.net[keep]) / np.abs(ahead.net[keep]).mean()).astype(np.float32)
        fit = self.category.settings.fit
        forest = fit_forest(ForestRows(rows[keep], wanted, own.held[keep], names, weights), SHAPE, fit, seed)
        return forest_scorer(forest.text)(judged) >= 0

    def measured(self, scores: F64, rows: F32, names: list[str], seed: int, judged: F32) -> Best:
        """Milliseconds of a read in the best mode, always and where ML-When says so."""
        part = self.category.validation
        problem = part.at(self.budget)

        def of(prefetch: Prefetch | None) -> float:
            return part.milliseconds(learned(problem, scores, prefetch).run)

        tried: dict[str, dict[str, float]] = {PLAIN: {}, GATED: {}, KNOWN: {}}
        for mode in modes_of([problem]):
            tried[PLAIN][mode] = of(prefetch_of(problem, mode))
            if mode not in (NONE, ALL_ON_PARTIAL):
                prefetch, ahead = self.ahead(part, mode)
                tried[GATED][mode] = of(where(prefetch, self.gate(mode, rows, names, seed, judged)))
                tried[KNOWN][mode] = of(where(prefetch, ahead.net > 0))
        return {name: min((value, mode) for mode, value in own.items()) for name, own in tried.items()}


def compared(category: Category, seeds: list[int]) -> Iterator[tuple[float, list[Best]]]:
    """Of each budget the figures of each seed."""
    own, other = category.train, category.validation
    age = own.opt(own.label.write_budget).episodes.age
    rows, judged = (category.inputs(part, age, False) for part in (own, other))
    names = [str(place) for place in range(rows.shape[1])]
    scores = [category.scores(SHIPPED, own.label.write_budget, own, seed, [other])[0] for seed in seeds]
    for budget in BUDGETS:
        at = Budget(category, budget)
        yield (
            budget,
            [at.measured(one, rows, names, seed, judged) for one, seed in zip(scores, seeds, strict=True)],
        )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("categories", nargs="*", help="of the matrix; all if none is named")
    parser.add_argument("--seeds", type=int, default=5, help="forests of each kind")
    asked = parser.parse_args()
    params = load_params()
    seeds = [params.seed, *(derive_seed(params.seed, "read_ahead_when", str(k)) for k in range(1, asked.seeds))]
    print("Milliseconds a read on validation; changes against always, mean of seeds (lowest to highest).\n")
    print(f"| budget | category | {PLAIN} | {GATED} | {KNOWN} |\n|---|---|---|---|---|")
    changes: dict[tuple[float, str], list[float]] = {}
    for name in asked.categories or sorted(params.data.roles):
        for budget, runs in compared(Category(params, name, False), seeds):
            modes = ", ".join(sorted({own[PLAIN][1] for own in runs}))
            cells = [f"{np.mean([own[PLAIN][0] for own in runs]):.3f} ({modes})"]
            for kind in (GATED, KNOWN):
                own = [100 * (one[kind][0] / one[PLAIN][0] - 1) for one in runs]
                modes = ", ".join(sorted({one[kind][1] for one in runs}))
                changes.setdefault((budget, kind), []).append(float(np.mean(own)))
                cells.append(f"{np.mean(own):+.2f} % ({min(own):+.2f} to {max(own):+.2f}; {modes})")
            print(f"| {budget:.0%} | {name} | " + " | ".join(cells) + " |", flush=True)
    for budget in BUDGETS:
        cells = [f"{np.mean(changes[budget, kind]):+.2f} %" for kind in (GATED, KNOWN)]
        print(f"| {budget:.0%} | mean | | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
