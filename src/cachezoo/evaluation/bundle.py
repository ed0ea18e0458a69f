"""A bundle in the page cache that policies are compared in."""

import time
from pathlib import Path

from cachezoo.bundles.reader import load
from cachezoo.console import progress
from cachezoo.errors import BundleError
from cachezoo.evaluation.admission import admission_page_decisions
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.rcrnn import CachingServing, Served
from cachezoo.policies.simulate import count, simulate_admission
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.table import Trace


def simulate_bundle(path: Path, trace: Trace, pages: PageAccesses, capacity: int, warmup: int) -> Simulation:
    """Verify a bundle's files, let it decide on every request, and count hits as for a policy.

    Args:
        path: a bundle's folder or .zip.
        trace: requests.
        pages: their page accesses.
        capacity: pages.
        warmup: page accesses replayed before counting.

    Raises:
        BundleError: damaged, or of a kind that decides nothing in a page cache.
    """
    bundle = load(path)
    if bundle.kind == "caching":
        return _simulate_manager(bundle.serving(), bundle.id, trace, pages, capacity, warmup)
    if bundle.kind != "admission":
        message = f"{path}: a {bundle.kind} bundle does not decide on misses; give an admission or caching bundle"
        raise BundleError(message)
    decided = admission_page_decisions(bundle.serving(), trace)
    return simulate_admission(trace, pages, bundle.id, decided, capacity, warmup)


def _simulate_manager(
    serving: CachingServing, name: str, trace: Trace, pages: PageAccesses, capacity: int, warmup: int
) -> Simulation:
    """The three-queue cache that belongs to a caching model."""
    first = trace.rows(0, 1)
    _serve(serving, first, expand_pages(first), 1)
    start = time.perf_counter()
    served = _serve(serving, trace, pages, capacity, name)
    seconds = time.perf_counter() - start
    return count(trace, pages, name, capacity, warmup, served.outcome[0], seconds)


def _serve(
    serving: CachingServing, trace: Trace, pages: PageAccesses, capacity: int, title: str = "warming up"
) -> Served:
    with progress(f"{title}: cache", len(trace)) as advance:
        return serving.run(
            trace.time_us, trace.op, trace.offset, trace.size, pages.request_start, pages.page_ids,
            [serving.cache(capacity)], advance=advance,
        )  # fmt: skip
