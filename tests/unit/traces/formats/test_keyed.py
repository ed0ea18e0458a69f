"""Keys of objects: whatever format has them, two keys that are written differently are never one object."""

import struct
from itertools import product

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.traces.formats.columns import parsed
from tests.trace_data import keys, objects

ROWS = 6000  # more than a beginning of 64 KiB, by which keys are numbers or texts
# A row of a time and a key; the first lines of the file; options.
FORMATS = {
    "libcachesim_csv": ("{at},{key},70000", "time,obj_id,obj_size", {"ids": "object"}),
    "columns": ("{at},{key},70000", "", parsed("time=#1:s,key=#2,size=#3,op=read")),
    "webcachesim": ("{at} {key} 70000", "", {}),
    "twitter": ("{at},{key},3,70000,1,get,0", "", {}),
    "ibm_cos": ("{at} REST.GET.OBJECT {key} 70000", "", {}),
    "cachelib_kv": ("{at},{key},GET,70000,1", "op_time,key,op,size,op_count", {}),
    "cachelib_cdn": ("{at},{key},1,70000", "timestamp,cacheKey,OpType,objectSize", {}),
    "wikimedia": ("{at}\t{key}\t70000", "relative_unix\thashed_path_query\tresponse_size", {}),
}


def written(tmp_path, fmt, last, first=("7",)):
    """A file whose keys are plain numbers, and then some others."""
    row, header, options = FORMATS[fmt]
    given = [*first, *(str(10 + 7 * at % 500) for at in range(ROWS)), *last]
    rows = [row.format(at=at, key=key) for at, key in enumerate(given)]
    path = tmp_path / "t"
    path.write_text("\n".join([*([header] if header else []), *rows]) + "\n")
    return path, given, {"fmt": fmt, **options}


ODD = ("+7", "0x7", "-7", "-0", str(2**64), "seven")


LATER = [*product(FORMATS, ("007", "7.0", "1E1")), *(("columns", odd) for odd in ODD)]


@pytest.mark.parametrize(("fmt", "odd"), LATER)
def test_a_later_key_that_is_no_plain_number_is_a_bad_row(tmp_path, fmt, odd):
    path, given, options = written(tmp_path, fmt, ["7", odd, "7"])
    with pytest.raises(
        TraceError, match=rf"row {len(given) - 1}: .* is '.+', not a whole number in digits alone"
    ) as found:
        objects(path, **options)
    assert "read the keys as texts with the option keys=text" in str(found.value) and "unit" not in str(found.value)
    trace = objects(path, **options, keys="text")
    assert keys(trace) == given
    assert len(objects(path, **options, skip_bad_rows=1)) == len(given) - 1


BITS = [str(2**63 - 1), str(2**63), str(2**64 - 1)]


@pytest.mark.parametrize("first", [["7"], BITS])
@pytest.mark.parametrize("fmt", FORMATS)
def test_keys_from_2_to_the_63_on_keep_their_bits(tmp_path, fmt, first):
    path, given, options = written(tmp_path, fmt, BITS, first)
    trace = objects(path, **options)
    assert [key % 2**64 for key in keys(trace)] == [int(key) for key in given]


HIGH = [7, 2**63 - 1, 2**63, 2**64 - 1, 7]


def test_so_do_those_of_binary_records_and_of_stored_tables(tmp_path):
    path = tmp_path / "t.oracleGeneral"
    following = [5, -1, -1, -1, -1]
    path.write_bytes(
        b"".join(struct.pack("<IQIq", 1, key, 500, after) for key, after in zip(HIGH, following, strict=True))
    )
    trace = objects(path, fmt="oraclegeneral", ids="object")
    assert [key % 2**64 for key in keys(trace)] == HIGH
    table = pa.table({"t": range(5), "k": pa.array(HIGH, pa.uint64()), "n": [500] * 5})
    pq.write_table(table, tmp_path / "t.parquet")
    trace = objects(tmp_path / "t.parquet", fmt="columns", **parsed("time=t:s,key=k,size=n,op=read"))
    assert [key % 2**64 for key in keys(trace)] == HIGH


@given(st.lists(st.from_regex(r"[-+]?[0-9]{1,20}(\.0)?", fullmatch=True), min_size=1, max_size=8), st.booleans())
def test_no_two_keys_become_one(tmp_path_factory, last, below):
    first = ("-1",) if below else ("7",)
    path, given, options = written(tmp_path_factory.mktemp("k"), "columns", last, first)
    trace = objects(path, **options, skip_bad_rows=len(last))
    bad = len(given) - len(trace)
    assert bad or len(set(keys(trace))) == len(set(given))
    assert keys(objects(path, **options, keys="text")) == given
