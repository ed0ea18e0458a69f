"""Baleen/Tectonic."""

import random

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from tests.trace_data import read, texts

MIB8 = 8 << 20
NAMES_2 = "block_id io_offset io_size op_time op_name pipeline user_namespace user_name"
NAMES_3 = "block_id io_offset io_size op_time op_name user_namespace user_name"


def write(folder, text, name="full_0_0.1.trace"):
    path = folder / name
    path.write_text(text)
    return path


def test_the_released_row(tmp_path):
    path = write(tmp_path, f"# {NAMES_2}\n310 262144 4325376 1572074461.57806 1 24 3 5\n")
    assert fits_of(Source(path)) == {"tectonic": Fit.SURE}
    trace = read(path)
    assert trace.offset.tolist() == [310 * MIB8 + 262_144] and trace.size.tolist() == [4_325_376]
    assert trace.op.tolist() == [0] and texts(trace.volume) == ["0"]
    assert (texts(trace.flags), texts(trace.namespace), texts(trace.user)) == (["24"], ["3"], ["5"])
    assert trace.count is None and trace.host is None


def test_every_op_and_unknown_ones(tmp_path):
    ops = (1, 2, 5, 100, 3, 4, 6, 100)
    trace = read(write(tmp_path, "".join(f"1 0 4096 {at}.5 {op} 3 5\n" for at, op in enumerate(ops))))
    assert trace.op.tolist() == [0, 0, 0, 1, 1, 1]
    assert trace.time_us.tolist() == [at * 1_000_000 for at in (0, 1, 2, 4, 5, 6)]
    assert trace.meta.extra["left_out.op 100 (unknown)"] == "2"
    assert trace.meta.extra["layout"] == "1, the only one of 7 fields"


def test_ten_fields_are_layout_3(tmp_path):
    trace = read(write(tmp_path, "7 0 4096 1.25 1 ns1 u1 4 12 hostA\n7 4096 4096 1.75 3 ns2 u1 5 1 hostB\n"))
    assert texts(trace.volume) == ["4", "5"] and texts(trace.host) == ["hostA", "hostB"]
    assert trace.count.tolist() == [12, 1] and trace.time_us.tolist() == [0, 500_000]
    assert texts(trace.namespace) == ["ns1", "ns2"]


@pytest.mark.parametrize(("row", "fields"), [("1 0 512 1.0 1 24 3 5", 8), ("1 0 512 1.0 1 24 3 5 9", 9)])
def test_other_widths_need_a_declaration(tmp_path, row, fields):
    path = write(tmp_path, f"{row}\n")
    with pytest.raises(TraceError, match=rf"row 1 has {fields} fields.*layout=2 \(pipeline .*or layout=3 \(namespace"):
        read(path)
    two, three = read(path, layout="2"), read(path, layout="3")
    assert texts(two.flags) == ["24"] and texts(two.namespace) == ["3"] and texts(two.volume) == ["0"]
    assert texts(three.namespace) == ["24"] and texts(three.user) == ["3"] and texts(three.volume) == ["5"]
    assert (two.count is not None) == (three.count is not None) == (fields == 9)


def test_names_beside_the_trace_or_in_its_first_line(tmp_path):
    (tmp_path / "full.header").write_text(f"{NAMES_3} host_name op_count\n")
    path = write(tmp_path, "1 0 512 1.0 1 24 3 h7 9\n")
    trace = read(path)
    assert texts(trace.host) == texts(trace.volume) == ["h7"] and trace.count.tolist() == [9]
    assert trace.meta.extra["layout"] == "as full.header names the columns"
    path = write(tmp_path, f"{NAMES_3} rs_shard_id op_count\n1 0 512 1.0 1 24 3 7 9\n")
    trace = read(path)
    assert texts(trace.volume) == ["7"] and trace.host is None and trace.count.tolist() == [9]


def test_a_range_stays_in_its_block(tmp_path):
    path = write(tmp_path, f"1 0 {MIB8} 1.0 1 3 5\n1 4096 {MIB8} 2.0 1 3 5\n1 -1 5 3.0 1 3 5\n")
    with pytest.raises(TraceError, match=f"row 2: offset 4096 with size {MIB8} leaves its block of {MIB8} bytes"):
        read(path)
    assert len(read(path, skip_bad_rows=2)) == 1
    trace = read(path, skip_bad_rows=1, block_bytes=str(2 * MIB8))
    assert trace.offset.tolist() == [2 * MIB8, 2 * MIB8 + 4096]


def test_damaged_rows_are_named_or_skipped(tmp_path):
    path = write(
        tmp_path,
        "1 0 512 1.0 1 3 5\n1 0 x 2.0 1 3 5\n1 0 512 3.0 9 3 5\n1 0 512 4.0 1 3\n1 0 512 5 1 3 5\n1 0 512 6 1 3 5\n",
    )
    with pytest.raises(TraceError, match="row 2: size is 'x'"):
        read(path)
    with pytest.raises(TraceError, match="row 4: has 6 fields"):
        read(path, skip_bad_rows=1)
    with pytest.raises(TraceError, match="row 3: op is '9'"):
        read(path, skip_bad_rows=2)
    assert read(path, skip_bad_rows=3).time_us.tolist() == [0, 4_000_000, 5_000_000]


def test_random_rows_against_a_plain_loop(tmp_path):
    rng = random.Random(3)
    rows = [
        (rng.randrange(10**6), rng.randrange(64) * 131_072, 131_072, at // 2, rng.randint(1, 6), "n", "u", "3", at)
        for at in range(1, 2001)
    ]
    text = "# a comment\n" + "".join(" ".join(map(str, row)) + "\n" for row in rows)
    trace = read(write(tmp_path, text), layout="3")
    expected = [(row[3] * 1_000_000, int(row[4] in (3, 4, 6)), row[0] * MIB8 + row[1], row[2], row[8]) for row in rows]
    columns = (trace.time_us, trace.op, trace.offset, trace.size, trace.count)
    assert expected == list(zip(*(column.tolist() for column in columns), strict=True))


def test_rows_alone_are_likely(tmp_path):
    assert fits_of(Source(write(tmp_path, "1 0 512 1.5 1 3 5\n" * 3))) == {"tectonic": Fit.LIKELY}


CSV = (
    "op_time,block_id,block_id_size,io_size,io_offset,user_name,user_namespace,op_name,op_count,host_name,rs_shard_id\n"
)


def test_csv_with_a_header_and_ops_in_words(tmp_path):
    rows = (
        "1001,12688880005,8388608,131072,4325376,u2,ns1,getChunkData.Permanent,3,h0,5\n"
        "1001,12688880037,8388608,65536,0,u1,ns2,putChunk.NotInitialized,1,h2,1\n"
        "1002,7,8388608,4096,4096,u1,ns2,GETCHUNKDATA,2,h2,1\n"
    )
    path = write(tmp_path, CSV + rows, "kvcache.csv")
    assert fits_of(Source(path)) == {"tectonic": Fit.SURE}
    trace = read(path)
    assert (trace.op.tolist(), trace.count.tolist()) == ([0, 1, 0], [3, 1, 2])
    assert trace.offset.tolist() == [12688880005 * MIB8 + 4325376, 12688880037 * MIB8, 7 * MIB8 + 4096]
    assert (trace.size.tolist(), trace.time_us.tolist()) == ([131072, 65536, 4096], [0, 0, 1_000_000])
    assert (texts(trace.volume), texts(trace.host), texts(trace.user)) == (
        ["5", "1", "1"],
        ["h0", "h2", "h2"],
        ["u2", "u1", "u1"],
    )
    path.write_text(CSV + rows + rows.replace("putChunk", "mendChunk"))
    with pytest.raises(TraceError, match=r"row 5: op is 'mendChunk\.NotInitialized'"):
        read(path)
