"""G-VPA: a virtual cache for each application, and fragments that go where they are worth most."""

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.kernels.virtual.gvpa import share
from cachezoo.kernels.virtual.queues import QUEUES
from cachezoo.kernels.virtual.vrm import Settings
from cachezoo.policies.components import Parameter, Whole
from cachezoo.questions.share.partition import FRAGMENT, NOTHING, Options, Partitioner, Shared, Task, Text


def _queue(text: str) -> str:
    if text not in QUEUES:
        raise ConfigError(f"queue={text[:24]}: use one of {', '.join(QUEUES)}")
    return text


USUAL = 262144  # pages of a queue, 1 GiB: the paper's
PARAMETERS = (
    Whole("n", 0, 0, 2**26, f"pages in each application's queue; 0: {USUAL}, or those of the cache where it has more"),
    FRAGMENT,
    Whole("f", 2, 1, 16, "runs of an application's queue that are in the cache, at most"),
    Parameter("alpha", 0.95, 0.0, 1.0, "what is left of a value after a quantum"),
    Whole("q", 2000, 1, 10**9, "references of an application, on average, in a quantum"),
    Parameter("cost", 0.0, 0.0, 1e6, "hits that a page entering a run away from the head must save; 0: the paper's"),
    Parameter("fill", 0.0, 0.0, 1e6, "hits that a page of a share that grows must save; 0: the paper's"),
    Whole("step", 1, 1, 2**26, "fragments that a step moves"),
    Whole("reach", 1, 1, 4096, "steps that an application's share moves at most in a quantum; 1: the paper's"),
)


def _length(n: int, pages: int) -> int:
    """Pages of a queue: n, or with 0 the usual ones, or those of the cache where it has more.

    Raises:
        ConfigError: n is below the cache.
    """
    if 0 < n < pages:
        raise ConfigError(f"n = {n} is below the cache of {pages} pages; a queue is as long at least: gvpa(n={pages})")
    return n or max(USUAL, pages)


def _gvpa(task: Task, options: Options) -> Shared:
    mix, fragment, f = task.bench.mix, options.whole("fragment"), options.whole("f")
    total = task.total(fragment, max(f, 1))
    n = _length(options.whole("n"), total * fragment)
    settings = Settings(fragment, f, options.numbers["alpha"], options.whole("q"), options.numbers["cost"])
    found = share(
        mix.app, task.bench.moves(options.texts["queue"], n), mix.count, total, n, settings, options.whole("step"),
        options.whole("reach"), options.numbers["fill"],
    )  # fmt: skip
    begins = np.arange(len(found.splits), dtype=np.int64) * (settings.q * mix.count)
    fragmentation = found.moved.copy()
    fragmentation[begins[1:] - 1] -= found.allocation[1:].sum(axis=1).astype(np.int32)
    return Shared(found.hit, fragmentation, begins, found.splits.astype(np.int64) * fragment, found.allocation)


GVPA = Partitioner(
    "gvpa", "the virtual I/O cache's: each application's queue, and fragments where they are worth most", NOTHING,
    _gvpa, PARAMETERS, (Text("queue", "lru", _queue, "the replacement queue of each application"),),
)  # fmt: skip
