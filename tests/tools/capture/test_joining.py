import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.traces.events import Events, JoinedRequests
from tests.oracles.joining import naive_join
from tests.trace_data import texts
from tools.capture.joining import join_requests

DEVICE = 7 << 20
NO_EVENTS = Events(
    *(np.zeros(0, kind) for kind in (np.int64, np.uint8, np.int32, np.int64, np.int32, np.int32)),
    Coded(np.zeros(0, np.int32), ()), Coded(np.zeros(0, np.int32), ()),
)  # fmt: skip


def requests(rows, comms=None):
    time, device, op, offset, size, latency = (np.array(column) for column in zip(*rows, strict=True))
    names = comms or ["nginx"] * len(rows)
    known = tuple(sorted(set(names)))
    return JoinedRequests(
        time_us=time.astype(np.int64),
        op=op.astype(np.uint8),
        offset=offset.astype(np.int64),
        size=size.astype(np.int64),
        latency_us=latency.astype(np.int64),
        device=device.astype(np.int32),
        flags=Coded(op.astype(np.int32), ("R", "W")),
        comm=Coded(np.array([known.index(name) for name in names], np.int32), known),
        counts={"flush": 3},
        discards=NO_EVENTS,
    )


def rows_of(joined):
    columns = (joined.time_us, joined.device, joined.op, joined.offset, joined.size, joined.latency_us)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_the_pieces_of_a_read_are_one_row():
    rows = [
        (0, DEVICE, 0, 4096, 1000, 500),
        (10, DEVICE, 0, 5096, 1000, 700),
        (900, DEVICE, 0, 6096, 500, 100),
    ]
    joined = join_requests(requests(rows, ["first", "other", "other"]), 1000)
    assert rows_of(joined) == [(0, DEVICE, 0, 4096, 2500, 1000)]
    assert joined.counts == {"flush": 3, "joined": 2}
    assert texts(joined.comm) == ["first"]
    assert texts(joined.flags) == ["R"]


@pytest.mark.parametrize(
    "second",
    [
        (10, DEVICE + 1, 0, 5096, 1000, 5),
        (10, DEVICE, 1, 5096, 1000, 5),
        (10, DEVICE, 0, 5097, 1000, 5),
        (10, DEVICE, 0, 3096, 1000, 5),
        (1001, DEVICE, 0, 5096, 1000, 5),
    ],
    ids=["device", "operation", "gap", "before", "late"],
)
def test_others_stay_rows_of_their_own(second):
    rows = [(0, DEVICE, 0, 4096, 1000, 500), second]
    assert rows_of(join_requests(requests(rows), 1000)) == rows


def test_reads_of_the_same_range_by_two_clients_stay_two():
    first = [(0, DEVICE, 0, 0, 8, 5), (1, DEVICE, 0, 0, 8, 5), (2, DEVICE, 0, 8, 8, 5), (3, DEVICE, 0, 8, 8, 9)]
    assert rows_of(join_requests(requests(first), 10)) == [(0, DEVICE, 0, 0, 16, 12), (1, DEVICE, 0, 0, 16, 6)]


def test_no_access_is_larger_than_allowed():
    rows = [(step, DEVICE, 0, step * 10, 10, 1) for step in range(5)]
    assert join_requests(requests(rows), 10, max_bytes=25).size.tolist() == [20, 20, 10]


ROW = st.tuples(
    st.integers(0, 6), st.integers(0, 1), st.integers(0, 1), st.integers(0, 12), st.integers(1, 3), st.integers(-1, 9)
)


@given(st.lists(ROW, min_size=1, max_size=40), st.integers(0, 8), st.integers(3, 9))
def test_against_the_oracle(drawn, within_us, max_bytes):
    time, rows = 0, []
    for gap, *rest in drawn:
        time += gap
        rows.append((time, *rest))
    joined = join_requests(requests(rows), within_us, max_bytes)
    assert rows_of(joined) == naive_join(rows, within_us, max_bytes)
    assert joined.counts["joined"] == len(rows) - len(joined)
    assert joined.size.sum() == sum(row[4] for row in rows)
