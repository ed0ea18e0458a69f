"""K5 cloud."""

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from tests.trace_data import read, texts

ROWS = "17,1500000000001505,W,15421440,32768\n3,1500000000006333,R,4096,512\n"


def made(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return path


def test_known_rows(tmp_path):
    path = made(tmp_path, ROWS)
    assert fits_of(Source(path)) == {"k5": Fit.SURE}
    trace = read(path)
    assert (trace.time_us.tolist(), trace.op.tolist()) == ([0, 4828], [1, 0])
    assert (trace.offset.tolist(), trace.size.tolist()) == ([15421440, 4096], [32768, 512])
    assert texts(trace.volume) == ["17", "3"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1,1500000000006333,X,0,512", "row 3: op is 'X'"),
        ("1,1500000000006333,R,0", "row 3: has 4 fields, not 5"),
        ("1,1500000000006333,R,0,0", "row 3: size is 0"),
        ("1,soon,R,0,512", "row 3: time is 'soon'"),
    ],
)
def test_bad_rows_are_named(tmp_path, row, said):
    path = made(tmp_path, ROWS + row + "\n")
    with pytest.raises(TraceError, match=said):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 2
