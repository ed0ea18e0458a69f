import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.flash_drive.writes import NEVER, drive_writes, volume_starts
from cachezoo.traces.chunks import CHUNK_BYTES
from tests.request_data import requests_of, trace_of, traces


def rows(*requests, volume="d"):
    names = ("time_us", "op", "offset", "size")
    return [{**dict(zip(names, row, strict=True)), "volume": volume} for row in requests]


def naive(cycles, page_bytes):
    """(cycle, row, volume, page in its volume) of each page write."""
    found = []
    for number, trace in enumerate(cycles):
        for row, one in enumerate(requests_of(trace)):
            if one["op"] == 1:
                touched = sorted({byte // page_bytes for byte in range(one["offset"], one["offset"] + one["size"])})
                found += [(number, row, one["volume"], page) for page in touched]
    return found


small = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 300), st.integers(1, 60), st.sampled_from("ab")),
    min_size=1,
    max_size=20,
).map(lambda drawn: trace_of([rows((k, op, at, n), volume=v)[0] for k, (op, at, n, v) in enumerate(drawn)]))


@given(cycles=st.lists(small, min_size=1, max_size=3), page_bytes=st.sampled_from([16, 64]))
def test_page_writes_are_those_of_each_request_in_order(cycles, page_bytes):
    expected = naive(cycles, page_bytes)
    if not expected:
        with pytest.raises(TraceError, match="no request writes"):
            drive_writes(cycles, page_bytes)
        return
    found = drive_writes(cycles, page_bytes)
    starts = volume_starts(cycles)
    assert all(start % CHUNK_BYTES == 0 for start in starts.values())
    address = [starts[volume] + page * page_bytes for _, _, volume, page in expected]
    assert found.address.tolist() == sorted(set(address))
    assert found.address[found.pages].tolist() == address
    assert found.request.tolist() == [row for _, row, _, _ in expected]
    heads = [i for i, one in enumerate(expected) if one[:2] != expected[i - 1][:2] or not i]
    assert np.flatnonzero(found.begins).tolist() == heads
    assert found.time_us.tolist() == [int(cycles[cycle].time_us[row]) for cycle, row, _, _ in expected]
    assert found.chunks.tolist() == [at // CHUNK_BYTES for at in address]
    for number in range(len(cycles)):
        part = found.cycle(number)
        assert part.stop - part.start == sum(cycle == number for cycle, *_ in expected)
    assert found.cycle(-1) == found.cycle(len(cycles) - 1)


@given(trace=traces())
def test_a_lifetime_ends_with_the_next_write_of_the_page(trace):
    if not (trace.op == 1).any():
        return
    found = drive_writes([trace])
    for i, page in enumerate(found.pages):
        later = np.flatnonzero(found.pages[i + 1 :] == page)
        assert found.lifetimes[i] == (later[0] + 1 if len(later) else NEVER)


def test_pages_that_are_written_in_part_count_and_reads_do_not():
    trace = trace_of(rows((0, 1, 8000, 400), (1, 0, 0, 99_999), (2, 1, 16_384, 8192)))
    found = drive_writes([trace])
    assert found.address.tolist() == [0, 8192, 16_384]
    assert found.pages.tolist() == [0, 1, 2]
    assert found.request.tolist() == [0, 0, 2]


def test_volumes_lie_one_after_another_as_they_are_first_written():
    first = trace_of(rows((0, 1, 0, 8192), volume="b"))
    second = trace_of(rows((0, 1, 40_000, 8192), volume="a"))
    assert volume_starts([first, second]) == {"b": 0, "a": CHUNK_BYTES}
    assert drive_writes([first, second]).chunks.tolist() == [0, 2, 2]


def test_a_trace_without_writes_is_one_line():
    said = r"^reads: no request writes, so that no flash wears; give a trace with writes$"
    with pytest.raises(TraceError, match=said):
        drive_writes([trace_of(rows((0, 0, 0, 4096)), "reads")])
    with pytest.raises(TraceError, match=said):  # parts of one trace are named once
        drive_writes([trace_of(rows((0, 0, 0, 4096)), "reads")] * 3)


def test_more_page_writes_than_can_be_numbered_are_refused():
    trace = trace_of(rows(*((k, 1, 0, 1 << 30) for k in range(1100))), "huge")
    with pytest.raises(TraceError, match="huge: it writes 2306867200 pages of 512 bytes"):
        drive_writes([trace], 512)
