"""A trace within a fixed space, so that a long one overwrites it again and again.

A synthetic trace of many requests touches ever more pages, as its original did while it was captured. A drive in use
has no more room: a file system gives the place of what was deleted to what is new. Here the deleted is what was used
longest ago, since a trace does not say what is deleted.
"""

import numpy as np

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.kernels.extents import places
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.provenance import recorded
from cachezoo.traces.table import PAGE_BYTES, Trace

EXTENT_PAGES = 64
LEAST_EXTENTS = 16


def overwriting(trace: Trace, pages: PageAccesses, room: int) -> Trace:
    """The same requests in a space of so many pages.

    Pages are packed in the order of their first use into extents of 64 pages. An extent that is used for the first
    time, or again after it lost its place, takes the place of the one used longest ago. So pages that a request touches
    stay together where they were first used together; a request whose pages are not is cut into several, at one time.

    Args:
        trace: any.
        pages: its page accesses.
        room: pages of the space, rounded down to whole extents.

    Returns:
        Requests of one volume, the pieces of each in its order; latencies and names of files, users and flags are gone.

    Raises:
        ConfigError: too small a space for a request.
    """
    longest = int(np.diff(pages.request_start).max(initial=1))
    least = max(LEAST_EXTENTS, 2 * (longest // EXTENT_PAGES + 2)) * EXTENT_PAGES
    if room < least:
        raise ConfigError(f"{trace.meta.trace_id}: {room} pages to overwrite are too few; give {least} at least")
    ids = pages.page_ids.astype(np.int64)
    place = np.empty(len(ids), np.int64)
    places(ids // EXTENT_PAGES, pages.n_pages // EXTENT_PAGES + 1, room // EXTENT_PAGES, place)
    return _pieces(trace, pages, place * EXTENT_PAGES + ids % EXTENT_PAGES)


def _pieces(trace: Trace, pages: PageAccesses, page: I64) -> Trace:
    """Requests of pages that follow each other, from int64[m] the page of each access."""
    of = pages.request_of_access()
    begins = np.ones(len(page), np.bool_)
    begins[1:] = (of[1:] != of[:-1]) | (page[1:] != page[:-1] + 1)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(page)) - 1
    own = of[first]
    before = np.where(first == pages.request_start[own], trace.offset[own] % PAGE_BYTES, 0)
    after = np.where(last == pages.request_start[own + 1] - 1, -(trace.offset[own] + trace.size[own]) % PAGE_BYTES, 0)
    offset = page[first] * PAGE_BYTES + before
    return Trace(
        time_us=trace.time_us[own],
        op=trace.op[own],
        offset=offset,
        size=(page[last] + 1) * PAGE_BYTES - after - offset,
        volume=Coded.constant("0", len(own)),
        meta=recorded(trace.meta, "overwrite", {"pages": int(page.max(initial=0)) + 1}),
    )
