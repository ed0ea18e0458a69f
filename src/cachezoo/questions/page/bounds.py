"""What the best cache could reach on a trace: by pages, by bytes, and by the disk time that hits save."""

from typing import Any

import numpy as np

from cachezoo.contest.counting import SECOND_HALF, Count, first_access
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.bounds import BELADY_BYPASS, STATIC_HINDSIGHT, weighted_bounds
from cachezoo.policies.registry import OPTIMUM, policy
from cachezoo.policies.simulate import capacity_of
from cachezoo.questions.page.sweep import Bench


def bounds_row(bench: Bench, capacity: str, count: Count = SECOND_HALF) -> dict[str, Any]:
    """Bounds at one capacity.

    Args:
        bench: the trace, with its response times where a device is given.
        capacity: pages, or N% of the distinct pages.
        count: from where on the trace counts.

    Returns:
        JSON values: `capacity`, `warmup`; `optimum` and `static_hindsight`, page hit ratios; `byte_hit_ratio_lower` and
        `byte_hit_ratio_upper`, between which the best cache's lies; `time_saved_lower` and `time_saved_upper`, the same
        of the time that hits save, as a share of what an SSD for everything would. There each page hit saves its part
        of its request's time, so the upper one also bounds a cache whose requests are fast only if all their pages are
        resident; None without a device. A lower one is what a run attains: the better of the greedy one of
        `cachezoo.kernels.bounds.pfoo` and the optimum of page hits. Sources: `cachezoo.policies.bounds`.

    Raises:
        ConfigError: a capacity or warm-up that cannot be.
    """
    pages = bench.simulator.pages
    size = capacity_of(capacity, pages)
    first = first_access(pages, count, size, bench.simulator.trace.time_us)
    stream = bench.simulator.stream(policy(OPTIMUM))
    counted = np.arange(len(stream)) >= first
    row: dict[str, Any] = {"capacity": size, "warmup": first}
    hits = BELADY_BYPASS.simulate(stream, size).outcome == HIT
    row["optimum"] = float(hits[first:].mean())
    row["static_hindsight"] = float((STATIC_HINDSIGHT.simulate(stream, size).outcome[first:] == HIT).mean())
    worths = {"byte_hit_ratio": stream.page_bytes.astype(np.float64)}
    if bench.times is not None:
        each = np.maximum(bench.times.hdd_us - bench.times.ssd_us, 0) / np.diff(pages.request_start)
        worths["time_saved"] = np.repeat(each, np.diff(pages.request_start))
    for name in ("byte_hit_ratio", "time_saved"):
        row |= {f"{name}_lower": None, f"{name}_upper": None}
    for name, worth in worths.items():
        found, total = weighted_bounds(stream, worth * counted, size), max(float(worth[first:].sum()), 1e-9)
        attained = float(worth[hits & counted].sum())
        lower = max(found.lower, min(attained, found.upper))  # rounding may put the attained one above the upper one
        row |= {f"{name}_lower": lower / total, f"{name}_upper": found.upper / total}
    return row
