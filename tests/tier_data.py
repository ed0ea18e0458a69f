"""Traces for the tests of hierarchies."""

import numpy as np
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.kernels.tiers import EVICTED, WRITTEN
from cachezoo.questions.tiers.stream import tier_stream
from cachezoo.traces.table import Trace, TraceMeta


def trace_of(offset, size, write, time_us=None, volume=None):
    """Requests by offset and size in bytes."""
    n = len(offset)
    return Trace(
        time_us=np.arange(n, dtype=np.int64) * 1000 if time_us is None else np.asarray(time_us, np.int64),
        op=np.asarray(write, np.uint8),
        offset=np.asarray(offset, np.int64),
        size=np.asarray(size, np.int64),
        volume=Coded.constant("vda", n) if volume is None else Coded.of(volume),
        meta=TraceMeta("t", "database", "test", "0" * 64),
    )


def stream_of(pages, write=None, time_us=None):
    """Accesses to a page each, by page numbers on the volume."""
    pages = np.asarray(pages, np.int64)
    write = np.zeros(len(pages)) if write is None else write
    return tier_stream(trace_of(pages * 4096, np.full(len(pages), 4096), write, time_us))


@st.composite
def tier_streams(draw, most=60, pages=16):
    """Requests of one to three pages, a fifth of them writes, in a few erase blocks of two volumes."""
    n = draw(st.integers(1, most))

    def column(values):
        return draw(st.lists(values, min_size=n, max_size=n))

    place = np.array(column(st.integers(0, pages - 1)), np.int64)
    time_us = np.cumsum(column(st.sampled_from([0, 1, 400, 90_000])))
    return tier_stream(
        trace_of(
            ((place % 3) * 64 + place) * 4096 + np.array(column(st.integers(0, 4095))),
            np.array(column(st.integers(1, 8192))), np.array(column(st.integers(0, 4))) == 0, time_us,
            column(st.sampled_from("ab")),
        )
    )  # fmt: skip


def skewed(n=30_000, pages=3000, writes=0.2, seed=1):
    """Skewed accesses to a page each, one each millisecond; a third of them scan."""
    rng = np.random.default_rng(seed)
    page = rng.permutation(pages)[rng.zipf(1.1, n) % pages]
    scan = rng.random(n) < 0.3
    page[scan] = (np.arange(int(scan.sum())) * 3) % pages
    return stream_of(page, rng.random(n) < writes)


def held_after(run, n_pages):
    """Pages of the SSD after each event, checked on the way.

    Returns:
        int64[e] how many it held after each, and the set at the end.
    """
    held, sizes = set(), []
    for page, code in zip(run.event_page.tolist(), run.event.tolist(), strict=True):
        assert 0 <= page < n_pages
        if code == WRITTEN:
            assert page not in held
            held.add(page)
            sizes.append(len(held))
            continue
        held.remove(page)  # a KeyError: something left that was not there
        if code == EVICTED:
            sizes.append(len(held) + 1)  # for the page that comes in its place
        else:
            sizes.append(len(held))
    return np.array(sizes, np.int64), held
