"""Formats whose requests are of objects: each read against a plain loop over the same rows."""

import random

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import cachelib, fits_of, wikimedia
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.formats.headed import layout_of
from cachezoo.traces.ingest import describe_files
from cachezoo.traces.read import TraceFiles
from cachezoo.traces.source import Source
from tests.trace_data import keys, objects, read, sample, texts


def write(tmp_path, lines, name="t"):
    path = tmp_path / name
    path.write_text("".join(line + "\n" for line in lines))
    return path


def some(seed, rows=300):
    """(second, key, size, op) of some requests; a key has its size throughout."""
    rng = random.Random(seed)
    return [
        (at // 4, key := rng.randrange(40), 300 + 77 * key, rng.choice(["get", "get", "set", "delete"]))
        for at in range(rows)
    ]


def ops(trace):
    return [("get", "set", "delete")[op] for op in trace.op.tolist()]


def test_webcachesim(tmp_path):
    rows = some(1)
    path = write(tmp_path, [f"{at} {10**11 + 31 * key} {size}" for at, key, size, _ in rows])
    trace = objects(path)
    assert trace.meta.source_format == "webcachesim"
    assert keys(trace) == [10**11 + 31 * row[1] for row in rows] and trace.size.tolist() == [row[2] for row in rows]
    assert trace.time_us.tolist() == [row[0] * 1_000_000 for row in rows] and not trace.op.any()
    path = write(tmp_path, [f"{at} {key} {size} {at % 7} {key}" for at, key, size, _ in rows])
    featured = objects(path, fmt="webcachesim", time_unit="ms")
    assert keys(featured) == [row[1] for row in rows] and featured.time_us.tolist() == [1000 * row[0] for row in rows]


@pytest.mark.parametrize(
    "row",
    [
        lambda at, key, size: f"{at} {key * 4096} 8192",  # addresses and sizes of a disk
        lambda at, key, size: f"{at} {key * 8} 8",  # sectors
        lambda at, key, size: f"{at} {at * 700} 700",  # a file read from its start
        lambda at, key, size: f"{-at} {key} {size}",  # times that fall
        lambda at, key, size: f"{at}.5 {key} {size}",
    ],
)
def test_other_numbers_in_threes_are_no_objects(tmp_path, row):
    path = write(tmp_path, [row(at, key, size) for at, (_, key, size, _) in enumerate(some(2))])
    assert "webcachesim" not in fits_of(Source(path))


def test_cachelib_with_and_without_times(tmp_path):
    rows = some(3)
    lines = ["key,op,size,op_count,key_size", *(f"k{k},{op.upper()},{size},{1 + k % 3},9" for _, k, size, op in rows)]
    path = write(tmp_path, lines)
    trace = objects(path)
    assert trace.meta.source_format == "cachelib_kv" and fits_of(Source(path)) == {"cachelib_kv": Fit.SURE}
    assert keys(trace) == [f"k{row[1]}" for row in rows] and ops(trace) == [row[3] for row in rows]
    assert trace.count.tolist() == [1 + row[1] % 3 for row in rows] and trace.time_us.tolist() == list(range(len(rows)))
    figures = describe_files(TraceFiles([path]))
    assert figures["requests"] == sum(1 + row[1] % 3 for row in rows) and figures["span_s"] is None
    lines = ["op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase"]
    lines += [f"{at},{k},9,{op.upper()}_LEASE,1,{size},0,{60 * (op == 'set')},u{k % 2},s" for at, k, size, op in rows]
    trace = objects(write(tmp_path, lines))
    assert keys(trace) == [row[1] for row in rows] and ops(trace) == [row[3] for row in rows]
    assert trace.time_us.tolist() == [row[0] * 1_000_000 for row in rows]
    assert trace.ttl_s.tolist() == [60 * (row[3] == "set") for row in rows]
    assert texts(trace.namespace) == [f"u{row[1] % 2}" for row in rows]
    assert objects(write(tmp_path, lines), time_unit="ms").time_us[-1] == rows[-1][0] * 1000


def test_a_get_that_missed_does_not_know_the_size(tmp_path):
    path = write(tmp_path, ["key,op,size,op_count,key_size", "7,GET,0,2,1", "7,SET,82,1,1", "8,DELETE,0,1,1"])
    figures = describe_files(TraceFiles([path]))
    assert (figures["reads"], figures["writes"], figures["deletes"], figures["objects"]) == (2, 1, 1, 2)
    assert (figures["object_bytes"], figures["rows_of_unknown_size"]) == (82, 1)
    path = write(tmp_path, ["key,op,size,op_count,key_size", "7,GET,0,0,1"])
    with pytest.raises(TraceError, match="row 1: its count is no number of accesses"):
        objects(path)


def test_cachelib_of_a_cdn(tmp_path):
    head = "timestamp,cacheKey,OpType,objectSize,responseSize,rangeStart,rangeEnd,TTL,SamplingRate,cache_hit"
    rows = some(4)
    path = write(tmp_path, [head, *(f"{at},{key},1,{size},{size // 2},0,9,{key},0.2,1" for at, key, size, _ in rows)])
    trace = objects(path)
    assert trace.meta.source_format == "cachelib_cdn" and trace.size.tolist() == [row[2] for row in rows]
    assert trace.ttl_s.tolist() == keys(trace) == [row[1] for row in rows]
    path = write(tmp_path, [head, "1,a,9,5,5,0,9,3,0.2,1"])
    with pytest.raises(TraceError, match="row 1: op is '9'"):
        objects(path)
    assert ops(objects(path, ops="1|9/2")) == ["get"]


def test_twitter(tmp_path):
    rows = some(5)
    path = write(tmp_path, [f"{at},nz:{key},5,{size},{key % 3},{op},{60 + key}" for at, key, size, op in rows])
    trace = objects(path)
    assert trace.meta.source_format == "twitter" and keys(trace) == [f"nz:{row[1]}" for row in rows]
    assert ops(trace) == [row[3] for row in rows] and texts(trace.user) == [str(row[1] % 3) for row in rows]
    # The time to live is of what is written.
    assert trace.ttl_s.tolist() == [60 + row[1] if row[3] == "set" else 0 for row in rows]


REST = {"get": "GET", "set": "PUT", "delete": "DELETE"}


def test_ibm_rows_have_three_to_six_fields(tmp_path):
    rows = some(6)
    lines = []
    for at, key, size, op in rows:
        rest = {"get": f" {size} 0 {key}", "set": f" {size}", "delete": ""}[op]
        lines.append(f"{at} REST.{REST[op]}.OBJECT {key:016x}{rest}")
    trace = objects(write(tmp_path, lines))
    assert trace.meta.source_format == "ibm_cos" and keys(trace) == [f"{row[1]:016x}" for row in rows]
    assert ops(trace) == [row[3] for row in rows] and trace.time_us.tolist() == [1000 * row[0] for row in rows]
    assert trace.size.tolist() == [0 if row[3] == "delete" else row[2] for row in rows]
    assert texts(trace.flags) == [REST[row[3]].lower() for row in rows]
    more = objects(write(tmp_path, ["1 REST.HEAD.OBJECT a 5", "2 REST.COPY.OBJECT a 5"]))
    assert ops(more) == ["get", "set"] and texts(more.flags) == ["head", "copy"]
    with pytest.raises(TraceError, match=r"row 2: op is 'REST\.LIST\.OBJECT'"):
        objects(write(tmp_path, [lines[0], "2 REST.LIST.OBJECT a 5"]))


def test_ibm_with_numbered_operations(tmp_path):
    rows = some(7)
    head = "# timestamp (ms), op type [Put:0, Get:1, Delete:2, Head: 3, Copy: 4], object id, object size (byte)"
    number = {"set": 0, "get": 1, "delete": 2}
    path = write(tmp_path, [head, *(f"{at},{number[op]},obj{key},{size}" for at, key, size, op in rows)])
    trace = objects(path)
    assert trace.meta.source_format == "ibm_cos" and keys(trace) == [f"obj{row[1]}" for row in rows]
    assert ops(trace) == [row[3] for row in rows] and trace.size.tolist() == [row[2] for row in rows]
    path = write(tmp_path, [head.replace("Copy", "Frob"), "1,1,a,5"])
    with pytest.raises(TraceError, match="its comment names the operation 'frob'"):
        objects(path)


@pytest.mark.parametrize("typed", [False, True])
def test_wikimedia(tmp_path, typed):
    rows = some(8)
    head = ["relative_unix", "hashed_path_query", *(["image_type"] if typed else []), "response_size", "time_firstbyte"]
    lines = ["\t".join(head)]
    for at, key, size, _ in rows:
        kind = ["png", "-"][key % 2]
        lines.append("\t".join(map(str, [at, key, *([kind] if typed else []), size, "1.5e-04"])))
    trace = objects(write(tmp_path, lines))
    assert trace.meta.source_format == "wikimedia" and keys(trace) == [row[1] for row in rows]
    assert trace.size.tolist() == [row[2] for row in rows] and set(trace.latency_us.tolist()) == {150}
    assert (trace.flags is not None) is typed


def test_what_is_wrong_with_a_row_is_named(tmp_path):
    with pytest.raises(TraceError, match="row 2: size is empty"):
        objects(write(tmp_path, ["key,op,size,op_count", "1,GET,5,1", "1,GET,,1"]))


@pytest.mark.parametrize(
    ("fields", "delimiter", "header", "said"),
    [
        (wikimedia.FIELDS, "\t", "relative_unix\thashed_path_query", "its header lacks response_size"),
        (cachelib.STORE_FIELDS, ",", "key,op,size,op_count,key", "its header names key more than once"),
    ],
)
def test_a_header_that_will_not_do_is_named(tmp_path, fields, delimiter, header, said):
    path = write(tmp_path, [header, "1\t2"])
    with pytest.raises(TraceError, match=said):
        layout_of(Source(path), fields, delimiter)
    with pytest.raises(TraceError, match="is no trace of a known format"):
        objects(path)


STORE = "key,op,size,op_count"


@pytest.mark.parametrize("name", ["op_time", "timestamp", "time"])
def test_cachelib_knows_times_by_several_names(tmp_path, name):
    path = write(tmp_path, [f"{name},{STORE}", "5,a,GET,7,1", "8,b,GET,7,1"])
    assert objects(path).time_us.tolist() == [0, 3_000_000]


@pytest.mark.parametrize("name", ["op_time_ms", "ts", "unix_seconds"])
def test_cachelib_does_not_number_rows_where_a_column_may_be_the_time(tmp_path, name):
    path = write(tmp_path, [f"{name},{STORE}", "5,a,GET,7,1", "8,b,GET,7,1"])
    with pytest.raises(TraceError, match=f"its header's {name} may be the time: name it op_time, or drop the column"):
        objects(path)
    path = write(tmp_path, [f"{STORE},key_size,cache_hits,latency_ms", "a,GET,7,1,5,0,2"])  # none of these is
    assert objects(path).time_us.tolist() == [0]


MOMENT = 1_712_000_000  # seconds since 1970
TIMED = {
    "cachelib_kv": ("{at},{key},GET,{size},1", [f"op_time,{STORE}"]),
    "cachelib_cdn": ("{at},{key},1,{size}", ["timestamp,cacheKey,OpType,objectSize"]),
    "webcachesim": ("{at} {key} {size}", []),
}


@pytest.mark.parametrize("unit", [1, 1000, 10**6, 10**9])
@pytest.mark.parametrize("fmt", TIMED)
def test_moments_in_another_unit_than_seconds_are_known_by_the_year(tmp_path, fmt, unit):
    row, header = TIMED[fmt]
    rows = some(9)
    given = [row.format(at=(MOMENT + at) * unit, key=key, size=size) for at, key, size, _ in rows]
    trace = objects(write(tmp_path, [*header, *given]))
    # Seconds are read as floats, whose last digits are of nanoseconds.
    assert trace.meta.source_format == fmt and abs(trace.time_us - [row[0] * 10**6 for row in rows]).max() <= 1
    said = {1: None, 1000: "ms", 10**6: "us", 10**9: "ns"}[unit]
    assert (f"time_unit={said}" in trace.meta.extra.get("inferred", "")) is (said is not None)
    if unit == 1000:
        assert objects(write(tmp_path, [*header, *given]), time_unit="s").time_us[-1] == rows[-1][0] * 10**9


LIVING = {
    "libcachesim_csv": ("{at},{key},{size},set,{ttl}", ["time,obj_id,obj_size,op,ttl"], {"ids": "object"}),
    "columns": (
        "{at},{key},{size},set,{ttl}",
        ["time,key,size,op,ttl"],
        {"time": "time:s"} | {name: name for name in ("key", "size", "op", "ttl")},
    ),
    "cachelib_kv": ("{at},{key},SET,{size},1,{ttl}", [f"op_time,{STORE},ttl"], {}),
    "cachelib_cdn": ("{at},{key},2,{size},{ttl}", ["timestamp,cacheKey,OpType,objectSize,TTL"], {}),
    "twitter": ("{at},{key},3,{size},1,set,{ttl}", [], {}),
}


@pytest.mark.parametrize("fmt", LIVING)
def test_no_time_to_live_is_empty_or_below_0(tmp_path, fmt):
    row, header, options = LIVING[fmt]
    lives = ["60", "", "0", "-1", "-9223372036854775807", "7"]
    rows = [row.format(at=at, key=f"k{at}", size=500, ttl=ttl) for at, ttl in enumerate(lives)]
    trace = objects(write(tmp_path, [*header, *rows]), fmt=fmt, **options)
    assert trace.ttl_s.tolist() == [60, 0, 0, 0, 0, 7]
    with pytest.raises(TraceError, match=f"row {len(rows) + 1}: ttl is 'x', not a whole number"):
        objects(write(tmp_path, [*header, *rows, row.format(at=1, key="k", size=5, ttl="x")]), fmt=fmt, **options)


def test_what_needs_addresses_says_why(tmp_path):
    with pytest.raises(TraceError, match="names objects by keys and has no addresses"):
        read(write(tmp_path, ["key,op,size,op_count", "1,GET,5,1"]))


CASES = {
    "webcachesim-time-id-size.tr": {"requests": 5000, "objects": 455, "object_bytes": 223_357_210},
    "object-ids-numbered-by-first-appearance.tr": {"requests": 6000, "objects": 3000, "one_hit_share": 0.0},
    "cachelib-kv-guess-collapses-keys.csv": {"reads": 20_000, "objects": 4890},
    "cachelib-kvcache-2022-header.csv": {"rows": 10, "reads": 20, "writes": 3, "deletes": 1, "objects": 4},
    "ibm-object-store-raw-ragged.txt": {"requests": 400, "objects": 30, "flags get": 319, "flags copy": 9},
    "ibm-object-store-alphabetical-ids-op-codes.csv": {"requests": 400, "objects": 30, "flags put": 42, "deletes": 10},
    "wikimedia-cdn-2019.tsv": {"requests": 400, "span_s": 19.0},
}


@pytest.mark.needs("public_traces")
@pytest.mark.parametrize("name", CASES)
def test_public_cases(name):
    figures = describe_files(TraceFiles([sample(f"cases/{name}")]))
    assert {what: figures[what] for what in CASES[name]} == CASES[name]
