import bz2

import pytest

from cachezoo.errors import TraceError
from tests.trace_data import read, sample, texts

SAMPLE = "fixtures/tencent_cbs.bz2"


@pytest.mark.needs("public_traces")
def test_the_sample_equals_a_loop_over_its_lines_sorted_by_time() -> None:
    trace = read(sample(SAMPLE))
    with bz2.open(sample(SAMPLE), "rt") as file:
        lines = sorted(([*map(int, line.split(","))] for line in file), key=lambda row: row[0])
    assert (trace.meta.source_format, len(trace)) == ("tencent", 50_000)
    assert trace.meta.extra == {"out_of_order_rows": "144", "unit_bytes": "512"}
    assert trace.time_us.tolist() == [(row[0] - lines[0][0]) * 1_000_000 for row in lines]
    assert trace.offset.tolist() == [row[1] * 512 for row in lines]
    assert trace.size.tolist() == [row[2] * 512 for row in lines]
    assert trace.op.tolist() == [row[3] for row in lines]
    assert texts(trace.volume) == [str(row[4]) for row in lines]


def test_units_and_bad_ops(tmp_path) -> None:
    path = tmp_path / "t"
    path.write_text("1538323200,8,16,1,7\n1538323201,8,16,0,7\n1538323201,8,16,3,7\n")
    with pytest.raises(TraceError, match="row 3: op is 3; use read or write"):
        read(path)
    assert read(path, skip_bad_rows=1).offset.tolist() == [4096, 4096]
    trace = read(path, skip_bad_rows=1, unit_bytes="1")
    assert (trace.offset.tolist(), trace.size.tolist()) == ([8, 8], [16, 16])
    with pytest.raises(
        TraceError, match="format tencent: option unit_bytes: Input should be greater than or equal to 1"
    ):
        read(path, unit_bytes="0")
