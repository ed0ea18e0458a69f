import csv
import gzip
from decimal import Decimal

import pytest

from cachezoo.errors import TraceError
from tests.trace_data import read, sample, texts

SAMPLE = "fixtures/systor17-traces-sample.csv.gz"
HEADER = "Timestamp,Response,IOType,LUN,Offset,Size\n"


@pytest.mark.needs("public_traces")
def test_the_sample_equals_a_loop_over_its_lines_sorted_by_time() -> None:
    trace = read(sample(SAMPLE))
    with gzip.open(sample(SAMPLE), "rt", newline="") as file:
        lines = sorted(csv.DictReader(file), key=lambda row: Decimal(row["Timestamp"]))
    first = Decimal(lines[0]["Timestamp"])
    times = [float((Decimal(row["Timestamp"]) - first) * 1_000_000) for row in lines]
    assert (trace.meta.source_format, len(trace)) == ("systor", 999)
    assert trace.meta.extra["out_of_order_rows"] == "243"
    assert trace.time_us.tolist() == pytest.approx(times, abs=1)
    assert trace.offset.tolist() == [int(row["Offset"]) for row in lines]
    assert trace.size.tolist() == [int(row["Size"]) for row in lines]
    assert trace.op.tolist() == ["RW".index(row["IOType"]) for row in lines]
    assert trace.latency_us is not None
    assert trace.latency_us.tolist() == pytest.approx([float(row["Response"]) * 1e6 for row in lines], abs=1)
    assert set(texts(trace.volume)) == {"0"}


def test_missing_responses_are_unknown_and_missing_ops_bad(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(HEADER + "1456095145.5,,R,3,0,512\n1456095145.25,0.001,W,4,512,512\n1456095146.0,0.1,,4,0,512\n")
    with pytest.raises(TraceError, match=r"row 3: op is ''"):
        read(path)
    trace = read(path, skip_bad_rows=1)
    assert trace.time_us.tolist() == [0, 250_000]
    assert trace.latency_us is not None and trace.latency_us.tolist() == [1000, -1]
    assert texts(trace.volume) == ["4", "3"]
    path.write_text("1456095145.5,0.1,R,3,0,512\n")
    assert read(path).meta.source_format == "systor"


@pytest.mark.parametrize(
    ("header", "said"), [("", "needs 6 columns between commas, row 1 has 5"), (HEADER, "row 1: has 5 fields, not 6")]
)
def test_rows_without_the_response_field_are_refused(tmp_path, header, said) -> None:
    path = tmp_path / "t.csv"
    path.write_text(header + "1456095145.5,R,3,0,512\n" * 3)
    with pytest.raises(TraceError, match=said):
        read(path, fmt="systor")
