"""Files of tools that were once read wrong, or not at all: each goes in by `auto`, with the right figures."""

import numpy as np
import pytest

from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import OP_READ
from tests.trace_data import read, sample

# file: format, reads, writes, pages
CASES = {
    "k5cloud-volume-time-op-offset-size.csv": ("k5", 193, 107, 771),
    "camelab-time-op-lba-sectors-latency.trace": ("camelab", 193, 107, 771),
    "netsys-signed-pages.txt": ("netsys", 193, 107, 771),
    "google-thesios.csv": ("thesios", 193, 107, 832),
    "cachemon-io-tracer-datetimes.csv": ("iotracer", 129, 56, 604),
    "fio-lat-log-with-log_offset.log": ("fio_log", 193, 107, 771),
    "biosnoop-process-name-with-a-blank.txt": ("biosnoop", 135, 65, 363),
    "nbdkit-log-filter.txt": ("nbdkit_log", 193, 107, 771),
    "open-cas-iotrace.json": ("opencas", 193, 107, 772),
    "blkparse-f-T.t-a-d-S-N.txt": ("blkparse_f", 193, 107, 771),
    "blkparse-f-csv-action-before-rwbs.txt": ("blkparse_f", 193, 107, 771),
    "meta-block-storage-csv-2023.csv": ("tectonic", 189, 111, None),
}
SPANS = {
    "k5cloud-volume-time-op-offset-size.csv": 0.739,
    "camelab-time-op-lba-sectors-latency.trace": 0.739,
    "netsys-signed-pages.txt": 0.739,
    "google-thesios.csv": 0.739,
    "cachemon-io-tracer-datetimes.csv": 0.749,
}
BYTES = 3_485_696


@pytest.mark.needs("public_traces")
@pytest.mark.parametrize("name", CASES)
def test_a_case_has_the_right_requests(name):
    trace = read(sample(f"cases/{name}"))
    reads = int(np.count_nonzero(trace.op == OP_READ))
    pages = expand_pages(trace).n_pages if CASES[name][3] else None
    assert (trace.meta.source_format, reads, len(trace) - reads, pages) == CASES[name]
    if len(trace) == 300 and trace.meta.source_format != "tectonic":
        assert trace.size.sum() == BYTES
    if name in SPANS:
        assert round(int(trace.time_us[-1]) / 1e6, 3) == SPANS[name]


@pytest.mark.needs("public_traces")
def test_what_io_tracer_recorded_beside_reads_and_writes_is_left_out():
    extra = read(sample("cases/cachemon-io-tracer-datetimes.csv")).meta.extra
    assert (extra["left_out.discard"], extra["left_out.flush"]) == ("8", "7")


@pytest.mark.needs("public_traces")
def test_every_request_that_nbdkit_logged_has_its_answer():
    trace = read(sample("cases/nbdkit-log-filter.txt"))
    assert (trace.meta.extra["matched"], int(trace.latency_us.min()) > 0) == ("300", True)


@pytest.mark.needs("public_traces")
def test_meta_counts_accesses_and_blocks():
    trace = read(sample("cases/meta-block-storage-csv-2023.csv"))
    assert trace.count[trace.op == OP_READ].sum() == 277
    assert len(set((trace.offset // (8 << 20)).tolist())) == 40
