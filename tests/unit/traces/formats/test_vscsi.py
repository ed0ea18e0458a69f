"""CloudPhysics vSCSI, binary and CSV."""

import random
import struct

import numpy as np
import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from tests.trace_data import read, sample


def v1(command, length, block, time, version=0x0100):
    return struct.pack("<IIIHHQQ", 7, length, 1, command, version, block, time)


def v2(command, length, block, time, response, version=0x0200):
    return struct.pack("<HHIIIQQQ", command, version, 7, length, 1, block, time, response)


def write(folder, *records):
    path = folder / "disk.vscsi"
    path.write_bytes(b"".join(records))
    return path


def naive(data):
    """(time, op, offset, size) of version 1 records, by a loop."""
    rows = []
    for start in range(0, len(data), 32):
        _, length, _, command, _, block, time = struct.unpack_from("<IIIHHQQ", data, start)
        rows.append((time, int(command == 0x2A), block * 512, length))
    return rows


@pytest.mark.needs("public_traces")
def test_sample_agrees_with_a_plain_loop():
    trace = read(sample("block/cloudphysics.vscsi"))
    rows = naive(sample("block/cloudphysics.vscsi").read_bytes())
    assert trace.meta.source_format == "vscsi"
    assert len(trace) == 113_872 and trace.op.sum() == 66_898
    first = rows[0][0]
    assert [(t - first, op, offset, size) for t, op, offset, size in rows] == list(
        zip(trace.time_us.tolist(), trace.op.tolist(), trace.offset.tolist(), trace.size.tolist(), strict=True)
    )


@pytest.mark.needs("public_traces")
def test_csv_sample_holds_the_same_requests():
    binary, text = read(sample("block/cloudphysics.vscsi")), read(sample("block/cloudphysics_us.csv.gz"))
    assert text.meta.source_format == "vscsi_csv"
    for name in ("time_us", "op", "offset", "size"):
        assert np.array_equal(getattr(binary, name), getattr(text, name))


def test_version_2_has_latencies(tmp_path):
    trace = read(write(tmp_path, v2(0x28, 4096, 8, 1000, 250), v2(0x2A, 512, 1, 1300, 2**63)))
    assert trace.latency_us.tolist() == [250, -1]
    assert trace.offset.tolist() == [4096, 512] and trace.op.tolist() == [0, 1] and trace.time_us.tolist() == [0, 300]
    assert trace.meta.extra["vscsi_version"] == "2"


def test_every_read_and_write_command_and_counts_of_others(tmp_path):
    reads, writes = (0x08, 0x28, 0xA8, 0x88), (0x0A, 0x2A, 0xAA, 0x8A, 0x2E, 0xAE, 0x8E)
    others = (0x35, 0x91, 0x42, 0x00, 0xEE)
    records = [v1(command, 512, 1, at) for at, command in enumerate((*reads, *others, *writes))]
    trace = read(write(tmp_path, *records))
    assert trace.op.tolist() == [0] * 4 + [1] * 7
    left = {name: count for name, count in trace.meta.extra.items() if name.startswith("left_out.")}
    assert left == {
        "left_out.synchronize cache": "2",
        "left_out.unmap": "1",
        "left_out.test unit ready": "1",
        "left_out.command ee": "1",
    }


@pytest.mark.parametrize("seed", range(3))
def test_random_records_against_a_plain_loop(tmp_path, seed):
    random.seed(seed)
    sizes = (512, 4096, 65_536)
    data = b"".join(
        v1(random.choice((0x28, 0x2A)), random.choice(sizes), random.randrange(2**40), at) for at in range(5000)
    )
    trace = read(write(tmp_path, data))
    assert naive(data) == list(
        zip(trace.time_us.tolist(), trace.op.tolist(), trace.offset.tolist(), trace.size.tolist(), strict=True)
    )


def test_damaged_records_are_named_or_skipped(tmp_path):
    good = [v1(0x28, 512, at, at) for at in range(4)]
    path = write(tmp_path, good[0], v1(0x28, 512, 1, 1, version=0x0700), *good[2:], b"\1\2\3")
    with pytest.raises(TraceError, match=r"disk\.vscsi: row 2: version is 7, not 1"):
        read(path)
    with pytest.raises(TraceError, match=r"row 5: has 3 of 32 bytes; the file is cut short.*1 bad row was skipped"):
        read(path, skip_bad_rows=1)
    trace = read(path, skip_bad_rows=2)
    assert trace.offset.tolist() == [0, 1024, 1536] and trace.meta.extra["skipped_rows"] == "2"
    with pytest.raises(TraceError, match=r"row 1: offset .* overflows"):
        read(write(tmp_path, v1(0x28, 512, 2**63, 0)))
    with pytest.raises(TraceError, match="row 1: size is 0"):
        read(write(tmp_path, v1(0x28, 0, 1, 0)))


def test_other_binary_files_are_not_taken_for_it(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(random.Random(5).randbytes(4000)))
    assert fits_of(Source(path)) == {}
    with pytest.raises(TraceError, match="does not look like vscsi, which needs records of 32 or 40 bytes that say"):
        read(path, fmt="vscsi")


def test_csv_ops_are_hexadecimal(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("version,time,op,size,lbn\n1,10,28,512,1\n1,20,8a,1024,2\n1,30,35,0,0\n1,40,0x88,512,3\n")
    trace = read(path)
    assert trace.op.tolist() == [0, 1, 0] and trace.offset.tolist() == [512, 1024, 1536]
    assert trace.time_us.tolist() == [0, 10, 30] and trace.meta.extra["left_out.synchronize cache"] == "1"
    assert read(path, unit_bytes="1", time_unit="ms").offset.tolist() == [1, 2, 3]
    assert read(path, time_unit="ms").time_us.tolist() == [0, 10_000, 30_000]


def test_csv_without_a_header_is_likely(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,10,28,512,1\n1,20,2a,1024,2\n")
    assert fits_of(Source(path)).get("vscsi_csv") == Fit.LIKELY
    assert len(read(path, fmt="vscsi_csv")) == 2


def test_csv_names_a_bad_op(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("version,time,op,size,lbn\n1,10,28,512,1\n1,20,zz,1024,2\n")
    with pytest.raises(TraceError, match="row 2: op is 'zz'"):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 1
