from pathlib import Path

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.read import OpenTrace, TraceFiles, silent
from cachezoo.traces.recognise import choose
from cachezoo.traces.source import Source
from tests.oracles.event_text import naive_requests, tracefs_events
from tests.trace_data import read, texts

RECORDED = Path(__file__).parents[3] / "tools/capture/block_events.txt"
ISSUE = "              dd-9     [001] ..... 10.000005: block_rq_issue: 8,0 RA 4096 () 8 + 8 be,0,4 [dd]\n"
COMPLETE = "          <idle>-0     [000] ..s.. 10.000105: block_rq_complete: 8,0 RA () 8 + 8 be,0,4 [0]\n"
DIALECTS = {
    "with priority": ISSUE + COMPLETE,
    "without priority": (
        "  a b-c-12-345   [000] d..1 1.000001: block_rq_issue: 8,0 RA 4096 () 8 + 8 [dd]\n"
        "          <idle>-0     [000] ..s. 1.000101: block_rq_complete: 8,0 RA () 8 + 8 [0]\n"
    ),
    "old, with commands and groups": (
        "  dd-12   (  345) [000] d..1 1.000001: block_rq_issue: 8,0 RA 0 () 8 + 8 [dd]\n"
        "  dd-12   (-----) [000] d..1 1.000002: block_rq_issue: 8,0 R 36 (12 00 00 00 24 00) 0 + 0 [dd]\n"
        "  <idle>-0 (-----) [000] ..s. 1.000101: block_rq_complete: 8,0 RA () 8 + 8 [0]\n"
    ),
    "trace-cmd": (
        "cpus=2\n"
        "              dd-1234  [001]   100.123456: block_rq_issue:       8,0 RA 4096 () 8 + 8 [dd]\n"
        "          <idle>-0     [000]   100.123556: block_rq_complete:    8,0 RA () 8 + 8 [0]\n"
    ),
    "trace-cmd in nanoseconds": (
        "              dd-1234  [001]   100.123456000: block_rq_issue:       8,0 RA 4096 () 8 + 8 [dd]\n"
        "          <idle>-0     [000]   100.123556999: block_rq_complete:    8,0 RA () 8 + 8 [0]\n"
    ),
    "perf": (
        "dd  1234 [001]   100.123456:    block:block_rq_issue: 8,0 RA 4096 () 8 + 8 be,0,4 [dd]\n"
        "swapper     0 [000]   100.123556: block:block_rq_complete: 8,0 RA () 8 + 8 be,0,4 [0]\n"
    ),
    "of a device without requests": (
        "  dd-12   [000] ..... 1.000001: block_bio_queue: 8,0 RA 8 + 8 [dd]\n"
        "  kworker/0:1-12   [000] ..... 1.000101: block_bio_complete: 8,0 RA 8 + 8 [0]\n"
    ),
    "with other events": (
        "  dd-12   [000] ..... 1.000000: sched_switch: prev_comm=dd prev_pid=1 ==> next_comm=swapper\n"
        "  dd-12   [000] ..... 1.000001: block_rq_insert: 8,0 RA 4096 () 8 + 8 [dd]\n"
        "  dd-12   [000] ..... 1.000001: block_bio_remap: 8,0 RA 8 + 8 <- (8,1) 7\n"
        "  dd-12   [000] ..... 1.000002: block_plug: [dd]\n" + ISSUE + COMPLETE
    ),
    "with a header": "# tracer: nop\n#\n#  entries-in-buffer/entries-written: 2/2\n\n" + ISSUE + COMPLETE,
}


def write(tmp_path, text):
    path = tmp_path / "trace.txt"
    path.write_text(text)
    return path


def test_recorded_text():
    assert choose(Source(RECORDED), "auto", {}).format.id == "tracefs"
    trace = read(RECORDED)
    want = naive_requests(tracefs_events(RECORDED.read_text()))
    times = [row[0] - want[0][0] for row in want]
    columns = (trace.time_us, texts(trace.volume), trace.offset // 512, trace.size // 512, trace.latency_us)
    assert list(zip(*columns, texts(trace.flags), strict=True)) == [
        (time, *row[1:]) for time, row in zip(times, want, strict=True)
    ]
    assert set(trace.user.names) >= {"dd", "kworker", "jbd2"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects(tmp_path, dialect):
    path = write(tmp_path, DIALECTS[dialect])
    assert dialect == "with other events" or choose(Source(path), "auto", {}).format.id == "tracefs"
    trace = read(path, fmt="tracefs")
    assert trace.latency_us.tolist() == [100]
    assert (trace.offset.tolist(), trace.size.tolist(), trace.op.tolist()) == ([4096], [4096], [0])
    assert (trace.volume.names, trace.user.names, trace.flags.names) == (("8,0",), ("dd",), ("RA",))
    assert trace.meta.extra["event"] == ("queue" if "without requests" in dialect else "issue")
    assert trace.meta.extra.get("left_out.other") == ("1" if "commands" in dialect else None)


def test_flushes_without_an_address(tmp_path):
    flush = "  x-1 [000] ..... 10.000006: block_rq_issue: 8,0 FF 0 () 0 + 0 none,0,0 [x]\n"
    ended = "  x-1 [000] ..... 10.000007: block_rq_complete: 8,0 FF () 18446744073709551615 + 0 none,0,0 [0]\n"
    trace = read(write(tmp_path, ISSUE + flush + ended + COMPLETE))
    assert trace.meta.extra["left_out.flush"] == "1"
    assert trace.latency_us.tolist() == [100]


def test_requests_of_one_address_on_two_devices(tmp_path):
    other = (ISSUE + COMPLETE).replace("8,0 ", "259,1 ").replace("10.000005", "10.000007").replace("000105", "000009")
    path = write(tmp_path, ISSUE + COMPLETE + other)
    trace = read(path)
    assert (texts(trace.volume), trace.latency_us.tolist()) == (["8,0", "259,1"], [100, 2])
    assert read(path, device="259,1").latency_us.tolist() == [2]


def test_lost_events_are_counted(tmp_path):
    trace = read(write(tmp_path, ISSUE + "CPU:1 [LOST 12 EVENTS]\n" + COMPLETE + "CPU:0 [3 EVENTS DROPPED]\n"))
    assert trace.meta.extra["left_out.lost_events"] == "15"


@pytest.mark.parametrize(
    "line",
    [
        ISSUE[:-20] + "\n",
        ISSUE.replace("8,0", "8.0"),
        ISSUE.replace("8 + 8", "8 +"),
        ISSUE.replace("10.000005", "10"),
        COMPLETE.replace("[0]", "[]"),
        "torn apart\n",
    ],
)
def test_a_damaged_line_is_named_and_skipped(tmp_path, line):
    path = write(tmp_path, "# a comment\n" + ISSUE + "\n" + line + COMPLETE)
    with pytest.raises(TraceError, match=r"trace\.txt: row 2: is no event of the kernel \('.*'\); fix"):
        read(path)
    (chunk,) = OpenTrace(TraceFiles([path], skip_bad_rows=1), silent).chunks()
    assert chunk.latency_us.tolist() == [100]


def test_a_trace_of_no_request_events_is_refused(tmp_path):
    with pytest.raises(TraceError, match=r"has no issue, queue or complete events: trace those"):
        read(write(tmp_path, ISSUE.replace("block_rq_issue", "block_rq_insert")))
