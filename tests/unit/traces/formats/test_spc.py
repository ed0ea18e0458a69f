import random

import pytest

from cachezoo.errors import TraceError
from tests.trace_data import read, texts

# Rows of UMass Financial1, as published.
ROWS = b"0,303567,3584,w,0.000000\n1,55590,3072,w,0.000000\n0,303574,3584,w,0.026214\n1,55596,3072,r,0.078643\n"


def made(tmp_path, content):
    path = tmp_path / "t.spc"
    path.write_bytes(content)
    return path


def test_known_rows(tmp_path):
    trace = read(made(tmp_path, ROWS))
    assert trace.meta.source_format == "spc"
    assert trace.time_us.tolist() == [0, 0, 26214, 78643]
    assert trace.op.tolist() == [1, 1, 1, 0]
    assert trace.offset.tolist() == [303567 * 512, 55590 * 512, 303574 * 512, 55596 * 512]
    assert trace.size.tolist() == [3584, 3072, 3584, 3072]
    assert texts(trace.volume) == ["0", "1", "0", "1"]
    assert trace.latency_us is None
    # The block is 512 bytes: the first request ends where the third begins.
    assert trace.offset[0] + trace.size[0] == trace.offset[2]


def test_blanks_capitals_further_fields_and_line_ends(tmp_path):
    content = b" 0, 1, 512, R, 1.5 \r\n2,3,700,W,1.500001,any,thing\r\n 10 ,5,1,r,2,x\n"
    trace = read(made(tmp_path, content))
    assert trace.time_us.tolist() == [0, 1, 500_000]
    assert trace.op.tolist() == [0, 1, 0]
    assert (trace.offset.tolist(), trace.size.tolist()) == ([512, 1536, 2560], [512, 700, 1])
    assert texts(trace.volume) == ["0", "2", "10"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b"0,1,0,r,1.0", "size is 0"),
        (b"0,1,512,x,1.0", "op is 'x'"),
        (b"0,1,512,r,soon", "Timestamp is 'soon'"),
        (b"0,-1,512,r,1.0", "offset is -512"),
        (b"0,1,512", "has 3 fields, not 5"),
        (b"0,9223372036854775807,512,r,1.0", "offset is .* overflows"),
    ],
)
def test_a_damaged_row_is_named_or_skipped(tmp_path, row, said):
    path = made(tmp_path, ROWS + row + b"\n" + ROWS)
    with pytest.raises(TraceError, match=rf"t\.spc: row 5: {said}"):
        read(path)
    trace = read(path, skip_bad_rows=1)
    assert (len(trace), trace.meta.extra["skipped_rows"]) == (8, "1")


def test_random_rows_against_a_loop_over_lines(tmp_path):
    rng = random.Random(3)
    lines = []
    for _ in range(2000):
        more = rng.choice(("", ",", ",x,y"))
        size, time = rng.randint(1, 1 << 20), rng.randint(0, 10**9)
        lines.append(f"{rng.randint(0, 23)},{rng.randint(0, 2**40)},{size},{rng.choice('rRwW')},{time / 1e6:.6f}{more}")
    trace = read(made(tmp_path, "\n".join(lines).encode()), fmt="spc")
    want = []
    for line in lines:
        asu, lba, size, op, time = line.split(",")[:5]
        want.append((round(float(time) * 1e6), op.lower() == "w", int(lba) * 512, int(size), asu))
    want.sort(key=lambda row: row[0])
    start = want[0][0]
    numbers = (trace.time_us.tolist(), trace.op.tolist(), trace.offset.tolist(), trace.size.tolist())
    assert list(zip(*numbers, texts(trace.volume), strict=True)) == [(time - start, *rest) for time, *rest in want]
