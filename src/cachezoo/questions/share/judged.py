"""A partitioner judged: what each application has of the cache, what the disk has to do, and how fair that is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64
from cachezoo.contest.blocks import blocks_in
from cachezoo.contest.lead import Lead, Mean, mean_of, saving
from cachezoo.questions.share.bench import Bench
from cachezoo.questions.share.counting import Counting
from cachezoo.questions.share.mix import Mix
from cachezoo.questions.share.partition import Asked, Shared


@dataclass(frozen=True)
class Times:
    """How long a page takes where nothing waits.

    Attributes:
        cache_us: from the cache.
        disk_us: float64[A] from the disk, of each application.
    """

    cache_us: float
    disk_us: F64


@dataclass(frozen=True)
class Served:
    """One application's figures; None where none of its references counts.

    Attributes:
        name: its own.
        references: that count.
        hit_ratio: of them.
        transfers: pages read for it, a reference: misses, and what its runs and its share read beside them.
        beside: of `transfers` those that are no misses.
        slowdown: mean page time over that with the whole cache to itself under LRU.
        pages: of its share, on average over time; None where the cache does not say whose pages it holds.
    """

    name: str
    references: int
    hit_ratio: float | None
    transfers: float | None
    beside: float | None
    slowdown: float | None
    pages: float | None

    def values(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class Judged:
    """One partitioner's figures.

    Attributes:
        asked: which.
        shared: what it did.
        applications: of each.
        hit_ratio: of all references that count.
        transfers: pages read, a reference.
        misses: of `transfers`.
        moved: of `transfers`, pages read beside misses.
        fragmentation: of `moved`, pages that entered runs away from the head; None where that is not told apart.
        allocation: of `moved`, pages that a new split or mapping read; None where that is not told apart.
        fairness: A / sum of slowdowns: the harmonic mean of what each has of its speed alone.
        speedup: sum of what each has of its speed alone (the weighted speed-up), at most about A.
        block_hits: float64[B] hit ratio in each block of time; empty where there are too few references.
        block_transfers: float64[B] pages read in each, a reference.
    """

    asked: Asked
    shared: Shared
    applications: tuple[Served, ...]
    hit_ratio: float
    transfers: float
    misses: float
    moved: float
    fragmentation: float | None
    allocation: float | None
    fairness: float
    speedup: float
    block_hits: F64
    block_transfers: F64

    @property
    def hits(self) -> Mean:
        """The hit ratio, with its interval."""
        return mean_of(self.block_hits, self.hit_ratio)

    @property
    def reads(self) -> Mean:
        """The pages read a reference, with their interval."""
        return mean_of(self.block_transfers, self.transfers)

    @property
    def is_cache(self) -> bool:
        """Whether it needs nothing of the future, so that a cache can do it."""
        return not self.asked.knows

    def values(self) -> dict[str, Any]:
        """For JSON: the split as [first reference, pages of each application] of each time that it changes.

        The split is empty where the cache does not say whose pages it holds.
        """
        changes = np.flatnonzero(np.any(np.diff(self.shared.splits, axis=0, prepend=-1) != 0, axis=1))
        return {
            "partitioner": str(self.asked),
            "knows": self.asked.knows or None,
            "hit_ratio": self.hit_ratio,
            "hit_ratio_interval": self.hits.interval,
            "transfers": self.transfers,
            "misses": self.misses,
            "moved": self.moved,
            "fragmentation": self.fragmentation,
            "allocation": self.allocation,
            "fairness": self.fairness,
            "weighted_speedup": self.speedup,
            "applications": [one.values() for one in self.applications],
            "split": [[int(self.shared.begins[k]), *self.shared.splits[k].tolist()] for k in changes],
        }


def lead(own: Judged, other: Judged) -> Lead:
    """The part by which the pages read under `own` are below those under `other`, of one mix and cache."""
    exact = 1 - own.transfers / other.transfers if other.transfers else 0.0
    return saving(own.block_transfers, other.block_transfers, exact)


def alone(bench: Bench, pages: int, counting: Counting) -> F64:
    """float64[A]: hit ratio of each application with the whole cache to itself under LRU; NaN where none counts."""
    mix = bench.mix
    hit = (bench.distance >= 0) & (bench.distance < pages) & counting.counted
    with np.errstate(invalid="ignore"):
        ratios: F64 = _each(mix, hit) / _each(mix, counting.counted)
    return ratios


def _each(mix: Mix, values: npt.NDArray[Any]) -> F64:
    """float64[A]: sum over each application's references."""
    if not values.any():
        return np.zeros(mix.count)
    if values.dtype == np.bool_:  # to count takes half the time of a sum
        return np.bincount(mix.app[values], minlength=mix.count).astype(np.float64)
    return np.bincount(mix.app, values, mix.count).astype(np.float64)


def _allocated(mix: Mix, shared: Shared, counting: Counting) -> tuple[npt.NDArray[Any], F64]:
    """Pages that new splits read, where they count: by reference (int64[M]), and by application (float64[A])."""
    at = np.maximum(shared.begins - 1, 0)
    counts = shared.allocation * (at[:, None] >= counting.start[None, :])
    by_reference = np.zeros(len(mix), np.int64)
    by_reference[at] = counts.sum(axis=1)  # each split begins after another reference
    return by_reference, counts.sum(axis=0).astype(np.float64)


def _mean_pages(mix: Mix, shared: Shared, counting: Counting) -> F64:
    """float64[A]: pages of each, on average over the references from its own start on; NaN where they are not told."""
    if not shared.tells:
        return np.full(mix.count, np.nan)
    begins = np.append(np.minimum(shared.begins, len(mix)), len(mix))
    spans = np.diff(np.maximum(begins[:, None], counting.start[None, :]), axis=0)
    means: F64 = (shared.splits * spans).sum(axis=0) / np.maximum(spans.sum(axis=0), 1)
    return means


def judge(asked: Asked, shared: Shared, bench: Bench, pages: int, counting: Counting, times: Times) -> Judged:
    """Figures of what a partitioner did.

    Args:
        asked: the partitioner.
        shared: what it did.
        bench: the mix.
        pages: of the whole cache, in whole fragments.
        counting: which references count.
        times: of a page.
    """
    mix, counted = bench.mix, counting.counted
    references = _each(mix, counted)
    misses, entered = _each(mix, ~shared.hit & counted), _each(mix, np.where(counted, shared.fragmentation, 0))
    at_references, allocated = _allocated(mix, shared, counting)
    with np.errstate(invalid="ignore"):
        ratio, reads, beside = 1 - misses / references, (misses + entered + allocated) / references, entered + allocated
        slow = _page_us(ratio, times) / _page_us(alone(bench, pages, counting), times)
    mean = _mean_pages(mix, shared, counting)
    total, known = float(references.sum()), slow[~np.isnan(slow)]
    transfers = (~shared.hit & counted) + np.where(counted, shared.fragmentation, 0) + at_references
    served = tuple(
        Served(
            one.name, int(references[a]), _known(ratio[a]), _known(reads[a]), _known(beside[a] / max(references[a], 1)),
            _known(slow[a]), _known(mean[a]),
        )
        for a, one in enumerate(mix.applications)
    )  # fmt: skip
    runs, new = float(entered.sum()) / total, float(allocated.sum()) / total
    return Judged(
        asked, shared, served, float(shared.hit[counted].mean()),
        float(transfers.sum()) / total, float(misses.sum()) / total, runs + new, runs if shared.tells else None,
        new if shared.tells else None, float(len(known) / known.sum()), float((1 / known).sum()),
        _blocks(shared.hit & counted, counted), _blocks(transfers, counted),
    )  # fmt: skip


def _page_us(ratio: F64, times: Times) -> F64:
    return ratio * times.cache_us + (1 - ratio) * times.disk_us


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _blocks(values: npt.NDArray[Any], counted: npt.NDArray[np.bool_]) -> F64:
    """float64[B]: means of what counts, in blocks of as many references that count."""
    places = np.flatnonzero(counted)
    blocks = blocks_in(len(places))
    if not blocks:
        return np.zeros(0)
    edges = np.linspace(0, len(places), blocks + 1).astype(np.int64)
    begins = np.append(0, places[edges[1:-1]])
    means: F64 = np.add.reduceat(values, begins, dtype=np.int64) / np.diff(edges)
    return means
