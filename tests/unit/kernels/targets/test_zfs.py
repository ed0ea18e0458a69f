"""ZFS against its naive version, and its rules one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.evict import arc
from cachezoo.kernels.targets.zfs import Feed, zfs
from cachezoo.questions.targets.blocks import blocks
from cachezoo.questions.tiers.stream import tier_stream
from tests.oracles.targets import zfs as oracle
from tests.tiers_data import byte_trace
from tests.unit.kernels.targets.test_open_cas import joined

PAGE = 4096
R, W = 0, 1
SLOW = Feed(2, 0, 2, 1000, 1000, mfu_only=False, no_prefetch=False)


def ran(rows, ram, ring, pages, feed):
    """Rows of (op, first page, pages, µs since the one before): where each access found its page, and the I/Os."""
    op, first, count, gap = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    now = np.cumsum(gap)
    ts = tier_stream(byte_trace(first * PAGE, count * PAGE, op, now))
    own = blocks(ts, pages)
    asked = ts.pages.request_start, ts.pages.page_ids, ts.trace.op != 0, ts.trace.time_us
    cache = arc.make(own.count, ram)
    found, log, dirty = zfs(*asked, own.block, own.address, pages, cache, ring, feed)
    naive, told = oracle.Zfs(ram, ring, pages, feed), []
    for k in range(len(rows)):
        told += naive.request(k, int(first[k]), int(count[k]), bool(op[k]), int(now[k]))
    ios = [tuple(int(column[k]) for column in log[:4]) for k in range(log.used[0])]
    assert found.tolist() == told
    assert ios == joined(naive.ios)
    assert not dirty.any()
    return found, ios


row = st.tuples(st.sampled_from([R, R, W]), st.integers(0, 30), st.integers(1, 6),
                st.sampled_from([0, 300, 1200, 9000]))  # fmt: skip
feeds = st.builds(
    Feed, st.integers(1, 4), st.integers(0, 3), st.integers(0, 3), st.just(1000), st.sampled_from([200, 1000]),
    st.booleans(), st.booleans(),
)  # fmt: skip


@given(st.lists(row, min_size=1, max_size=60), st.integers(1, 8), st.sampled_from([0, 1, 4, 9]),
       st.sampled_from([1, 2, 4]), feeds)  # fmt: skip
def test_it_is_the_oracles(rows, ram, ring, pages, feed):
    ran(rows, ram, ring, pages, feed)


def test_what_arc_evicts_was_copied_and_is_read_from_the_ssd():
    rows = [(R, k * 7, 1, 1000) for k in range(8)] * 2
    found, ios = ran(rows, 4, 16, 1, SLOW._replace(boost=2))
    assert found.tolist()[:8] == [oracle.DISK] * 8
    assert oracle.SSD in found.tolist()[8:]
    assert sum(code == 7 for code, *_ in ios) > 0


def test_without_a_cache_device_arc_is_alone():
    found, ios = ran([(R, k % 3, 1, 1000) for k in range(9)], 3, 0, 1, SLOW)
    assert set(found.tolist()[3:]) == {oracle.RAM}
    assert not any(code & 2 for code, *_ in ios)


def test_a_write_of_part_of_a_block_reads_it_first_and_writes_all_of_it():
    _, ios = ran([(W, 1, 1, 0), (W, 1, 1, 0), (W, 4, 4, 0)], 4, 0, 4, SLOW)
    assert ios == [(0, 0, 0, 4), (1, 0, 0, 4), (1, 1, 0, 4), (1, 2, 4, 4)]


def test_a_write_voids_the_copy():
    rows = [(R, 0, 1, 0), (R, 0, 1, 0), (R, 9, 1, 1000), (W, 0, 1, 0), (R, 20, 1, 0), (R, 30, 1, 0), (R, 0, 1, 0)]
    found, _ = ran(rows, 2, 16, 1, SLOW)
    assert oracle.SSD not in found.tolist()[3:]


def test_what_a_stream_reads_ahead_is_not_copied():
    rows = [(R, k, 1, 500) for k in range(20)]
    _, some = ran(rows, 40, 40, 1, SLOW._replace(no_prefetch=True))
    _, all_of_it = ran(rows, 40, 40, 1, SLOW)
    assert [place for code, _, place, _ in some if code == 7] == [0]
    assert sum(pages for code, _, _, pages in all_of_it if code == 7) > 10


def test_a_feed_that_wrote_most_of_what_it_might_comes_again_sooner():
    rows = [(R, k * 5, 1, 0) for k in range(30)] + [(R, 0, 1, 3000)]
    slow = sum(pages for code, _, _, pages in ran(rows, 60, 60, 1, SLOW._replace(headroom=0))[1] if code == 7)
    fast = sum(
        pages for code, _, _, pages in ran(rows, 60, 60, 1, SLOW._replace(headroom=0, least_us=200))[1] if code == 7
    )
    assert slow == 6
    assert fast == 22
