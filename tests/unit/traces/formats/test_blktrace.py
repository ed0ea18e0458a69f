import struct

import numpy as np
import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats.blktrace import rwbs
from cachezoo.traces.read import OpenTrace, TraceFiles, silent
from cachezoo.traces.recognise import choose
from cachezoo.traces.source import Source
from tests import block_records as b
from tests.block_records import Records
from tests.oracles.match import COMPLETE, ISSUE, REQUEUE, naive_join
from tests.trace_data import read, texts

KINDS = [(7, "<"), (7, ">"), (8, "<"), (8, ">")]
CODES = {ISSUE: b.ISSUE, COMPLETE: b.COMPLETE, REQUEUE: b.REQUEUE}


def write(path, *files):
    names = []
    for index, records in enumerate(files):
        names.append(path / f"sda.blktrace.{index}")
        names[-1].write_bytes(records if isinstance(records, bytes) else records.data)
    return names


@pytest.mark.parametrize(("version", "order"), KINDS)
def test_a_trace_of_every_kind_of_record(tmp_path, version, order):
    one = Records(version, order)
    one.name(7, "fio").name(9, "kworker/u8:3")
    one.add(b.TIMESTAMP, b.NOTIFY, 1, device=(0, 0), pdu=struct.pack(order + "II", 1_700_000_000, 5))
    one.add(b.MESSAGE, b.NOTIFY, 2, pdu=b"cfq: some text")
    one.add(b.REMAP, b.READ, 900, 2056, 8, pid=7, pdu=struct.pack(">IIQ", 8 << 20 | 1, 8 << 20, 8))
    one.add(b.QUEUE, b.READ, 1_000, 2056, 8, pid=7)
    one.add(b.ISSUE | b.CGROUP, b.READ | b.SYNC | b.AHEAD, 2_999, 2056, 8, pid=7, pdu=struct.pack(order + "Q", 99))
    one.add(b.ISSUE, b.WRITE | b.FUA | b.FLUSH, 5_000, 2**40, 16, device=(259, 3), pid=9)
    one.add(b.ISSUE, b.WRITE | b.DISCARD, 6_000, 0, 2**22, pid=7)
    one.add(b.ISSUE, b.WRITE | b.FLUSH, 6_001, -1, 0, pid=7)
    one.add(b.ISSUE, b.READ | b.PC, 6_002, -1, 0, pid=7, size=36, pdu=bytes(6))
    two = Records(version, order, cpu=1)
    two.add(b.COMPLETE, b.READ, 102_000, 2056, 8, pid=0)
    two.add(b.REQUEUE, b.WRITE, 103_000, 2**40, 16, device=(259, 3), pid=0)
    two.add(b.COMPLETE, b.WRITE, 105_999, 2**40, 16, device=(259, 3), pid=0, error=-5)
    two.add(b.COMPLETE, b.WRITE, 106_999, 2**40, 16, device=(259, 3), pid=0)
    three = Records(version, order, cpu=2).add(b.ISSUE, b.WRITE, 104_000, 2**40, 16, device=(259, 3), pid=9)
    names = write(tmp_path, one, two, three)
    assert choose(Source(names[0]), "auto", {}).format.id == "blktrace"
    trace = read(*names)
    assert trace.time_us.tolist() == [0, 3]
    assert trace.op.tolist() == [0, 1]
    assert trace.offset.tolist() == [2056 * 512, 2**49]
    assert trace.size.tolist() == [4096, 8192]
    assert trace.latency_us.tolist() == [100, 100]
    assert texts(trace.volume) == ["8,0", "259,3"]
    assert texts(trace.user) == ["fio", "kworker"]
    assert texts(trace.flags) == ["RAS", "FWF"]
    extra = trace.meta.extra
    assert (extra["event"], extra["requeued"], extra["failed"]) == ("issue", "1", "1")
    left_out = {key: extra[f"left_out.{key}"] for key in ("flush", "discard", "other", "unmatched_complete")}
    assert set(left_out.values()) == {"1"}
    assert read(*names, device="259,3").volume.names == ("259,3",)
    queued = read(*names, event="queue")
    assert (queued.latency_us.tolist(), queued.op.tolist(), texts(queued.flags)) == ([101], [0], ["R"])
    completed = read(*names, event="complete")
    assert completed.latency_us.tolist() == [-1, -1, -1]


def random_steps(seed, n):
    """(time, kind, device minor, sector, sectors, error), often of few addresses."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 10**9, n))
    kinds = rng.choice([ISSUE, COMPLETE, REQUEUE], n, p=[0.5, 0.45, 0.05])
    devices, sectors = rng.integers(0, 2, n), 8 * rng.integers(1, 4, n)
    errors = np.where((kinds == COMPLETE) & (rng.random(n) < 0.1), -5, 0)
    columns = (times, kinds, devices, 8 * rng.integers(0, n // 20, n), sectors, errors)
    return [tuple(map(int, row)) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize(("version", "order"), KINDS)
def test_random_files_of_processors_equal_the_naive_join(tmp_path, version, order):
    steps = random_steps(version, 4000)
    rng = np.random.default_rng(1)
    files = [Records(version, order, cpu) for cpu in range(5)]
    for time_ns, kind, minor, sector, sectors, error in steps:
        category = b.WRITE if sector % 16 else b.READ
        files[rng.integers(5)].add(
            CODES[kind], category, time_ns, sector, sectors, device=(8, minor), error=error, pdu=bytes(rng.integers(20))
        )
    given = OpenTrace(TraceFiles(write(tmp_path, *files)), silent)
    (chunk,) = given.chunks()
    first, last, counts = naive_join([step[1:] for step in steps])
    assert chunk.time_us.tolist() == [steps[i][0] // 1000 for i in first]
    want = [steps[j][0] // 1000 - steps[i][0] // 1000 if j >= 0 else -1 for i, j in zip(first, last, strict=True)]
    assert chunk.latency_us.tolist() == want
    assert chunk.offset.tolist() == [steps[i][3] * 512 for i in first]
    assert chunk.size.tolist() == [steps[i][4] * 512 for i in first]
    assert chunk.op.tolist() == [int(steps[i][3] % 16 > 0) for i in first]
    assert texts(chunk.coded["volume"]) == [f"8,{steps[i][2]}" for i in first]
    notes = given.reading.notes
    assert [int(notes["requeued"]), int(notes["failed"]), given.reading.left_out["unmatched_complete"]] == counts


def test_records_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("cachezoo.traces.formats.blktrace.READ_BYTES", 101)
    records = Records()
    for index in range(500):
        records.add(b.ISSUE, b.READ, 1000 * index, 8 * index, 8, pdu=bytes(index % 7))
    trace = read(*write(tmp_path, records))
    assert trace.offset.tolist() == [4096 * index for index in range(500)]


def test_a_process_number_used_again_has_the_name_of_its_time(tmp_path):
    records = Records().name(7, "first", 100).name(7, "second", 500)
    for time_ns in (50, 200, 900):
        records.add(b.ISSUE, b.READ, time_ns, time_ns, 8, pid=7)
    records.add(b.ISSUE, b.READ, 1000, 8, 8, pid=8)
    assert texts(read(*write(tmp_path, records)).user) == ["first", "first", "second", ""]


def test_damage_is_named_and_skipped(tmp_path):
    records = [Records().add(b.ISSUE, b.READ, 1000 * index, 8 * index, 8).data for index in range(6)]
    records[2] = b"\0" * 48
    (name,) = write(tmp_path, b"".join(records)[:-10])
    with pytest.raises(TraceError, match=r"blktrace\.0: row 3: has no magic number \(00000000\)"):
        read(name)
    with pytest.raises(TraceError, match=r"row 6: is cut short: 38 bytes are left; .*1 bad row was skipped"):
        read(name, skip_bad_rows=1)
    trace = read(name, skip_bad_rows=2)
    assert trace.offset.tolist() == [0, 4096, 3 * 4096, 4 * 4096]
    assert trace.meta.extra["skipped_rows"] == "2"


def test_damage_across_blocks_is_one_bad_row(tmp_path, monkeypatch):
    monkeypatch.setattr("cachezoo.traces.formats.blktrace.READ_BYTES", 64)
    good = Records().add(b.ISSUE, b.READ, 0, 8, 8).data
    trace = read(*write(tmp_path, good + bytes(500) + good), skip_bad_rows=1)
    assert len(trace) == 2


def test_what_no_request_can_be_is_a_bad_row(tmp_path):
    records = Records().add(b.ISSUE, b.READ, 0, 8, 8).add(b.ISSUE, b.READ, 1, 2**60, 8)
    with pytest.raises(TraceError, match=r"row 2: offset is \d+; offset \+ size overflows"):
        read(*write(tmp_path, records))


def test_a_file_of_another_kind_among_the_given_is_refused(tmp_path):
    names = write(tmp_path, Records().add(b.ISSUE, b.READ, 0, 8, 8), b"something else")
    with pytest.raises(TraceError, match=r"blktrace\.1: row 1: does not start with blktrace's magic number"):
        read(*names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"event": "queue"}, r"has no queue events; it has issue: use event=issue"),
        ({"device": "9,9"}, r"has no issue, queue or complete events"),
        ({"device": "sda"}, r"option device"),
        ({"event": "D"}, r"option event"),
    ],
)
def test_options_that_leave_nothing_are_refused(tmp_path, options, message):
    names = write(tmp_path, Records().add(b.ISSUE, b.READ, 0, 8, 8))
    with pytest.raises(TraceError, match=message):
        read(*names, **options)


def test_letters_of_categories():
    cases = {
        b.READ: "R",
        b.WRITE | b.SYNC: "WS",
        b.WRITE | b.DISCARD: "D",
        b.FLUSH | b.WRITE | b.FUA | b.SYNC | b.META: "FWFSM",
        b.READ | b.AHEAD: "RA",
    }
    assert {bits: rwbs(bits | 1) for bits in cases} == cases
    assert rwbs(b.FLUSH) == "FN"
