"""Camelab."""

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from tests.trace_data import read


def made(tmp_path, text):
    path = tmp_path / "t.trace"
    path.write_text(text)
    return path


def test_known_rows(tmp_path):
    path = made(tmp_path, "0.001505 w 30120 64 0.003642\n0.006334 r 8096 64 0.005058\n0.010271 R 1 1 0\n")
    assert fits_of(Source(path)) == {"camelab": Fit.LIKELY}
    trace = read(path)
    assert (trace.time_us.tolist(), trace.op.tolist()) == ([0, 4829, 8766], [1, 0, 0])
    assert trace.offset.tolist() == [30120 * 512, 8096 * 512, 512]
    assert (trace.size.tolist(), trace.latency_us.tolist()) == ([32768, 32768, 512], [3642, 5058, 0])


@pytest.mark.parametrize(
    ("row", "said"), [("0.5 x 1 1 0.1", "row 2: op is 'x'"), ("0.5 r 1 0 0.1", "size is 0"), ("0.5 r 1 1", "4 fields")]
)
def test_bad_rows_are_named(tmp_path, row, said):
    path = made(tmp_path, f"0.001505 w 30120 64 0.003642\n{row}\n0.1 w 1 1 0.1\n")
    with pytest.raises(TraceError, match=said):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 2
