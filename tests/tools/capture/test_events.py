from pathlib import Path

import numpy as np
import pytest

from cachezoo.errors import CaptureError
from cachezoo.kernels.match import COMPLETE, ISSUE, REQUEUE
from cachezoo.traces.events import match_requests, process_name
from tests.trace_data import texts
from tools.capture.events import parse_events

RECORDED = Path(__file__).with_name("block_events.txt")
DEVICE = 7 << 20 | 1
LINE = "  dd-9 [001] ..... 10.000005: block_rq_issue: 7,1 R 4096 () 8 + 8 be,0,4 [dd]"


def parse(lines, device=DEVICE):
    return parse_events(["".join(f"{line}\n" for line in lines).encode()], [device])


def recorded():
    return parse_events([RECORDED.read_bytes()], [DEVICE])


def test_recorded_text_of_linux_6_18():
    events = recorded()
    lines = [line for line in RECORDED.read_text().splitlines() if not line.startswith("#")]
    assert len(events) == len(lines)
    assert (events.kind == ISSUE).sum() == sum("rq_issue" in line for line in lines)
    assert (events.kind == COMPLETE).sum() == sum("rq_complete" in line for line in lines)
    assert (np.diff(events.time_ns) >= 0).all()
    rwbs, comm = texts(events.rwbs), texts(events.comm)
    assert (events.time_ns[0], events.sector[0], events.sectors[0], rwbs[0], comm[0]) == (
        21130209895000,
        15944,
        2,
        "RM",
        "dd",
    )
    assert {"FF", "RAM", "WS", "WSM"} <= set(rwbs)
    assert set(comm) >= {"dd", "kworker", "jbd2", "umount"}
    flushes = np.array([name == "FF" for name in rwbs])
    assert (events.sector[flushes] == 0).all()


def test_recorded_text_joined():
    requests = match_requests(recorded())
    assert requests.counts["flush"] > 0
    assert requests.counts["unmatched_complete"] == 0
    assert requests.size.min() >= 512
    written = requests.offset[(requests.size == 163840) & (requests.op == 1)]
    assert written.tolist() == [32770 * 512]
    assert requests.latency_us[(requests.size == 163840) & (requests.op == 1)].tolist() == [181]


def test_text_of_older_kernels_without_priority_and_with_another_device():
    lines = [
        "  a b-12-345 [000] d..1 1.000001: block_rq_issue: 8,0 WS 4096 () 16 + 8 [a b-12]",
        "  <idle>-0 [000] 1.000009: block_rq_complete: 8,0 WS () 16 + 8 [-5]",
        "  <idle>-0 [000] ..s. 1.000010: block_rq_requeue: 8,0 WS () 16 + 8 [0]",
        LINE,
    ]
    events = parse(lines, 8 << 20)
    assert events.kind.tolist() == [ISSUE, COMPLETE, REQUEUE]
    assert events.error.tolist() == [0, -5, 0]
    assert texts(events.comm) == ["a b-12", "", ""]


def test_events_are_put_in_order_of_time():
    late = LINE.replace("10.000005", "10.000004")
    assert parse([LINE, late]).time_ns.tolist() == [10000004000, 10000005000]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("CPU:1 [LOST 12 EVENTS]", r"line 2 .* lost 12 events; raise buffer_kib"),
        ("nonsense", r"line 2 .*no block event: 'nonsense'"),
        (LINE[:-20], r"line 2 .*no block event"),
    ],
)
def test_lost_events_and_foreign_lines_are_refused(line, message):
    with pytest.raises(CaptureError, match=message):
        parse([LINE, line])


def test_thread_numbers_are_no_part_of_a_name():
    assert process_name("kworker/u8:3") == "kworker"
    assert process_name("jbd2/loop0-8") == "jbd2"
    assert process_name("postgres") == "postgres"
