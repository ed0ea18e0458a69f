"""libCacheSim's CSV with named columns."""

import random

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from tests.trace_data import keys, objects, read, sample, texts

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


def test_a_header_that_may_name_times_or_sizes_is_refused_with_the_options_to_give(tmp_path):
    path = write(tmp_path, "time_ms,obj_id,size_bytes\n5,1,512\n9,2,1024\n")
    said = (
        r"its header's time_ms may be the time and size_bytes may be the size; give the options time_col=time_ms "
        r"time_unit=ms \(or time_col=none\) and obj_size_col=size_bytes \(or obj_size_col=none\)"
    )
    with pytest.raises(TraceError, match=said):
        read(path)
    trace = read(path, time_col="time_ms", time_unit="ms", obj_size_col="size_bytes", ids="address")
    assert trace.time_us.tolist() == [0, 4000] and trace.size.tolist() == [512, 1024]
    trace = read(path, time_col="none", obj_size_col="none", ids="address")
    assert trace.time_us.tolist() == [0, 1] and trace.size.tolist() == [4096, 4096]


def test_ids_as_objects_keep_their_texts_and_sizes(tmp_path):
    path = write(tmp_path, "time,obj_id,obj_size\n1,alpha,100\n2,18446744073709551615,7\n3,alpha,0\n")
    trace = objects(path, ids="object")
    assert keys(trace) == ["alpha", "18446744073709551615", "alpha"] and trace.size.tolist() == [100, 7, 0]
    assert trace.numbered()[0].tolist() == [0, 1, 0] and trace.meta.extra["ids"] == "an object's key"
    with pytest.raises(TraceError, match=r"row 1: obj_id is 'alpha', not a whole number; .* the option ids=object"):
        read(path, ids="address")
    for given in ({"ids": "object"}, {}):  # texts are no addresses, so that the file itself says what ids are
        with pytest.raises(TraceError, match="names objects by keys and has no addresses: this needs addresses"):
            read(path, **given)


def test_numbers_are_keys_as_they_are_unless_texts_would_collapse(tmp_path):
    path = write(tmp_path, "time,obj_id,obj_size\n1,-7,100\n2,9223372036854775807,7\n")
    assert keys(objects(path, ids="object")) == [-7, 2**63 - 1]
    path = write(tmp_path, "time,obj_id,obj_size\n1,7,100\n2,007,7\n3,7,7\n")
    assert keys(objects(path, ids="object")) == ["7", "007", "7"]
    path = write(tmp_path, "time,obj_id,obj_size\n1,a,100\n2,,7\n")
    with pytest.raises(TraceError, match="row 2: its key is empty"):
        objects(path, ids="object")


def test_ops_of_objects_may_be_named(tmp_path):
    path = write(tmp_path, "t,what,obj_id,obj_size,ttl\n1,1,a,5,0\n2,0,b,6,60\n3,2,a,0,0\n4,3,b,6,0\n")
    trace = objects(path, ids="object", op_col="what", ops="1|3/0/2", time_col="t", time_unit="ms")
    assert trace.op.tolist() == [0, 1, 2, 0] and trace.ttl_s is not None and trace.ttl_s.tolist() == [0, 60, 0, 0]
    assert trace.time_us.tolist() == [0, 1000, 2000, 3000]
    for wrong in ("1", "/", "1|3/3", "1/0/2/4", ""):
        with pytest.raises(TraceError, match=r"ops are|row 1: op is '1'"):
            objects(path, ids="object", op_col="what", ops=wrong, time_col="t")


def test_deletes_are_of_objects_and_left_out_of_addresses(tmp_path):
    path = write(tmp_path, "time,obj_id,obj_size,op\n1,2,512,get\n2,2,0,delete\n3,3,512,nop\n4,2,512,set\n")
    trace = objects(path, ids="object")
    assert trace.op.tolist() == [0, 2, 1] and trace.meta.extra["left_out.nop"] == "1"
    extra = read(path).meta.extra
    assert (extra["left_out.delete"], extra["left_out.nop"]) == ("1", "1")


def test_an_address_that_overflows_names_the_option(tmp_path):
    path = write(tmp_path, f"time,obj_id,obj_size\n1,2,512\n1,{2**61},512\n")
    with pytest.raises(TraceError, match=rf"row 2: id is {2**61}.*ids=object"):
        read(path, ids="address")
    assert len(read(path, ids="address", skip_bad_rows=1)) == 1


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
    trace, named = read(path, ids="address"), objects(path, ids="object")
    expected = [(row[0] * 1_000_000, row[1] * 512, row[2], int(row[3] == "put")) for row in rows]
    columns = (trace.time_us, trace.offset, trace.size, trace.op)
    assert expected == list(zip(*(column.tolist() for column in columns), strict=True))
    assert keys(named) == [row[1] for row in rows] and named.size.tolist() == [row[2] for row in rows]


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
