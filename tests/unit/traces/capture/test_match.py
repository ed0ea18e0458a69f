import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.traces.capture.events import COMPLETE, ISSUE, REQUEUE, Events
from cachezoo.traces.capture.match import match_requests, operation
from tests.oracles.match import naive_latencies


def events(rows):
    """rows: (time, kind, sector, sectors, rwbs[, error])."""
    return Events(
        time_us=np.array([row[0] for row in rows], np.int64),
        kind=np.array([row[1] for row in rows], np.uint8),
        sector=np.array([row[2] for row in rows], np.int64),
        sectors=np.array([row[3] for row in rows], np.int64),
        error=np.array([row[5] if len(row) > 5 else 0 for row in rows], np.int64),
        rwbs=tuple(row[4] for row in rows),
        comm=tuple("x" for _ in rows),
    )


# Whole completions only: lengths are a function of the address, so that no shorter one looks like a part.
ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.sampled_from(["R", "W", "RA", "WS"])), max_size=60)


@given(ROWS)
def test_join_equals_the_naive_oracle(rows):
    made = events(
        [(3 * i, ISSUE if new else COMPLETE, 8 * at, 8 * at + 8, rwbs) for i, (new, at, rwbs) in enumerate(rows)]
    )
    got = match_requests(made)
    want = naive_latencies(made)
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


def test_operations():
    cases = {"R": "read", "RAM": "read", "W": "write", "WFS": "write", "FWFS": "write", "FF": "flush", "DS": "discard"}
    assert {rwbs: operation(rwbs, 8) for rwbs in cases} == cases
    assert operation("WS", 0) == "flush"
    assert operation("ZR", 8) == "other"
