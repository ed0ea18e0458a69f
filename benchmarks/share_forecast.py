"""A LightGBM forecast of what each fragment of cache will hit, for the partitioner of a cache that applications share.

At the end of each window the cache is split by dynamic programming on a forecast of the next window's histograms. Ways
of forecasting are held against each other on the same mixes of applications, in lockstep and by their clocks:

- *last*: the last window's; *decayed*: a decayed mean of all windows; *ucp*: the same halved each window, and split by
  UCP's lookahead (Qureshi and Patt, MICRO 2006); *rate x shape*: a fast mean of each application's references times a
  slow one of where they hit;
- *forest*: LightGBM, from decayed means of several half-lives, the last windows, neighbouring fragments, and rates;
- *future*: the true histograms of what comes, so a bound of forecasts; *static*: one split, the best by the whole run's
  histograms; *equal* parts.

The forest learns on mixes of train traces, and its recipe is chosen on mixes of train traces that those fits did not
see; then it learns on all train traces but a program of each category. Validation: mixes of these and the captured
validation traces. The others' windows and decays are chosen there, on what judges, which favours them. Printed are
transfers (misses) for each page reference with the cache split as said, and how far forecasts are off.

    python benchmarks/share_forecast.py                # validation, and its verdict
    python benchmarks/share_forecast.py --test         # the test traces and unseen programs too
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from share_forecasts import RECIPES, RIVALS, STAYS, WAYS, Forest, Recipe, Seen, Way, ahead_of, spread
from share_windows import BLOCKS, FRAGMENT, FRAGMENTS, Application, Mix, believed, in_units, simulate, split

from cachezoo.seeds import derive_seed
from cachezoo.traces.read import read_any
from cachezoo.yaml_file import read_yaml

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
HELD = ("sqlite", "rsync", "postmark", "nginx")
"""Programs of the corpus's train traces that validation alone sees, one of each category."""
SHARES = (1 / 16, 1 / 8, 1 / 4)
"""Caches, as parts of all pages of a mix."""
SEEDS = 5
AHEAD = 8000
"""References that the error of a forecast is told over."""


def charged(forecast: F64, hits: F64, stay: float, window: int, step: int) -> I32:
    """The splits of a forecast, all in units; what is forecast of a window must pay for its part of a move."""
    return split(believed(forecast, hits), charge=step * FRAGMENT * window / stay)


def by_ways(mix: Mix, ways: Sequence[Way]) -> F64:
    """float64[ways, shares, BLOCKS] transfers for each page reference of the mix, block by block."""
    found = np.empty((len(ways), len(SHARES), BLOCKS))
    for window in dict.fromkeys(way.window for way in ways):
        hits, references = mix.windows(window)
        for s, share in enumerate(SHARES):
            cache = mix.cache(share)
            units = in_units(hits, cache)
            for i, way in enumerate(ways):
                if way.window != window:
                    continue
                told = way(units, references)
                if way.kind == "ucp":
                    splits = split(believed(told, units), lookahead=True)
                elif way.kind in ("equal", "static"):
                    splits = split(told)
                else:
                    splits = charged(told, units, way.stay, window, cache[1])
                found[i, s] = simulate(mix, splits, cache[1], window)
    return found / len(mix.app)


def by_forest(forest: Forest, mix: Mix, seen: Seen) -> F64:
    """float64[stays, shares, BLOCKS], as `by_ways`: with each of `STAYS`."""
    window = forest.recipe.window
    hits, _ = mix.windows(window)
    told = spread(forest(seen), hits, window)
    found = np.empty((len(STAYS), len(SHARES), BLOCKS))
    for s, share in enumerate(SHARES):
        cache = mix.cache(share)
        forecast, units = in_units(told, cache), in_units(hits, cache)
        for i, stay in enumerate(STAYS):
            found[i, s] = simulate(mix, charged(forecast, units, stay, window, cache[1]), cache[1], window)
    return found / len(mix.app)


def curve_error(told: F64, hits: F64, window: int, mix: Mix) -> float:
    """How far the next `AHEAD` references' hits below a depth are off, for each page reference, mean over depths.

    Args:
        told: float64[k, A, FRAGMENTS] hits of a window, forecast; of depths up to an eighth of all pages.
        hits: the same, as they were.
        window: references of an application, on average.
        mix: the applications.
    """
    depth = min(FRAGMENTS, round(mix.n_pages / 8 / FRAGMENT))
    true = ahead_of(hits[..., :depth], max(1, AHEAD // window))
    off = np.cumsum((told[..., :depth] - true)[1:], axis=2)
    return float(np.abs(off).sum(1).mean() / (window * len(mix.names)))


@dataclass(frozen=True)
class Pools:
    """Traces by what they are for.

    Attributes:
        fit: train traces that recipes learn on: set-ups a, and the first halves of the captured ones.
        choose: train traces that recipes are chosen on: set-ups b, and the second halves.
        train: all of them, whole.
        validation: captured validation traces, and the held programs.
        test: test traces of known programs.
        unseen: test traces of programs that no train trace is of.
    """

    fit: list[Application]
    choose: list[Application]
    train: list[Application]
    validation: list[Application]
    test: list[Application]
    unseen: list[Application]

    @classmethod
    def read(cls, *, test: bool) -> "Pools":
        """Read traces; those for tests only where they are asked for."""
        rows = read_yaml(Path("conf/matrix.yaml"))
        pools = cls([], [], [], [], [], [])
        for name, row in {**rows["page_traces"], **rows["corpus"]}.items():
            if row["role"] == "test" and not test:
                continue
            trace = read_any(Path(row["path"]), quiet=True)
            if row["role"] == "test":
                (pools.unseen if row.get("unseen") else pools.test).append(Application.of(name, trace))
            elif row["role"] == "validation" or row.get("program") in HELD:
                pools.validation.append(Application.of(name, trace))
            else:
                pools.train.append(Application.of(name, trace))
                if "setup" in row:
                    (pools.fit if row["setup"] == "a" else pools.choose).append(pools.train[-1])
                else:
                    pools.fit.append(Application.of(name, trace.rows(0, len(trace) // 2)))
                    pools.choose.append(Application.of(name, trace.rows(len(trace) // 2, len(trace))))
        return pools


def mixes(pool: Sequence[Application], counts: dict[int, int], what: str) -> list[Mix]:
    """Mixes drawn from a pool, of each size so many, each in lockstep and by its clocks."""
    rng = np.random.default_rng(derive_seed(0, "share_forecast", what))
    found = []
    for size, count in counts.items():
        for _ in range(count):
            drawn = [pool[k] for k in np.sort(rng.choice(len(pool), size, replace=False))]
            found += [Mix.of(drawn, lockstep=lockstep) for lockstep in (True, False)]
    return found


def saved(rival: F64, ours: F64, what: str) -> tuple[float, float, float]:
    """Per cent of the rival's transfers that are saved, and the 90 % interval over seeds, mixes and time blocks.

    Args:
        rival: float64[mixes, shares, BLOCKS].
        ours: float64[seeds, mixes, shares, BLOCKS].
        what: names the draws.
    """
    rng = np.random.default_rng(derive_seed(0, "share_forecast_interval", what))
    one, other = rival.sum(1), ours.sum(2)
    found = []
    for _ in range(2000):
        rows = rng.integers(len(one), size=(len(one), 1))
        blocks = rng.integers(BLOCKS, size=(len(one), BLOCKS))
        seeds = rng.integers(len(ours), size=len(ours))
        found.append(1 - other[seeds][:, rows, blocks].mean(0).sum() / one[rows, blocks].sum())
    low, high = np.quantile(found, (0.05, 0.95))
    return 100 * (1 - other.mean(0).sum() / one.sum()), 100 * low, 100 * high


ORDERS = {True: "lockstep", False: "clock"}
COUNTS = {2: 4, 4: 4, 8: 2}
"""Mixes of each size, of each pool, in each order."""
TAUGHT = {2: 3, 4: 3, 8: 1}
"""Those that a seed's forests learn on."""
Chosen = dict[bool, tuple[Recipe, float]]


def sides(drawn: Sequence[Mix]) -> Iterator[tuple[bool, I64]]:
    """Each order with its mixes."""
    for lockstep in ORDERS:
        yield lockstep, np.flatnonzero([mix.lockstep == lockstep for mix in drawn])


def choose_recipes(pools: Pools) -> Chosen:
    """The recipe and the stay of least transfers on train traces that the fits did not see, of each order."""
    taught, judged = (mixes(pool, COUNTS, what) for pool, what in ((pools.fit, "fit"), (pools.choose, "choose")))
    fits, judges = ([Seen(mix, RECIPES[0].window) for mix in some] for some in (taught, judged))
    found = []
    for recipe in RECIPES:
        forest = Forest(recipe, fits, derive_seed(0, "share_forecast_recipe"))
        found.append([by_forest(forest, mix, seen).sum(2).mean(1) for mix, seen in zip(judged, judges, strict=True)])
    means, chosen = np.array(found), {}
    for lockstep, rows in sides(judged):
        mean = means[:, rows].mean(1)
        for place in np.argsort(mean.min(1)):
            stay = int(mean[place].argmin())
            print(f"{ORDERS[lockstep]}: {mean[place, stay]:.4f} {RECIPES[place]}, stay {STAYS[stay]:g}", flush=True)
        best, stay = np.unravel_index(mean.argmin(), mean.shape)
        chosen[lockstep] = RECIPES[best], STAYS[stay]
    return chosen


def taught(pools: Pools, chosen: Chosen) -> list[dict[bool, Forest]]:
    """Forests of each seed, by order, from mixes of all train traces that the seed draws."""
    found = []
    for seed in range(SEEDS):
        seen = [Seen(mix, RECIPES[0].window) for mix in mixes(pools.train, TAUGHT, f"train {seed}")]
        own = {recipe: Forest(recipe, seen, derive_seed(0, "share_forecast", seed)) for recipe, _ in chosen.values()}
        found.append({lockstep: own[recipe] for lockstep, (recipe, _) in chosen.items()})
    return found


def rivals(drawn: Sequence[Mix]) -> dict[str, dict[bool, Way]]:
    """Of each kind the way of least transfers on these mixes, by order."""
    ways = [way for some in WAYS.values() for way in some]
    means = np.array([by_ways(mix, ways).sum(2).mean(1) for mix in drawn])
    found: dict[str, dict[bool, Way]] = {kind: {} for kind in WAYS}
    for lockstep, rows in sides(drawn):
        mean = means[rows].mean(0)
        for kind in WAYS:
            own = [i for i, way in enumerate(ways) if way.kind == kind]
            found[kind][lockstep] = ways[min(own, key=lambda i: mean[i])]
            print(f"{ORDERS[lockstep]}: {mean[own].min():.4f} {found[kind][lockstep]}", flush=True)
    return found


def errors(drawn: Sequence[Mix], told: Callable[[Mix], tuple[F64, int]]) -> float:
    """Mean over mixes of `curve_error`."""
    found = []
    for mix in drawn:
        forecast, window = told(mix)
        found.append(curve_error(forecast, mix.windows(window)[0], window, mix))
    return float(np.mean(found))


@dataclass(frozen=True)
class Judged:
    """What ways and forests did on mixes.

    Attributes:
        drawn: the mixes.
        ways: float64[mixes, shares, BLOCKS] transfers for each page reference, by kind.
        forest: float64[SEEDS, mixes, shares, BLOCKS].
        off: `curve_error` of each kind, and of `forest`, the first seed's.
    """

    drawn: list[Mix]
    ways: dict[str, F64]
    forest: F64
    off: dict[str, float]


def judged(
    drawn: list[Mix], best: dict[str, dict[bool, Way]], forests: list[dict[bool, Forest]], chosen: Chosen
) -> Judged:
    """Run what was chosen."""
    ways: dict[str, list[F64]] = {kind: [] for kind in best}
    runs: list[list[F64]] = [[] for _ in forests]
    for mix in drawn:
        own = list(dict.fromkeys(best[kind][mix.lockstep] for kind in best))
        results = by_ways(mix, own)
        for kind in best:
            ways[kind].append(results[own.index(best[kind][mix.lockstep])])
        seen = Seen(mix, RECIPES[0].window)
        for k, forest in enumerate(forests):
            runs[k].append(by_forest(forest[mix.lockstep], mix, seen)[STAYS.index(chosen[mix.lockstep][1])])

    def of_way(kind: str) -> Callable[[Mix], tuple[F64, int]]:
        return lambda mix: (
            best[kind][mix.lockstep](*mix.windows(best[kind][mix.lockstep].window)),
            best[kind][mix.lockstep].window,
        )

    def of_forest(mix: Mix) -> tuple[F64, int]:
        window = RECIPES[0].window
        return spread(forests[0][mix.lockstep](Seen(mix, window)), mix.windows(window)[0], window), window

    off = {kind: errors(drawn, of_way(kind)) for kind in (*RIVALS, "rate x shape", "future")}
    off["forest"] = errors(drawn, of_forest)
    return Judged(drawn, {kind: np.array(some) for kind, some in ways.items()}, np.array(runs), off)


def show(found: Judged, title: str) -> None:
    """Two tables: transfers, and what the forest saves with its interval."""
    groups = [("all", np.arange(len(found.drawn)))]
    groups += [(ORDERS[lockstep], rows) for lockstep, rows in sides(found.drawn)]
    for lockstep, rows in sides(found.drawn):
        groups += [
            (f"{ORDERS[lockstep]}, {size}", rows[[len(found.drawn[row].names) == size for row in rows]])
            for size in COUNTS
        ]
    print(f"\n{title}: {len(found.drawn) // 2} mixes in each order; transfers for each page reference")
    print("| | " + " | ".join(name for name, _ in groups) + " | forecast off |\n" + "|---" * (len(groups) + 2) + "|")
    table = {**found.ways, "forest": found.forest.mean(0)}
    for kind, runs in table.items():
        cells = [f"{runs[rows].sum(2).mean():.4f}" for _, rows in groups]
        off = f"{found.off[kind]:.4f}" if kind in found.off else ""
        print(f"| {kind} | " + " | ".join(cells) + f" | {off} |", flush=True)
    pairs = [("forest", kind) for kind in (*RIVALS, "rate x shape", "static", "future")]
    for who, kind in (*pairs, ("rate x shape", "decayed")):
        told = []
        ours = found.forest if who == "forest" else found.ways[who][None]
        for name, rows in groups:
            mean, low, high = saved(found.ways[kind][rows], ours[:, rows], f"{title} {name}")
            told.append(f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]")
        print(f"| {who} saves beside {kind}, % | " + " | ".join(told) + " | |", flush=True)
    alone = ", ".join(f"{run.sum(2).mean():.4f}" for run in found.forest)
    print(f"seeds: {alone}", flush=True)


def strongest(best: dict[str, dict[bool, Way]], found: Judged) -> F64:
    """Transfers of the best rival, chosen for each order by what judges: float64[mixes, shares, BLOCKS]."""
    runs = np.empty_like(found.ways["last"])
    for lockstep, rows in sides(found.drawn):
        kind = min(RIVALS, key=lambda one: found.ways[one][rows].sum())
        print(f"{ORDERS[lockstep]}: the rival is {best[kind][lockstep]}")
        runs[rows] = found.ways[kind][rows]
    return runs


def main() -> None:
    """Choose, learn, judge, and with --test look at the test traces."""
    parser = argparse.ArgumentParser(description="A forecast for the partitioner beside what is not learned.")
    parser.add_argument("--test", action="store_true", help="the test traces and unseen programs too")
    test = parser.parse_args().test
    pools = Pools.read(test=test)
    chosen = choose_recipes(pools)
    forests = taught(pools, chosen)
    drawn = mixes(pools.validation, COUNTS, "validation")
    best = rivals(drawn)
    found = judged(drawn, best, forests, chosen)
    show(found, "validation")
    mean, low, high = saved(strongest(best, found), found.forest, "verdict")
    print(
        f"verdict: {mean:+.2f} % of transfers saved [{low:+.2f}, {high:+.2f}]: {'ships' if low > 0 else 'not shipped'}",
        flush=True,
    )
    for pool, title in ((pools.test, "test"), (pools.unseen, "unseen programs")) if test else ():
        show(judged(mixes(pool, COUNTS, title), best, forests, chosen), title)


if __name__ == "__main__":
    main()
