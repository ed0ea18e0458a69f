import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.traces.table import (
    Coded,
    PageAccesses,
    Trace,
    TraceMeta,
    expand_pages,
    read_pages,
    read_trace,
    validate,
    write_trace,
)

META = TraceMeta("t", "web", "csv", "0" * 64, extra={"recipe": "{}"})


def make(time, op, offset, size, volume=None):
    codes = np.array(volume if volume is not None else [0] * len(time), np.int32)
    arrays = [np.array(x, np.int64) for x in (time, offset, size)]
    return Trace(arrays[0], np.array(op, np.uint8), arrays[1], arrays[2], Coded(codes, ("a", "b")), META)


ROWS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.integers(0, 1),
        st.integers(0, 90_000),
        st.integers(1, 20_000),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=30,
)


@given(rows=ROWS)
@settings(deadline=None, max_examples=60)
def test_pages_equal_the_naive_expansion(rows):
    trace = make(
        np.cumsum([r[0] for r in rows]), *([r[i] for r in rows] for i in (1, 2, 3)), [r[4] for r in rows]
    )
    pages = expand_pages(trace)
    names, start, ids = {}, [0], []
    for _, _, offset, size, volume in rows:
        for page in sorted({(offset + k) // 4096 for k in (*range(0, size, 4096), size - 1)}):
            ids.append(names.setdefault((volume, page), len(names)))
        start.append(len(ids))
    assert pages.page_ids.tolist() == ids
    assert pages.request_start.tolist() == start
    assert pages.n_pages == len(names)
    assert pages.request_of_access().tolist() == [
        i for i in range(len(rows)) for _ in range(start[i + 1] - start[i])
    ]


def test_round_trip_and_same_bytes(tmp_path):
    trace = make([0, 5, 9], [0, 1, 0], [0, 8192, 512], [4096, 100, 9000], [0, 1, 0])
    pages = expand_pages(trace)
    write_trace(trace, tmp_path / "a.parquet", pages)
    write_trace(trace, tmp_path / "b.parquet", pages)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    back, again = read_trace(tmp_path / "a.parquet"), read_pages(tmp_path / "a.parquet")
    assert back.meta == META
    for name in ("time_us", "op", "offset", "size"):
        assert getattr(back, name).tolist() == getattr(trace, name).tolist()
    assert [back.volume.names[c] for c in back.volume.codes] == ["a", "b", "a"]
    assert isinstance(again, PageAccesses)
    assert again.page_ids.tolist() == pages.page_ids.tolist()
    assert again.n_pages == pages.n_pages


def test_rows_are_a_trace_of_their_own():
    part = make([3, 5, 9], [0, 1, 0], [0, 1, 2], [1, 1, 1]).rows(1, 3)
    assert part.time_us.tolist() == [0, 4]
    assert part.offset.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        (make([], [], [], []), "empty"),
        (make([0, 2, 1], [0] * 3, [0] * 3, [1] * 3), r"row 3: time_us is 1; the time runs backwards"),
        (make([0], [2], [0], [1]), "row 1: op is 2"),
        (make([0], [0], [-1], [1]), "row 1: offset is -1"),
        (make([0, 0], [0, 0], [0, 0], [1, 0]), "row 2: size is 0"),
        (make([0], [0], [2**62], [1]), "overflows"),
        (make([0], [0], [0], [2**40]), "tebibyte"),
        (make([-1], [0], [0], [1]), "time_us is -1"),
    ],
)
def test_rows_that_no_trace_can_have_are_refused(trace, message):
    with pytest.raises(TraceError, match=message) as error:
        validate(trace, "x.csv")
    assert "x.csv" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    write_trace(make([0], [0], [0], [1]), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TraceError, match=r"a\.parquet"):
        read_trace(path)


def test_a_refused_trace_leaves_nothing_behind(tmp_path):
    with pytest.raises(TraceError):
        write_trace(make([0], [0], [-1], [1]), tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []
