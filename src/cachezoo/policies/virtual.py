"""`vrm`: the virtual I/O cache, which holds those positions of a replacement queue that are asked for most.

The queue is longer than the cache; it has the ids of the pages that it orders, and the cache has the pages at some of
its positions, in a few runs. So it can hold what a plain cache of the queue's policy would have dropped, at the price
of pages read besides those missed. See `cachezoo.kernels.virtual.vrm` for what it does, ADR 39 for how it is computed.
"""

from dataclasses import dataclass

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import ADMITTED, AROUND, BYPASSED, HIT, NONE, PREFETCH
from cachezoo.kernels.virtual.mapping import MOST_RUNS
from cachezoo.kernels.virtual.queues import QUEUES, moves
from cachezoo.kernels.virtual.vrm import MOST_FRAGMENT, Settings, simulate
from cachezoo.policies.components import Parameter, Values, Whole, settle
from cachezoo.policies.engine import Run, check_capacity
from cachezoo.policies.stream import Stream

QUEUE = "queue"
MOST_PAGES = 2**26


@dataclass(frozen=True)
class Virtual:
    """What the text of a virtual I/O cache is made of; `form` says how."""

    id: str
    title: str
    parameters: tuple[Parameter, ...]
    form: str


# The paper's values, its megabytes as 256 pages: a queue of 1 GiB, fragments of 1 MiB.
VRM = Virtual(
    "vrm", "holds the positions of a replacement queue that are asked for most",
    (
        Whole("n", 262144, 1, MOST_PAGES, "pages of the queue, a whole number"),
        Whole("fragment", 256, 1, MOST_FRAGMENT, "positions that are mapped together, a whole number"),
        Whole("f", 2, 1, MOST_RUNS, "runs of positions at most, a whole number"),
        Parameter("alpha", 0.95, 0, 1, "what a fragment's value is multiplied by at the end of each quantum"),
        Whole("q", 2000, 1, 2**31 - 1, "page accesses of a quantum, a whole number"),
        Parameter("cost", 0, 0, 1e6, "hits that a page costs which enters a run away from the head"),
        Whole("optimal", 0, 0, 1, "1: the best of all mappings, by dynamic programming; 0: the paper's rule"),
    ),
    f"vrm({QUEUE}={'|'.join(QUEUES)}, n=262144, fragment=256, f=2, alpha=0.95, q=2000, cost=0, optimal=0)",
)  # fmt: skip


def settings_of(values: Values) -> tuple[int, Settings]:
    """Pages of the queue, and how it is mapped.

    Args:
        values: of `VRM.parameters`; defaults where none is given.

    Raises:
        ConfigError: a value outside its range, or a queue that is shorter than f fragments.
    """
    own = settle(VRM.id, VRM.parameters, values)
    n, fragment, f = (int(own[name]) for name in ("n", "fragment", "f"))
    if n < f * fragment:
        message = (
            f"{VRM.id}: n = {n} is below f = {f} fragments of {fragment} pages; "
            f"give n = {f * fragment} or more, and at least the cache's pages, or a smaller fragment"
        )
        raise ConfigError(message)
    return n, Settings(fragment, f, float(own["alpha"]), int(own["q"]), float(own["cost"]), int(own["optimal"]))


def _check(stream: Stream, capacity: int, n: int, own: Settings) -> None:
    """Refuse what the cache cannot be, or cannot be asked."""
    check_capacity(capacity)
    least = own.f * own.fragment
    why = ""
    if n < capacity:
        why = f"n = {n} is below the cache of {capacity} pages; give n = {capacity} or more"
    elif capacity < least:
        why = (
            f"a cache of {capacity} pages is smaller than f = {own.f} fragments of {own.fragment} pages; "
            f"give a capacity of {least} pages or more, or a smaller fragment"
        )
    elif (stream.flags & PREFETCH).any():
        why = "it takes no prefetch: its own transfers fetch ahead"
    elif (stream.flags & AROUND).any():
        why = "writes go around the cache, which its queue does not see; let them go back or through (--writes)"
    if why:
        raise ConfigError(f"{VRM.id}: {why}")


def virtual_run(stream: Stream, capacity: int, queue: str, values: Values) -> Run:
    """Serve a stream from an empty virtual I/O cache.

    Args:
        stream: what is asked, without prefetches and without writes that go around.
        capacity: pages, from f fragments to n.
        queue: one of `cachezoo.kernels.virtual.queues.QUEUES`.
        values: of `VRM.parameters`; defaults where none is given.

    Returns:
        The run; it says what was moved, and not who left.

    Raises:
        ConfigError: a value outside its range, a capacity or a stream that it cannot have.
    """
    n, own = settings_of(values)
    _check(stream, capacity, n, own)
    served = simulate(moves(queue, stream.page_ids, stream.n_pages, n), capacity, n, own)
    outcome = np.where(served.kept, np.uint8(ADMITTED), np.uint8(BYPASSED))
    outcome[served.hit] = HIT
    return Run(outcome, np.full(len(stream), NONE, np.int32), False, served.moved)
