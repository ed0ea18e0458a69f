import csv

import pytest

from cachezoo.errors import TraceError
from tests.trace_data import read, sample, texts

SAMPLE = "fixtures/msr-cambridge1-sample.csv"


@pytest.mark.needs("public_traces")
def test_the_sample_equals_a_loop_over_its_lines() -> None:
    trace = read(sample(SAMPLE))
    with sample(SAMPLE).open(newline="") as file:
        lines = list(csv.reader(file))
    first = int(lines[0][0]) // 10
    assert (trace.meta.source_format, len(trace)) == ("msr", 1000)
    assert trace.time_us.tolist() == [int(row[0]) // 10 - first for row in lines]
    assert trace.op.tolist() == [("Read", "Write").index(row[3]) for row in lines]
    assert trace.offset.tolist() == [int(row[4]) for row in lines]
    assert trace.size.tolist() == [int(row[5]) for row in lines]
    assert trace.latency_us is not None
    assert trace.latency_us.tolist() == [int(row[6]) // 10 for row in lines]
    assert set(texts(trace.volume)) == {"hm.0"} and set(texts(trace.host)) == {"hm"}
    assert (int(trace.size[trace.op == 0].sum()), int(trace.size[trace.op == 1].sum())) == (6_108_672, 3_580_928)


def test_hosts_disks_and_a_header(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n"
        "128166372003061629,usr,0,Read,7014609920,24576,41286\n"
        "128166372013061629,src1,1,Write,4096,512,-10\n"
        "128166372013061630,usr,1,read,0,4096,5\n"
    )
    trace = read(path)
    assert trace.time_us.tolist() == [0, 1_000_000, 1_000_001]
    assert texts(trace.volume) == ["usr.0", "src1.1", "usr.1"]
    assert texts(trace.host) == ["usr", "src1", "usr"]
    assert trace.latency_us is not None and trace.latency_us.tolist() == [4128, -1, 0]


def test_a_bad_row_hides_neither_the_format_nor_itself(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("128166372003061629,usr,0,Read,0,4096,1\n" * 3 + "128166372003061629,usr,0,Read,-8,4096,1\n")
    with pytest.raises(TraceError, match=r"t\.csv: row 4: offset is -8"):
        read(path)
    trace = read(path, skip_bad_rows=1)
    assert (len(trace), trace.meta.extra["skipped_rows"]) == (3, "1")
