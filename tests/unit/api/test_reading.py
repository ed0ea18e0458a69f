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
        ({"time_us": [1], "op": [0, 1], "offset": [1], "size": [1]}, ConfigError, "all are as long"),
        ({**ROWS, "op": [0, 1, 2]}, TraceError, "table: row"),
        ({**ROWS, "offset": [0, -4096, 0]}, TraceError, "table: row 2: offset is -4096"),
    ],
)
def test_what_is_no_trace_is_refused(source, error, says):
    with pytest.raises(error, match=says):
        cz.read(source, quiet=True)


def test_a_table_of_unknown_names_is_refused_without_a_name_of_this_machine():
    with pytest.raises(TraceError, match="table: ") as refused:
        cz.read(pd.DataFrame({"a": ["x"], "b": ["y"]}), quiet=True)
    assert "/tmp" not in str(refused.value)


def test_provenance_is_of_what_was_read():
    one, other = cz.read([1, 2]), cz.read([1, 3])
    assert one.meta.source_sha256 != other.meta.source_sha256
    assert replace(one.meta, source_sha256="") == replace(other.meta, source_sha256="")
