"""Curves: LRU in one pass, samples of long traces against it, and policies in small against the whole."""

import argparse
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from timing import least

from cachezoo.curves.curve import Curve, capacities_of, lru_curve
from cachezoo.curves.measure import curves
from cachezoo.curves.sampling import draw, sampled_curve
from cachezoo.kernels.segments import IdTable
from cachezoo.policies.registry import OPTIMUM, policy
from cachezoo.seeds import derive_seed
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.read import read_any

CAPTURED = ("database_test", "web_test", "mail_test", "blob_test", "fileserver_test")
POLICIES = ("arc", "s3fifo", "lirs", "wtinylfu", "rejectx+lru", OPTIMUM)
SEEDS = 10
POINTS = 12


def generated(accesses: int, pages: int) -> PageAccesses:
    """Half of popularity 1 / rank ** 0.9, a fifth in scans, the rest in working sets that change."""
    rng = np.random.default_rng(derive_seed(0, "benchmark curves", accesses))
    out = np.empty(accesses, np.int64)
    weight = np.cumsum(np.arange(1, pages // 2 + 1) ** -0.9)
    step = 1_000_000
    for k in range(0, accesses, step):
        size = min(step, accesses - k)
        kind, own = rng.random(size), out[k : k + size]
        own[:] = np.searchsorted(weight, rng.random(size) * weight[-1])
        scan = (kind > 0.5) & (kind <= 0.7)
        own[scan] = pages // 2 + (k // 5 + np.arange(scan.sum())) % (pages // 4)
        local = kind > 0.7
        own[local] = 3 * pages // 4 + (k // 3 + rng.integers(0, pages // 50, local.sum())) % (pages // 4)
    ids = IdTable().lookup(out)
    return PageAccesses(np.arange(accesses + 1, dtype=np.int64), ids, int(ids.max()) + 1)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what it returns."""
    return least(run, 1, time.perf_counter)


def peak() -> float:
    """MiB of the process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def away(found: Curve, exact: Curve) -> tuple[float, float, float]:
    """Mean and largest error in points, and how often the exact ratio lies within the 90 % interval."""
    assert found.error_90 is not None
    error = np.abs(found.hit_ratio - exact.hit_ratio)
    return float(100 * error.mean()), float(100 * error.max()), float((error <= found.error_90 + 1e-12).mean())


def one_pass(accesses: int, pages: int) -> None:
    """LRU of a long generated trace, exact and from samples."""
    own = generated(accesses, pages)
    before, capacities = peak(), capacities_of(own, 24)
    seconds, exact = timed(lambda: lru_curve(own, capacities))
    print(
        f"\ngenerated: {accesses:,} accesses, {own.n_pages:,} pages, {len(capacities)} sizes; peak {before:,.0f} MiB\n"
    )
    print("| LRU | seconds | M accesses/s | more memory, MiB | mean error, points | largest | within 90 % |")
    print("|---|---|---|---|---|---|---|")
    print(f"| exact | {seconds:.1f} | {accesses / seconds / 1e6:.1f} | {peak() - before:,.0f} | | | |", flush=True)
    for rate in (0.1, 0.01, 0.001):
        seconds, found = timed(lambda r=rate: sampled_curve(draw(own, r), policy("lru"), capacities, exact.warmup))
        mean, most, within = away(found, exact)
        print(
            f"| sample {rate:g} | {seconds:.1f} | {accesses / seconds / 1e6:.1f} | | {mean:.2f} | {most:.2f} | "
            f"{within:.2f} |", flush=True,
        )  # fmt: skip
    seconds, found = timed(lambda: curves(own, ["lru", "arc", OPTIMUM], capacities, most_accesses=accesses // 100))
    print(
        f"\nLRU exact, ARC and the optimum from a sample of 0.01: {seconds:.1f} s, 90 % intervals to "
        f"± {100 * max(float(part.error_90.max()) for part in found if part.error_90 is not None):.2f} points"
    )


def speeds() -> None:
    """The exact pass on patterns that are easy and hard for it."""
    rng = np.random.default_rng(1)
    n, m = 1_000_000, 10_000_000
    patterns = {
        "zipf 1.2": rng.zipf(1.2, m) % n, "uniform": rng.integers(0, n, m), "loop": np.tile(np.arange(n), m // n),
        "uniform, 10 M pages": rng.integers(0, 10 * n, m),
    }  # fmt: skip
    print("\n| 10 M accesses | pages | M accesses/s, 24 sizes |\n|---|---|---|")
    for name, accesses in patterns.items():
        ids = IdTable().lookup(accesses.astype(np.int64))
        own = PageAccesses(np.arange(m + 1, dtype=np.int64), ids, int(ids.max()) + 1)
        seconds, _ = timed(lambda p=own: lru_curve(p, capacities_of(p, 24)))
        print(f"| {name} | {own.n_pages:,} | {m / seconds / 1e6:.1f} |", flush=True)


def miniatures(folder: Path, names: Sequence[str]) -> None:
    """Policies in small on captured traces: error by rate, alone and beside LRU's exact curve."""
    print(f"\ncaptured traces, {POINTS} sizes from 1 % of the pages on, {SEEDS} samples; errors in points\n")
    print("| policy | rate | alone: mean | largest | within 90 % | beside LRU: mean | largest | within 90 % |")
    print("|---|---|---|---|---|---|---|---|")
    found: dict[tuple[str, float, bool], list[tuple[float, float, float]]] = {}
    for name in names:
        pages = expand_pages(read_any(folder / f"{name}.parquet"))
        capacities = np.unique(np.geomspace(pages.n_pages / 100, pages.n_pages, POINTS).round().astype(np.int64))
        exact = dict(zip(POLICIES, curves(pages, POLICIES, capacities), strict=True))
        beside = lru_curve(pages, capacities)
        for rate in (0.3, 0.1, 0.03):
            for seed in range(SEEDS):
                sample = draw(pages, rate, seed)
                for own in POLICIES:
                    for other in (None, beside):
                        got = sampled_curve(sample, policy(own), capacities, beside.warmup, other)
                        found.setdefault((own, rate, other is None), []).append(away(got, exact[own]))
    for own in POLICIES:
        for rate in (0.3, 0.1, 0.03):
            cells = []
            for alone in (True, False):
                values = np.array(found[own, rate, alone])
                mean, _, within = values.mean(axis=0)
                cells.append(f"{mean:.2f} | {values[:, 1].max():.2f} | {within:.2f}")
            print(f"| {own} | {rate:g} | {' | '.join(cells)} |", flush=True)


def main() -> int:
    """Run from the repository's root."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accesses", type=int, default=100_000_000, help="of the long generated trace")
    parser.add_argument("--pages", type=int, default=10_000_000, help="it may touch")
    given = parser.parse_args()
    curves(generated(10_000, 1_000), ["lru", *POLICIES], [10], rate=0.5)  # compiles
    speeds()
    one_pass(given.accesses, given.pages)
    miniatures(Path("data/raw/captured"), CAPTURED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
