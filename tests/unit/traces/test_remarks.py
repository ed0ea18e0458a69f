"""What a reader left out, sorted, inferred or joined is a line each, with its count."""

import json

import pytest

from cachezoo.traces.formats import FORMATS
from cachezoo.traces.formats.identified import IdOptions
from cachezoo.traces.ingest import describe_files, ingest
from cachezoo.traces.read import TraceFiles
from cachezoo.traces.remarks import is_remarked, remarks_of
from cachezoo.traces.store import read_meta
from tests.fuzz.seeds import trace_seeds

NOT_SAID = {"fio_version", "vscsi_version", "machine"}


def test_a_file_that_needs_all_of_it(tmp_path):
    path = tmp_path / "t.csv"
    rows = ["5,R,8,8", "9,W,16,8", "7,R,24,8", "what", "8,flush,0,0", "9,flush,0,0", "9,trim,0,0", "10,R,8,8"]
    path.write_text("\n".join(["at,op,lba,n", *rows]) + "\n")
    options = {"time": "at:ms", "offset": "lba:512", "size": "n:512", "op": "op"}
    figures = ingest(TraceFiles([path], "columns", options=options, skip_bad_rows=1), tmp_path / "o.parquet")
    assert figures["remarks"] == [
        "columns: time=#1:ms,offset=#3:512,size=#4:512,op=#2",
        "inferred: one volume, as the file names none",
        "skipped: 1 bad row",
        "sorted by time: 1 row earlier than the row before",
        "left out: 2 (flushes, which move no data)",
        "left out: 1 (trims, which move no data)",
    ]
    assert describe_files(TraceFiles([tmp_path / "o.parquet"]))["remarks"] == figures["remarks"]
    assert all(is_remarked(key) for key in read_meta(tmp_path / "o.parquet").extra)


def test_joined_events_are_counted(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(trace_seeds("blkparse")[0])
    figures = describe_files(TraceFiles([path]))
    assert "joined: a request is made where an event says issue" in figures["remarks"]
    assert f"joined: {figures['requests']} requests with a completion" in figures["remarks"]
    assert "left out: 1 (flushes, which move no data)" in figures["remarks"]


def test_every_note_of_every_reader_is_a_line(tmp_path):
    path = tmp_path / "t"
    for fmt in FORMATS:
        if fmt in ("columns", "binary_ids"):  # what they are has to be said
            continue
        for data in trace_seeds(fmt):
            path.write_bytes(data)
            extra = describe_files(TraceFiles([path], fmt, skip_bad_rows=9))
            said = describe_files(TraceFiles([path], fmt, skip_bad_rows=9))
            # A figure is also how many requests of objects have each of a source's own words.
            figures = {key for key in said if not (is_remarked(key) or key.startswith("flags "))}
            assert figures - NOT_SAID <= PLAIN, (fmt, figures - PLAIN)
            assert extra["remarks"] == remarks_of({key: str(value) for key, value in extra.items()})


@pytest.mark.parametrize(
    ("options", "said"), [({}, "an address in units of 512 bytes"), ({"ids": "object"}, "an object's key")]
)
def test_what_an_id_is(options, said):
    assert remarks_of({"ids": IdOptions(**options).said()}) == [f"inferred: an id is {said}"]


def test_what_a_capture_counted_is_said():
    events = {"flush": 1180, "discard": 0, "requeued": 2}
    assert remarks_of({"events": json.dumps(events)}) == ["left out: 1,180 (flushes, which move no data)"]


PLAIN = {
    *("trace_id", "category", "source_format", "source_sha256", "licence", "requests", "reads", "writes", "read_share"),
    *("bytes_read", "bytes_written", "mean_size_bytes", "page_accesses", "distinct_pages", "working_set_bytes"),
    *("volumes", "span_s", "requests_per_s", "median_latency_us", "remarks", "warnings"),
    *("rows", "objects", "deletes", "object_bytes", "one_hit_share", "rows_of_unknown_size", "rows_with_ttl"),
}
