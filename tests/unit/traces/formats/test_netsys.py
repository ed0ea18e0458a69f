"""NetSys' disaggregation traces."""

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from tests.trace_data import read


def made(tmp_path, text):
    path = tmp_path / "t.txt"
    path.write_text(text)
    return path


def test_known_rows(tmp_path):
    path = made(tmp_path, "0 1505 +3765 8\n0 6333 -1012 2\n1\t6333  -0 1\n1 7000 +0 1\n")
    assert fits_of(Source(path)) == {"netsys": Fit.SURE}
    trace = read(path)
    assert (trace.time_us.tolist(), trace.op.tolist()) == ([0, 4828, 4828, 5495], [1, 0, 0, 1])
    assert trace.offset.tolist() == [3765 * 4096, 1012 * 4096, 0, 0]
    assert trace.size.tolist() == [8 * 4096, 2 * 4096, 4096, 4096]
    assert read(path, unit_bytes="512").offset[0] == 3765 * 512


def test_reads_alone_could_be_anything(tmp_path):
    assert fits_of(Source(made(tmp_path, "0 1505 -3765 8\n0 6333 -1012 2\n"))) == {}


@pytest.mark.parametrize("row", ["0 9000 44 1", "0 9000 +44", "0 9000 +x 1", "0 9000 +4 0", "0 9000 ++4 1"])
def test_bad_rows_are_named(tmp_path, row):
    path = made(tmp_path, f"0 1505 +3765 8\n{row}\n0 9001 -1 1\n0 9002 -1 1\n")
    with pytest.raises(TraceError, match="row 2: "):
        read(path, fmt="netsys")
    assert len(read(path, skip_bad_rows=1)) == 3
