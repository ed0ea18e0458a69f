"""The project's own table as CSV and Parquet: what is written comes back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.formats import FORMATS, write_as
from cachezoo.traces.table import CODED_COLUMNS, NUMBER_COLUMNS, Trace
from tests.page_data import seeded_trace
from tests.trace_data import read, texts


def full(n: int, seed: int) -> Trace:
    """A trace with every optional column, some latencies unknown, names with commas, quotes and blanks."""
    rng = np.random.default_rng(seed)
    names = ("plain", "two words", 'with "quotes", comma')
    coded = {name: Coded(rng.integers(0, 3, n).astype(np.int32), names) for name in CODED_COLUMNS}
    latency = rng.integers(-1, 5, n) * 100
    return replace(
        seeded_trace(n, 50, seed),
        latency_us=np.maximum(latency, -1),
        count=rng.integers(1, 9, n).astype(np.int32),
        **coded,
    )


@pytest.mark.parametrize("name", ["csv", "parquet"])
@given(n=st.integers(1, 200), seed=st.integers(0, 99), every=st.booleans())
def test_round_trip(name: str, n: int, seed: int, every: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    trace = full(n, seed) if every else seeded_trace(n, 50, seed)
    path = tmp_path_factory.mktemp("c") / "t.dat"
    assert write_as(trace, path, name, {}) == {}
    back = read(path)
    assert back.meta.source_format == (name if name == "csv" else trace.meta.source_format)
    for column in NUMBER_COLUMNS:
        ours, theirs = getattr(back, column), getattr(trace, column)
        assert (ours is None) == (theirs is None)
        assert ours is None or ours.tolist() == theirs.tolist()
    for column in CODED_COLUMNS:
        ours, theirs = getattr(back, column), getattr(trace, column)
        assert (ours is None) == (theirs is None)
        assert ours is None or texts(ours) == texts(theirs)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("time_us,op,offset\n0,R,0\n", "header is 'time_us,op,offset'; name the columns time_us,op,offset,size"),
        ("time_us,op,offset,size,size\n0,R,0,1,1\n", "each once"),
        ("time_us,op,offset,size,what\n0,R,0,1,1\n", "header is"),
        ("time_us,op,offset,size\n0,R,0,4096\n-3,R,0,4096\n", "row 2: its time lies before the trace's start"),
    ],
)
def test_bad_tables_are_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(TraceError, match=rf"t\.csv: .*{message}"):
        read(path)


def test_columns_come_in_any_order_and_quotes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('size,"user",op,time_us,offset,latency_us\n4096,"a, b",W,5,8192,\n512,c,r,9,0,7\n')
    trace = read(path)
    assert (trace.size.tolist(), trace.offset.tolist(), trace.op.tolist()) == ([4096, 512], [8192, 0], [1, 0])
    assert trace.time_us.tolist() == [5, 9]
    assert texts(trace.user) == ["a, b", "c"]
    assert trace.latency_us is not None and trace.latency_us.tolist() == [-1, 7]


def test_a_bad_row_beside_quoted_commas(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('time_us,op,offset,size,user\n0,R,0,1,"a, b"\n1,R,x,1,"c, d"\n2,R,0,1,"e, ""f"""\n')
    with pytest.raises(TraceError, match="row 2: offset is 'x', not a whole number"):
        read(path)
    assert texts(read(path, skip_bad_rows=1).user) == ["a, b", 'e, "f"']


@pytest.mark.parametrize("count", ["0", "-3", "2147483648"])
def test_a_count_out_of_range_is_a_bad_row(tmp_path: Path, count: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"time_us,op,offset,size,count\n0,R,0,1,7\n1,R,0,1,{count}\n")
    with pytest.raises(TraceError, match="row 2: its count is no number of accesses from 1 to 2147483647"):
        read(path)
    trace = read(path, skip_bad_rows=1)
    assert trace.count is not None and trace.count.tolist() == [7]


def test_only_registered_formats_are_written(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="format systor: is read, not written; use one of parquet, csv"):
        write_as(seeded_trace(3, 5, 1), tmp_path / "t", "systor", {})
    with pytest.raises(TraceError, match="format csv: option colour: no such option"):
        write_as(seeded_trace(3, 5, 1), tmp_path / "t", "csv", {"colour": "red"})
    assert list(tmp_path.iterdir()) == []
    assert {entry.id for entry in FORMATS.values() if entry.write} >= {"csv", "parquet"}


@pytest.mark.parametrize("before", ["\n", "# a comment\n", "\r\n# one\n# two\n"])
def test_blank_lines_and_comments_may_precede_the_header(tmp_path, before):
    path = tmp_path / "t.csv"
    path.write_text(before + "time_us,op,offset,size\n3,R,0,1\n")
    assert read(path).time_us.tolist() == [3]


def test_a_quote_that_is_not_closed_on_its_line_is_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('time_us,op,offset,size,user\n0,R,0,1,"a\n1,R,512,1,b\n2,W,1024,1,c"\n3,W,1536,1,"d"\n')
    with pytest.raises(TraceError, match=r"t\.csv: row 1: has a quote that is not closed on its line"):
        read(path)
    trace = read(path, skip_bad_rows=1)
    assert trace.offset.tolist() == [512, 1024, 1536]
    assert texts(trace.user) == ["b", 'c"', "d"]


def test_an_open_quote_beside_another_bad_row_is_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('time_us,op,offset,size,user\n0,R,0,1,"a\n1,R,x,1,b\n2,W,1024,1,"c"\n')
    trace = read(path, skip_bad_rows=2)
    assert (trace.offset.tolist(), trace.meta.extra["skipped_rows"]) == ([1024], "2")


def test_names_with_line_ends_are_written_with_blanks_and_counted(tmp_path: Path) -> None:
    trace = replace(seeded_trace(4, 9, 1), user=Coded(np.array([0, 1, 1, 2], np.int32), ("a", "b\nc", "d\re")))
    path = tmp_path / "t.csv"
    assert write_as(trace, path, "csv", {}) == {"line ends in user": 3}
    assert texts(read(path).user) == ["a", "b c", "b c", "d e"]
