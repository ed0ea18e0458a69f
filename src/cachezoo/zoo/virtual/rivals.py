"""The plain policies of the queues, which a virtual cache has to beat: those of the zoo, at the same capacity."""

from collections.abc import Iterable, Mapping

import numpy as np

from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import policy
from cachezoo.zoo.virtual.bench import Bench, Run
from cachezoo.zoo.virtual.metrics import Queue


def plain(bench: Bench, queue: Queue) -> Run:
    """The plain policy of a queue on a trace, from an empty cache on."""
    hit = policy(queue).hits(bench.pages.page_ids, bench.pages.n_pages, bench.capacity) == HIT
    return Run(hit, np.zeros(len(hit), np.int32))


def plains(bench: Bench, queues: Iterable[Queue]) -> dict[Queue, Run]:
    """Those of all queues."""
    return {queue: plain(bench, queue) for queue in queues}


def best_plain(runs: Mapping[Queue, Run]) -> Queue:
    """The plain policy of most hits; of equal ones the first."""
    return max(runs, key=lambda queue: runs[queue].hit_ratio)
