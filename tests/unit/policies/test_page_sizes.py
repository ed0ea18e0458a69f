"""Pages of other sizes than 4 KiB: a cache whose lines are 64 KiB, say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import UNIT
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.stream import UNITS, WRITES, build_stream
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import PAGE_BYTES, Trace
from tests.page_data import seeded_trace

SIZES = [8192, 65_536, 1 << 20]
POLICIES = ["lru", "sieve", "s3fifo", "arc", "rejectx+lirs", "lru+next(n=3)", "belady"]


def coarse(trace: Trace, page_bytes: int) -> Trace:
    """The same requests of whole pages, each drawn together to 4 KiB."""
    first, last = trace.offset // page_bytes, (trace.offset + trace.size - 1) // page_bytes
    return replace(trace, offset=first * PAGE_BYTES, size=(last - first + 1) * PAGE_BYTES)


@pytest.mark.parametrize("page_bytes", SIZES)
@pytest.mark.parametrize("writes", WRITES)
def test_a_cache_of_larger_pages_does_what_one_of_4_kib_does_with_pages_drawn_together(page_bytes, writes):
    trace = seeded_trace(400, 900, 5)
    drawn = coarse(trace, page_bytes)
    pages = expand_pages(trace, page_bytes)
    own, other = Simulator(trace, pages, writes), Simulator(drawn, expand_pages(drawn), writes)
    capacity = max(1, pages.n_pages // 5)
    for policy in POLICIES:
        found, twin = (simulator.run(policy, capacity, 7) for simulator in (own, other))
        np.testing.assert_array_equal(found.outcome, twin.outcome)
        assert (found.requests, found.request_hits, found.hits, found.ssd_writes, found.disk_writes) == (
            twin.requests, twin.request_hits, twin.hits, twin.ssd_writes, twin.disk_writes,
        )  # fmt: skip
        assert found.bytes <= trace.size.sum()


@given(st.integers(0, 10_000), st.sampled_from([4096, *SIZES]), st.sampled_from(UNITS))
def test_bytes_and_units_are_those_of_the_pages(seed, page_bytes, unit):
    trace = seeded_trace(60, 700, seed)
    pages = expand_pages(trace, page_bytes)
    stream = build_stream(trace, pages, unit=unit)
    keys, sizes, begins = [], [], []
    for offset, size in zip(trace.offset.tolist(), trace.size.tolist(), strict=True):
        for page in range(offset // page_bytes, (offset + size - 1) // page_bytes + 1):
            keys.append(page)
            sizes.append(min(offset + size, (page + 1) * page_bytes) - max(offset, page * page_bytes))
            first = page == offset // page_bytes
            begins.append(first or unit == "page" or (unit == "segment" and page * page_bytes % 131_072 == 0))
    ids = {page: number for number, page in enumerate(dict.fromkeys(keys))}
    assert stream.page_ids.tolist() == [ids[page] for page in keys] and stream.n_pages == len(ids)
    assert stream.page_bytes.tolist() == sizes
    assert (stream.flags & UNIT > 0).tolist() == begins


def test_lines_of_64_kib_whose_blocks_are_each_read_once():
    order = np.random.default_rng(3).permutation(200 * 16).astype(np.int64)
    trace = seeded_trace(len(order), 9, 1, op=np.zeros(len(order), np.uint8), offset=order * 4096,
                         size=np.full(len(order), 4096))  # fmt: skip
    pages = expand_pages(trace, 65_536)
    found = Simulator(trace, pages).run("lru", 200, 0)
    assert (pages.n_pages, found.hits, found.hit_ratio, found.byte_hit_ratio) == (200, 3000, 0.9375, 0.9375)
    assert Simulator(trace, expand_pages(trace)).run("lru", 3200, 0).hits == 0


def test_a_page_has_at_least_a_byte():
    with pytest.raises(ConfigError):
        expand_pages(seeded_trace(3, 9, 1), 0)
