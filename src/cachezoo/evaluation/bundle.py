"""A bundle in the page cache that policies are compared in."""

from pathlib import Path

from cachezoo.bundles.reader import load
from cachezoo.errors import BundleError
from cachezoo.policies.accounting import Simulation
from cachezoo.systems.registry import SYSTEMS
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace


def simulate_bundle(path: Path, trace: Trace, pages: PageAccesses, capacity: int, warmup: int) -> Simulation:
    """Verify a bundle's files, let it decide on every request, and count hits as for a policy.

    Args:
        path: a bundle's folder or .zip.
        trace: requests.
        pages: their page accesses.
        capacity: pages.
        warmup: page accesses simulated before counting.

    Raises:
        BundleError: damaged, or of a kind that decides nothing in a page cache.
    """
    bundle = load(path)
    part = SYSTEMS[bundle.kind].page_bundle
    if part is None:
        able = [f"{system.id}" for system in SYSTEMS.values() if system.page_bundle is not None]
        message = f"{path}: a {bundle.kind} bundle does not decide on misses; give an {' or '.join(able)} bundle"
        raise BundleError(message)
    found: Simulation = part.load()(bundle.serving(), bundle.id, trace, pages, capacity, warmup)
    return found
