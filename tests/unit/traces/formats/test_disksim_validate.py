import gzip
import random

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces import source
from tests.trace_data import read, sample, texts

ROWS = (
    b"R Hit    2992396   4  13670.00000  35942.00000\n"
    b"W Miss         8   8    874.50000      0.25000\n"
    b"R Hit 265552 2 14901.000000 4757.708232\n"
)


def made(tmp_path, content):
    path = tmp_path / "disk.trace"
    path.write_bytes(content)
    return path


def naive(lines):
    now, rows = 0.0, []
    for line in lines:
        op, _, lba, size, service, gap = line.split()
        rows.append((round(now), op == "W", int(lba) * 512, int(size) * 512, round(float(service))))
        now += float(service) + float(gap)
    return rows


def rows_of(trace):
    numbers = (trace.time_us, trace.op, trace.offset, trace.size, trace.latency_us)
    return list(zip(*(values.tolist() for values in numbers), strict=True))


def test_a_request_arrives_its_gap_after_the_completion_of_the_one_before(tmp_path):
    trace = read(made(tmp_path, ROWS))
    assert trace.meta.source_format == "disksim_validate"
    assert trace.time_us.tolist() == [0, 13670 + 35942, 13670 + 35942 + 875]
    assert trace.latency_us.tolist() == [13670, 874, 14901]
    assert trace.op.tolist() == [0, 1, 0]
    assert (trace.offset.tolist(), trace.size.tolist()) == ([2992396 * 512, 4096, 265552 * 512], [2048, 4096, 1024])
    assert texts(trace.volume) == ["0"] * 3


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b"D Hit 8 8 1.0 1.0", "op is 'D'"),
        (b"R Hit 8 0 1.0 1.0", "size is 0"),
        (b"R Hit 8 8 nan 1.0", "service time is 'nan'"),
        (b"R Hit 8 8 1.0", "has 5 fields, not 6"),
    ],
)
def test_a_damaged_row_is_named_or_skipped(tmp_path, row, said):
    path = made(tmp_path, ROWS + row + b"\n" + ROWS)
    with pytest.raises(TraceError, match=rf"disk\.trace: row 4: {said}"):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 6


def test_the_clock_runs_on_over_blocks(tmp_path, monkeypatch):
    rng = random.Random(11)
    lines = [
        f"{rng.choice('RW')} Hit {rng.randint(0, 2**24)} {rng.randint(1, 64)} {rng.uniform(100, 3e4):.5f} "
        f"{rng.uniform(0, 5e4):.6f}"
        for _ in range(3000)
    ]
    path = made(tmp_path, "\n".join(lines).encode())
    whole = rows_of(read(path))
    monkeypatch.setattr(source.Source.lines, "__defaults__", (1000,))
    assert rows_of(read(path)) == whole == naive(lines)


@pytest.mark.needs("public_traces")
@pytest.mark.parametrize(
    ("disk", "requests", "reads", "first_us"),
    [
        ("atlas10k", 10_000, 6_569, 46_085),
        ("barracuda", 10_000, 6_511, 49_612),
        ("cheetah9LP", 10_000, 6_594, 71_436),
        ("hp_c3323a", 9_074, 6_113, 19_659),
        ("ibm18es", 10_000, 6_582, 40_319),
    ],
)
def test_samples_against_a_loop_over_lines(disk, requests, reads, first_us):
    path = sample(f"hdd/{disk}.trace.gz")
    trace = read(path)
    assert trace.meta.source_format == "disksim_validate"
    assert (len(trace), int((trace.op == 0).sum()), trace.time_us[1]) == (requests, reads, first_us)
    with gzip.open(path, "rt") as lines:
        assert rows_of(trace) == naive(lines)
