"""Sizes that are tried, each twice the one before, and where their curve bends."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from cachezoo.sizes import human
from cachezoo.traces.table import PAGE_BYTES

HALVINGS, MOST_HALVINGS = 6, 14
LOW_SHARE = 0.1
"""Sizes go down to one that has at most this share of the hits that all pages would bring."""
WORTH = 0.5
"""Of the hits that the average MiB brings, what a further MiB has to bring."""
TIES = 1e-9
APART = 1.25
"""How many times a power of two all pages are at least, for both to be tried."""
CLOSE = 1.025
"""How many times the size that misses a target the one that reaches it is at most."""
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def ladder(n_pages: int, lru_ratio: Callable[[int], float], budget: int | None = None) -> list[int]:
    """Capacities in pages: powers of two below the distinct pages, these all, and the budget if it is less.

    Args:
        n_pages: distinct pages of the trace.
        lru_ratio: capacity to LRU's hit ratio.
        budget: pages that may be spent; None for no limit.
    """
    powers = [1 << k for k in range(n_pages.bit_length()) if APART * (1 << k) <= n_pages]
    least = LOW_SHARE * lru_ratio(n_pages)
    keep = min(HALVINGS, len(powers))
    while keep < min(MOST_HALVINGS, len(powers)) and lru_ratio(powers[-keep]) > least:
        keep += 1
    extra = [budget] if budget is not None and budget < n_pages else []
    return sorted({*powers[len(powers) - keep :], n_pages, *extra})


def knee(capacities: Sequence[int], ratios: Sequence[float]) -> int:
    """The place of the size beyond which a further MiB brings less than half of what the average MiB of all brings.

    Steps are those of the curve's upper concave hull, so a flat stretch before a cliff is bought together with what
    comes behind it, as far as that is worth it: of a loop, whose curve is flat up to its length, that length. A curve
    without a bend has its end.

    Args:
        capacities: pages, rising.
        ratios: hit ratios; what falls with the size is taken for chance.
    """
    sizes = np.asarray(capacities, np.float64)
    reached = np.maximum.accumulate(np.asarray(ratios, np.float64))
    least = WORTH * reached[-1] / sizes[-1]
    place, size, ratio = 0, 0.0, 0.0
    while size < sizes[-1]:
        further = np.flatnonzero(sizes > size)
        slopes = (reached[further] - ratio) / (sizes[further] - size)
        best = int(further[slopes >= slopes.max() * (1 - TIES)][-1])
        if slopes.max() <= 0 or slopes.max() < least:
            break
        place, size, ratio = best, float(sizes[best]), float(reached[best])
    return place


def middle(low: int, high: int) -> int | None:
    """The size halfway between two in logarithm; None where they are next to each other, or close enough."""
    if high - low <= 1 or high <= CLOSE * low:
        return None
    return min(max(round(math.sqrt(max(low, 1) * high)), low + 1), high - 1)


def typed(capacity: int) -> str:
    """A size as `--capacity` and `--budget` take it: `64MiB`, or pages where it is no whole number of KiB to MiB."""
    size = capacity * PAGE_BYTES
    for unit, name in UNITS:
        if size % unit == 0 and size // unit < 1 << 20 and (unit > 1 << 10 or size < 1 << 20):
            return f"{size // unit}{name}"
    return f"{capacity}p"


def shown(capacity: int, n_pages: int) -> str:
    """A size for people; that of all pages says so."""
    return f"all, {human(capacity * PAGE_BYTES)}" if capacity >= n_pages else human(capacity * PAGE_BYTES)
