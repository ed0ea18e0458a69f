"""No file of the format is at hand: its text is made here after the collections' descriptions."""

import csv
import random

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces import source
from cachezoo.traces.formats.etw import process_name
from tests.trace_data import read, texts

COLUMNS = (
    "TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,"
    "  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap, FileObject, FileName"
)
HEADER = f"""BeginHeader
                   DiskRead,  {COLUMNS}
                  DiskWrite,  {COLUMNS}
               DiskReadInit,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr
                  DiskFlush,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr, ElapsedTime
                    CSwitch,  TimeStamp, New Process Name ( PID),    New TID
EndHeader
OS Version: 6.0.6001, Trace Size: 6144KB, Events Lost: 0, PointerSize: 8, Trace Name: a, b.etl
"""
SYSTEM_NAME = '"C:\\$Mft, and more, of it"'


def row(event="DiskRead", time=2000, process="System (   4)", offset="0x00001000", size="0x0200", elapsed=500, **rest):
    disk, flags, name = rest.get("disk", 0), rest.get("flags", "0x060043"), rest.get("name", SYSTEM_NAME)
    return (
        f"{event:>27},{time:>11}, {process:>24},{72:>11}, 0xfffffa800e8d2010, {offset:>18}, {size:>10},{elapsed:>12},"
        f"{disk:>9}, {flags}, {499:>11},  Normal, , 0xfffff8a000a52010, {name}\n"
    )


def flush(time=2100):
    return f"      DiskFlush, {time}, svchost.exe ( 880), 1, 0xfffffa8012345678, 900, 0, 0x060000, 900, Normal\n"


def start(time=1500):
    return f"               DiskReadInit, {time}, System (   4), 72, 0xfffffa800e8d2010\n"


def made(tmp_path, *lines):
    path = tmp_path / "t.csv"
    path.write_text("".join(lines))
    return path


def left_out(trace):
    return {name: int(count) for name, count in trace.meta.extra.items() if name.startswith("left_out")}


@pytest.mark.parametrize("header", [HEADER, ""])
def test_known_rows(tmp_path, header):
    lines = (
        start(),
        row(),
        flush(),
        "   CSwitch, 2200, Idle (   0), 0\n",
        row("DiskWrite", 2600, "a server.exe (1234)", "0x0000000123456000", "0x10000", 1500, disk=1, name='"D:\\x"'),
    )
    trace = read(made(tmp_path, header, *lines))
    assert trace.meta.source_format == "etw"
    # Arrivals are 1500 and 1100: the write came first, and finished last.
    assert trace.time_us.tolist() == [0, 400]
    assert trace.op.tolist() == [1, 0]
    assert trace.offset.tolist() == [0x123456000, 4096]
    assert trace.size.tolist() == [65536, 512]
    assert trace.latency_us.tolist() == [1500, 500]
    assert (texts(trace.volume), texts(trace.user)) == (["1", "0"], ["a server.exe", "System"])
    assert texts(trace.flags) == ["0x060043"] * 2
    assert left_out(trace) == {"left_out.flush": 1, "left_out.other_events": 2}


def test_a_header_without_its_marks_and_windows_line_ends(tmp_path):
    lines = (f"DiskRead, {COLUMNS}\n", "\n", row(), "  \n", row("DiskWrite"))
    trace = read(made(tmp_path, *(line.replace("\n", "\r\n") for line in lines)))
    assert (trace.meta.source_format, trace.op.tolist(), left_out(trace)) == ("etw", [0, 1], {})


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (row(offset="4096"), "ByteOffset is '4096', not a hexadecimal"),
        (row(offset="0xfffffffffffffff0"), "offset is -16"),
        (row(size="0x00000000"), "size is 0"),
        (row(elapsed="late"), "ElapsedTime is 'late', not a whole number"),
        (row(process="a,b (   4)"), "ElapsedTime is '0x0200', not a whole number"),
        ("DiskRead, 2000, System (   4), 72\n", "has 4 fields, not 10"),
    ],
)
def test_a_damaged_row_is_named_by_its_line_after_the_header(tmp_path, bad, said):
    # Lines after the header: 1 the system's, 2 start, 3 good, 4 blank, 5 bad.
    path = made(tmp_path, HEADER, start(), row(), "\n", bad, row())
    with pytest.raises(TraceError, match=rf"t\.csv: row 5: ({said})"):
        read(path)
    trace = read(path, skip_bad_rows=1)
    assert (len(trace), trace.meta.extra["skipped_rows"], left_out(trace)) == (2, "1", {"left_out.other_events": 1})


def test_a_header_that_never_ends_is_named(tmp_path):
    with pytest.raises(TraceError, match=r"t\.csv: its header has no end \(EndHeader\)"):
        read(made(tmp_path, HEADER.replace("EndHeader", "End"), row()))


def test_a_file_without_reads_and_writes_is_empty(tmp_path):
    with pytest.raises(TraceError, match="the trace is empty"):
        read(made(tmp_path, HEADER, flush(), start()))


def test_process_names():
    given = ("System (   4)", "my (x86) app.exe (1234)", "Unknown (  -1)", "plain", "(12)")
    assert [process_name(name) for name in given] == ["System", "my (x86) app.exe", "Unknown", "plain", "(12)"]


def test_random_lines_against_a_loop_over_lines(tmp_path, monkeypatch):
    rng = random.Random(17)
    lines = []
    for time in range(1000, 4000):
        if rng.random() < 0.4:
            lines.append(rng.choice((flush(time), start(time), "\n", f'FileIoCreate, {time}, a (1), 5, "x, y"\n')))
            continue
        offset, size = f"0x{rng.randint(0, 2**40):016x}", f"0x{rng.randint(1, 2**20):08X}"
        process = rng.choice(("System (   4)", "sql server.exe (3208)"))
        event, elapsed = rng.choice(("DiskRead", "DiskWrite")), rng.randint(0, 9000)
        rest = {"flags": rng.choice(("0x060043", "0x060900")), "name": rng.choice(("", '"a,b"'))}
        lines.append(row(event, time * 10, process, offset, size, elapsed, disk=rng.randint(0, 3), **rest))
    path = made(tmp_path, HEADER, *lines)
    want, others = [], {"flush": 0, "other_events": 0}
    for fields in csv.reader(lines, skipinitialspace=True):
        names = [field.strip() for field in fields]
        if names and names[0] in ("DiskRead", "DiskWrite"):
            elapsed = int(names[7])
            numbers = (names[0] == "DiskWrite", int(names[5], 16), int(names[6], 16), elapsed)
            want.append((int(names[1]) - elapsed, *numbers, names[8], names[2].split(" (")[0], names[9]))
        elif names:
            others["flush" if names[0] == "DiskFlush" else "other_events"] += 1
    want.sort(key=lambda fields: fields[0])
    monkeypatch.setattr(source.Source.lines, "__defaults__", (700,))
    trace = read(path)
    numbers = (trace.time_us + want[0][0], trace.op, trace.offset, trace.size, trace.latency_us)
    names = (texts(trace.volume), texts(trace.user), texts(trace.flags))
    assert list(zip(*(values.tolist() for values in numbers), *names, strict=True)) == want
    assert left_out(trace) == {f"left_out.{kind}": count for kind, count in others.items()}
