from collections import Counter

import numpy as np
import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.read import OpenTrace, TraceFiles, silent
from cachezoo.traces.recognise import choose
from cachezoo.traces.source import Source
from tests.oracles.event_text import blkparse_events, naive_requests
from tests.trace_data import read, sample, texts

SHAPES = """\
  8,0    1        1     0.000000000   101  Q  RA 8 + 8 [dd]
  8,0    1        2     0.000000500   101  G  RA 8 + 8 [dd]
  8,0    1        3     0.000000600   101  P   N [dd]
  8,0    1        4     0.000000700   101  U   N [dd] 1
  8,0    1        5     0.000000800   101 UT   N [dd] 1
  8,0    1        6     0.000000900   101  A  RA 8 + 8 <- (8,1) 7
  8,0    1        7     0.000001000   101  X  RA 8 / 12 [dd]
  8,0    1        8     0.000001100   101  I  RA 8 + 8 (     600) [dd]
  8,0    1        9     0.000002000   101  D  RA 8 + 8 (    1500) [dd]
  8,0    0        0     0.000002500     0  m   N some text + 8 [x]
 8,16    1       10     1.000000000  7000  D FWFS 4096 + 16 [my [odd] prog]
  8,0    1       11     1.000001000   102  D  FW [dd]
  8,0    1       12     1.000001100   102  D   D 64 + 99999999 [dd]
  8,0    1       13     1.000001200   102  D   R 36 (12 01 00 ..) [dd]
  8,0    1       14     1.000001300   102  D   N 0 [dd]
  8,0    0        1     1.000302000     0  C  RA 8 + 8 (  300000) [0]
  8,0    0        2     1.000302001     0  C   R (12 01 00 ..) [0]
  8,0    0        3     1.000302002     0  C  FW 0 [0]
  8,0    0        4     1.000302003     0  C  WS 64 + 8 [-5]
 8,16    0        5     2.000000000     0  R FWFS 4096 + 16 [0]
 8,16    1       15     2.000100000     9  D FWFS 4096 + 16 [kworker/1:1H]
 8,16    0        6     3.000000000     0  C FWFS 4096 + 16 [0]
"""


def write(tmp_path, text, name="trace.blkparse"):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.needs("public_traces")
def test_sample():
    path = sample("fixtures/blkparse-output.txt")
    assert choose(Source(path), "auto", {}).format.id == "blkparse"
    trace = read(path)
    assert len(trace) == 673
    assert np.bincount(trace.op).tolist() == [161, 512]
    assert [int(trace.size[trace.op == op].sum()) for op in (0, 1)] == [644 * 1024, 131072 * 1024]
    assert trace.time_us[:3].tolist() == [0, 135, 242]
    assert trace.offset[:3].tolist() == [540544 * 512, 540656 * 512, 16384 * 512]
    assert trace.volume.names == ("8,33",)
    assert set(trace.user.names) == {"systemd-udevd", "fio"}
    assert Counter(texts(trace.flags)) == {"R": 161, "WS": 512}
    assert trace.latency_us.max() == -1
    assert (trace.meta.extra["event"], trace.meta.extra["left_out.other"]) == ("issue", "4")
    want = naive_requests(blkparse_events(path.read_text()))
    assert [(row[2] * 512, row[3] * 512) for row in want] == list(zip(trace.offset, trace.size, strict=True))


def test_every_shape_of_line(tmp_path):
    path = write(tmp_path, SHAPES)
    assert choose(Source(path), "auto", {}).format.id == "blkparse"
    trace = read(path)
    assert trace.time_us.tolist() == [0, 999_998]
    assert trace.latency_us.tolist() == [1_000_300, 2_000_000]
    assert trace.offset.tolist() == [4096, 2**21]
    assert trace.size.tolist() == [4096, 8192]
    assert trace.op.tolist() == [0, 1]
    assert texts(trace.volume) == ["8,0", "8,16"]
    assert texts(trace.user) == ["dd", "my [odd] prog"]
    assert texts(trace.flags) == ["RA", "FWFS"]
    assert trace.meta.extra == {
        "event": "issue",
        "matched": "2",
        "requeued": "1",
        "left_out.flush": "1",
        "left_out.discard": "1",
        "left_out.other": "2",
        "left_out.unmatched_complete": "1",
    }


def test_queued_and_completed_events_stand_in_for_issues(tmp_path):
    lines = SHAPES.splitlines(keepends=True)
    assert read(write(tmp_path, SHAPES), event="queue").latency_us.tolist() == [1_000_302]
    without_issues = "".join(line for line in lines if "  D " not in line)
    assert read(write(tmp_path, without_issues)).meta.extra["event"] == "queue"
    completions = "".join(line for line in lines if "  C " in line)
    trace = read(write(tmp_path, completions))
    assert trace.meta.extra["event"] == "complete"
    assert trace.offset.tolist() == [4096, 64 * 512, 2**21]


def test_one_device_of_several(tmp_path):
    assert read(write(tmp_path, SHAPES), device="8,16").volume.names == ("8,16",)


def test_the_summary_is_passed_over(tmp_path):
    summary = (
        "swapper (0)\n Reads Queued:  0,  0KiB\n\nCPU0 (sda):\n Reads Queued:  1,  4KiB\n\nEvents (sda): 3 entries\n"
    )
    whole = f"Input file sda.blktrace.0 added\n{SHAPES}{summary}Input file sda.blktrace.1 added\n"
    assert len(read(write(tmp_path, whole))) == 2


@pytest.mark.parametrize(
    "line",
    [
        "  8,0    1        2     0.000000500   101  D  RA 8 + [dd]",
        "  8,0    1        2     0.000000500   101  D  RA 8 + 8 [dd",
        "  8,0    1        2     0.0000",
        "  8,0    0        4     1.000302003     0  C  WS 64 + 8 [none]",
        "  8,0    1        2     0.000000500   101  ?  RA 8 + 8 [dd]",
        "torn apart",
    ],
)
def test_a_damaged_line_is_named_and_skipped(tmp_path, line):
    path = write(tmp_path, SHAPES.replace("\n", f"\n{line}\n", 1))
    with pytest.raises(TraceError, match=r"trace\.blkparse: row 2: is no event of blkparse"):
        read(path)
    trace = read(path, skip_bad_rows=1)
    assert len(trace) == 2
    assert trace.meta.extra["skipped_rows"] == "1"


def test_damage_within_the_summary_is_still_named(tmp_path):
    path = write(tmp_path, SHAPES + "CPU0 (sda):\n  8,0    1        2     0.0000\n")
    with pytest.raises(TraceError, match="row 24: is no event of blkparse"):
        read(path)


def test_a_request_too_large_is_a_bad_row(tmp_path):
    with pytest.raises(TraceError, match=r"row 1: size is \d+; a request has at most"):
        read(write(tmp_path, SHAPES.replace("8 + 8 ", "8 + 99999999 ").replace(" Q ", " D ")))


def random_text(seed, n):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 10**10, n))
    lines = []
    for time_ns in times.tolist():
        action = "DDDCCCRQ"[rng.integers(8)]
        rwbs = ["R", "WS", "FWFS", "RAM", "D"][rng.integers(5)]
        tail = "prog" if action in "DQ" else "0"
        sector, sectors, minor = 8 * rng.integers(n // 10), 8 * rng.integers(1, 4), rng.integers(2)
        lines.append(
            f"  8,{minor:<3d} 1 1 {time_ns // 10**9:5d}.{time_ns % 10**9:09d} 7  {action} {rwbs:>3s} "
            f"{sector} + {sectors} [{tail}]\n"
        )
    return "".join(lines)


def test_random_text_equals_the_naive_reader(tmp_path, monkeypatch):
    text = random_text(4, 3000)
    monkeypatch.setattr(Source.lines, "__defaults__", (1000,))
    (chunk,) = OpenTrace(TraceFiles([write(tmp_path, text)]), silent).chunks()
    volume, flags = texts(chunk.coded["volume"]), texts(chunk.coded["flags"])
    columns = (chunk.time_us, volume, chunk.offset // 512, chunk.size // 512, chunk.latency_us, flags)
    assert list(zip(*columns, strict=True)) == naive_requests(blkparse_events(text))


@pytest.mark.parametrize("block", [80, 4 << 20])
def test_a_broken_line_after_the_summary_of_an_earlier_run_is_a_bad_row(tmp_path, monkeypatch, block):
    monkeypatch.setattr(Source.lines, "__defaults__", (block,))
    event = "8,0 1 {} {}.000000000 10 D W {} + 8 [w]\n"
    summary = (
        "CPU0 (8,0):\n Reads Queued:           0,        0KiB\t Writes Queued:           2\n\nEvents (8,0): 4 entries\n"
    )
    runs = [event.format(k, k, 8 * k) for k in range(1, 6)]
    path = write(tmp_path, "".join([*runs[:2], summary, *runs[2:4], "x" + runs[4], summary, "Skips: 0\n"]))
    with pytest.raises(TraceError, match=r"row 8: is no event of blkparse \('x8,0 1 5"):
        read(path, fmt="blkparse")
    assert len(read(path, fmt="blkparse", skip_bad_rows=1)) == 4
