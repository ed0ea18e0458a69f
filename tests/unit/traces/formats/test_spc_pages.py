import pytest

from cachezoo.errors import TraceError
from tests.trace_data import read, sample, texts

ROWS = b"0\t0\t0\t3\tWrite\t303552\t32\t1\n1\t26214999\t0\t11\tRead\t16\t16\t1\n"


def made(tmp_path, content):
    path = tmp_path / "t.disksim"
    path.write_bytes(content)
    return path


def test_known_rows(tmp_path):
    trace = read(made(tmp_path, ROWS))
    assert trace.meta.source_format == "spc_pages"
    assert trace.time_us.tolist() == [0, 26214]
    assert trace.op.tolist() == [1, 0]
    assert (trace.offset.tolist(), trace.size.tolist()) == ([303552 * 512, 8192], [16384, 8192])
    assert texts(trace.volume) == ["3", "11"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b"2\t1\t0\t0\tTrim\t0\t16\t1", "op is 'Trim'"),
        (b"2\t1\t0\t0\tRead\t0\t0\t1", "size is 0"),
        (b"2\t1.5\t0\t0\tRead\t0\t16\t1", "time is '1.5', not a whole number"),
        (b"2\t1\t0\t0\tRead\t0\t16", "has 7 fields, not 8"),
    ],
)
def test_a_damaged_row_is_named_or_skipped(tmp_path, row, said):
    path = made(tmp_path, ROWS + row + b"\n")
    with pytest.raises(TraceError, match=rf"t\.disksim: row 3: {said}"):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 2


@pytest.mark.needs("public_traces")
def test_the_sample_against_a_loop_over_lines():
    path = sample("fixtures/umass_fin1_100rows.disksim")
    trace = read(path)
    assert (trace.meta.source_format, len(trace)) == ("spc_pages", 100)
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert trace.time_us.tolist() == [int(row[1]) // 1000 for row in rows]
    assert texts(trace.volume) == [row[3] for row in rows]
    assert trace.op.tolist() == [row[4] == "Write" for row in rows]
    assert trace.offset.tolist() == [int(row[5]) * 512 for row in rows]
    assert trace.size.tolist() == [int(row[6]) * 512 for row in rows]
    assert not any(trace.offset % 8192) and not any(trace.size % 8192)
