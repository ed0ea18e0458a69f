"""Streamed ingest against the trace read whole: the same rows, pages, provenance and bytes."""

import gzip
import itertools
import re
import subprocess
import sys
import threading

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import CachezooError, TraceError
from cachezoo.io import FULL
from cachezoo.traces.ingest import _Spill, describe_files, ingest
from cachezoo.traces.object_stats import ObjectStatistics
from cachezoo.traces.pages import PageNumbers, expand_pages
from cachezoo.traces.read import TraceFiles, read_files
from cachezoo.traces.remarks import remarks_of
from cachezoo.traces.source import Source
from cachezoo.traces.stats import describe
from cachezoo.traces.store import TraceWriter, read_pages, read_trace, write_trace
from cachezoo.traces.table import NUMBER_COLUMNS
from tests.page_data import seeded_trace
from tests.trace_data import texts

FIRST = 128166372003061629


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Blocks and row groups so small that a few hundred rows make many."""
    monkeypatch.setattr(Source.lines, "__defaults__", (2000,))
    for module in ("cachezoo.io", "cachezoo.traces.ingest"):
        monkeypatch.setattr(f"{module}.ROW_GROUP_ROWS", 100)


def msr_rows(n, seed, *, shuffled=0):
    rng = np.random.default_rng(seed)
    ticks = np.cumsum(rng.integers(0, 5000, n))
    if shuffled:
        ticks = ticks + rng.integers(0, shuffled, n)
    return [
        f"{FIRST + tick},h{rng.integers(0, 3)},{rng.integers(0, 2)},{'Read' if rng.random() < 0.6 else 'Write'},"
        f"{rng.integers(0, 60) * 4096},{rng.integers(1, 20) * 512},{rng.integers(-1, 900)}\n"
        for tick in ticks.tolist()
    ]


def assert_same(path, trace):
    back, pages = read_trace(path), read_pages(path)
    for name in NUMBER_COLUMNS:
        ours, theirs = getattr(back, name), getattr(trace, name)
        assert (ours is None) == (theirs is None)
        assert ours is None or ours.tolist() == theirs.tolist(), name
    assert texts(back.volume) == texts(trace.volume)
    assert texts(back.host) == texts(trace.host)
    assert back.meta == trace.meta
    expected = expand_pages(trace)
    assert pages.page_ids.tolist() == expected.page_ids.tolist()
    assert pages.request_start.tolist() == expected.request_start.tolist()
    assert pages.n_pages == expected.n_pages


@pytest.mark.parametrize("rows", [1, 99, 100, 101, 550])
@pytest.mark.parametrize("shuffled", [0, 60_000])
def test_equals_the_trace_read_whole(tmp_path, rows, shuffled):
    raw, out = tmp_path / "t.csv", tmp_path / "deep" / "o.parquet"
    raw.write_text("".join(msr_rows(rows, rows, shuffled=shuffled)))
    files = TraceFiles([raw], category="web")
    trace = read_files(files)
    assert ("out_of_order_rows" in trace.meta.extra) == (shuffled > 0 and rows > 1)
    seen = []
    figures = ingest(files, out, advance=lambda done, note="": seen.append(done))
    assert_same(out, trace)
    assert (
        figures
        == {**describe(trace, expand_pages(trace)), "remarks": remarks_of(trace.meta.extra), "warnings": []}
        == describe_files(files)
    )
    assert seen[-1] == 1.0
    assert pq.ParquetFile(out).num_row_groups == -(-rows // 100)
    again = tmp_path / "again.parquet"
    write_trace(trace, again, expand_pages(trace))
    if not shuffled:
        assert read_trace(again).meta == read_trace(out).meta
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["again.parquet", "deep", "o.parquet", "t.csv"]


@given(rows=st.integers(1, 350), part=st.tuples(st.floats(0, 1), st.floats(0, 1)), shuffled=st.booleans())
def test_a_part_is_that_part_of_the_whole(tmp_path_factory, rows, part, shuffled):
    folder = tmp_path_factory.mktemp("p")
    raw, out = folder / "t.csv", folder / "o.parquet"
    raw.write_text("".join(msr_rows(rows, rows, shuffled=60_000 * shuffled)))
    files, bounds = TraceFiles([raw], trace_id="key", category="web"), (min(part), max(part))
    whole = read_files(files)
    expected = whole.rows(int(bounds[0] * rows), int(bounds[1] * rows))
    if not len(expected):
        with pytest.raises(TraceError, match="the trace is empty"):
            ingest(files, out, bounds)
        return
    ingest(files, out, bounds)
    assert_same(out, expected)
    assert set(read_trace(out).volume.names) == set(texts(expected.volume))


def test_several_files_are_one_trace_on_one_clock(tmp_path):
    rows = msr_rows(400, 5)
    whole = tmp_path / "whole.csv"
    whole.write_text("".join(rows))
    (tmp_path / "b.csv").write_text("".join(rows[:250]))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress("".join(rows[250:]).encode()))
    expected = read_files(TraceFiles([whole]))
    for names, turned in ((("b.csv", "a.csv.gz"), False), (("a.csv.gz", "b.csv"), True)):
        files = TraceFiles([tmp_path / name for name in names], trace_id="whole")
        ingest(files, tmp_path / "o.parquet")
        back = read_trace(tmp_path / "o.parquet")
        assert back.offset.tolist() == expected.offset.tolist()
        assert back.time_us.tolist() == expected.time_us.tolist()
        assert ("out_of_order_rows" in back.meta.extra) == turned


def test_bad_rows_are_counted_once_and_named_by_file(tmp_path):
    rows = msr_rows(300, 9, shuffled=60_000)
    rows[120] = "what\n"
    rows[250] = rows[250].replace("Read", "Trim").replace("Write", "Trim")
    raw, out = tmp_path / "t.csv", tmp_path / "o.parquet"
    raw.write_text("".join(rows))
    with pytest.raises(TraceError, match=r"t\.csv: row 121: has 1 field, not 7"):
        ingest(TraceFiles([raw]), out)
    with pytest.raises(TraceError, match=r"t\.csv: row 251: op is 'Trim'.*; 1 bad row was skipped"):
        ingest(TraceFiles([raw], skip_bad_rows=1), out)
    assert not out.exists()
    figures = ingest(TraceFiles([raw], skip_bad_rows=2), out)
    assert (figures["requests"], figures["skipped_rows"]) == (298, "2")
    assert read_trace(out).meta.extra["skipped_rows"] == "2"


def test_a_damaged_end_leaves_the_old_output(tmp_path):
    raw, out = tmp_path / "t.csv.gz", tmp_path / "o.parquet"
    raw.write_bytes(gzip.compress("".join(msr_rows(5000, 1)).encode())[:-100])
    out.write_bytes(b"old")
    with pytest.raises(TraceError, match="damaged or cut short"):
        ingest(TraceFiles([raw]), out)
    assert out.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_canonical_file_keeps_its_own_provenance_and_clock(tmp_path):
    trace = seeded_trace(350, 60, 4)
    trace.time_us[:] += 77
    write_trace(trace, tmp_path / "t.parquet")
    ingest(TraceFiles([tmp_path / "t.parquet"]), tmp_path / "o.parquet")
    back = read_trace(tmp_path / "o.parquet")
    assert back.meta == trace.meta
    assert back.time_us[0] == trace.time_us[0] > 0
    ingest(TraceFiles([tmp_path / "t.parquet"], category="mail", trace_id="key"), tmp_path / "o.parquet", (0.5, 1.0))
    back = read_trace(tmp_path / "o.parquet")
    assert (back.meta.category, back.meta.trace_id, back.time_us[0], len(back)) == ("mail", "key", 0, 175)


def test_files_of_different_columns_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("time_us,op,offset,size\n0,R,0,1\n")
    (tmp_path / "b.csv").write_text("time_us,op,offset,size,user\n0,R,0,1,u\n")
    with pytest.raises(TraceError, match="its files differ in their columns"):
        read_files(TraceFiles([tmp_path / "a.csv", tmp_path / "b.csv"]))


def test_unknown_formats_and_options_are_refused(tmp_path):
    raw = tmp_path / "t.csv"
    raw.write_text("".join(msr_rows(3, 1)))
    for files, said in (
        (TraceFiles([raw], "nosuch"), "format nosuch: unknown; use auto or one of parquet, csv"),
        (TraceFiles([raw], options={"colour": "red"}), "msr: option colour: no such option; its options are none"),
        (TraceFiles([]), "no file is given"),
        (TraceFiles([tmp_path / "gone"]), "gone: no such file"),
    ):
        with pytest.raises(TraceError, match=said):
            read_files(files)


def test_pages_of_pieces_are_those_of_the_whole():
    trace = seeded_trace(900, 80, 8)
    numbers, whole = PageNumbers(), expand_pages(trace)
    cuts = [0, 1, 300, 301, 900]
    parts = [numbers.number(trace.take(np.arange(a, b))) for a, b in itertools.pairwise(cuts)]
    assert np.concatenate([part.page_ids for part in parts]).tolist() == whole.page_ids.tolist()
    assert parts[-1].n_pages == whole.n_pages


def test_a_full_disk_under_the_sort_names_the_file_and_the_folder(tmp_path):
    spill = _Spill(tmp_path / "spill")
    (tmp_path / "spill").mkdir()
    (tmp_path / "spill" / "offset").symlink_to("/dev/full")
    said = (
        rf"spill/offset: cannot be written \(No space left on device\); .* make room in {tmp_path}, or name an output"
    )
    with pytest.raises(TraceError, match=said):
        spill.add(seeded_trace(2000, 60, 4))


def failing(own, at, error):
    """A method that raises an error when it is called for the `at`th time."""
    calls = itertools.count(1)

    def method(self, *given):
        if next(calls) == at:
            raise error
        return own(self, *given)

    return method


@pytest.mark.parametrize("shuffled", [0, 60_000])
@pytest.mark.parametrize("where", [(PageNumbers, "number"), (TraceWriter, "add"), (ObjectStatistics, "add")], ids=str)
@pytest.mark.parametrize(
    ("error", "raised", "said"),
    [
        (TraceError("row 7: is odd"), TraceError, "^row 7: is odd$"),
        (OSError(28, FULL[0]), CachezooError, rf"o\.parquet: cannot be written \({FULL[0]}\)"),
        (KeyboardInterrupt(), KeyboardInterrupt, "^$"),
    ],
    ids=["trace", "disk", "interrupt"],
)  # fmt: skip
def test_an_error_in_a_thread_is_raised_as_without_it_and_leaves_nothing(
    tmp_path, monkeypatch, where, error, raised, said, shuffled
):
    raw, out, before = tmp_path / "t.csv", tmp_path / "deep" / "o.parquet", threading.active_count()
    if where[0] is ObjectStatistics:
        raw.write_text("".join(f"{k},key{k % 7},4,100,1,get,0\n" for k in range(700)))
    else:
        raw.write_text("".join(msr_rows(700, 3, shuffled=shuffled)))
    monkeypatch.setattr(*where, failing(getattr(*where), 3, error))
    with pytest.raises(raised, match=said):
        ingest(TraceFiles([raw]), out)
    assert list(out.parent.iterdir()) == []
    assert threading.active_count() == before


def test_a_bad_row_after_pieces_are_on_their_way_leaves_nothing(tmp_path):
    raw, out, before = tmp_path / "t.csv", tmp_path / "deep" / "o.parquet", threading.active_count()
    raw.write_text("".join([*msr_rows(700, 3), "no row\n"]))
    with pytest.raises(TraceError, match=r"t\.csv: row 701: has 1 field, not 7"):
        ingest(TraceFiles([raw]), out)
    assert list(out.parent.iterdir()) == []
    assert threading.active_count() == before


def test_who_interrupts_the_reading_leaves_nothing(tmp_path):
    raw, out, before = tmp_path / "t.csv", tmp_path / "deep" / "o.parquet", threading.active_count()
    raw.write_text("".join(msr_rows(700, 3)))

    def interrupt(done, note=""):
        if done > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(TraceFiles([raw]), out, advance=interrupt)
    assert list(out.parent.iterdir()) == []
    assert threading.active_count() == before


def test_a_stream_may_touch_more_pages_than_a_whole_trace_in_memory(tmp_path, monkeypatch):
    raw, out = tmp_path / "t.csv", tmp_path / "o.parquet"
    raw.write_text("".join(msr_rows(700, 3)))
    whole = expand_pages(read_files(TraceFiles([raw])))
    monkeypatch.setattr("cachezoo.traces.pages.MOST_NUMBERED", 500)
    assert ingest(TraceFiles([raw]), out)["page_accesses"] == len(whole.page_ids) > 500
    assert describe_files(TraceFiles([raw]))["page_accesses"] == len(whole.page_ids)
    for refused in (lambda: read_pages(out), lambda: expand_pages(read_trace(out))):
        with pytest.raises(TraceError, match=f": {len(whole.page_ids)} page accesses, at most 500 can be numbered"):
            refused()
    monkeypatch.undo()
    assert read_pages(out).page_ids.tolist() == whole.page_ids.tolist()


def test_a_row_group_of_large_requests_is_written_in_parts(tmp_path, monkeypatch):
    raw, out = tmp_path / "t.csv", tmp_path / "o.parquet"
    raw.write_text("".join(msr_rows(700, 3)))
    monkeypatch.setattr("cachezoo.traces.ingest.WRITTEN_AT_ONCE", 90)
    ingest(TraceFiles([raw]), out)
    assert_same(out, read_files(TraceFiles([raw])))
    file = pq.ParquetFile(out)
    groups = [file.read_row_group(k, ["page_ids"]).column(0) for k in range(file.num_row_groups)]
    assert max(len(pages.combine_chunks().flatten()) for pages in groups) <= 90
    assert len(groups) > 14


def test_more_pages_than_ids_can_number_are_refused(tmp_path, monkeypatch):
    raw = tmp_path / "t.csv"
    raw.write_text("".join(msr_rows(700, 3)))
    monkeypatch.setattr("cachezoo.kernels.segments.MOST_NUMBERED", 100)
    said = "^t: more than 100 distinct pages or keys, which is what ids of 32 bits can number: .* sample the trace$"
    with pytest.raises(TraceError, match=said):
        ingest(TraceFiles([raw]), tmp_path / "o.parquet")
    assert list(tmp_path.iterdir()) == [raw]


LIMITED = """
import resource, sys
from pathlib import Path
from cachezoo.errors import CachezooError, TraceError
from cachezoo.io import FULL
from cachezoo.traces.ingest import ingest
from cachezoo.traces.read import TraceFiles
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    ingest(TraceFiles([Path(sys.argv[1])]), Path(sys.argv[2]))
except TraceError as error:
    print(error)
"""


def test_a_spill_that_cannot_be_written_leaves_nothing(tmp_path):
    raw, out = tmp_path / "t.csv", tmp_path / "deep" / "o.parquet"
    raw.write_text("".join(msr_rows(20_000, 3, shuffled=60_000)))
    done = subprocess.run([sys.executable, "-c", LIMITED, raw, out], capture_output=True, text=True, check=True)
    assert re.fullmatch(
        rf"{out.parent}/\.o\.parquet\..*\.spill/\w+: cannot be written \(File too large\); .*\n", done.stdout
    )
    assert list(out.parent.iterdir()) == []
