"""libCacheSim's CSV with named columns."""

import random

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from tests.trace_data import read, sample, texts

FMT = "libcachesim_csv"


def write(folder, text):
    path = folder / "t.csv"
    path.write_text(text)
    return path


def test_usual_names_are_found(tmp_path):
    path = write(tmp_path, "time,obj_id,obj_size,op,tenant\n1.5,8,4096,get,a\n2,9,512,SET,b\n3,1,1,delete,a\n")
    assert fits_of(Source(path)) == {FMT: Fit.LIKELY}
    trace = read(path)
    assert trace.time_us.tolist() == [0, 500_000] and trace.offset.tolist() == [4096, 4608]
    assert trace.size.tolist() == [4096, 512] and trace.op.tolist() == [0, 1] and texts(trace.namespace) == ["a", "b"]
    extra = trace.meta.extra
    assert extra["left_out.delete"] == "1"
    assert extra["columns"] == "time 1, obj_id 2, obj_size 3, op 4, tenant 5"


@pytest.mark.parametrize("sign", [",", "\t", ";", "|", " "])
def test_every_delimiter_is_found(tmp_path, sign):
    path = write(tmp_path, f"time{sign}obj_id{sign}size\n1{sign}2{sign}512\n2{sign}3{sign}512\n")
    trace = read(path)
    assert trace.offset.tolist() == [1024, 1536] and trace.time_us.tolist() == [0, 1_000_000]
    assert read(path, delimiter={" ": "blank", "\t": "tab"}.get(sign, sign)).offset.tolist() == [1024, 1536]


def test_columns_by_number_and_name(tmp_path):
    path = write(tmp_path, "x,5,100,3\ny,6,200,4\n")
    options = {"time_col": "3", "obj_id_col": "2", "obj_size_col": "4", "time_unit": "ms", "unit_bytes": "10"}
    trace = read(path, fmt=FMT, **options)
    assert trace.time_us.tolist() == [0, 100_000] and trace.offset.tolist() == [50, 60]
    assert trace.size.tolist() == [3, 4]
    path = write(tmp_path, "when;what\n7;1\n8;2\n")
    trace = read(path, fmt=FMT, time_col="when", obj_id_col="what", time_unit="us")
    assert trace.time_us.tolist() == [0, 1] and trace.size.tolist() == [4096, 4096]
    assert trace.meta.extra["size"].startswith("4,096 bytes each")


def test_without_times_rows_are_numbered(tmp_path):
    path = write(tmp_path, "obj_id,obj_size\n5,512\n6,512\n")
    trace = read(path, path)
    assert trace.time_us.tolist() == [0, 1, 2, 3] and trace.meta.extra["time"].startswith("row numbers")


def test_ids_as_objects(tmp_path):
    path = write(tmp_path, "time,obj_id,obj_size\n1,alpha,100\n2,18446744073709551615,7\n3,alpha,0\n")
    trace = read(path, ids="object")
    assert trace.offset.tolist() == [0, 4096, 0] and trace.size.tolist() == [4096] * 3
    with pytest.raises(TraceError, match="row 1: obj_id is 'alpha', not a whole number"):
        read(path)


def test_an_address_that_overflows_names_the_option(tmp_path):
    path = write(tmp_path, f"time,obj_id,obj_size\n1,2,512\n1,{2**61},512\n")
    with pytest.raises(TraceError, match=rf"row 2: id is {2**61}.*ids=object"):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 1


def test_wrong_columns_are_named(tmp_path):
    path = write(tmp_path, "1,2,3\n4,5,6\n")
    with pytest.raises(TraceError, match="does not look like libcachesim_csv, which needs a header that names obj_id"):
        read(path, fmt=FMT)
    with pytest.raises(TraceError, match="option obj_id_col is '4': use a number from 1 to 3"):
        read(path, fmt=FMT, obj_id_col="4")
    with pytest.raises(TraceError, match="one column serves twice"):
        read(path, fmt=FMT, obj_id_col="1", time_col="1")
    with pytest.raises(TraceError, match="option delimiter"):
        read(path, fmt=FMT, obj_id_col="1", delimiter="::")


def test_damaged_rows_are_named_or_skipped(tmp_path):
    path = write(tmp_path, "time,obj_id,size,op\n1,2,512,read\n2,x,512,read\n3,4,512,frob\n4,5,512,write\n")
    with pytest.raises(TraceError, match="row 2: obj_id is 'x'"):
        read(path)
    with pytest.raises(TraceError, match="row 3: op is 'frob'"):
        read(path, skip_bad_rows=1)
    assert read(path, skip_bad_rows=2).op.tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(2))
def test_random_rows_against_a_plain_loop(tmp_path, seed):
    rng = random.Random(seed)
    rows = [(at * 3, rng.randrange(10**6), rng.randint(1, 9999), rng.choice(("get", "put"))) for at in range(3000)]
    path = write(tmp_path, "time,obj_id,obj_size,op\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    trace, objects = read(path), read(path, ids="object")
    expected = [(row[0] * 1_000_000, row[1] * 512, row[2], int(row[3] == "put")) for row in rows]
    columns = (trace.time_us, trace.offset, trace.size, trace.op)
    assert expected == list(zip(*(column.tolist() for column in columns), strict=True))
    place = {}
    assert objects.offset.tolist() == [place.setdefault(row[1], len(place)) * 4096 for row in rows]


@pytest.mark.needs("public_traces")
def test_cloudphysics_by_its_columns():
    path = sample("block/cloudphysics_us.csv.gz")
    columns = {"time_col": "2", "obj_id_col": "5", "obj_size_col": "4", "op_col": "none"}
    trace, whole = read(path, fmt=FMT, time_unit="us", **columns), read(path)
    assert trace.offset.tolist() == whole.offset.tolist() and trace.size.tolist() == whole.size.tolist()
    assert trace.time_us.tolist() == whole.time_us.tolist()


def test_a_carriage_return_inside_a_row_ends_it_there(tmp_path):
    path = write(tmp_path, "")
    path.write_bytes(b"time,obj_id,size\n1,2,512\n2\r,2\n3,3,512\n")
    with pytest.raises(TraceError, match="row 2: has 1 field, not 3"):
        read(path)
    assert read(path, skip_bad_rows=2).offset.tolist() == [1024, 1536]


def test_a_quote_over_several_lines_is_a_bad_row_of_each(tmp_path):
    path = write(tmp_path, 'time,obj_id,size,tenant\n1,2,512,"a"\n2,3,512,"b\n3,4,512,b"\n4,5,512,"c ""x"", d"\n')
    with pytest.raises(TraceError, match="row 2: has a quote that is not closed on its line"):
        read(path)
    trace = read(path, skip_bad_rows=1)
    assert trace.offset.tolist() == [1024, 2048, 2560]
    assert texts(trace.namespace) == ["a", 'b"', 'c "x", d']


def test_a_header_may_have_delimiters_in_quotes(tmp_path):
    path = write(tmp_path, 'time,"obj_id","size, bytes"\n1,2,512\n')
    trace = read(path, obj_size_col="size, bytes")
    assert (trace.offset.tolist(), trace.size.tolist()) == ([1024], [512])
