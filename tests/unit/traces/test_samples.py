"""Every public sample goes in by `auto`; counts and sums are those that awk and struct find in the files."""

from pathlib import Path

import pytest

from cachezoo.traces.ingest import describe_files, ingest
from cachezoo.traces.read import TraceFiles
from cachezoo.traces.store import read_pages, read_trace
from tests.trace_data import sample

NOT_TRACES = {"README.md", "DISKSIM_COPYING"}
FAILED = "cases"  # inputs that were once read wrong, each with what is right in a file beside it
# file: format, requests, reads, bytes read and written, seconds from first to last
SAMPLES = {
    "block/cloudphysics.oracleGeneral.bin": ("oraclegeneral", 113_872, 113_872, 4_368_040_448, 7200.000),
    "block/cloudphysics.vscsi": ("vscsi", 113_872, 46_974, 4_205_978_112, 7200.090),
    "block/cloudphysics_us.csv.gz": ("vscsi_csv", 113_872, 46_974, 4_205_978_112, 7200.090),
    "block/hp_ajw.srt.gz": ("srt", 44_519, 13_040, 263_305_216, 603064.589),
    "block/ms_dtrs.disksim.gz": ("disksim", 127_043, 113_123, 7_197_860_864, 300.000),
    "block/postmark.disksim.gz": ("disksim", 62_257, 51_780, 14_173_224_960, 490.437),
    "fixtures/blkparse-output.txt": ("blkparse", 673, 161, 134_877_184, 0.450),
    "fixtures/msr-cambridge1-sample.csv": ("msr", 1_000, 508, 9_689_600, 127.233),
    "fixtures/systor17-traces-sample.csv.gz": ("systor", 999, 826, 39_122_432, 2.448),
    "fixtures/tencent_cbs.bz2": ("tencent", 50_000, 24_521, 1_518_392_320, 1.000),
    "fixtures/umass_fin1_100rows.disksim": ("spc_pages", 100, 13, 1_089_536, 3.867),
    "hdd/atlas10k.trace.gz": ("disksim_validate", 10_000, 6_569, 32_282_624, 500.771),
    "hdd/barracuda.trace.gz": ("disksim_validate", 10_000, 6_511, 32_423_936, 500.570),
    "hdd/cheetah9LP.trace.gz": ("disksim_validate", 10_000, 6_594, 32_356_352, 497.608),
    "hdd/hp_c3323a.trace.gz": ("disksim_validate", 9_074, 6_113, 76_464_128, 269.213),
    "hdd/ibm18es.trace.gz": ("disksim_validate", 10_000, 6_582, 31_909_888, 496.156),
    "lbn/OLTP.lis.zst": ("lis", 914_145, 914_145, 3_744_337_920, None),
    "lbn/P2.lis.zst": ("lis", 666_176, 666_176, 52_140_011_520, None),
}


@pytest.mark.needs("public_traces")
def test_no_sample_is_forgotten() -> None:
    root = sample("")
    files = [path.relative_to(root) for path in root.rglob("*") if path.is_file() and path.name not in NOT_TRACES]
    assert {str(path) for path in files if path.parts[0] != FAILED} == set(SAMPLES)


@pytest.mark.needs("public_traces")
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_ingested_whole(name: str, tmp_path: Path) -> None:
    out = tmp_path / "o.parquet"
    files = TraceFiles([sample(name)])
    figures = ingest(files, out)
    total = figures["bytes_read"] + figures["bytes_written"]
    span_s = figures["span_s"] and round(figures["span_s"], 3)
    found = (figures["source_format"], figures["requests"], figures["reads"], total, span_s)
    assert found == SAMPLES[name]
    assert figures == describe_files(files)
    trace, pages = read_trace(out), read_pages(out)
    assert (len(trace), pages.n_requests, pages.n_pages) == (found[1], found[1], figures["distinct_pages"])
    assert int(trace.size.sum()) == total
