import gzip
import random
import struct

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import srt
from tests.trace_data import read, sample, texts

HEADER = b"""$$TR_IOREC-1.3 (IOAdaptor Upgrade Version)
version      = 1.3;
description  = "disks = { 5 -> { sectorsize = 1";
disks        = {
    0 -> { disktype = a, adaptor = 1 -> { x , 250 }, sectorsize  = 256, sections = { 8 -> { "/}", size = (0 1) } } },
    1 -> { disktype = b, sectorsize  = 512 }
};
\f"""
SUSPECT = 4


def record(time_us=0, stop=1000, size=4096, sector=8, device=0x08000008, flags=0, version=4, kind=1):
    words = [version << 16 | kind, *divmod(time_us, 10**6), 10, stop, size, sector, device, 4, 7, flags, 0x70000]
    words += [3] if version == 4 else []
    words += [1] if kind == SUSPECT else []
    return struct.pack(f">{len(words) + 1}I", 4 * len(words) + 4, *words)


def made(tmp_path, *records, header=HEADER):
    path = tmp_path / "t.srt"
    path.write_bytes(header + b"".join(records))
    return path


def naive(data, widths):
    """(row, time, op, offset, size, latency, disk, flags) of each request, and how many records were others."""
    at, row, rows, others = data.index(b"\f") + 1, 0, [], 0
    while at < len(data):
        size, ident, sec, usec, _, stop, length, sector, device, _, _, flags = struct.unpack_from(">12I", data, at)
        at, row = at + size, row + 1
        if ident & 0xFFFF != 1:
            others += 1
            continue
        disk = device >> 8 & 0xFF
        rows.append((sec * 10**6 + usec, 1 - (flags & 1), sector * widths[disk], length, stop, str(disk), flags))
    return rows, others


def rows_of(trace):
    numbers = (trace.time_us, trace.op, trace.offset, trace.size, trace.latency_us)
    return list(zip(*(values.tolist() for values in numbers), texts(trace.volume), texts(trace.flags), strict=True))


def test_known_records(tmp_path):
    records = (
        record(5_000_000, 19687, 4096, 1056, 0x08000107, 0x1B),
        record(5_000_001, 20, 512, 3, 0x0700000F, 0x200 | 0x40000000),
    )
    trace = read(made(tmp_path, *records))
    assert trace.meta.source_format == "srt"
    assert rows_of(trace) == [
        (0, 0, 1056 * 512, 4096, 19687, "1", "DONE|BUSY|PHYS"),
        (1, 1, 3 * 256, 512, 20, "0", "DELWRITE|0x40000000"),
    ]
    assert (trace.meta.extra["sector_bytes.0"], trace.meta.extra["sector_bytes.1"]) == ("256", "512")


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_versions_and_large_sectors(tmp_path, version):
    trace = read(made(tmp_path, record(version=version, sector=2**32 - 1), record(7, version=version)))
    assert (trace.time_us.tolist(), trace.offset.tolist()) == ([0, 7], [(2**32 - 1) * 256, 8 * 256])


def test_other_records_are_counted_and_rows_are_records(tmp_path):
    others = (record(kind=SUSPECT), record(kind=2), record(kind=9), record(5, kind=SUSPECT))
    path = made(tmp_path, record(), *others, record(9, size=0))
    with pytest.raises(TraceError, match=r"t\.srt: row 6: size is 0"):
        read(path)
    trace = read(path, skip_bad_rows=1)
    left_out = {name: count for name, count in trace.meta.extra.items() if name.startswith("left_out")}
    assert left_out == {"left_out.suspectio": "2", "left_out.longio": "1", "left_out.type_9": "1"}
    assert len(trace) == 1


def test_a_record_of_no_known_version_or_too_short_is_a_bad_row(tmp_path):
    short = struct.pack(">3I", 12, 4 << 16 | 1, 0)
    path = made(tmp_path, record(), record(version=5), short)
    with pytest.raises(TraceError, match=r"row 2: has id 0x50001 and 52 bytes"):
        read(path)
    with pytest.raises(TraceError, match=r"row 3: has id 0x40001 and 12 bytes"):
        read(path, skip_bad_rows=1)
    assert len(read(path, skip_bad_rows=2)) == 1


def test_a_last_record_cut_short_is_one_bad_row(tmp_path):
    for cut in (1, 3, 4, 30, 55):
        path = made(tmp_path, record(), record(1), record(2)[:cut])
        with pytest.raises(TraceError, match=rf"row 3: the record is cut short after {cut} bytes"):
            read(path)
        trace = read(path, skip_bad_rows=1)
        assert (len(trace), trace.meta.extra["skipped_rows"]) == (2, "1")


@pytest.mark.parametrize("size", [0, 3, 54, 1 << 20])
def test_a_record_of_impossible_size_ends_the_reading(tmp_path, size):
    with pytest.raises(TraceError, match=rf"row 2: a record has {size} bytes, so the records after it"):
        read(made(tmp_path, record(), struct.pack(">I", size) + record()[4:]), skip_bad_rows=9)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"$$TR_IOREC-1.3\ndisks = { 0 -> { sectorsize = 256 } };\n", "no SRT header"),
        (b"$$TR_IOREC-1.3\nversion = 1.3;\n\f", "says no sectorsize for disk 0"),
        (b"$$TR_IOREC-1.3\ndisks = { 1 -> { sectorsize = 1 }, 2 -> { sectorsize = 2 } };\n\f", "sectorsize for disk 0"),
    ],
)
def test_a_damaged_header_is_named(tmp_path, header, said):
    with pytest.raises(TraceError, match=rf"t\.srt: .*{said}"):
        read(made(tmp_path, record(flags=1), header=header))


def test_a_disk_that_the_header_lacks_takes_the_size_that_all_have(tmp_path):
    header = b"$$TR_IOREC-1.3\ndisks = { 1 -> { sectorsize = 1024 }, 2 -> { sectorsize = 1024 } };\n\f"
    assert read(made(tmp_path, record(), header=header)).offset.tolist() == [8 * 1024]


@pytest.mark.parametrize("mixed", [False, True])
def test_random_records_against_a_loop_over_structs(tmp_path, monkeypatch, mixed):
    rng = random.Random(13)
    records, now = [], 0
    for _ in range(2000):
        now += rng.randint(0, 10**6)
        kind, version = (rng.choice((1, 1, 1, SUSPECT)), rng.randint(1, 4)) if mixed else (1, 4)
        device = 0x08000000 | rng.randint(0, 1) << 8 | rng.randint(0, 15)
        numbers = (rng.randint(1, 10**7), rng.randint(1, 64) * 256, rng.randint(0, 2**32 - 1), device)
        records.append(record(now, *numbers, rng.getrandbits(26), version, kind))
    path = made(tmp_path, *records)
    monkeypatch.setattr(srt, "READ_BYTES", 999)
    trace = read(path)
    rows, others = naive(path.read_bytes(), {0: 256, 1: 512})
    start = rows[0][0]
    assert rows_of(trace) == [(time - start, *rest, srt.flag_names(flags)) for time, *rest, flags in rows]
    assert trace.meta.extra.get("left_out.suspectio", "0") == str(others)
    assert (others > 0) == mixed


def test_flag_names():
    names = ["", "", "DONE", "ASYNC|RAW", "0x80000000"]
    assert [srt.flag_names(bits) for bits in (0, 1, 3, 0x2000100, 0x80000000)] == names


@pytest.mark.needs("public_traces")
def test_the_sample_against_a_loop_over_structs():
    path = sample("block/hp_ajw.srt.gz")
    trace = read(path)
    assert (trace.meta.source_format, len(trace), int((trace.op == 0).sum())) == ("srt", 44_519, 13_040)
    assert (trace.time_us[-1], int(trace.size.sum())) == (603_064_588_892, 263_305_216)
    assert rows_of(trace)[0] == (0, 0, 1056 * 256, 4096, 19687, "1", "DONE|BUSY|PHYS")
    data = gzip.decompress(path.read_bytes())
    assert srt.sector_bytes(data[: data.index(b"\f")].decode()) == {0: 256, 1: 256}
    rows, others = naive(data, {0: 256, 1: 256})
    named = [(*row[:6], srt.flag_names(row[6])) for row in rows]
    assert (rows_of(trace), others) == (named, 0)


def test_numbers_too_long_for_a_sector_or_a_disk_are_not_taken_for_others():
    many = "9" * 5000
    assert srt.sector_bytes(f"disks = {{ 0 -> {{ sectorsize = {many} }} }}") == {}
    assert 0 not in srt.sector_bytes(f"disks = {{ 0 -> {{ a = 1 }}, {many} -> {{ sectorsize = 256 }} }}")


def test_files_stand_on_one_clock_by_their_dates(tmp_path):
    paths = []
    for name, date in (("b", "Sat Jun  6 00:00:01 1992"), ("a", "Sat May 30 00:00:00 1992")):
        header = b'$$TR_IOREC-1.3\ntracedate = "%b";\ndisks = { 0 -> { sectorsize = 256 } };\n\f' % date.encode()
        path = tmp_path / f"{name}.srt"
        path.write_bytes(header + record(time_us=5, flags=1) + record(time_us=9))
        paths.append(path)
    trace = read(*paths)
    week = 7 * 86_400_000_000 + 1_000_000
    assert trace.time_us.tolist() == [0, 4, week, week + 4]
    undated = tmp_path / "c.srt"
    undated.write_bytes(b"$$TR_IOREC-1.3\ndisks = { 0 -> { sectorsize = 256 } };\n\f" + record())
    with pytest.raises(TraceError, match=r"c\.srt: its header says no tracedate"):
        read(*paths, undated)
    assert len(read(undated)) == 1
