import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.io import read_table, write_table
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.store import read_pages, read_trace, trace_from_table, write_trace
from cachezoo.traces.table import Trace, TraceMeta, validate

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
def test_pages_equal_the_naive_expansion(rows):
    trace = make(np.cumsum([r[0] for r in rows]), *([r[i] for r in rows] for i in (1, 2, 3)), [r[4] for r in rows])
    pages = expand_pages(trace)
    names, start, ids = {}, [0], []
    for _, _, offset, size, volume in rows:
        for page in sorted({(offset + k) // 4096 for k in (*range(0, size, 4096), size - 1)}):
            ids.append(names.setdefault((volume, page), len(names)))
        start.append(len(ids))
    assert pages.page_ids.tolist() == ids
    assert pages.request_start.tolist() == start
    assert pages.n_pages == len(names)
    assert pages.request_of_access().tolist() == [i for i in range(len(rows)) for _ in range(start[i + 1] - start[i])]


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
        (make([0], [0], [0], [2**40]), "at most 1073741824 bytes"),
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


def test_too_many_page_accesses_are_refused_before_any_is_made():
    rows = 2**13
    trace = make(range(rows), [0] * rows, [0] * rows, [2**30] * rows)
    validate(trace, "x.csv")
    with pytest.raises(TraceError, match=r"page accesses, at most .* up to 1073741824 bytes"):
        expand_pages(trace)


def rewritten(path, change):
    """Change a file's table, which carries the file's metadata."""
    table, metadata = read_table(path)
    table = change(table.replace_schema_metadata(metadata))
    write_table(path, table, {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()})


@pytest.fixture
def canonical(tmp_path):
    trace = make([0, 5, 9, 9], [0, 1, 0, 1], [0, 8192, 512, 0], [4096, 100, 9000, 1], [0, 1, 0, 1])
    write_trace(trace, tmp_path / "a.parquet", expand_pages(trace))
    return tmp_path / "a.parquet"


@pytest.mark.parametrize("key", ["trace_id", "category", "source_format", "source_sha256", "licence"])
def test_missing_metadata_is_named(canonical, key):
    def drop(table):
        return table.replace_schema_metadata(
            {name: value for name, value in table.schema.metadata.items() if name != f"cachezoo.{key}".encode()}
        )

    rewritten(canonical, drop)
    with pytest.raises(TraceError, match=rf"a\.parquet: its metadata lacks cachezoo\.{key}; ingest"):
        read_trace(canonical)


@pytest.mark.parametrize("entry", [{b"cachezoo.licence": b"\xffree"}, {b"cachezoo.extra.\xffree": b"x"}])
def test_metadata_that_is_no_text_is_refused(canonical, entry):
    table = pq.read_table(canonical)
    known = {key: value for key, value in pq.read_metadata(canonical).metadata.items() if key != b"ARROW:schema"}
    pq.write_table(table.replace_schema_metadata({**known, **entry}), canonical)
    with pytest.raises(
        TraceError, match=r"a\.parquet: its metadata is no text in UTF-8 \(b'.*xffree'\); write"
    ) as error:
        read_trace(canonical)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("encoded", [False, True])
def test_a_name_that_is_no_text_is_refused(canonical, encoded):
    odd = pa.array([b"a", b"\xff", b"b", b"b"], pa.binary())
    volume = pa.Array.from_buffers(pa.string(), len(odd), odd.buffers())
    volume = volume.dictionary_encode() if encoded else volume
    rewritten(canonical, lambda table: table.set_column(table.column_names.index("volume"), "volume", volume))
    with pytest.raises(TraceError, match=r"a\.parquet: not a readable Parquet file .*Invalid UTF8"):
        read_trace(canonical)


@pytest.mark.parametrize("encoded", [False, True])
def test_an_empty_volume_is_refused(canonical, encoded):
    volume = pa.array(["a", None, "b", "b"])
    volume = volume.dictionary_encode() if encoded else volume
    rewritten(canonical, lambda table: table.set_column(table.column_names.index("volume"), "volume", volume))
    with pytest.raises(TraceError, match=r"row 2: volume is empty"):
        read_trace(canonical)


def test_a_volume_that_is_no_text_is_refused(canonical):
    volume = pa.array([1, 2, 3, 4])
    rewritten(canonical, lambda table: table.set_column(table.column_names.index("volume"), "volume", volume))
    with pytest.raises(TraceError, match=r"column volume is int64"):
        read_trace(canonical)


def test_a_size_that_is_a_list_is_refused(canonical):
    sizes = pa.array([[1], [2], [3], [4]])
    rewritten(canonical, lambda table: table.set_column(table.column_names.index("size"), "size", sizes))
    with pytest.raises(TraceError, match=r"column size is list"):
        read_trace(canonical)


def test_pages_of_a_file_that_does_not_count_them_are_refused(canonical):
    metadata = {"cachezoo.schema_version": "1"}
    rewritten(canonical, lambda table: table.replace_schema_metadata(metadata))
    with pytest.raises(TraceError, match=r"lacks cachezoo\.n_pages"):
        read_pages(canonical)


def test_a_latency_below_zero_is_unknown():
    latency = [7, -5, None]
    table = pa.table({"time_us": [0, 1, 2], "op": [0] * 3, "offset": [0] * 3, "size": [1] * 3, "latency_us": latency})
    assert trace_from_table(table, META, "x").latency_us.tolist() == [7, -1, -1]


@pytest.mark.parametrize("encoded", [False, True])
def test_columns_in_several_chunks_are_read_whole(canonical, monkeypatch, encoded):
    whole, metadata = read_table(canonical)
    chunks = [whole.slice(0, 1), whole.slice(1, 2), whole.slice(3)]
    if not encoded:
        at = whole.column_names.index("volume")
        chunks = [part.set_column(at, "volume", part.column("volume").cast(pa.string())) for part in chunks]
    parts = pa.concat_tables(chunks)
    assert parts.column("page_ids").num_chunks == 3
    expected, trace = read_pages(canonical), read_trace(canonical)
    monkeypatch.setattr("cachezoo.traces.store.read_table", lambda *_, **__: (parts, metadata))
    pages, again = read_pages(canonical), read_trace(canonical)
    assert pages.page_ids.tolist() == expected.page_ids.tolist()
    assert pages.request_start.tolist() == expected.request_start.tolist()
    assert (pages.page_ids.dtype, pages.request_start.dtype) == (np.int32, np.int64)
    assert again.volume.codes.tolist() == trace.volume.codes.tolist() == [0, 1, 0, 1]
    assert again.volume.names == ("a", "b")


def test_dictionaries_that_differ_between_chunks_are_merged():
    volume = pa.chunked_array([pa.array(["b"]).dictionary_encode(), pa.array(["a", "b"]).dictionary_encode()])
    table = pa.table({"time_us": [0, 1, 2], "op": [0] * 3, "offset": [0] * 3, "size": [1] * 3, "volume": volume})
    coded = trace_from_table(table, META, "x").volume
    assert [coded.names[code] for code in coded.codes] == ["b", "a", "b"]


def test_a_part_knows_no_name_of_other_rows() -> None:
    coded = Coded(np.array([0, 2, 1, -1, 2, 3], np.int32), ("a", "b", "c", "late"))
    part = coded.part(1, 5)
    assert part.names == ("b", "c")
    assert part.codes.tolist() == [1, 0, -1, 1] and part.codes.dtype == np.int32
    assert coded.part(0, 6).names == coded.names
    assert coded.part(3, 4).names == () and coded.part(3, 4).codes.tolist() == [-1]
