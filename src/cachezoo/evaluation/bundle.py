"""A bundle in the page cache that policies are compared in."""

from pathlib import Path

from cachezoo.bundles.reader import load
from cachezoo.errors import BundleError
from cachezoo.evaluation.admission import admission_page_decisions
from cachezoo.policies.simulate import Simulation, simulate_admission
from cachezoo.traces.table import PageAccesses, Trace


def simulate_bundle(path: Path, trace: Trace, pages: PageAccesses, capacity: int, warmup: int) -> Simulation:
    """Verify a bundle's files, let it decide on every request, and count hits as for a policy.

    Args:
        path: a bundle's folder or .zip.
        trace: requests.
        pages: their page accesses.
        capacity: pages.
        warmup: page accesses replayed before counting.

    Raises:
        BundleError: damaged, or of a kind that admits nothing to a page cache.
    """
    bundle = load(path)
    if bundle.kind != "admission":
        message = f"{path}: a {bundle.kind} bundle does not decide on misses; give an admission bundle"
        raise BundleError(message)
    decided = admission_page_decisions(bundle.serving(), trace)
    return simulate_admission(trace, pages, bundle.id, decided, capacity, warmup)
