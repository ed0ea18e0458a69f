"""Figs. 6 and 7: applications in lockstep on one cache, under G-VPA and under one LRU over all."""

from pathlib import Path

import numpy as np

from cachezoo.kernels.stack_distance import lru_hits
from cachezoo.kernels.virtual.gvpa import share
from cachezoo.kernels.virtual.queues import Moves
from cachezoo.questions.share.mix import Application, Mix, mix_pages
from cachezoo.questions.share.partitioners import parse
from lab.virtual.alone import STANDARD, Source, moves_file
from lab.virtual.document import Kind, Mixed
from lab.virtual.paper import MB_PAGES, QUEUE_MB, SIZES_MB

STEP, REACH = 1, 1  # the paper's: neighbours of 1 MB
SPLIT = "ucp"  # a split of LRU parts that reads nothing but misses


def shared_sizes(count: int) -> list[int]:
    """MB of the caches: those in which each of so many applications has the 2 MB that two runs take."""
    return [size for size in SIZES_MB if size >= STANDARD.f * count]


def mix_of(sources: tuple[Source, ...]) -> Mix:
    """Applications in lockstep.

    Raises:
        TraceError: a captured trace is missing or damaged.
    """
    found = [(one.name, one.page_ids()) for one in sources]
    return mix_pages([Application(name, page_ids, int(page_ids.max()) + 1) for name, page_ids in found])


def shared(workload: str, kind: Kind, sources: tuple[Source, ...], folder: Path) -> list[Mixed]:
    """A workload at every size.

    Args:
        workload: its name.
        kind: made or captured.
        sources: its applications.
        folder: where the moves of each one's queue are kept.

    Raises:
        TraceError: a captured trace is missing or damaged.
    """
    mix = mix_of(sources)
    sizes = shared_sizes(len(sources))
    capacities = np.array(sizes, np.int64) * MB_PAGES
    plain = lru_hits(mix.page_ids, mix.n_pages, capacities, np.zeros(len(sizes), np.int64)) / len(mix)
    split = parse(SPLIT)
    kept = [np.load(moves_file(folder, one.name)) for one in sources]
    queues = Moves(*(mix.spread([own[k] for own in kept]) for k in range(3)))
    rows = []
    for size, ratio in zip(sizes, plain.tolist(), strict=True):
        own = share(mix.app, queues, mix.count, size, QUEUE_MB * MB_PAGES, STANDARD, STEP, REACH)
        allocation = int(own.allocation.sum())
        rows.append(
            Mixed(
                workload=workload, kind=kind, applications=mix.count, megabytes=size, plain=ratio,
                split=float(split.run(mix, size * MB_PAGES).hit.mean()), hits=float(own.hit.mean()),
                allocation=allocation / len(mix), fragmentation=(int(own.moved.sum()) - allocation) / len(mix),
            )
        )  # fmt: skip
    return rows
