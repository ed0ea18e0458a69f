"""Inputs of the next-use forest of a whole trace at one capacity; one code for training, evaluation and serving."""

from itertools import pairwise

import numpy as np

from cachezoo.arrays import F32, I32, I64, U8
from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.kernels.reuse import past
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import PAGE_BYTES

AT_ONCE = 1 << 18
"""Page accesses whose rows are in memory at a time where a part of all is wanted."""
LETTERS = {"M": past.FLAG_METADATA, "A": past.FLAG_READAHEAD, "S": past.FLAG_SYNC}


def _flags(flags: Coded | None, n: int) -> U8:
    """uint8[n] bits `FLAG_…` of the request's flags, as block traces write them."""
    if flags is None:
        return np.full(n, past.FLAG_UNKNOWN, np.uint8)
    bits = [sum(bit for letter, bit in LETTERS.items() if letter in str(name)) for name in flags.names]
    return np.append(np.array(bits, np.uint8), np.uint8(0))[flags.codes]


def _stretches(where: I64, each: int) -> I32:
    """int32[n_pages]: dense ids of the aligned stretches of `each` pages that pages lie in, by `past.places`."""
    number = where[1] // each
    number += where[0] * (int(number.max(initial=0)) + 1)
    ids: I32 = np.unique(number, return_inverse=True)[1].astype(np.int32)
    return ids


def asked_of(batch: RequestBatch, pages: PageAccesses) -> past.Asked:
    """A trace's requests as the kernel takes them.

    Args:
        batch: the requests, from the first on.
        pages: their page accesses.
    """
    volume = batch.volume.codes.astype(np.int64)
    where = past.places(pages.request_start, pages.page_ids, volume, batch.offset // PAGE_BYTES, pages.n_pages)
    follows = np.zeros(len(batch), np.uint8)
    ends = batch.offset + batch.size
    follows[1:] = (batch.offset[1:] == ends[:-1]) & (volume[1:] == volume[:-1])
    process = np.zeros(len(batch), np.int32) if batch.user is None else (batch.user.codes + 1).astype(np.int32)
    return past.Asked(
        pages.request_start, pages.page_ids, batch.op, follows, process, _flags(batch.flags, len(batch)),
        _stretches(where, past.REGION_PAGES), _stretches(where, past.STRETCH_PAGES),
    )  # fmt: skip


def without_origin(asked: past.Asked) -> past.Asked:
    """The same requests where neither processes nor flags are recorded."""
    blank = np.full_like(asked.flags, past.FLAG_UNKNOWN)
    return asked._replace(process=np.zeros_like(asked.process), flags=blank)


def input_rows(asked: past.Asked, capacity: int, of: I64 | None = None) -> F32:
    """float32[m, WIDTH] of every page access, columns as `cachezoo.kernels.reuse.past` lists them.

    Args:
        asked: a whole trace's requests.
        capacity: C, pages.
        of: rising, the accesses whose rows are wanted, so that those of a span alone are in memory; None all.

    Raises:
        ConfigError: capacity below 1.
    """
    if capacity < 1:
        raise ConfigError(f"capacity {capacity}: a cache has at least one page")
    m, n, known = len(asked.page_ids), len(asked.op), past.make(asked, capacity)
    found = np.empty((m if of is None else len(of), past.WIDTH), np.float32)
    if of is None:
        past.describe(asked, known, capacity, (0, n), found)
        return found
    stops = np.searchsorted(asked.start, np.arange(0, m + AT_ONCE, AT_ONCE)).clip(0, n)
    for low, high in pairwise(np.unique(stops).tolist()):
        first, last = asked.start[low], asked.start[high]
        rows = np.empty((last - first, past.WIDTH), np.float32)
        past.describe(asked, known, capacity, (low, high), rows)
        wanted = slice(*np.searchsorted(of, [first, last]).tolist())
        found[wanted] = rows[of[wanted] - first]
    return found
