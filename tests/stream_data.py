"""Streams of page accesses for the tests of policies."""

import numpy as np
from hypothesis import strategies as st

from cachezoo.kernels.outcome import METADATA, PREFETCH, REQUEST, UNIT, WRITE
from cachezoo.policies.stream import Stream

PAGES = st.lists(st.integers(0, 13), min_size=1, max_size=160)


def reads(pages):
    """Reads of a page each, renumbered by first appearance."""
    names = {page: i for i, page in enumerate(dict.fromkeys(pages))}
    return Stream.of_pages(np.array([names[page] for page in pages], np.int32), len(names))


@st.composite
def streams(draw):
    """Requests of one to four pages, reads and writes, some of metadata, some followed by prefetches."""
    page_ids, flags = [], []
    for _ in range(draw(st.integers(1, 30))):
        write, metadata = draw(st.booleans()) * WRITE, draw(st.sampled_from([0, 0, 0, METADATA]))
        pages = draw(st.lists(st.integers(0, 11), min_size=1, max_size=4, unique=True))
        fetched = draw(st.lists(st.integers(0, 11), max_size=2, unique=True))
        for k, page in enumerate(pages):
            page_ids.append(page)
            flags.append(write | metadata | (REQUEST | UNIT if k == 0 else UNIT))
        page_ids += fetched
        flags += [PREFETCH] * len(fetched)
    ids = np.array(page_ids, np.int32)
    return Stream(ids, np.array(flags, np.uint8), np.full(len(ids), 4096, np.int32), 12)
