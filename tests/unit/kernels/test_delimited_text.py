"""Plain rows of delimited text, against pyarrow's reader of CSV."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.delimited_text import MOST_NAMES, NAME, NUMBER, SKIPPED, lines_of, plain_rows
from cachezoo.traces.delimited import Column, Layout, _File
from cachezoo.traces.reading import Reading
from cachezoo.traces.source import Source
from tests.without_numba import printed

KINDS = {"int": NUMBER, "text": NAME, "skip": SKIPPED}


def both(block, layout):
    """A block as the kernel has it, None where its rows are not plain, and as pyarrow has it, None where it cannot."""
    file = _File(Reading([]), Source(None), layout)
    file.width = len(layout.columns)
    try:
        parsed = file.parsed(block, floats=False)
    except pa.ArrowInvalid:
        parsed = None
    return file.plain(block, lines_of(block)), parsed


def layout_of(kinds, delimiter=","):
    return Layout(tuple(Column(f"c{place}", kind) for place, kind in enumerate(kinds)), delimiter)


NUMBERS = st.integers(-(10**18) + 1, 10**18 - 1).map(str) | st.integers(-30, 30).map(str)
NAMES = st.text("abR ", max_size=3) | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)
FIELDS = {"int": NUMBERS, "text": NAMES, "skip": NAMES}


@st.composite
def plain_blocks(draw):
    """A layout and a block of it, plain unless it has the delimiter in a name."""
    kinds = draw(
        st.lists(st.sampled_from(["int", "text", "skip"]), min_size=2, max_size=6).filter(
            lambda kinds: {*kinds} != {"skip"}
        )
    )
    delimiter = draw(st.sampled_from(",;| \t"))
    rows = draw(st.lists(st.tuples(*(FIELDS[kind] for kind in kinds)), min_size=1, max_size=30))
    rows = [[field.replace(delimiter, "_").replace('"', "'") for field in row] for row in rows]
    return layout_of(kinds, delimiter), "".join(delimiter.join(row) + "\n" for row in rows).encode()


@given(plain_blocks())
def test_plain_rows_are_what_the_reader_of_csv_makes_of_them(drawn):
    layout, block = drawn
    found, parsed = both(block, layout)
    assert found is not None
    assert parsed.column_names == found.column_names
    for name in found.column_names:
        ours, theirs = found.column(name).combine_chunks(), parsed.column(name).combine_chunks()
        assert ours.equals(theirs), name  # codes and names alike, these in their order


@given(plain_blocks(), st.data())
def test_what_is_not_plain_is_left_alone_or_read_the_same(drawn, data):
    """One byte more, less, or another."""
    layout, block = drawn
    at, sign = data.draw(st.integers(0, len(block) - 1)), data.draw(st.sampled_from([*b'0-+., \t"x\n\0\x80\xff', None]))
    cut = data.draw(st.sampled_from([0, 1]))
    block = block[:at] + (b"" if sign is None else bytes([sign])) + block[at + cut :]
    found, parsed = both(block, layout)
    if found is not None:
        assert parsed is not None
        assert found.to_pydict() == parsed.to_pydict()
        assert len(found) == lines_of(block)


@pytest.mark.parametrize(
    ("block", "kinds"),
    [
        (b"1,a\n2,b", "int text"),  # no end
        (b"1,a\n\n2,b\n", "int text"),
        (b"\n1,a\n", "int text"),
        (b"1,a\n2\n", "int text"),
        (b"1,a\n2,b,c\n", "int text"),
        (b"1,a,c\n2,b\n", "int text"),
        (b"1,a\n,b\n", "int text"),
        (b"1,a\n-,b\n", "int text"),
        (b"1,a\n--2,b\n", "int text"),
        (b"1,a\n+2,b\n", "int text"),
        (b"1,a\n 2,b\n", "int text"),
        (b"1,a\n2.0,b\n", "int text"),
        (b"1,a\n2e3,b\n", "int text"),
        (b"1,a\n0x2,b\n", "int text"),
        (b"1,a\n1000000000000000000,b\n", "int text"),
        (b"1,a\n2,\xc3\xa9\n", "int text"),
        (b"1,a\n2,b\x7f\n", "int text"),
        (b"1,a\n2,b\tc\n", "int text"),
        (b"a\n\n", "text"),
        (b"", "int text"),
        (b"".join(b"1,n%d\n" % k for k in range(MOST_NAMES + 1)), "int text"),
    ],
)
def test_what_is_not_plain(block, kinds):
    assert plain_rows(block, ",", [KINDS[kind] for kind in kinds.split()], lines_of(block)) is None


def test_as_many_names_as_a_column_may_have():
    block = b"".join(b"%d,n%d\n" % (k, k % MOST_NAMES) for k in range(3 * MOST_NAMES))
    rows = plain_rows(block, ",", [NUMBER, NAME], 3 * MOST_NAMES)
    assert rows.numbers.tolist() == [list(range(3 * MOST_NAMES))]
    assert rows.codes.tolist() == [[k % MOST_NAMES for k in range(3 * MOST_NAMES)]]
    assert rows.names == [[f"n{k}" for k in range(MOST_NAMES)]]


def test_names_that_meet_in_a_slot_are_told_apart():
    """Whatever they hash to: all names of two signs, far more than slots would keep apart."""
    names = [f"{a}{b}" for a in "abcdefghijklmnopqrstuvwxyzABCDEF" for b in "abcdefghijklmnopqrstuvwxyzABCDEF"]
    assert len(names) == MOST_NAMES
    block = "".join(f"{name},{name[::-1]}\n" for name in names).encode()
    rows = plain_rows(block, ",", [NAME, NAME], len(names))
    assert [rows.names[0][code] for code in rows.codes[0]] == names
    assert [rows.names[1][code] for code in rows.codes[1]] == [name[::-1] for name in names]


def test_plain_rows_are_the_same_without_numba():
    said = printed("""
from cachezoo.kernels.delimited_text import NAME, NUMBER, SKIPPED, lines_of, plain_rows
block = b"".join(b"%d,host%d,x,%d\\n" % (k * 10**15, k % 7, -k) for k in range(90))
rows = plain_rows(block, ",", [NUMBER, NAME, SKIPPED, NUMBER], lines_of(block))
print(rows.numbers.tolist(), rows.codes.tolist(), rows.names)
""")
    assert len(said) == 1


@given(st.lists(st.sampled_from([b"\n", b"a", b"bc "]), max_size=40).map(b"".join))
def test_lines_that_are_not_empty(block):
    assert lines_of(block) == sum(line != b"" for line in block.split(b"\n"))
