"""A part of a stream's pages, drawn by a hash: what a cache of the same part of the capacity is asked."""

from dataclasses import dataclass, replace

import numpy as np

from cachezoo.arrays import I32, I64, U8, Bool
from cachezoo.kernels.outcome import REQUEST, UNIT
from cachezoo.kernels.spatial import drawn_groups
from cachezoo.policies.stream import Stream
from cachezoo.seeds import derive_seed


@dataclass(frozen=True)
class Sample:
    """All accesses to the drawn pages of a stream."""

    # they alone, with pages numbered from 0 on by their ids in the whole stream. Requests and admission units without a
    # drawn page are not in it; those that are know how many pages they ask for in all
    stream: Stream
    rows: I64  # int64[k], the accesses of the whole stream that these are, rising
    pages: I32  # int32[pages drawn], the ids that they have in the whole stream, rising


def drawn(n_pages: int, rate: float, seed: int) -> Bool:
    """bool[n_pages]: the pages of a sample, by a hash of id and seed; see `cachezoo.kernels.spatial`.

    With the same seed the pages of a lower rate are among those of a higher one.
    """
    return drawn_groups(n_pages, rate, 1, page_seed(seed)) > 0


def page_seed(seed: int) -> int:
    """Where the hash of page ids starts, 64 bits."""
    return derive_seed(seed, "sampled pages") << 32


def _starts(flags: U8, rows: I64, flag: int) -> Bool:
    """bool[k]: the first of the rows in each request, or unit; these begin where `flag` is set."""
    number = np.cumsum(flags & flag != 0)[rows]
    first: Bool = np.diff(number, prepend=-1) != 0
    return first


def sample(stream: Stream, rate: float, seed: int) -> Sample:
    """Draw pages and take all accesses to them, prefetches too.

    A prefetch depends on a miss of its request, and so here on one of its drawn pages.
    Source: SHARDS, Waldspurger et al., FAST '15.

    Args:
        stream: any.
        rate: expected part of the pages, above 0, at most 1.
        seed: another seed, other pages.
    """
    chosen = drawn(stream.n_pages, rate, seed)
    rows = np.flatnonzero(chosen[stream.page_ids])
    own = (np.cumsum(chosen) - 1).astype(np.int32)
    flags = stream.flags[rows] & np.uint8(255 - REQUEST - UNIT)
    for flag in (REQUEST, UNIT):
        flags[_starts(stream.flags, rows, flag)] |= np.uint8(flag)
    part = replace(
        stream, page_ids=own[stream.page_ids[rows]], flags=flags, page_bytes=stream.page_bytes[rows],
        n_pages=int(chosen.sum()), whole_pages=stream.request_pages[rows],
    )  # fmt: skip
    return Sample(part, rows, np.flatnonzero(chosen).astype(np.int32))
