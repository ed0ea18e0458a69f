import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.read import read_any

BOM = b"\xef\xbb\xbf"
HEADER = b"time_us,op,offset,size\n"
FIRST = 128166372003061629


def msr(*rows):
    return b"".join(f"{FIRST + ticks},usr,0,{','.join(map(str, rest))}\n".encode() for ticks, *rest in rows)


GOOD = msr((0, "Read", 0, 4096, 100), (25, "Write", 4096, 4096, -10))


def read(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    return read_any(path)


@pytest.mark.parametrize("head", [b"", BOM])
def test_a_byte_order_mark_is_passed_over(tmp_path, head):
    trace = read(tmp_path, head + GOOD)
    assert (trace.meta.source_format, trace.time_us.tolist(), trace.latency_us.tolist()) == ("msr", [0, 3], [10, -1])
    trace = read(tmp_path, head + HEADER + b"0,R,0,1\n3,W,0,1\n")
    assert (trace.meta.source_format, trace.time_us.tolist()) == ("csv", [0, 3])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (msr((0, "Read", 0, 1, 1), (1, "Read", "", 1, 1)), "row 2: Offset is empty"),
        (msr((0, "Read", 0, 1, 1), (1, "Read", 0, "", 1)), "row 2: Size is empty"),
        (msr((0, "Read", 0, 1, 1), (1, "Read", 0, 1, "")), "row 2: ResponseTime is empty"),
        (GOOD + b",usr,0,Read,0,1,1\n", "row 3: Timestamp is empty"),
        (msr((0, "Read", 0, 1, 1), (1, "Trim", 0, 1, 1)), "row 2: op is 'Trim'"),
        (msr((0, "Read", 0, 1, 1), (1, "Read", "x", 1, 1)), "row 2: Offset is 'x', not a whole number"),
        (GOOD + b"1,usr\n", "row 3: has 2 fields, not 7"),
        (HEADER + b"0,R,0,1\n1,R,x,1\n", "row 2: offset is 'x', not a whole number"),
        (HEADER + b"0,R,0,1\n1,R\n", "row 2: has 2 fields, not 4"),
        (HEADER + b"0,R,0,1\n1,X,0,1\n", "row 2: op is 'X'"),
        (HEADER + b"0,R,0,1\n1,R,0,1099511627775\n", r"row 2: size is 1099511627775; .*1 GiB.* split the request"),
    ],
)
def test_a_bad_row_is_named_by_its_own_number_and_value(tmp_path, content, message):
    with pytest.raises(TraceError, match=message) as error:
        read(tmp_path, content)
    assert "t.csv" in str(error.value)
    assert "\n" not in str(error.value)


def test_rows_out_of_order_are_sorted_stably(tmp_path):
    rows = msr((0, "Read", 0, 1, 1), (50, "Read", 1, 1, 1), (20, "Read", 2, 1, 1), (50, "Read", 3, 1, 1))
    trace = read(tmp_path, rows)
    assert trace.time_us.tolist() == [0, 2, 5, 5]
    assert trace.offset.tolist() == [0, 2, 1, 3]
    assert trace.meta.extra["out_of_order_rows"] == "1"
