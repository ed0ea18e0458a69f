"""cacheMon's io-tracer."""

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from tests.trace_data import read, texts

HEADER = "timestamp,pid,command,sector,operation,size,latency_ms,tid,cpu_id,ppid,device,queue_latency_ms\n"


def row(time="2024-01-15 10:30:45.002145", command="python3", sector=8, op="write", size=4096, latency="0.145", **more):
    return f"{time},12,{command},{sector},{op},{size},{latency},13,0,1,{more.get('device', '8:0')},\n"


def made(tmp_path, *rows):
    path = tmp_path / "ds_1.csv"
    path.write_text(HEADER + "".join(rows))
    return path


def test_requests_are_made_before_they_are_completed(tmp_path):
    last = row("2024-01-16T00:00:00", '"a, b"', 16, "read", 512, "1.5", device="8:16")
    path = made(tmp_path, row(), row("2024-01-15 10:30:45.003000", "kworker/0:1", latency="1.5"), last)
    assert fits_of(Source(path)) == {"iotracer": Fit.SURE}
    trace = read(path)
    day = 48_554_997_000  # from half past ten to midnight, less what the second request took
    assert trace.time_us.tolist() == [0, 500, day]
    assert trace.latency_us.tolist() == [1500, 145, 1500]
    assert (trace.op.tolist(), trace.offset.tolist()) == ([1, 1, 0], [4096, 4096, 8192])
    assert texts(trace.volume) == ["8:0", "8:0", "8:16"]
    assert texts(trace.user) == ["kworker", "python3", "a, b"]


def test_what_moves_no_data_is_left_out_and_discards_are_kept_aside(tmp_path):
    others = [row(op=op, size=0) for op in ("flush", "zone_reset", "flush")]
    trace = read(made(tmp_path, row(), row(op="discard", sector=64, size=8192), *others))
    assert len(trace) == 1
    left = {name: count for name, count in trace.meta.extra.items() if name.startswith("left_out")}
    assert left == {"left_out.flush": "2", "left_out.discard": "1", "left_out.other": "1"}
    assert (trace.discards.offset.tolist(), trace.discards.size.tolist()) == ([64 * 512], [8192])


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (row("15/01/2024 10:30"), "row 2: timestamp is '15/01/2024 10:30', not a date"),
        (row("2024-02-30 10:30:45"), "row 2: timestamp is '2024-02-30 10:30:45', not a date"),
        (row(op="sing"), "row 2: op is 'sing'"),
        (row(sector=-1), "row 2: offset is -512"),
        (row(latency="x"), "row 2: latency_ms is 'x'"),
    ],
)
def test_bad_rows_are_named(tmp_path, bad, said):
    path = made(tmp_path, row(), bad, row())
    with pytest.raises(TraceError, match=said):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 2
