"""Requests of objects from a trace: counts, deletes, times to live, sizes that are not said."""

import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.sized.requests import NEVER, Requests
from cachezoo.sized.simulate import simulate
from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.table import TraceMeta

META = TraceMeta("t", "c", "f", "0")


def trace(rows, **columns):
    """Rows of (seconds, op, key, size)."""
    seconds, op, key, size = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    given = {name: np.array(values) for name, values in columns.items()}
    return ObjectTrace(seconds * 1_000_000, op.astype(np.uint8), key, size, META, **given)


def test_a_row_is_as_many_requests_as_it_stands_for():
    counted = trace([(0, 0, 7, 10), (1, 0, 8, 10), (2, 0, 7, 10)], count=np.array([3, 1, 2], np.int32))
    asked = Requests.of(counted)
    assert asked.ids.tolist() == [0, 0, 0, 1, 0, 0]
    assert asked.row.tolist() == [0, 0, 0, 1, 2, 2]
    assert simulate(asked, "lru", 10).outcome.tolist() == [1, 2, 2, 1, 1, 2]
    assert len(Requests.of(counted, counts=False)) == 3


def test_a_size_that_is_not_said_is_the_last_one_known():
    asked = Requests.of(trace([(0, 0, 1, 0), (1, 1, 1, 30), (2, 0, 1, 0), (3, 0, 2, 5)]))
    assert asked.size.tolist() == [0, 30, 30, 5]
    assert asked.footprint_bytes == 35
    run = simulate(asked, "lru", 100)
    assert (run.outcome.tolist(), run.unknown, run.resized) == ([0, 1, 2, 1], 1, 0)


def test_deletes_void_and_can_be_left_out():
    rows = trace([(0, 0, 1, 10), (1, 2, 1, 0), (2, 0, 1, 10), (3, 2, 9, 0)])
    run = simulate(Requests.of(rows), "fifo", 100)
    assert run.outcome.tolist() == [1, 0, 1, 0]
    assert (run.requests, run.hits, run.deletes, run.deleted) == (2, 0, 2, 1)
    kept = simulate(Requests.of(rows, deletes=False), "fifo", 100)
    assert (kept.requests, kept.hits, kept.deletes, kept.deleted) == (2, 1, 0, 0)


def test_what_is_written_expires_and_can_be_kept():
    rows = trace(
        [(0, 1, 1, 10), (4, 0, 1, 10), (5, 0, 1, 10), (6, 1, 1, 10), (10, 0, 1, 10), (99, 0, 2, 1)],
        ttl_s=np.array([5, 0, 0, 5, 0, 0]),
    )
    asked = Requests.of(rows)
    assert asked.expires_us.tolist() == [5_000_000, NEVER, NEVER, 11_000_000, NEVER, NEVER]
    run = simulate(asked, "lru", 100)
    assert run.outcome.tolist() == [1, 2, 1, 2, 2, 1]
    assert (run.expired, run.reads, run.read_hits) == (1, 4, 2)
    assert simulate(Requests.of(rows, ttl=False), "lru", 100).expired == 0


def test_a_write_that_hits_is_written_again():
    run = simulate(Requests.of(trace([(0, 0, 1, 10), (1, 1, 1, 10), (2, 0, 1, 10)])), "lru", 100)
    assert (run.hits, run.bytes, run.byte_hits, run.bytes_written, run.admitted) == (2, 30, 20, 20, 1)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"size": np.ones(2, np.int64)}, "one entry a request each"),
        ({"ids": np.array([0, 3, 1], np.int32)}, r"ids lie in \[0, n_objects\)"),
        ({"ids": np.array([0, -1, 1], np.int32)}, r"ids lie in \[0, n_objects\)"),
        ({"size": np.array([1, -1, 1], np.int64)}, "sizes are 0"),
        ({"time_us": np.zeros(3, np.int64)}, "both time_us and expires_us"),
    ],
)
def test_requests_that_no_cache_can_serve_are_refused(changed, said):
    columns = {"ids": np.zeros(3, np.int32), "size": np.ones(3, np.int64), "op": np.zeros(3, np.uint8)}
    with pytest.raises(ConfigError, match=said):
        Requests(**{**columns, "n_objects": 2, **changed})
