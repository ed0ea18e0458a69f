"""Tables of others read back as the requests they were written from, however a data frame stores them."""

import gzip
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.columns import parsed
from cachezoo.traces.recognise import choose
from cachezoo.traces.source import Source
from tests.trace_data import read, texts

EPOCH_US = 1_714_608_000_000_000
WRITERS = {
    "parquet": lambda table, path: pq.write_table(table, path, row_group_size=5),
    "feather": lambda table, path: feather.write_feather(table, path, compression="uncompressed", chunksize=5),
    "feather-lz4": lambda table, path: feather.write_feather(table, path, compression="lz4"),
}
WHOLES = {
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "float64": pa.float64(),
    "text": pa.string(),
    "decimal": pa.decimal128(25, 2),
}
OPS = {
    "text": lambda op: pa.array([("read", "Write")[value] for value in op]),
    "coded": lambda op: pa.array([("R", "W")[value] for value in op]).dictionary_encode(),
    "number": lambda op: pa.array(op, pa.uint8()),
}
TIMES = {
    "int64": lambda time_us: pa.array(time_us, pa.int64()),
    "float64": lambda time_us: pa.array(time_us, pa.float64()),
    "us": lambda time_us: pa.array(time_us, pa.timestamp("us")),
    "ns": lambda time_us: pa.array([1000 * value + 999 for value in time_us], pa.timestamp("ns", "Europe/Berlin")),
    "ms": lambda time_us: pa.array([value // 1000 for value in time_us], pa.timestamp("ms")),
    "text": lambda time_us: pa.array(time_us, pa.timestamp("us")).cast(pa.string()),
}
REQUESTS = st.lists(
    st.tuples(st.integers(0, 2**40), st.integers(0, 1), st.integers(0, 2**30), st.integers(1, 2**20)),
    min_size=1,
    max_size=12,
)


def _whole(values: list[int], kind: str) -> pa.Array:
    return pa.array([float(v) for v in values] if kind == "float64" else values).cast(WHOLES[kind])


@settings(max_examples=settings.default.max_examples // 2)
@given(
    REQUESTS,
    st.sampled_from(sorted(WRITERS)),
    st.sampled_from(sorted(TIMES)),
    st.sampled_from(sorted(OPS)),
    st.sampled_from(sorted(WHOLES)),
)
def test_a_table_reads_back_equal(tmp_path_factory, requests, writer, time, op, kind):
    path = tmp_path_factory.mktemp("d") / "t.bin"
    requests = sorted(requests)
    time_us, ops, offset, size = (list(column) for column in zip(*requests, strict=True))
    columns = {
        "time_us": TIMES[time]([EPOCH_US + value for value in time_us]),
        "more": pa.nulls(len(requests)),
        "op": OPS[op](ops),
        "offset": _whole(offset, kind),
        "size": _whole(size, kind),
        "host": pa.array([f"h{k % 2}" for k in range(len(requests))]),
    }
    WRITERS[writer](pa.table(columns), path)
    trace = read(path)
    assert trace.meta.source_format == "table"
    unit = 1000 if time == "ms" else 1
    assert trace.time_us.tolist() == [value // unit * unit - time_us[0] // unit * unit for value in time_us]
    assert (trace.op.tolist(), trace.offset.tolist(), trace.size.tolist()) == (ops, offset, size)
    assert texts(trace.host) == columns["host"].to_pylist()
    assert trace.meta.extra["columns_not_read"] == "more"
    # The same by named columns.
    renamed = pa.table(columns).rename_columns(["when", "more", "rw", "lba", "len", "by"])
    WRITERS[writer](renamed, path)
    rw = "rw:0/1" if op == "number" else "rw"
    again = read(path, fmt="columns", **parsed(f"time=when,offset=lba:512,size=len,op={rw},user=by"))
    assert again.offset.tolist() == [512 * value for value in offset]
    assert again.time_us.tolist() == trace.time_us.tolist()


FRAME = {
    "ts": pa.array([datetime(2024, 5, 2), None, datetime(2024, 5, 2, 1), datetime(2024, 5, 2, 2)], pa.timestamp("us")),
    "op": pa.array(["read", "write", "read", "write"]),
    "lba": pa.array([8.0, 16.0, float("nan"), 24.5]),
    "len": pa.array([4096, 4096, 4096, 4096]),
    "ms": pa.array([0.5, None, float("nan"), 1.0]),
}


def test_bad_rows_are_named_or_skipped_and_a_missing_latency_is_unknown(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(FRAME), path)
    options = parsed("time=ts,offset=lba:512,size=len,op=op,latency=ms:ms")
    with pytest.raises(TraceError, match=r"t\.parquet: row 2: time is empty; fill it in or drop the row"):
        read(path, fmt="columns", **options)
    trace = read(path, fmt="columns", skip_bad_rows=3, **options)
    assert trace.offset.tolist() == [4096]
    with pytest.raises(TraceError, match=r"row 4: offset is '24.5', not a whole number; fix or drop the row"):
        read(path, fmt="columns", skip_bad_rows=2, **options)
    good = pa.table(FRAME).set_column(0, "ts", pa.array([0, 1, 2, 3]))
    good = good.set_column(2, "lba", pa.array([1, 2, 3, 4]))
    pq.write_table(good, path)
    assert read(path, fmt="columns", **options).latency_us.tolist() == [500, -1, -1, 1000]


def test_a_table_of_other_names_is_refused_with_its_columns_and_a_guess(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({**FRAME, "lba": pa.array([8.0, 16.0, 24.0, 32.0])}), path)
    assert fits_of(Source(path)) == {}
    with pytest.raises(TraceError) as error:
        choose(Source(path), "auto", {})
    said = str(error.value)
    assert "is a Parquet or Arrow table of no known format with the columns ts (timestamp[us]), op (string)" in said
    assert "Fix: name the columns with --columns; a guess to be checked: --columns " in said and "\n" not in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data[:200], "is a Parquet|not a readable Parquet"),
        (lambda data: gzip.compress(data), "is a Parquet or Arrow file inside gzip: unpack it"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_in_one_line(tmp_path, change, said):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(FRAME), path)
    path.write_bytes(change(path.read_bytes()))
    for options in ({}, {"fmt": "columns", **parsed("time=ts,offset=lba,size=len,op=op")}):
        with pytest.raises(TraceError, match=said) as error:
            read(path, **options)
        assert "\n" not in str(error.value)


def test_two_columns_of_one_name_and_lists_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), path)
    with pytest.raises(TraceError, match="has two columns called 'a'; rename one"):
        read(path)
    lists = pa.table({**FRAME, "lba": pa.array([[1], [2], [3], [4]])}).drop_columns("ts")
    pq.write_table(lists, path)
    with pytest.raises(TraceError, match="row 1: offset is"):
        read(path, fmt="columns", **parsed("time=row:us,offset=lba,size=len,op=op"))


def test_numbers_beyond_64_bits_are_bad_rows(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {"lba": pa.array([1, 2**64 - 1], pa.uint64()), "x": pa.array([1.0, 1e300])}
    pq.write_table(pa.table(columns), path)
    for name in columns:
        with pytest.raises(TraceError, match=r"row 2: offset is .*which 64 bits cannot hold; check the unit"):
            read(path, fmt="columns", **parsed(f"time=row:us,offset={name},size=512B,op=read"))


def test_a_time_is_a_number_where_its_unit_is_said(tmp_path):
    path = tmp_path / "t.feather"
    feather.write_feather(pa.table({"t": np.array([0.5, 0.75]), "a": np.array([0, 8])}), path)
    trace = read(path, fmt="columns", **parsed("time=t:s,offset=a:512,size=512B,op=write"))
    assert trace.time_us.tolist() == [0, 250_000]
