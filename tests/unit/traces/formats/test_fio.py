"""fio's iolog, read and written."""

import random

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of, write_as
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from cachezoo.traces.table import Trace, TraceMeta
from tests.trace_data import read, texts

V2 = "fio version 2 iolog\n"
V3 = "fio version 3 iolog\n"


def write(folder, text, name="log"):
    path = folder / name
    path.write_text(text)
    return path


def some_trace(volumes=("0",), rows=400, seed=0, step=5000):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.integers(0, step, rows))
    return Trace(
        time_us=times - times[0],
        op=rng.integers(0, 2, rows).astype(np.uint8),
        offset=rng.integers(0, 2**40, rows) * 512,
        size=rng.integers(1, 200, rows) * 512,
        volume=Coded(np.arange(rows, dtype=np.int32) % len(volumes), volumes),
        meta=TraceMeta("some", "unknown", "made", "0"),
    )


def same(one, two):
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ("time_us", "op", "offset", "size"))


def test_version_3_as_fio_writes_it(tmp_path):
    rows = "2 Nvme1n1 add\n872 Nvme1n1 open\n878 Nvme1n1 write 0 16384\n900 Nvme1n1 sync 0 0\n901 Nvme1n1 datasync\n"
    rows += "1000 Nvme1n1 trim 0 512\n1100 Nvme1n1 wait 5 0\n1878 Nvme1n1 read 4096 512\n10001677 Nvme1n1 close"
    path = write(tmp_path, V3 + rows)
    assert fits_of(Source(path)) == {"fio": Fit.SURE}
    trace = read(path)
    assert trace.time_us.tolist() == [0, 1000] and trace.op.tolist() == [1, 0]
    assert trace.offset.tolist() == [0, 4096] and trace.size.tolist() == [16_384, 512]
    assert texts(trace.volume) == ["Nvme1n1"] * 2 and trace.meta.extra["fio_version"] == "3"
    left = {name.removeprefix("left_out.") for name in trace.meta.extra if name.startswith("left_out.")}
    assert left == {"add", "open", "close", "sync", "datasync", "trim", "wait"}
    given = trace.discards
    assert (given.at.tolist(), given.offset.tolist(), given.size.tolist()) == ([1], [0], [512])
    assert texts(given.volume) == ["Nvme1n1"]
    assert read(path, time_unit="ms").time_us.tolist() == [0, 1_000_000]


def test_version_2_waits(tmp_path):
    text = "f add\nf open\nf read 0 512\nf wait 300 0\nf write 512 512\nf wait 700 0\nf write 1024 512\nf close\n"
    path = write(tmp_path, V2 + text)
    assert read(path).time_us.tolist() == [0, 300_000, 700_000]
    assert read(path).meta.extra["wait"] == "absolute, ms"
    assert read(path, wait="relative").time_us.tolist() == [0, 300, 1000]
    assert read(path, wait="relative", time_unit="ms").time_us.tolist() == [0, 300_000, 1_000_000]


def test_waits_that_run_backwards_name_the_option(tmp_path):
    path = write(tmp_path, V2 + "f read 0 512\nf wait 300 0\nf wait 200 0\nf read 512 512\nf wait -5 0\n")
    with pytest.raises(TraceError, match=r"row 3: wait is 200, before an earlier one; .* option wait=relative"):
        read(path)
    with pytest.raises(TraceError, match="row 5: wait is -5"):
        read(path, wait="relative")
    assert read(path, skip_bad_rows=2).time_us.tolist() == [0, 300_000]


def test_damaged_rows_are_named_or_skipped(tmp_path):
    path = write(
        tmp_path, V3 + "0 f add\n1 f read 0 512\n2 f read 0\n3 f frob 0 512\n4 a b read 0 512\n5 f read 0 512\n"
    )
    with pytest.raises(TraceError, match="log: row 3: has 4 fields, not 5"):
        read(path)
    with pytest.raises(TraceError, match="row 5: has 6 fields"):
        read(path, skip_bad_rows=1)
    with pytest.raises(TraceError, match="row 4: op is 'frob'"):
        read(path, skip_bad_rows=2)
    assert read(path, skip_bad_rows=3).time_us.tolist() == [0, 4]
    with pytest.raises(TraceError, match="does not look like fio, which needs a first line 'fio version 2 iolog' or 3"):
        read(write(tmp_path, "fio version 1 iolog\nf read 0 1\n"), fmt="fio")


@pytest.mark.parametrize("version", [2, 3])
def test_random_logs_against_a_plain_loop(tmp_path, version):
    rng = random.Random(version)
    lines, expected, now = ["f add", "f open"], [], 0
    for _ in range(3000):
        kind = rng.choice(("read", "write", "wait", "sync") if version == 2 else ("read", "write", "sync"))
        now += rng.randrange(1000) if version == 3 or kind == "wait" else 0
        offset, size = rng.randrange(10**12), rng.randint(1, 10**6)
        lines.append({"wait": f"f wait {now} 0", "sync": "f sync"}.get(kind, f"f {kind} {offset} {size}"))
        if version == 3:
            lines[-1] = f"{now} {lines[-1]}"
        if kind in ("read", "write"):
            expected.append((now, int(kind == "write"), offset, size))
    prefix = "0 " if version == 3 else ""
    head = [prefix + line for line in lines[:2]]
    text = "\n".join([(V2, V3)[version - 2].strip(), *head, *lines[2:]]) + rng.choice(("", "\n"))
    trace = read(write(tmp_path, text), time_unit="us")
    first = expected[0][0]
    columns = (trace.time_us, trace.op, trace.offset, trace.size)
    got = list(zip(*(column.tolist() for column in columns), strict=True))
    assert got == [(time - first, *row) for time, *row in expected]


def test_version_3_comes_back_as_it_was(tmp_path):
    trace = some_trace()
    assert write_as(trace, tmp_path / "log", "fio", {}) == {"name of the volume": 400}
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines[:3] == [V3.strip(), "0 cachezoo add", "0 cachezoo open"]
    assert lines[-1] == f"{trace.time_us[-1]} cachezoo close" and len(lines) == 404
    back = read(tmp_path / "log")
    assert same(back, trace) and back.volume.names == ("cachezoo",)


@pytest.mark.parametrize("wait", ["absolute", "relative"])
def test_version_2_comes_back_as_it_was(tmp_path, wait):
    trace = some_trace(volumes=("sda", "sdb"))
    lost = write_as(trace, tmp_path / "log", "fio", {"version": "2", "wait": wait})
    back = read(tmp_path / "log", wait=wait)
    assert texts(back.volume) == texts(trace.volume)
    if wait == "relative":
        assert same(back, trace) and lost == {}
    else:
        assert back.time_us.tolist() == [time // 1000 * 1000 for time in trace.time_us.tolist()]
        assert lost == {"time below a millisecond": int((trace.time_us % 1000 > 0).sum())}


def test_names_of_files(tmp_path):
    trace = some_trace(volumes=("disk one", "two"), rows=10)
    assert write_as(trace, tmp_path / "log", "fio", {}) == {"name of the volume": 5}
    assert read(tmp_path / "log").volume.names == ("disk_one", "two")
    with pytest.raises(TraceError, match="2 volumes would share a file's name"):
        write_as(some_trace(volumes=("a b", "a_b"), rows=4), tmp_path / "other", "fio", {})
    with pytest.raises(TraceError, match="2 volumes would share"):
        write_as(trace, tmp_path / "other", "fio", {"file": "x"})
    with pytest.raises(TraceError, match="option file"):
        write_as(some_trace(rows=4), tmp_path / "other", "fio", {"file": "x y"})
    assert not (tmp_path / "other").exists()
    write_as(some_trace(rows=4), tmp_path / "other", "fio", {"file": "/tmp/x"})
    assert read(tmp_path / "other").volume.names == ("/tmp/x",)


@pytest.mark.parametrize(("first", "row"), [(V2, "f read 0 4096\n"), (V3, "5 f read 0 4096\n")])
def test_blank_lines_before_the_first_are_passed_over(tmp_path, first, row):
    assert len(read(write(tmp_path, "\n\r\n" + first + row))) == 1


def test_a_relative_wait_too_long_to_add_up_is_a_bad_row(tmp_path):
    path = tmp_path / "log"
    path.write_text(f"fio version 2 iolog\nf read 0 512\nf wait {2**41} 0\nf read 512 512\n")
    with pytest.raises(TraceError, match=rf"row 2: wait is {2**41}; give a time from 0 to {2**40} microseconds"):
        read(path, wait="relative", time_unit="us")
    assert read(path, wait="relative", time_unit="us", skip_bad_rows=1).time_us.tolist() == [0, 0]


def test_a_second_first_line_is_a_bad_row_wherever_blocks_end(tmp_path, monkeypatch):
    path = write(tmp_path, "fio version 3 iolog\n" + "0 f read 0 512\n" * 3 + "fio version 3 iolog\n0 f read 512 512\n")
    for size in (20, 65, 66, 4096):
        monkeypatch.setattr(Source.lines, "__defaults__", (size,))
        with pytest.raises(TraceError, match="row 4: has 4 fields, not 5"):
            read(path)
        assert len(read(path, skip_bad_rows=1)) == 4
