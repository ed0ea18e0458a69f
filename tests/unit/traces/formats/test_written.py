"""Traces written as MSR's CSV, blkparse's text and libCacheSim's CSV come back as they were, but for what is said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.formats import write_as
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace, TraceMeta
from tests.trace_data import read, texts

ROWS = st.lists(
    st.tuples(
        st.integers(0, 10**7),  # time to the next
        st.integers(0, 1),
        st.integers(0, 2**40),
        st.integers(1, 2**20),
        st.integers(0, 2),
        st.integers(-1, 10**6),
    ),
    min_size=1,
    max_size=20,
)


def trace_of(rows, volumes=("usr.0", "web.12", "usr.1"), **more):
    step, op, offset, size, volume, latency = np.array(rows, np.int64).T
    return Trace(
        time_us=np.cumsum(step) - step[0],
        op=op.astype(np.uint8),
        offset=offset,
        size=size,
        volume=Coded(volume.astype(np.int32), volumes),
        meta=TraceMeta("made", "database", "test", "0" * 64),
        latency_us=latency,
        **more,
    )


def sectors(rows):
    return [
        (step, op, at * 512, -(-size // 512) * 512, volume, latency) for step, op, at, size, volume, latency in rows
    ]


@given(ROWS)
def test_msr_loses_nothing(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    trace = trace_of(rows)
    assert write_as(trace, path, "msr", {}) == {}
    back = read(path)
    assert back.meta.source_format == "msr"
    for name in ("time_us", "op", "offset", "size", "latency_us"):
        assert getattr(back, name).tolist() == getattr(trace, name).tolist(), name
    assert texts(back.volume) == texts(trace.volume)


@given(ROWS)
def test_blkparse_loses_nothing_of_whole_sectors(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("t") / "t.txt"
    # Requests of one address are joined first in first out: each has an address of its own.
    rows = [(step, op, 2**13 * index, *rest) for index, (step, op, _, *rest) in enumerate(rows)]
    letters = Coded(np.array([2 * op for _, op, *_ in rows], np.int32), ("RA", "R", "WSM"))
    user = Coded(np.arange(len(rows), dtype=np.int32) % 2, ("dd", "fio"))
    trace = trace_of(sectors(rows), ("8,0", "8,16", "253,7"), flags=letters, user=user)
    assert write_as(trace, path, "blkparse", {}) == {}
    back = read(path)
    assert back.meta.source_format == "blkparse"
    for name in ("time_us", "op", "offset", "size", "latency_us"):
        assert getattr(back, name).tolist() == getattr(trace, name).tolist(), name
    for name in ("volume", "flags", "user"):
        assert texts(getattr(back, name)) == texts(getattr(trace, name)), name


@given(ROWS)
def test_libcachesim_csv_keeps_pages_and_times(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    trace = trace_of([(*row[:4], 0, row[5]) for row in rows], ("0",))
    lost = write_as(trace, path, "libcachesim_csv", {})
    assert lost.pop("latency_us") == len(rows) and set(lost) <= {"part of a page"}
    back = read(path, unit_bytes="4096")
    pages = expand_pages(trace)
    assert back.meta.source_format == "libcachesim_csv"
    assert expand_pages(back).page_ids.tolist() == pages.page_ids.tolist()
    assert set(back.time_us.tolist()) == set(trace.time_us.tolist())
    whole = trace_of([(step, op, at // 512 * 512, size, 0, latency) for step, op, at, size, _, latency in rows], ("0",))
    assert set(write_as(whole, path, "libcachesim_csv", {"unit": "request"})) == {"latency_us"}
    back = read(path)
    for name in ("time_us", "op", "offset", "size"):
        assert getattr(back, name).tolist() == getattr(whole, name).tolist(), name


ROW = (0, 0, 700, 100, 0, -1)


def test_what_a_format_cannot_say_is_listed(tmp_path):
    own = Coded(np.zeros(2, np.int32), ('a "b" [c]',))
    trace = trace_of(
        [ROW, (5, 1, 0, 512, 1, 3)], ("a,b", "7"), user=own, flags=own, count=np.ones(2, np.int32), host=own
    )
    path = tmp_path / "t"
    assert write_as(trace, path, "msr", {}) == {
        "count": 2, "user": 2, "flags": 2, "host": 2, "name of the volume": 2
    }  # fmt: skip
    assert texts(read(path, fmt="msr").volume) == ["a_b.0", "cachezoo.7"]
    assert write_as(trace, path, "blkparse", {}) == {
        "count": 2, "host": 2, "flags": 2, "signs in user": 2, "name of the volume": 2, "part of a sector": 1
    }  # fmt: skip
    back = read(path, fmt="blkparse")
    assert (back.offset.tolist(), back.size.tolist(), texts(back.user)) == ([512, 0], [512, 512], ["a__b___c_"] * 2)
    assert write_as(trace, path, "libcachesim_csv", {}) == {
        "count": 2, "latency_us": 2, "host": 2, "user": 2, "flags": 2, "part of a page": 2, "volume": 1
    }  # fmt: skip


@pytest.mark.parametrize(("fmt", "volumes"), [("msr", ("a", "a.0")), ("blkparse", ("259,1", "b"))])
def test_volumes_that_would_be_one_are_refused(tmp_path, fmt, volumes):
    path = tmp_path / "t"
    with pytest.raises(TraceError, match="volumes would share a"):
        write_as(trace_of([ROW, (1, 0, 0, 1, 1, 1)], volumes), path, fmt, {})
    assert not path.exists()
