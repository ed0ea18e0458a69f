import re
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.delimited import Column, Layout, delimited, joined, lines_of, merged, split_line
from cachezoo.traces.reading import BAD_OP, BAD_TIME, Reading, bytes_of, microseconds
from cachezoo.traces.source import Source

LAYOUT = Layout((Column("n", "int"), Column("x", "float"), Column("who", "text"), Column("late", "int", optional=True)))


def read(tmp_path, content, layout=LAYOUT, skip=0):
    path = tmp_path / "t.txt"
    path.write_bytes(content)
    reading = Reading([Source(path)], skip)
    rows = list(delimited(reading, layout))
    return reading, rows


def values(rows):
    out = []
    for part in rows:
        who = part.coded("who")
        late = part.ints("late").tolist() if part.has("late") else [None] * len(part.row)
        names = [who.names[code] for code in who.codes]
        numbers = (part.row.tolist(), part.ints("n").tolist(), part.floats("x").tolist())
        out += list(zip(*numbers, names, late, strict=True))
    return out


def whole(text):
    """A whole number of 64 bits, perhaps written as a float; None where it is none."""
    if not re.fullmatch(r"-?[0-9]+\.?[0-9]*([eE][+-]?[0-9]{1,3})?", text):
        return None
    number = Fraction(text)
    return int(number) if number.denominator == 1 and -(2**63) < number < 2**63 else None


def naive(text):
    """Line by line: the rows that can be used, and the numbers of the others; the width is the most frequent one."""
    rows, bad, number = [], [], 0
    widths = [line.count(",") + 1 for line in text.decode().splitlines() if line.strip() and not line.startswith("#")]
    width = max(widths, key=lambda width: (widths.count(width), -widths.index(width)))
    width = width if width >= 3 else 4
    for line in text.decode("utf-8", "replace").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        number += 1
        fields = [field.strip() for field in line.split(",")]
        good = len(fields) == width and "\ufffd" not in line
        good = good and whole(fields[0]) is not None
        good = good and re.fullmatch(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", fields[1])
        if good and width > 3 and fields[3]:
            good = whole(fields[3]) is not None
        if not good:
            bad.append(number)
            continue
        late = None if width < 4 else whole(fields[3]) if fields[3] else -(2**63)
        rows.append((number, whole(fields[0]), float(fields[1]), fields[2], late))
    return rows, bad


FIELD = st.sampled_from(
    [
        *("1", "-7", "0", "9223372036854775808", "x", "", " 5 ", "1.5", "-.25", "2e3", "nan", "é"),
        *("15.0", "1.25e1", "1.5e+18", "9.3E18"),
    ]
)
LINE = st.lists(FIELD, min_size=3, max_size=5).map(",".join) | st.sampled_from(["", "# note", "  "])
LINES = st.lists(LINE, max_size=9)


@given(lines=LINES, last=st.booleans())
def test_equals_the_loop_over_lines(tmp_path_factory, lines, last):
    text = ("1,2,first,4\n" + "\n".join(lines) + ("\n" if last else "")).encode()
    expected, bad = naive(text)
    reading, rows = read(tmp_path_factory.mktemp("d"), text, skip=99)
    assert values(rows) == expected
    assert [int(re.search(r"row (\d+)", said)[1]) for said in reading.skipped] == bad


def test_an_error_names_row_column_and_value(tmp_path):
    for content, said in (
        (b"1,2,a,4\n1,z,a,4\n", "row 2: x is 'z', not a number; fix or drop the row"),
        (b"1,2,a,4\n1,nan,a,4\n", "row 2: x is 'nan', not a number"),
        (b"1,2,a,4\n1,1e400,a,4\n", "row 2: x is '1e400', not a number"),
        (b"1,2,a,4\n\n# c\n,2,a,4\n", "row 2: n is empty; fill it in or drop the row"),
        (b"1,2,a,4\n1,2\n", r"row 2: has 2 fields, not 4"),
        (b"1,2\n", r"row 1: has 2 fields, not 4"),
        (b"1,2,a,99999999999999999999\n", "row 1: late is 99999999999999999999, which 64 bits cannot hold"),
        (b"1,2,\xff,4\n", "row 1: is no text in UTF-8"),
    ):
        with pytest.raises(TraceError, match=rf"t\.txt: {said}"):
            read(tmp_path, content)


def test_skipping_stops_at_its_budget(tmp_path):
    content = b"1,2,a,4\nx,2,a,4\ny,2,a,4\n3,2,a,4\n"
    reading, rows = read(tmp_path, content, skip=2)
    assert [row[1] for row in values(rows)] == [1, 3]
    assert len(reading.skipped) == 2
    with pytest.raises(TraceError, match=r"row 3: .*; 1 bad row was skipped before it, as many as asked"):
        read(tmp_path, content, skip=1)


def test_missing_last_columns_further_fields_and_headers(tmp_path):
    _, rows = read(tmp_path, b"1,2,a\n3,4,b\n")
    assert values(rows) == [(1, 1, 2.0, "a", None), (2, 3, 4.0, "b", None)]
    _, rows = read(tmp_path, b"1,2,a,5,more,x\n3,4,b,6,,\n")
    assert values(rows) == [(1, 1, 2.0, "a", 5), (2, 3, 4.0, "b", 6)]
    layout = Layout(LAYOUT.columns, header=lambda line: line.startswith("n,"))
    _, rows = read(tmp_path, b"# c\nn,x,who,late\n1,2,a,\n", layout)
    assert values(rows) == [(1, 1, 2.0, "a", -(2**63))]


def test_a_first_row_of_another_width_is_the_bad_one(tmp_path):
    content = b"1,2,a,4,more\n3,4,b,5\n6,7,c,8\n"
    with pytest.raises(TraceError, match="row 1: has 5 fields, not 4"):
        read(tmp_path, content)
    reading, rows = read(tmp_path, content, skip=1)
    assert [row[:2] for row in values(rows)] == [(2, 3), (3, 6)]
    assert len(reading.skipped) == 1


def test_hexadecimal_is_no_decimal_number_whatever_else_is_in_the_block(tmp_path):
    for others in (b"", b"x,1,a,1\n"):
        reading, rows = read(tmp_path, b"1,2,a,4\n0x10,2,0x1,4\n" + others + b"3,4,0xb,5\n", skip=2)
        assert [row[1] for row in values(rows)] == [1, 3]
        assert "row 2: n is '0x10', not a whole number" in reading.skipped[0]


def test_runs_of_blanks(tmp_path):
    layout = Layout(LAYOUT.columns, delimiter=" ")
    _, rows = read(tmp_path, b"  1 \t 2   a 4 \r\n3 4 b   5\n", layout)
    assert values(rows) == [(1, 1, 2.0, "a", 4), (2, 3, 4.0, "b", 5)]


def test_rows_are_counted_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("cachezoo.traces.source.READ_BYTES", 64)
    monkeypatch.setattr(Source.lines, "__defaults__", (64,))
    content = b"".join(b"%d,0.5,w%d,\n" % (k, k % 3) for k in range(100)) + b"bad,1,a,\n"
    with pytest.raises(TraceError, match="row 101: n is 'bad'"):
        read(tmp_path, content)
    reading, rows = read(tmp_path, content, skip=1)
    assert len(rows) > 10
    assert [row[:2] for row in values(rows)] == [(k + 1, k) for k in range(100)]
    assert len(reading.skipped) == 1


def test_ops_and_names(tmp_path):
    _, rows = read(tmp_path, b"1,1, R ,\n1,1,w,\n1,1,Trim,\n1,1,r,\n")
    op, text = rows[0].op("who")
    assert op.tolist() == [0, 1, BAD_OP, 0]
    assert [text.names[code] for code in text.codes] == ["R", "w", "Trim", "r"]


def test_coded_columns_join_and_merge():
    one = Coded(np.array([0, 1, 1, 0], np.int32), ("a", "b"))
    two = Coded(np.array([2, 0, 2, 2], np.int32), ("x", "y", "z"))
    both = joined(one, two, ".")
    assert [both.names[code] for code in both.codes] == ["a.z", "b.x", "b.z", "a.z"]
    assert sorted(both.names) == ["a.z", "b.x", "b.z"]
    many = Coded(np.arange(300, dtype=np.int32), tuple(map(str, range(300))))
    assert joined(many, many, "-").names == tuple(f"{k}-{k}" for k in range(300))
    same = merged(Coded(np.array([0, 1, 2], np.int32), ("a", "b", "a")))
    assert same.names == ("a", "b") and same.codes.tolist() == [0, 1, 0]


def test_units():
    assert microseconds(np.array([1999, -1]), "ns").tolist() == [1, -1]
    assert microseconds(np.array([19]), "100ns").tolist() == [1]
    assert microseconds(np.array([3]), "s").tolist() == [3_000_000]
    assert microseconds(np.array([2**62]), "ms").tolist() == [BAD_TIME]
    floats = np.array([0.0000014, 1456095145.133076, np.nan, np.inf, 1e300])
    assert microseconds(floats, "s").tolist() == [1, 1456095145133076, *[BAD_TIME] * 3]
    most = (2**62 // 512 + 1) * 512
    assert bytes_of(np.array([3, 2**60, -9, -(2**60)]), 512).tolist() == [1536, most, -4608, -most]


def test_a_first_row_with_too_few_fields_is_one_bad_row(tmp_path):
    reading, rows = read(tmp_path, b"1,2\n1,2,a,3\n", skip=1)
    assert values(rows) == [(2, 1, 2.0, "a", 3)]
    assert reading.skipped == [f"{tmp_path / 't.txt'}: row 1: has 2 fields, not 4 ('1,2'); fix or drop the row"]


def test_ragged_rows_keep_their_columns_whatever_comes_after_them(tmp_path):
    layout = Layout(LAYOUT.columns[:3], ragged=True)
    content = b"1,2,a\n\n2,3,b,x,y\n3,4,c,\n4,5\n,5,d,z\n6,7,e\r\n7,8,f,1,2,3\r\n"
    reading, rows = read(tmp_path, content, layout, skip=2)
    assert values(rows) == [
        (k, n, x, who, None)
        for k, n, x, who in [(1, 1, 2.0, "a"), (2, 2, 3.0, "b"), (3, 3, 4.0, "c"), (6, 6, 7.0, "e"), (7, 7, 8.0, "f")]
    ]
    assert ["row 4: has 2 fields" in reading.skipped[0], "row 5: n is empty" in reading.skipped[1]] == [True, True]


def test_hexadecimal_numbers(tmp_path):
    layout = Layout((Column("n", "hex"), Column("x", "float"), Column("who", "text")))
    content = b"0x1f, 1, a\n 0X0000000000000010 ,1,a\n0xffffffffffffffff,1,a\n"
    assert [(row, n) for row, n, *_ in values(read(tmp_path, content, layout)[1])] == [(1, 31), (2, 16), (3, -1)]
    for bad in ("0xZ", "10", "0x1ffffffffffffffff", "0x", "-0x1", ""):
        reading, rows = read(tmp_path, content + f"{bad},1,a\n0x7,1,a\n".encode(), layout, skip=1)
        assert [(row, n) for row, n, *_ in values(rows)] == [(1, 31), (2, 16), (3, -1), (5, 7)]
        assert f"row 4: n is {f'{bad!r}, not a hexadecimal number' if bad else 'empty'}" in reading.skipped[0]


def test_picked_lines_keep_the_numbers_they_are_given(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(b"")
    reading = Reading([Source(path)], 1)
    blocks = [(b"1,2,a,0\n2,x,b,0\n", np.array([4, 9])), (b"3,4,c,0\n", np.array([12]))]
    rows = list(delimited(reading, LAYOUT, picked=lambda _: iter(blocks)))
    assert [part.row.tolist() for part in rows] == [[4], [12]]
    assert "row 9: x is 'x'" in reading.skipped[0]


BLANKS = st.sampled_from([" ", "  ", "\t", " \t ", "\t\t"])
EDGES = st.sampled_from(["", " ", "\t", "   "])
BLANK_LINE = st.tuples(EDGES, BLANKS, BLANKS, EDGES, st.sampled_from(["\n", "\r\n"]))


@given(st.lists(BLANK_LINE, min_size=1, max_size=8), EDGES)
def test_runs_of_blanks_part_fields_and_edges_are_bare(tmp_path_factory, lines, end):
    layout = Layout((Column("n", "int"), Column("x", "float"), Column("who", "text")), delimiter=" ")
    text = "".join(f"{a}{k}{b}{k}.5{c}w{k}{d}{e}" for k, (a, b, c, d, e) in enumerate(lines)) + end
    _, rows = read(tmp_path_factory.mktemp("blanks"), text.encode(), layout)
    assert values(rows) == [(k + 1, k, k + 0.5, f"w{k}", None) for k in range(len(lines))]


def test_a_number_of_thousands_of_digits_is_a_bad_row(tmp_path):
    content = b"1,1,a,1\n" + b"9" * 5000 + b",1,a,1\n"
    with pytest.raises(TraceError, match=r"row 2: n is 9{40}, which 64 bits cannot hold"):
        read(tmp_path, content)
    reading, rows = read(tmp_path, content, skip=1)
    assert (len(reading.skipped), [part.ints("n").tolist() for part in rows]) == (1, [[1]])


def test_the_least_integer_is_no_time():
    least = np.array([np.iinfo(np.int64).min, 1])
    assert microseconds(least, "s").tolist() == [BAD_TIME, 1_000_000]


SIGNS = st.text(st.sampled_from("+-.0123eEx_ naif\xa0\x0b\x1f\u2028\ufffd"), min_size=1, max_size=4)


@given(st.sampled_from(["int", "float", "hex", "text"]), SIGNS | st.sampled_from([b"\xff", b"a\xc3"]))
def test_a_row_is_judged_alike_whatever_stands_beside_it(tmp_path_factory, kind, value):
    """A block that is looked at line by line, for a bad row in it, keeps and refuses the rows that pyarrow would."""
    layout = Layout((Column("first", "text"), Column("n", kind), Column("unread", "skip"), Column("last", "text")))
    line = b"a," + (value if isinstance(value, bytes) else value.encode()) + b",\xff,\xef\xbf\xbd\n"
    good = b"b,0x1,0,c\n" if kind == "hex" else b"b,1,0,c\n"
    outcomes = []
    for beside in (good, good + b"bad\n"):
        _, rows = read(tmp_path_factory.mktemp("d"), line + beside, layout, skip=2)
        outcomes.append([(part.row.tolist(), part.table.column("n").to_pylist()) for part in rows])
    assert outcomes[0] == outcomes[1]


@given(st.text(st.sampled_from('",ab '), max_size=12), st.sampled_from([",", "\t"]))
def test_a_line_is_split_as_pyarrow_does(text, delimiter):
    line = text.replace(",", delimiter)
    fields, closed = split_line(line, delimiter)
    if not closed or not line:
        return
    names = [str(place) for place in range(len(fields))]
    table = pacsv.read_csv(
        pa.BufferReader(line.encode() + b"\n"),
        pacsv.ReadOptions(column_names=names),
        pacsv.ParseOptions(delimiter=delimiter),
        pacsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
    )
    assert [column[0].as_py().strip(" \t") for column in table.columns] == fields


def test_a_quote_that_is_not_closed_on_its_line_is_a_bad_row(tmp_path):
    layout = Layout(LAYOUT.columns, quoted=True)
    content = b'1,2,"a, ""b""",4\n2,2,"c,5\n3,2,d",6\n4,2,"e"f,7\n5,2,g"h,8\n6,2,"i,9'
    with pytest.raises(TraceError, match=r"row 2: has a quote that is not closed on its line \('2,2,\"c,5'\)"):
        read(tmp_path, content, layout)
    reading, rows = read(tmp_path, content, layout, skip=2)
    assert [(row[0], row[3]) for row in values(rows)] == [(1, 'a, "b"'), (3, 'd"'), (4, "ef"), (5, 'g"h')]
    assert len(reading.skipped) == 2


def test_a_header_with_too_few_names_makes_its_rows_bad(tmp_path):
    layout = Layout(LAYOUT.columns, header=lambda line: line.startswith("n,"))
    with pytest.raises(TraceError, match="row 1: has 2 fields, not 4"):
        read(tmp_path, b"n,x\n1,2\n", layout)


def test_lines_that_are_not_empty_are_counted():
    counts = {b"": 0, b"\n": 0, b"\n\n": 0, b"a": 1, b"a\n": 1, b"\na\n\n\nb\n\n": 2, b"a\nb": 2}
    assert {block: lines_of(block) for block in counts} == counts


NAMES = Layout((Column("n", "int"), Column("way", "text", words=("r", "w")), Column("x", "float")))
TWO_NUMBERS = b"Count,RW,Seconds\n1,r,0.5\n2,w,1.5\n"


@pytest.mark.parametrize("sign", [",", " "])
@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("quoted", [b"", b'"'])
def test_a_first_line_of_names_and_quotes_are_seen_in_any_layout(tmp_path, sign, ragged, quoted):
    layout = Layout(NAMES.columns, delimiter=sign, ragged=ragged)
    further = b",more" if ragged else b""
    lines = [line + further for line in TWO_NUMBERS.splitlines()]
    lines = [b",".join(quoted + field + quoted for field in line.split(b",")) for line in lines]
    content = b"\n".join(lines).replace(b",", sign.encode()) + b"\n"
    _, rows = read(tmp_path, content, layout)
    assert rows[0].row.tolist() == [1, 2]
    assert (rows[0].ints("n").tolist(), rows[0].floats("x").tolist()) == ([1, 2], [0.5, 1.5])
    assert rows[0].coded("way").names == ("r", "w")


@pytest.mark.parametrize(
    "first",
    [
        b"1,RW,Seconds",  # one number of two
        b"Count,RW,5",
        b"Count,r,Seconds",  # an op
        b"nan,RW,nan",  # values that are missing
        b"Count,RW,Count",
        b"Count,RW",
        b"Count,RW,Seconds,More",
    ],
)
def test_a_bad_first_row_is_no_line_of_names(tmp_path, first):
    reading, rows = read(tmp_path, first + b"\n1,r,0.5\n2,w,1.5\n", NAMES, skip=1)
    assert rows[0].row.tolist() == [2, 3]
    assert "row 1: " in reading.skipped[0]


def test_names_above_no_good_row_are_a_bad_row(tmp_path):
    for content in (b"Count,RW,Seconds\n", b"Count,RW,Seconds\nx,r,y\n"):
        reading, rows = read(tmp_path, content, NAMES, skip=9)
        assert not rows
        assert len(reading.skipped) == content.count(b"\n")


def test_floats_that_are_whole_numbers_are_read_exactly_and_one_empty_row_is_one_bad_row(tmp_path):
    content = b"n,way,x\n15421440.0,r,1.5\n1.28166372003015054E+17,w,2\n,,\n7,r,3\n5.5,r,3\n"
    reading, rows = read(tmp_path, content, NAMES, skip=9)
    assert rows[0].ints("n").tolist() == [15421440, 128166372003015054, 7]
    assert [said.partition(": ")[2] for said in reading.skipped] == [
        "row 3: n is empty; fill it in or drop the row",
        "row 5: n is '5.5', not a whole number; fix or drop the row",
    ]
    assert not reading.notes


def test_numbers_that_lost_their_last_digits_are_noted(tmp_path):
    reading, rows = read(tmp_path, b"1.28E+17,r,1\n1.5E+17,w,2\n", NAMES)
    assert rows[0].ints("n").tolist() == [128 * 10**15, 150 * 10**15]
    said = {"rounded.n": "the largest to multiples of 10^15: the file has no more digits"}
    assert reading.notes == said
    # Neither a short number says that the long ones are whole, nor a row that is none what they are rounded to.
    assert read(tmp_path, b"1.28E+17,r,1\n7,w,2\n1E+18,w\n1E+308,w,3\n", NAMES, skip=2)[0].notes == said


def test_a_quote_around_a_delimiter_is_of_one_field_where_rows_are_not_cut(tmp_path):
    layout = Layout((Column("n", "int"), Column("who", "text"), Column("x", "float")))
    content = b'"1","a, b","0.5"\n2,"say ""c""",1.5\n'
    _, rows = read(tmp_path, content, layout)
    assert rows[0].coded("who").names == ("a, b", 'say "c"')
