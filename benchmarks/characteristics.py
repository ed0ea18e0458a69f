"""Time and memory of `cachezoo trace report`, part by part, on generated requests: popular pages, runs and bursts.

`--requests` sets how many; `--parts` prints what each part of the characteristics takes. Everything is measured
when kernels are compiled. Memory is the process's peak, the trace included.
"""

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cachezoo.characteristics.arrivals import arrivals
from cachezoo.characteristics.describe import WINDOWS, characterise
from cachezoo.characteristics.pages import heat_map, popularity, reuse, uses, working_set
from cachezoo.characteristics.patterns import patterns
from cachezoo.characteristics.requests import latency, senders_by_column, sizes, summary
from cachezoo.coded import Coded
from cachezoo.trace_report.page import trace_page
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.table import Trace, TraceMeta

SMALL = 2_000
PAGE = 4096


def generated(requests: int) -> Trace:
    """Half of the requests to popular places, half in runs; four pages each in the mean, eight volumes."""
    rng = np.random.default_rng(1)
    places = max(1000, requests // 4)
    popular = (places * rng.random(requests) ** 3).astype(np.int64)
    runs = np.arange(requests, dtype=np.int64) // 16 * 7919 % places + np.arange(requests) % 16
    size = rng.integers(1, 8, requests)
    time_us = np.cumsum(
        rng.exponential(500, requests) * np.repeat(rng.lognormal(0, 1, requests // 100 + 1), 100)[:requests]
    )
    volume = rng.integers(0, 8, requests).astype(np.int32)
    return Trace(
        time_us=time_us.astype(np.int64), op=(rng.random(requests) < 0.4).astype(np.uint8),
        offset=np.where(rng.random(requests) < 0.5, popular, runs) * 4 * PAGE, size=size * PAGE,
        volume=Coded(volume, tuple(f"v{k}" for k in range(8))), latency_us=rng.integers(50, 9000, requests),
        meta=TraceMeta("generated", "unknown", "test", "0" * 64),
    )  # fmt: skip


def parts(trace: Trace, pages: PageAccesses) -> None:
    """Print seconds of each part but the curves."""
    used = uses(trace, pages)
    timed: dict[str, Callable[[], Any]] = {
        "summary": lambda: summary(trace, pages), "uses": lambda: uses(trace, pages), "sizes": lambda: sizes(trace),
        "arrivals": lambda: arrivals(trace, WINDOWS), "heat map": lambda: heat_map(trace, True),
        "working set": lambda: working_set(trace, pages, True, WINDOWS), "reuse": lambda: reuse(trace, pages, True),
        "popularity": lambda: popularity(used), "patterns": lambda: patterns(trace),
        "who": lambda: senders_by_column(trace, pages), "latency": lambda: latency(trace),
    }  # fmt: skip
    for name, run in timed.items():
        start = time.perf_counter()
        run()
        print(f"  {name}: {time.perf_counter() - start:.2f} s")


def main() -> None:
    """Print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--parts", action="store_true")
    asked = parser.parse_args()
    small = generated(SMALL)
    trace_page(characterise(small, expand_pages(small)))
    trace = generated(asked.requests)
    start = time.perf_counter()
    pages = expand_pages(trace)
    numbered = time.perf_counter()
    found = characterise(trace, pages)
    described = time.perf_counter()
    trace_page(found)
    drawn = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    sampled = [curve.rate for curve in found.curves if curve.error_90 is not None]
    print(
        f"{len(trace):,} requests, {len(pages.page_ids):,} page accesses of {pages.n_pages:,} pages: page ids "
        f"{numbered - start:.1f} s, characteristics {described - numbered:.1f} s, page {drawn - described:.1f} s; "
        f"{peak:.2f} GiB; curves from {sampled[0] if sampled else 1:.1%} of the pages, reuse distances from "
        f"{found.reuse.distances.rate:.1%} (error {100 * (found.reuse.distances.error_90 or 0):.2f} points)"
    )
    if asked.parts:
        parts(trace, pages)


if __name__ == "__main__":
    main()
