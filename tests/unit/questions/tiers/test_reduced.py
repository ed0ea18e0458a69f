"""Reduced traces against the oracle, on drawn runs of real hierarchies, and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.kernels.tier_reduce import ABSENT, wait_for_ios
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.reduced import reduce, volume_trace
from cachezoo.questions.tiers.run import counts, run_tiers
from cachezoo.questions.tiers.stream import tier_stream
from tests.oracles import tier_reduce as oracle
from tests.tiers_data import (
    DISK_TIER,
    EVICTED,
    MOVED_UP,
    PAGE,
    RAM_TIER,
    SSD_TIER,
    WRITTEN,
    run_of,
    stream_of,
    trace_of,
)  # fmt: skip

KINDS = ("hca", "lru | tb=16K | fifo", "lru | lru", "arc | rejectx+s3fifo", "promotion: lru | lru", 
         "inclusive: lru | lfu", "lru", "l2arc(feed=30)")  # fmt: skip
drawn = st.lists(
    st.tuples(st.sampled_from([0, 0, 0, 1]), st.integers(0, 11), st.integers(1, 4)), min_size=1, max_size=60
)


def ios(asked):
    return list(zip(asked.request.tolist(), (asked.trace.offset // PAGE).tolist(), asked.pages.tolist(), strict=True))


@given(drawn, st.sampled_from(KINDS), st.integers(1, 5), st.integers(1, 9), st.floats(0, 0.9))
def test_reduced_traces_are_the_oracles(requests, text, ram, ssd, share):
    ts = stream_of(requests)
    run = run_tiers(parse_hierarchy(text), ts, ram, ssd)
    row = int(share * len(requests))
    first = int(ts.pages.request_start[row])
    events = list(zip(run.event_at.tolist(), run.event_page.tolist(), run.event.tolist(), strict=True))
    disk, reads, batches, written = oracle.reduce_tiers(
        ts.pages.page_ids.tolist(), ts.request_of.tolist(), ts.write.tolist(), run.tier.tolist(), ts.address.tolist(),
        events, text.startswith("l2arc"), run.ssd_pages, first,
    )  # fmt: skip
    found = reduce(ts, run, first)
    assert ios(found.disk) == [(request, place, pages) for request, place, _, pages in disk]
    reads_only = found.disk.read
    spans = [io[2] for io in disk]
    assert (found.disk.trace.size[reads_only] // PAGE).tolist() == [
        span for span, own in zip(spans, reads_only, strict=True) if own
    ]
    assert found.disk.trace.op.tolist() == [requests[io[0]][0] for io in disk]
    own = [(0, *io) for io in reads] + [(1, int(ts.request_of[at]), slot, pages) for at, slot, pages in batches]
    own.sort(key=lambda io: (io[1], io[0]))
    assert (
        list(zip(found.ssd.trace.op.tolist(), *zip(*ios(found.ssd), strict=True), strict=True)) == own if own else True
    )
    assert found.slots.tolist() == written
    told = counts(run, ts, first)
    assert found.ssd.pages[found.ssd.read].sum() == told.ssd
    assert found.ssd.pages[~found.ssd.read].sum() == told.ssd_writes
    assert found.disk.pages[found.disk.read].sum() == told.disk
    assert found.reads.sum() == told.reads
    assert found.first_request == row


@given(st.lists(st.tuples(st.integers(3, 9), st.integers(1, 4), st.floats(0.1, 1e4)), max_size=30))
def test_requests_wait_for_the_sum_and_the_slowest_of_their_ios(drawn_ios):
    request, pages, times = ([io[k] for io in drawn_ios] for k in range(3))
    total, longest, brought = np.zeros(7), np.zeros(7), np.zeros(7, np.int64)
    wait_for_ios(np.array(request, np.int64), np.array(pages, np.int64), np.array(times), 3, total, longest, brought)
    sums, most, counted = oracle.waits(request, pages, times, 7, 3)
    assert total == pytest.approx(sums)
    assert longest.tolist() == most
    assert brought.tolist() == counted


def test_a_request_reads_the_disk_once_and_the_ssd_by_slots():
    """Pages 0 to 5: two from the SSD, one from RAM between them, three from the disk; then the next request."""
    ts = stream_of([(0, 0, 6), (0, 0, 6), (0, 6, 1)])
    first = [(0, 0, WRITTEN), (0, 1, WRITTEN), (0, 2, WRITTEN)]
    tier = [DISK_TIER] * 6 + [SSD_TIER, RAM_TIER, SSD_TIER] + [DISK_TIER] * 3 + [DISK_TIER]
    found = reduce(ts, run_of(tier, first))
    assert ios(found.disk) == [(0, 0, 6), (1, 3, 3), (2, 6, 1)]
    assert ios(found.ssd) == [(0, 0, 3), (1, 0, 1), (1, 2, 1)]
    assert found.ssd.trace.op.tolist() == [1, 0, 0]


def test_the_disk_reads_through_what_lies_between_two_misses():
    ts = stream_of([(0, 0, 5)])
    found = reduce(ts, run_of([RAM_TIER, DISK_TIER, RAM_TIER, RAM_TIER, DISK_TIER]))
    assert ios(found.disk) == [(0, 1, 2)]
    assert found.disk.trace.size.tolist() == [4 * PAGE]


def test_a_slot_is_taken_again_only_after_those_that_have_been_free_for_longer():
    ts = stream_of([(0, page, 1) for page in range(6)])
    events = [(0, 0, WRITTEN), (1, 1, WRITTEN), (1, 0, MOVED_UP), (2, 2, WRITTEN), (3, 1, EVICTED), (4, 3, WRITTEN)]
    found = reduce(ts, run_of([DISK_TIER] * 6, events, ssd_pages=3))
    assert found.slots.tolist() == [0, 1, 2, 0]


def test_a_write_goes_through_with_its_own_bytes_and_a_miss_with_whole_pages():
    trace = trace_of([(1, 2, 2), (0, 7, 1)])
    trace.offset[:] += 512
    trace.size[:] -= 1024
    found = reduce(tier_stream(trace), run_of([DISK_TIER] * 3))
    assert found.disk.trace.offset.tolist() == [2 * PAGE + 512, 7 * PAGE]
    assert found.disk.trace.size.tolist() == [2 * PAGE - 1024, PAGE]


def test_volumes_lie_one_after_another_on_the_disk():
    trace = trace_of([(0, 3, 1), (0, 0, 2)])
    trace.volume.codes[1] = 1
    trace = type(trace)(**{**trace.__dict__, "volume": type(trace.volume)(trace.volume.codes, ("a", "b"))})
    ts = tier_stream(trace)
    laid = volume_trace(ts)
    assert (laid.offset // PAGE).tolist() == ts.address[ts.pages.page_ids[ts.pages.request_start[:-1]]].tolist()
    assert laid.offset[1] >= 4 * PAGE


@pytest.mark.parametrize(
    ("tier", "events", "says"),
    [
        ([DISK_TIER, SSD_TIER], [], "access 1 the SSD is read where it holds no such page"),
        ([DISK_TIER] * 2, [(0, 0, WRITTEN), (1, 1, WRITTEN)], "access 1 the SSD is written more than its 1 pages"),
    ],
)
def test_a_run_that_contradicts_itself_is_refused(tier, events, says):
    ts = stream_of([(0, 0, 1), (0, 1, 1)])
    with pytest.raises(TraceError, match=says):
        reduce(ts, run_of(tier, events, ssd_pages=1))
    assert ABSENT < 0
