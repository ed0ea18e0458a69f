"""Google's Thesios."""

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.formats.headed import layout_of
from cachezoo.traces.formats.thesios import FIELDS
from cachezoo.traces.source import Source
from tests.trace_data import read, texts

HEADER = (
    "filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class,from_flash_cache,cache_hit,"
    "request_io_size_bytes,disk_io_size_bytes,response_io_size_bytes,start_time,disk_time,simulated_disk_start_time,"
    "simulated_latency\n"
)
ROWS = (
    "ab,4096,bigtable,1.5,WARM,REPLICATED,WRITE,OTHER,0,-1,512,0,512,1700000000.5,0,0,0.003\n"
    "cd,0,spanner,1.5,COLD,REPLICATED,READ,LATENCY_SENSITIVE,0,0,8192,4096,4096,1700000001.000001,0.1,0,\n"
)


def made(tmp_path, text):
    path = tmp_path / "data-00000"
    path.write_text(text)
    return path


def test_known_rows(tmp_path):
    path = made(tmp_path, HEADER + ROWS)
    assert fits_of(Source(path)) == {"thesios": Fit.SURE}
    trace = read(path)
    assert (trace.time_us.tolist(), trace.op.tolist()) == ([0, 500_001], [1, 0])
    assert (trace.offset.tolist(), trace.size.tolist()) == ([4096, 0], [512, 8192])
    assert trace.latency_us.tolist() == [3000, -1]
    assert (texts(trace.volume), texts(trace.user)) == (["ab", "cd"], ["bigtable", "spanner"])
    assert texts(trace.flags) == ["OTHER", "LATENCY_SENSITIVE"]


def test_columns_go_by_their_names(tmp_path):
    text = 'op_type,start_time,"FileName",request_io_size_bytes,file_offset\nread,1.5,"a,b",512,1024\n'
    trace = read(made(tmp_path, text))
    assert (texts(trace.volume), trace.offset.tolist(), trace.latency_us) == (["a,b"], [1024], None)


def test_a_bad_op_is_named(tmp_path):
    with pytest.raises(TraceError, match="row 4: op is 'SEEK'"):
        read(made(tmp_path, HEADER + ROWS + ROWS.replace("READ", "SEEK")))


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (HEADER.replace("file_offset,", ""), "its header lacks file_offset"),
        (HEADER.replace("c_time", "file_offset"), "its header names file_offset more than once"),
        (HEADER.replace("c_time", "application"), "its header names application more than once"),
    ],
)
def test_a_header_that_will_not_do_is_named(tmp_path, header, said):
    path = made(tmp_path, header + ROWS)
    assert fits_of(Source(path)) == {}
    with pytest.raises(TraceError, match=said):
        layout_of(Source(path), FIELDS)
