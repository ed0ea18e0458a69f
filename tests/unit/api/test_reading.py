"""Tables and arrays become the trace that a file of the same rows is."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cachezoo as cz
from cachezoo.errors import ConfigError, TraceError
from cachezoo.traces.table import Trace

ROWS = {"time_us": [0, 5, 9], "op": [0, 1, 0], "offset": [4096, 0, 8192], "size": [512, 4096, 8192]}
FOREIGN = {"when": [0, 5, 9], "rw": ["R", "W", "R"], "lba": [8, 0, 16], "bytes": [512, 4096, 8192]}
NAMED = "time=when:us,offset=lba:512,size=bytes,op=rw"


def columns(trace: Trace) -> list[list[int]]:
    return [getattr(trace, name).tolist() for name in ("time_us", "op", "offset", "size")]


def structured() -> np.ndarray:
    found = np.zeros(3, [(name, "i8") for name in ROWS])
    for name, values in ROWS.items():
        found[name] = values
    return found


@pytest.mark.parametrize(
    "table", [pd.DataFrame(ROWS), pa.table(ROWS), pa.RecordBatch.from_pydict(ROWS), ROWS, structured()], ids=type
)
def test_a_table_with_the_canonical_names_needs_no_columns(table):
    assert columns(cz.read(table, quiet=True)) == list(ROWS.values())


@pytest.mark.parametrize("named", [NAMED, dict(part.split("=", 1) for part in NAMED.split(","))], ids=["text", "dict"])
def test_columns_are_named_as_on_the_command_line(named, tmp_path):
    frame, file = pd.DataFrame(FOREIGN), tmp_path / "foreign.csv"
    frame.to_csv(file, index=False)
    assert columns(cz.read(frame, columns=named)) == list(ROWS.values()) == columns(cz.read(file, columns=named))


def test_dates_of_pandas_count_from_the_first():
    when = pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta([0, 5, 9], unit="us")
    assert columns(cz.read(pd.DataFrame({**FOREIGN, "when": when}), columns=NAMED)) == list(ROWS.values())


def test_a_categorical_op_is_read():
    frame = pd.DataFrame({**FOREIGN, "rw": pd.Categorical(FOREIGN["rw"])})
    assert columns(cz.read(frame, columns=NAMED)) == list(ROWS.values())


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2**40), st.integers(1, 2**20)), min_size=1, max_size=20))
def test_a_frame_comes_back_as_it_was(rows):
    op, offset, size = zip(*rows, strict=True)
    frame = pd.DataFrame({"time_us": range(len(rows)), "op": op, "offset": offset, "size": size})
    assert columns(cz.read(frame, quiet=True)) == [list(range(len(rows))), list(op), list(offset), list(size)]


def test_an_array_is_reads_of_pages():
    trace = cz.read(np.array([3, 0, 3], np.uint16))
    assert columns(trace) == [[0, 1, 2], [0, 0, 0], [12288, 0, 12288], [4096, 4096, 4096]]
    assert columns(cz.read([3, 0, 3])) == columns(trace)


def test_a_trace_is_given_back():
    trace = cz.read([1, 2])
    assert cz.read(trace) is trace


@pytest.mark.parametrize(
    ("source", "error", "says"),
    [
        (np.array([1, -1]), TraceError, "page -1 lies on no disk"),
        (np.array([1, 2**63], np.uint64), TraceError, "a table with a column key"),
        (np.array([0.5]), ConfigError, "a row of page numbers"),
        (np.zeros((2, 2), int), ConfigError, "a row of page numbers"),
        ([], TraceError, "the trace is empty"),
        (7, ConfigError, "int is no trace"),
        ({"time_us": [1], "op": [0, 1], "offset": [1], "size": [1]}, ConfigError, "expected length 1 but got length 2"),
        ({**ROWS, "op": [0, 1, 2]}, TraceError, "table: row"),
        ({**ROWS, "offset": [0, -4096, 0]}, TraceError, "table: row 2: offset is -4096"),
    ],
)
def test_what_is_no_trace_is_refused(source, error, says):
    with pytest.raises(error, match=says):
        cz.read(source, quiet=True)


def with_column(values):
    return pa.table(ROWS).append_column("x", values)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ([[1, 2], [3]], "list is no trace: give a row"),
        ({**ROWS, "size": 4096}, "column size: 'int' object is not iterable"),
        ({**ROWS, "size": None}, "column size: "),
        ({**ROWS, "offset": [2**70, 0, 0]}, "column offset: "),
        ({**ROWS, "x": np.array([1j, 2j, 3j])}, "column x: "),
        ({**ROWS, "x": [1, "a", 2]}, "column x: Could not convert 'a'"),
        ({**ROWS, "x": [b"\xff", b"a", b"b"]}, "table: cannot be written as text"),
        ({**ROWS, "x": [[1], [2, 3], []]}, "column x: is of list"),
        (with_column(pa.array([{"a": 1}] * 3)), "column x: is of struct"),
        (with_column(pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64()))), "column x: is of map"),
        (pd.DataFrame(ROWS).assign(x=pd.period_range("2020", periods=3)), "column x: is of extension"),
        (pd.DataFrame(ROWS).assign(x=[1, "a", object()]), "DataFrame is no table with a column a role: "),
        (pd.concat([pd.DataFrame(ROWS), pd.DataFrame(ROWS)], axis=1), "Duplicate column names"),
        (pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["size", "size"]), "column 'size': give each"),
        (pd.DataFrame(ROWS).assign(**{"a\nb": 1}), "column 'a\\nb': give each column a name"),
        (np.zeros(2, [("time_us", "i8"), ("x", "i8", (2,))]), "column x: only handle 1-dimensional"),
        (np.zeros((2, 2), [("time_us", "i8")]), "column time_us: only handle 1-dimensional"),
        (pa.chunked_array([[1, 2]]), "ChunkedArray is no table"),
        ({**ROWS, "key": [1, 2, 3]}, "a column key, of objects, and offset, of places"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused_on_one_line(source, says):
    with pytest.raises(ConfigError) as refused:
        cz.read(source, quiet=True)
    assert says in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (ROWS, {"fmt": "csv"}), ([1, 2], {"fmt": "msr"}), (ROWS, {"fmt": None}), ("nowhere.csv", {"fmt": 5}),
        (ROWS, {"columns": ["time_us"]}), (ROWS, {"columns": 5}), (ROWS, {"options": ["delimiter=comma"]}),
        (ROWS, {"name": 5}), ([1, 2], {"columns": "time=a"}), (cz.read([1]), {"columns": NAMED}),
    ],
)  # fmt: skip
def test_options_that_cannot_be_are_refused(source, options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        cz.read(source, quiet=True, **options)


def test_key_counts_beside_offset_where_columns_say_so():
    both = {**ROWS, "key": [1, 2, 3]}
    assert columns(cz.read(both, columns="time=time_us:us,op=op,offset=offset,size=size", quiet=True))[2] == [
        4096,
        0,
        8192,
    ]


def test_a_column_of_a_frame_is_reads_of_pages():
    assert columns(cz.read(pd.DataFrame({"page": [3, 0, 3]})["page"])) == columns(cz.read([3, 0, 3]))


def test_a_table_of_unknown_names_is_refused_without_a_name_of_this_machine():
    with pytest.raises(TraceError, match="table: ") as refused:
        cz.read(pd.DataFrame({"a": ["x"], "b": ["y"]}), quiet=True)
    assert "/tmp" not in str(refused.value)


def test_provenance_is_of_what_was_read():
    one, other = cz.read([1, 2]), cz.read([1, 3])
    assert one.meta.source_sha256 != other.meta.source_sha256
    assert replace(one.meta, source_sha256="") == replace(other.meta, source_sha256="")
