"""Traces of objects: read, ingested, described and stored; keys are no addresses."""

from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.io import arrow_type
from cachezoo.traces import ingest as ingesting
from cachezoo.traces.ingest import describe_files, ingest
from cachezoo.traces.object_stats import describe_objects
from cachezoo.traces.objects import OP_DELETE, ObjectTrace
from cachezoo.traces.read import TraceFiles, read_either, read_files
from cachezoo.traces.store import OBJECTS, read_trace, trace_pieces, write_trace
from cachezoo.traces.table import OP_WRITE, TraceMeta
from tests.trace_data import keys, objects, texts

COLUMNS = "time=t:us,key=k,size=s,op=o,count=c,ttl=l,flags=o2"
META = TraceMeta("made", "unknown", "made up", "0" * 64)


def table(rows, *, named):
    """A delimited file of objects: time, key, size, op, count, time to live."""
    lines = ["t,k,s,o,c,l,o2"]
    for time, key, size, op, count, ttl in rows:
        lines.append(f"{time},{f'k{key}' if named else key},{size},{op},{count},{ttl},{op}")
    return "\n".join(lines) + "\n"


def given_files(path):
    return TraceFiles(
        [path], "columns", options={part.split("=")[0]: part.split("=")[1] for part in COLUMNS.split(",")}
    )


def written(tmp_path, rows, *, named):
    path = tmp_path / "t.csv"
    path.write_text(table(rows, named=named))
    return given_files(path)


def naive(rows):
    """The figures of some rows by a plain loop."""
    found = Counter()
    asked, size = Counter(), {}
    for _, key, bytes_, op, count, ttl in rows:
        name = {"get": "reads", "set": "writes", "delete": "deletes"}[op]
        found[name] += count
        if op != "delete":
            found["bytes_read" if op == "get" else "bytes_written"] += count * bytes_
            asked[key] += count
        size[key] = max(size.get(key, 0), bytes_)
        found["rows_with_ttl"] += ttl > 0
    once = sum(times == 1 for times in asked.values()) / max(len(asked), 1)
    return found, {"objects": len(size), "object_bytes": sum(size.values()), "one_hit_share": once}


ROW = st.tuples(
    st.integers(0, 50),
    st.integers(0, 9),
    st.integers(0, 2**41),
    st.sampled_from(["get", "set", "delete"]),
    st.integers(1, 5),
    st.sampled_from([0, 0, 60]),
)


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=40), named=st.booleans())
def test_read_ingest_and_describe_agree_with_a_plain_loop(tmp_path_factory, rows, named):
    tmp_path = tmp_path_factory.mktemp("objects")
    files = written(tmp_path, rows, named=named)
    trace = read_either(files)
    assert isinstance(trace, ObjectTrace)
    ordered = sorted(rows, key=lambda row: row[0])
    assert keys(trace) == [f"k{row[1]}" if named else row[1] for row in ordered]
    assert trace.size.tolist() == [row[2] for row in ordered]
    assert trace.op.tolist() == [("get", "set", "delete").index(row[3]) for row in ordered]
    assert trace.accesses == sum(row[4] for row in rows) == len(trace.replayed())
    counted, known = naive(rows)
    figures = ingest(files, tmp_path / "t.parquet")
    assert {name: figures.get(name, 0) for name in counted} == dict(counted)
    assert {name: figures[name] for name in known} == pytest.approx(known)
    assert figures["rows"] == len(rows) and figures["requests"] == trace.accesses
    again, same = (
        read_either(TraceFiles([tmp_path / "t.parquet"])),
        describe_files(TraceFiles([tmp_path / "t.parquet"])),
    )
    assert isinstance(again, ObjectTrace) and keys(again) == keys(trace)
    for name in ("time_us", "op", "size", "ttl_s", "count"):
        assert getattr(again, name).tolist() == getattr(trace, name).tolist(), name
    assert {name: same[name] for name in figures} == figures
    assert texts(again.flags) == texts(trace.flags)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("sorted_", [False, True])
def test_pieces_of_a_long_trace_are_one_trace(tmp_path, monkeypatch, named, sorted_):
    monkeypatch.setattr(ingesting, "ROW_GROUP_ROWS", 7)
    rng = np.random.default_rng(5)
    times = rng.integers(0, 1000, 100)
    times = np.sort(times) if sorted_ else times
    asked = rng.integers(0, 30, 100).tolist()
    rows = [(time, key, 10 * key, "get", 1, 0) for time, key in zip(times.tolist(), asked, strict=True)]
    files = written(tmp_path, rows, named=named)
    figures = ingest(files, tmp_path / "t.parquet")
    assert figures["objects"] == len({row[1] for row in rows})
    whole, stored = read_either(files), objects(tmp_path / "t.parquet")
    assert keys(whole) == keys(stored) and whole.time_us.tolist() == stored.time_us.tolist()
    assert ("out_of_order_rows" in figures) is not sorted_
    groups = [piece for _, piece in trace_pieces(tmp_path / "t.parquet")]
    assert [name for piece in groups for name in keys(piece)] == keys(whole)


def test_the_stored_table_is_what_its_columns_say(tmp_path):
    trace = ObjectTrace(
        np.array([0, 5]), np.array([0, OP_DELETE], np.uint8), np.array([1, 0]), np.array([2**45, 0]), META,
        key_names=("b", "a"), ttl_s=np.array([0, 9]), count=np.array([1, 2], np.int32), latency_us=np.array([-1, 7]),
        namespace=Coded.of(["x", "y"]), user=Coded.of(["x", "y"]), host=Coded.of(["x", "y"]),
        flags=Coded.of(["x", "y"]), source=Coded.of(["x", "y"]),
    )  # fmt: skip
    write_trace(trace, tmp_path / "t.parquet")
    stored = pq.read_schema(tmp_path / "t.parquet")
    assert set(stored.names) == set(OBJECTS.columns) - {"key"}
    for field in stored:
        assert field.type == arrow_type(OBJECTS.columns, field.name)
    found = objects(tmp_path / "t.parquet")
    assert keys(found) == ["a", "b"] and found.latency_us.tolist() == [-1, 7] and found.ttl_s.tolist() == [0, 9]
    with pytest.raises(TraceError, match="names objects by keys and has no addresses"):
        read_trace(tmp_path / "t.parquet")


def test_what_needs_addresses_is_refused_with_the_reason(tmp_path):
    files = written(tmp_path, [(0, 1, 5, "get", 1, 0)], named=False)
    with pytest.raises(TraceError, match=r"t\.csv: names objects by keys and has no addresses: this needs addresses"):
        read_files(files)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ((1, 1, -5, "get", 1, 0), "row 2: size is below 0"),
        ((1, 1, 2**50 + 1, "get", 1, 0), "row 2: size is above 1125899906842624 bytes"),
        ((1, 1, 5, "frob", 1, 0), "row 2: op is 'frob'; it says neither read, write nor delete"),
        ((1, 1, 5, "get", 0, 0), "row 2: its count is no number of accesses"),
        ((1, "x", 5, "get", 1, 0), "row 2: key is 'x', not a whole number"),
    ],
)
def test_bad_rows_are_named_or_skipped(tmp_path, row, said):
    # The beginning says whether keys are numbers, which these good rows are.
    good = [(0, 1, 5, "get", 1, 0)]
    more = [(2, 2, 6, "set", 1, 0)] * 20_000 if row[1] == "x" else []
    if more:
        good, said = good + more, said.replace("row 2", f"row {len(more) + 2}")
    files = written(tmp_path, [*good, row], named=False)
    with pytest.raises(TraceError, match=said):
        read_either(files)


def test_a_table_has_no_time_to_live_below_0(tmp_path):
    numbers = np.arange(3)
    trace = ObjectTrace(numbers, np.zeros(3, np.uint8), numbers, numbers, META, ttl_s=np.array([0, -1, 5]))
    with pytest.raises(TraceError, match="row 2: its time to live is no number of seconds"):
        write_trace(trace, tmp_path / "t.parquet")
        read_either(TraceFiles([tmp_path / "t.parquet"]))


def test_rows_keep_the_names_that_occur_in_them(tmp_path):
    rows = [(time, time % 4, 5, "get" if time % 2 else "set", 1, 0) for time in range(8)]
    trace = read_either(written(tmp_path, rows, named=True))
    part = trace.rows(5, 7)
    assert part.key_names == ("k1", "k2") and keys(part) == ["k1", "k2"] and part.time_us.tolist() == [0, 1]
    assert trace.rows(1, 2).flags.names == ("get",)


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(10)), st.integers(0, 2**32))
def test_another_name_for_each_object_changes_no_figure(names, seed):
    rng = np.random.default_rng(seed)
    key = rng.integers(0, 10, 60)
    trace = ObjectTrace(
        np.arange(60), rng.integers(0, 3, 60).astype(np.uint8), key, rng.integers(0, 100, 60), META,
        count=rng.integers(1, 4, 60).astype(np.int32),
    )  # fmt: skip
    other = ObjectTrace(
        trace.time_us, trace.op, np.array(names)[key] * -12_345_678_901, trace.size, META, count=trace.count
    )
    assert describe_objects(trace) == describe_objects(other)
    assert trace.numbered()[0].tolist() == other.numbered()[0].tolist()
    assert (trace.op == OP_WRITE).sum() == (other.op == OP_WRITE).sum()
