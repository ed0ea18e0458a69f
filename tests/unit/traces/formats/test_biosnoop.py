"""bcc's biosnoop."""

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from tests.trace_data import read, texts

HEADER = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)\n"
ROWS = (
    "0.000906    jbd2/vda1-8    2784813 vda       R 24805960   16384      0.40\n"
    "0.003804    fio worker 3   27      vdb       W 8          4096       1.21\n"
)


def made(tmp_path, text):
    path = tmp_path / "t.txt"
    path.write_text(text)
    return path


def test_requests_are_made_before_they_are_completed(tmp_path):
    path = made(tmp_path, HEADER + ROWS)
    assert fits_of(Source(path)) == {"biosnoop": Fit.SURE}
    trace = read(path)
    assert (trace.time_us.tolist(), trace.latency_us.tolist()) == ([0, 2088], [400, 1210])
    assert (trace.op.tolist(), trace.size.tolist()) == ([0, 1], [16384, 4096])
    assert trace.offset.tolist() == [24805960 * 512, 4096]
    assert (texts(trace.volume), texts(trace.user)) == (["vda", "vdb"], ["jbd2", "fio worker 3"])


def test_without_names_it_is_likely(tmp_path):
    path = made(tmp_path, ROWS)
    assert fits_of(Source(path)) == {"biosnoop": Fit.LIKELY}
    assert len(read(path)) == 2


def test_queue_times_patterns_and_letters(tmp_path):
    text = (
        "Tracing block device I/O... Hit Ctrl-C to end.\n" + HEADER.replace("LAT(ms)", "QUE(ms) LAT(ms)") + "\n"
        "0.1 dd 1 vda RA 8 4096 0.05 0.10\n"
        "0.2 dd 1 vda WSM 8 4096 S 0.05 0.20\n"
        "0.3 dd 1 vda FF 18446744073709551615 0 0.05 0.30\n"
        "0.4 dd 1 vda D 64 8192 0.05 0.30\n"
        "0.5 dd 1 vda N 0 512 0.05 0.30\n"
    )
    trace = read(made(tmp_path, text))
    assert (trace.op.tolist(), texts(trace.flags), trace.latency_us.tolist()) == ([0, 1], ["RA", "WSM"], [100, 200])
    left = {name: count for name, count in trace.meta.extra.items() if name.startswith("left_out")}
    assert left == {"left_out.flush": "1", "left_out.discard": "1", "left_out.other": "1"}
    assert (trace.discards.offset.tolist(), trace.discards.size.tolist()) == ([64 * 512], [8192])


@pytest.mark.parametrize(
    "row", ["0.5 dd 1 vda R 8 4096", "dd 1 vda R 8 4096 0.1", "0.5 dd 1 vda R x 4096 0.1", "0.5 dd 1 vda R -8 4096"]
)
def test_bad_rows_are_named(tmp_path, row):
    path = made(tmp_path, HEADER + ROWS + row + "\n")
    with pytest.raises(TraceError, match="row 3: is no request of biosnoop"):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 2
