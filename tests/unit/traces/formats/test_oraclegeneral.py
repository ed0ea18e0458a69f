"""libCacheSim's oracleGeneral, read and written."""

import random
import struct

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.policies.simulate import simulate
from cachezoo.traces.formats import fits_of, write_as
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.formats.oraclegeneral import following_access
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.source import Source
from cachezoo.traces.table import Trace, TraceMeta
from tests.trace_data import objects, read, sample

RECORD = "<IQIq"


def record(time, number, size, following=-1):
    return struct.pack(RECORD, time, number, size, following)


def write(folder, *records):
    path = folder / "t.bin"
    path.write_bytes(b"".join(records))
    return path


def rows_of(path):
    return list(struct.iter_unpack(RECORD, path.read_bytes()))


def following_naive(ids):
    """Next accesses counted from 1, by a loop."""
    answer, at = [-1] * len(ids), {}
    for index in range(len(ids) - 1, -1, -1):
        answer[index] = at.get(ids[index], -1)
        at[ids[index]] = index + 1
    return answer


def some_trace(seed=0, rows=3000, volumes=1):
    rng = np.random.default_rng(seed)
    return Trace(
        time_us=np.sort(rng.integers(0, 50_000_000, rows)) - 0,
        op=rng.integers(0, 2, rows).astype(np.uint8),
        offset=(rng.zipf(1.3, rows) % 2000) * 4096 + rng.integers(0, 8, rows) * 512,
        size=rng.integers(1, 20, rows) * 512,
        volume=Coded(np.arange(rows, dtype=np.int32) % volumes, tuple(f"disk{number}" for number in range(volumes))),
        meta=TraceMeta("some", "unknown", "made", "0"),
        latency_us=np.full(rows, 7),
    )


@pytest.mark.needs("public_traces")
def test_sample_agrees_with_a_plain_loop():
    trace, rows = (
        read(sample("block/cloudphysics.oracleGeneral.bin")),
        rows_of(sample("block/cloudphysics.oracleGeneral.bin")),
    )
    assert trace.meta.source_format == "oraclegeneral" and len(trace) == 113_872
    first = rows[0][0]
    assert trace.time_us.tolist() == [(row[0] - first) * 1_000_000 for row in rows]
    assert trace.offset.tolist() == [row[1] * 512 for row in rows]
    assert trace.size.tolist() == [row[2] for row in rows]
    assert not trace.op.any() and trace.meta.extra["op"] == "all reads: the format has none"


@pytest.mark.needs("public_traces")
def test_next_access_of_the_sample_is_reproduced():
    rows = rows_of(sample("block/cloudphysics.oracleGeneral.bin"))
    ids = [row[1] for row in rows]
    assert following_access(np.array(ids)).tolist() == [row[3] for row in rows] == following_naive(ids)


@pytest.mark.needs("public_traces")
def test_requests_of_the_sample_are_written_as_they_were(tmp_path):
    path = sample("block/cloudphysics.oracleGeneral.bin")
    write_as(read(path), tmp_path / "t.bin", "oraclegeneral", {"unit": "request"})
    origin = rows_of(path)[0][0]
    assert rows_of(tmp_path / "t.bin") == [(row[0] - origin, *row[1:]) for row in rows_of(path)]


def test_objects_keep_their_ids_and_sizes(tmp_path):
    rows = [record(5, 2**63 + 9, 100), record(5, 3, 1 << 31), record(7, 2**63 + 9, 0), record(9, 4, 1)]
    trace = objects(write(tmp_path, *rows), fmt="oraclegeneral", ids="object")
    assert trace.key.view(np.uint64).tolist() == [2**63 + 9, 3, 2**63 + 9, 4]
    assert trace.size.tolist() == [100, 1 << 31, 0, 1] and trace.numbered()[0].tolist() == [0, 1, 0, 2]
    assert trace.time_us.tolist() == [0, 0, 2_000_000, 4_000_000]
    assert trace.meta.extra["ids"] == "an object's key"


def test_unit_bytes(tmp_path):
    path = write(tmp_path, record(1, 3, 512), record(1, 5, 512))
    assert read(path, fmt="oraclegeneral", unit_bytes="4096").offset.tolist() == [12_288, 20_480]
    with pytest.raises(TraceError, match="option unit_bytes"):
        read(path, fmt="oraclegeneral", unit_bytes="0")


def test_bad_records_are_named_or_skipped(tmp_path):
    path = write(tmp_path, record(1, 3, 512), record(1, 2**60, 512), record(2, 4, 0), record(3, 5, 512), b"cut")
    with pytest.raises(TraceError, match=rf"row 2: id is {2**60}, whose address overflows.*option ids=object"):
        read(path, fmt="oraclegeneral")
    with pytest.raises(TraceError, match="row 3: size is 0"):
        read(path, fmt="oraclegeneral", skip_bad_rows=1)
    with pytest.raises(TraceError, match="row 5: has 3 of 24 bytes"):
        read(path, fmt="oraclegeneral", skip_bad_rows=2)
    assert read(path, fmt="oraclegeneral", skip_bad_rows=3).offset.tolist() == [1536, 2560]


def test_it_is_sure_where_next_accesses_agree(tmp_path):
    pointing = write(tmp_path, record(1, 3, 512, 2), record(1, 3, 512))
    assert fits_of(Source(pointing)) == {"oraclegeneral": Fit.SURE}
    alone = write(tmp_path, record(1, 3, 512), record(1, 4, 512))
    assert fits_of(Source(alone)) == {"oraclegeneral": Fit.LIKELY}


@pytest.mark.parametrize("seed", range(3))
def test_page_records_against_a_plain_loop(tmp_path, seed):
    trace = some_trace(seed, 1000, volumes=3)
    lost = write_as(trace, tmp_path / "t.bin", "oraclegeneral", {})
    rows = []
    for time, volume, offset, size in zip(
        trace.time_us.tolist(), trace.volume.codes.tolist(), trace.offset.tolist(), trace.size.tolist(), strict=True
    ):
        for page in range(offset // 4096, (offset + size - 1) // 4096 + 1):
            rows.append((time // 1_000_000, (volume << 50) + page, 4096))
    following = following_naive([row[1] for row in rows])
    assert rows_of(tmp_path / "t.bin") == [(*row, at) for row, at in zip(rows, following, strict=True)]
    assert lost["op of writes"] == int(trace.op.sum()) and lost["latency_us"] == len(trace)
    assert lost["time below a second"] == sum(time % 1_000_000 != 0 for time in trace.time_us.tolist())
    aligned = zip(trace.offset.tolist(), trace.size.tolist(), strict=True)
    assert lost["part of a page"] == sum(bool(offset % 4096 or size % 4096) for offset, size in aligned)


def test_pages_and_requests_come_back(tmp_path):
    trace = some_trace(5, 500)
    write_as(trace, tmp_path / "pages", "oraclegeneral", {})
    pages = read(tmp_path / "pages", unit_bytes="4096")
    assert np.array_equal(expand_pages(pages).page_ids, expand_pages(trace).page_ids)
    write_as(trace, tmp_path / "requests", "oraclegeneral", {"unit": "request"})
    requests = read(tmp_path / "requests")
    assert np.array_equal(requests.offset, trace.offset) and np.array_equal(requests.size, trace.size)


def test_volumes_stay_apart(tmp_path):
    trace = some_trace(6, 400, volumes=2)
    for unit in ("page", "request"):
        write_as(trace, tmp_path / unit, "oraclegeneral", {"unit": unit})
        with pytest.raises(TraceError, match="ids=object"):
            read(tmp_path / unit, unit_bytes="4096")
    read_back = objects(tmp_path / "page", ids="object")
    assert np.array_equal(read_back.numbered()[0], expand_pages(trace).page_ids)


def test_what_does_not_fit_is_refused(tmp_path):
    trace = some_trace(1, 5)
    trace.time_us[-1] = 2**32 * 1_000_000
    with pytest.raises(TraceError, match=r"lasts longer than 2\*\*32 seconds"):
        write_as(trace, tmp_path / "t.bin", "oraclegeneral", {})
    with pytest.raises(TraceError, match="more than 1024 volumes"):
        write_as(some_trace(1, 2000, volumes=1500), tmp_path / "t.bin", "oraclegeneral", {"unit": "request"})
    assert not (tmp_path / "t.bin").exists()


@pytest.mark.parametrize("pages", [64, 700])
def test_libcachesim_reads_what_is_written_and_counts_the_same_hits(tmp_path, pages):
    lib = pytest.importorskip("libcachesim")
    random.seed(1)
    trace = some_trace(2, 20_000)
    path = tmp_path / "t.oracleGeneral.bin"
    write_as(trace, path, "oraclegeneral", {})
    accesses = expand_pages(trace)
    reader = lib.TraceReader(str(path), lib.TraceType.ORACLE_GENERAL_TRACE)
    assert reader.get_num_of_req() == len(accesses.page_ids)
    for theirs, ours in ((lib.LRU, "lru"), (lib.Belady, "belady")):
        reader.reset()
        ratio, _ = theirs(cache_size=pages * 4096).process_trace(reader)
        hits = simulate(trace, accesses, ours, pages, 0).hits
        assert round((1 - ratio) * len(accesses.page_ids)) == hits
