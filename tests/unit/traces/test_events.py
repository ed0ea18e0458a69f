import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.kernels.match import COMPLETE, ISSUE, QUEUE, REQUEUE
from cachezoo.traces.events import DISCARD, FLUSH, OTHER, Events, match_requests, operation
from cachezoo.traces.table import OP_READ, OP_WRITE
from tests.oracles.match import naive_latencies


def coded(values):
    names = list(dict.fromkeys(values))
    return Coded(np.array([names.index(value) for value in values], np.int32), tuple(names))


def events(rows):
    """rows: (time in microseconds, kind, sector, sectors, rwbs[, error])."""
    return Events(
        time_ns=np.array([row[0] * 1000 for row in rows], np.int64),
        kind=np.array([row[1] for row in rows], np.uint8),
        device=np.zeros(len(rows), np.int32),
        sector=np.array([row[2] for row in rows], np.int64),
        sectors=np.array([row[3] for row in rows], np.int32),
        error=np.array([row[5] if len(row) > 5 else 0 for row in rows], np.int32),
        rwbs=coded([row[4] for row in rows]),
        comm=Coded.constant("x", len(rows)),
    )


# Whole completions only: lengths are a function of the address, so that no shorter one looks like a part.
ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.sampled_from(["R", "W", "RA", "WS"])), max_size=60)


@given(ROWS)
def test_join_equals_the_naive_oracle(rows):
    made = events(
        [(3 * i, ISSUE if new else COMPLETE, 8 * at, 8 * at + 8, rwbs) for i, (new, at, rwbs) in enumerate(rows)]
    )
    got = match_requests(made)
    want = naive_latencies(made, [row[2] for row in rows])
    joined = zip(got.time_us, got.offset // 512, got.size // 512, got.latency_us, strict=True)
    assert [tuple(map(int, row)) for row in joined] == want
    matched = sum(row[3] >= 0 for row in want)
    assert got.counts["unmatched_issue"] == len(want) - matched
    assert got.counts["unmatched_complete"] == sum(not new for new, _, _ in rows) - matched


def test_two_requests_of_one_address_complete_in_order():
    got = match_requests(
        events([(0, ISSUE, 8, 8, "R"), (5, ISSUE, 8, 8, "R"), (7, COMPLETE, 8, 8, "R"), (20, COMPLETE, 8, 8, "R")])
    )
    assert got.latency_us.tolist() == [7, 15]


def test_a_requeued_request_is_one_request():
    got = match_requests(
        events([(0, ISSUE, 8, 8, "W"), (2, REQUEUE, 8, 8, "W"), (4, ISSUE, 8, 8, "W"), (9, COMPLETE, 8, 8, "W")])
    )
    assert got.time_us.tolist() == [0]
    assert got.latency_us.tolist() == [9]
    assert got.counts["requeued"] == 1


def test_a_completion_in_parts_ends_with_the_last():
    got = match_requests(
        events([(0, ISSUE, 8, 24, "R"), (3, COMPLETE, 8, 8, "R"), (4, COMPLETE, 16, 8, "R"), (6, COMPLETE, 24, 8, "R")])
    )
    assert got.latency_us.tolist() == [6]
    assert got.size.tolist() == [24 * 512]
    assert got.counts["unmatched_complete"] == 0


def test_flushes_and_discards_are_counted_and_left_out():
    got = match_requests(
        events(
            [
                (0, ISSUE, 0, 0, "FF"),
                (1, ISSUE, 64, 800, "D"),
                (2, ISSUE, 8, 8, "FWFS"),
                (3, ISSUE, 16, 8, "N"),
                (4, COMPLETE, 8, 8, "FWFS", -5),
                (5, COMPLETE, 0, 0, "FF"),
            ]
        )
    )
    assert got.op.tolist() == [1]
    assert (got.counts["flush"], got.counts["discard"], got.counts["other"], got.counts["failed"]) == (1, 1, 1, 1)


def test_queued_events_and_completions_make_requests_if_asked():
    made = events(
        [
            (0, QUEUE, 8, 8, "R"),
            (1, ISSUE, 8, 8, "R"),
            (2, REQUEUE, 8, 8, "R"),
            (3, ISSUE, 8, 8, "R"),
            (9, COMPLETE, 8, 8, "R"),
            (12, COMPLETE, 64, 8, "R"),
        ]
    )
    queued = match_requests(made, QUEUE)
    assert (queued.time_us.tolist(), queued.latency_us.tolist()) == ([0], [9])
    assert (queued.counts["requeued"], queued.counts["unmatched_complete"]) == (0, 1)
    completed = match_requests(made, COMPLETE)
    assert (completed.time_us.tolist(), completed.latency_us.tolist()) == ([9, 12], [-1, -1])


def test_no_events_make_no_requests():
    assert len(match_requests(events([]))) == 0


def test_operations():
    cases = {"R": OP_READ, "RAM": OP_READ, "W": OP_WRITE, "WFS": OP_WRITE, "FWFS": OP_WRITE}
    cases |= {"FF": FLUSH, "DS": DISCARD, "FDE": DISCARD, "WZS": OTHER, "ZR": OTHER, "N": OTHER}
    assert {rwbs: operation(rwbs, 8) for rwbs in cases} == cases
    assert operation("WS", 0) == operation("FN", 0) == FLUSH
    assert operation("N", 0) == operation("R", -1) == OTHER
