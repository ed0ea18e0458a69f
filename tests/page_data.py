"""Seeded and drawn page accesses, some requests of many pages, each page at most once a request."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.store import trace_writer
from cachezoo.traces.table import Trace, TraceMeta

PAGE = 4096


def pages_of(requests: list[list[int]]) -> PageAccesses:
    """Page accesses of requests given as lists of page numbers, renumbered by first appearance."""
    known: dict[int, int] = {}
    ids = [known.setdefault(page, len(known)) for request in requests for page in request]
    start = np.cumsum([0, *(len(request) for request in requests)]).astype(np.int64)
    return PageAccesses(start, np.array(ids, np.int32), len(known))


def lists_of(pages: PageAccesses) -> list[list[int]]:
    """The requests' page ids."""
    return [pages.page_ids[a:b].tolist() for a, b in pairwise(pages.request_start.tolist())]


@st.composite
def page_requests(draw: st.DrawFn, most: int = 40, pages: int = 9) -> list[list[int]]:
    """Lists of neighbouring page numbers, as requests touch them."""
    pairs = st.tuples(st.integers(0, pages - 1), st.integers(1, 4))
    drawn = draw(st.lists(pairs, min_size=1, max_size=most))
    return [list(range(first, min(first + count, pages))) for first, count in drawn]


def seeded_requests(n: int, pages: int, seed: int) -> list[list[int]]:
    """Skewed reuse and a scan over the same pages."""
    rng = np.random.default_rng(seed)
    first = np.minimum(rng.zipf(1.3, n), pages) - 1
    scan = rng.random(n) < 0.3
    first[scan] = np.arange(int(scan.sum())) % pages
    return [list(range(a, min(a + c, pages))) for a, c in zip(first, rng.integers(1, 5, n), strict=True)]


def seeded_trace(n: int, pages: int, seed: int, **changed: Any) -> Trace:
    """A trace that touches `seeded_requests`, unaligned at both ends, with times, writes and unequal sizes."""
    rng = np.random.default_rng(seed + 1)
    requests = seeded_requests(n, pages, seed)
    first = np.array([request[0] for request in requests], np.int64)
    count = np.array([len(request) for request in requests], np.int64)
    lead = rng.integers(0, 8, n) * 512
    columns: dict[str, Any] = {
        "time_us": np.cumsum(rng.integers(0, 3000, n)),
        "op": (rng.random(n) < 0.3).astype(np.uint8),
        "offset": first * PAGE + lead,
        "size": count * PAGE - lead - rng.integers(0, PAGE - 3584, n),
        "volume": Coded.constant("vda", n),
        "meta": TraceMeta("seeded", "database", "test", "0" * 64),
        **changed,
    }
    return Trace(**columns)


def in_row_groups(path: Path, trace: Trace, stops: tuple[int, ...]) -> None:
    """Write a canonical trace with its pages, a row group from each stop to the next."""
    pages = expand_pages(trace)
    with trace_writer(path) as writer:
        for low, high in pairwise(stops):
            start = pages.request_start[low : high + 1]
            ids = pages.page_ids[start[0] : start[-1]]
            writer.add(trace.take(np.arange(low, high)), PageAccesses(start - start[0], ids, pages.n_pages))
        writer.close(trace.meta, pages.n_pages)


def service_times(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """float64[n] µs of a disk and of an SSD."""
    rng = np.random.default_rng(seed)
    return rng.uniform(2000, 12000, n), rng.uniform(60, 200, n)
