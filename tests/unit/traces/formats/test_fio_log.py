"""fio's logs of latencies."""

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from tests.trace_data import read

ROWS = "5, 3642066, 1, 32768, 15421440, 0x0000\n6, 5057567, 0, 4096, 8192, 0x0000\n"


def made(tmp_path, text, name="job_lat.1.log"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_requests_are_made_before_they_are_completed(tmp_path):
    path = made(tmp_path, ROWS)
    assert fits_of(Source(path)) == {"fio_log": Fit.SURE}
    trace = read(path)
    # 5 ms - 3,642 us and 6 ms - 5,057 us
    assert (trace.time_us.tolist(), trace.op.tolist()) == ([0, 415], [0, 1])
    assert (trace.offset.tolist(), trace.size.tolist()) == ([8192, 15421440], [4096, 32768])
    assert trace.latency_us.tolist() == [5057, 3642]


def test_a_log_of_bandwidths_has_no_latencies(tmp_path):
    trace = read(made(tmp_path, ROWS, "job_bw.1.log"))
    assert (trace.time_us.tolist(), trace.latency_us.tolist()) == ([0, 1000], [-1, -1])


def test_older_and_newer_logs(tmp_path):
    older = "1, 1000, 0, 4096, 8192\n2, 1000, 1, 4096, 0\n"
    path = made(tmp_path, older)
    assert fits_of(Source(path)) == {"fio_log": Fit.LIKELY}
    assert read(path).offset.tolist() == [8192, 0]
    path = made(tmp_path, "1, 1000, 0, 4096, 8192, 0x2001, 77\n2, 1000, 1, 4096, 0, 0x2001, 78\n")
    assert read(path).offset.tolist() == [8192, 0]


def test_trims_and_syncs_are_left_out(tmp_path):
    trace = read(made(tmp_path, ROWS + "7, 10, 2, 65536, 131072, 0x0000\n8, 10, 3, 0, 0, 0x0000\n"))
    assert (trace.meta.extra["left_out.trim"], trace.meta.extra["left_out.sync"]) == ("1", "1")
    assert trace.discards.size.tolist() == [65536]


def test_a_log_without_offsets_is_refused(tmp_path):
    text = "1, 1000, 0, 4096, 0\n2, 1000, 1, 4096, 1\n"
    assert fits_of(Source(made(tmp_path, text))) == {}


@pytest.mark.parametrize("row", ["7, 10, 5, 4096, 0, 0x0000", "7, x, 1, 4096, 0, 0x0000", "7, 1, 1, 0, 0, 0x0000"])
def test_bad_rows_are_named(tmp_path, row):
    path = made(tmp_path, ROWS + row + "\n")
    with pytest.raises(TraceError, match="row 3: "):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 2
