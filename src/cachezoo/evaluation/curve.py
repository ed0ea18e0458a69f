"""Hit-ratio curves: page hit ratio over capacity, in one pass over the trace where the policy is a stack algorithm."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.console import Advance
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.bounds import lru_curve, static_curve
from cachezoo.policies.registry import policy
from cachezoo.policies.stream import Stream
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.warmup import auto_warmup

I64 = npt.NDArray[np.int64]
ONE_PASS: dict[str, Callable[[Stream, I64, int], I64]] = {"lru": lru_curve, "static_hindsight": static_curve}


def capacities_of(pages: PageAccesses, points: int) -> I64:
    """Capacities from a thousandth of the distinct pages to all of them, evenly apart in logarithm, each once.

    Raises:
        ConfigError: fewer than two points.
    """
    if points < 2:
        message = f"{points} points: a curve has at least 2"
        raise ConfigError(message)
    return np.unique(np.geomspace(max(1, pages.n_pages / 1000), pages.n_pages, points).round().astype(np.int64))


def hit_ratio_curves(
    pages: PageAccesses, policies: Sequence[str], capacities: I64, advance: Advance | None = None
) -> dict[str, Any]:
    """Page hit ratios of policies at many capacities; every page access is a read of its own, as in the kernels.

    Args:
        pages: page accesses of a trace.
        policies: ids or compositions without prefetch.
        capacities: int64[k] pages, rising.
        advance: told (points done, the policy at work).

    Returns:
        JSON values: `warmup`, one index for all (when LRU has filled the largest cache, at most a third), and `rows`
        of `policy`, `kind`, `capacity`, `hits`, `hit_ratio`.

    Raises:
        ConfigError: an unknown policy, or one that prefetches.
    """
    warmup = auto_warmup(pages, int(capacities[-1]))
    stream = Stream.of_pages(pages.page_ids, pages.n_pages)
    entries = [policy(policy_id) for policy_id in policies]
    for entry in entries:
        if entry.spec and entry.spec.prefetch.id != "none":
            message = f"policy {entry.id}: a curve is of page accesses alone; leave the prefetch out"
            raise ConfigError(message)
    rows: list[dict[str, Any]] = []
    for entry in entries:
        once = ONE_PASS.get(entry.id)
        counts = once(stream, capacities, warmup).tolist() if once else []
        for k, capacity in enumerate(capacities.tolist()):
            if advance is not None:
                advance(len(rows), entry.id)
            hits = counts[k] if once else int(
                (entry.hits(pages.page_ids, pages.n_pages, capacity)[warmup:] == HIT).sum()
            )  # fmt: skip
            ratio = hits / (len(stream) - warmup)
            rows.append(
                {"policy": entry.id, "kind": entry.kind, "capacity": capacity, "hits": hits, "hit_ratio": ratio}
            )
    return {"warmup": warmup, "rows": rows}
