"""Line ends, the same for every format of lines: LF, CRLF and a lone CR end a line, and no row is lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats import FORMATS as REGISTERED
from cachezoo.traces.objects import OBJECT_CODED, OBJECT_NUMBERS, ObjectTrace
from cachezoo.traces.read import OpenTrace, TraceFiles, read_either, silent
from cachezoo.traces.reading import Reading
from cachezoo.traces.source import Source
from cachezoo.traces.table import CODED_COLUMNS, NUMBER_COLUMNS
from tests.trace_data import keys, object_lines, text_lines, texts

ROWS = 150
FORMATS = sorted(text_lines(1))
ALL = sorted({**text_lines(1), **object_lines(1)})


def lines_of(fmt):
    return (text_lines(ROWS) | object_lines(ROWS))[fmt]


def either(path, fmt="auto"):
    return read_either(TraceFiles([path], fmt))


def test_formats_of_objects_alone_have_lines_here():
    mixed = {"parquet", "oraclegeneral", "libcachesim_csv", "columns"}
    assert {name for name, entry in REGISTERED.items() if entry.objects} == set(object_lines(1)) | mixed


def rows_of(trace):
    """Every column of a trace, by name."""
    objects = isinstance(trace, ObjectTrace)
    columns, named = (OBJECT_NUMBERS, OBJECT_CODED) if objects else (NUMBER_COLUMNS, CODED_COLUMNS)
    numbers = {name: None if (column := getattr(trace, name)) is None else column.tolist() for name in columns}
    coded = {name: None if (column := getattr(trace, name)) is None else texts(column) for name in named}
    return numbers | coded | ({"key": keys(trace)} if objects else {})


def joined(lines, ends):
    """The lines with ends from `ends`, one after the other and over again."""
    return "".join(line + ends[index % len(ends)] for index, line in enumerate(lines)).encode()


ENDS = {
    "crlf": ["\r\n"],
    "cr": ["\r"],
    "a lone cr now and then": ["\n"] * 7 + ["\r"],
    "cr at the start of lines": ["\n\r"],
    "cr cr lf": ["\r\r\n"],
    "all sorts": ["\n", "\r\n", "\r", "\r\r\n", "\n\n"],
}


@pytest.mark.parametrize("fmt", ALL)
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("block", [100, 4 << 20])
def test_every_line_is_a_row_however_it_ends(tmp_path, monkeypatch, fmt, ends, block):
    monkeypatch.setattr(Source.lines, "__defaults__", (block,))
    lines = lines_of(fmt)
    path = tmp_path / "t"
    path.write_bytes(joined(lines, ["\n"]))
    expected = either(path, fmt)
    assert len(expected) == ROWS
    path.write_bytes(joined(lines, ENDS[ends]))
    assert rows_of(either(path, fmt)) == rows_of(expected)


@pytest.mark.parametrize("fmt", ALL)
def test_a_format_is_recognised_however_its_lines_end(tmp_path, fmt):
    path = tmp_path / "t"
    found = []
    for end in ("\n", "\r\n", "\r"):
        path.write_bytes(joined(lines_of(fmt), [end]))
        found.append(either(path).meta.source_format)
    assert found == [fmt] * 3


def test_a_line_end_over_two_blocks_is_one(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"abc\r\ndef\rghi\r\r\nj\r")
    for size in range(1, 18):
        assert b"".join(Source(path).lines(size)) == b"abc\ndef\nghi\n\nj\n"


@pytest.mark.parametrize("dropped", [0, 1, 4])
def test_a_parser_that_gives_other_rows_than_there_are_lines_is_refused(tmp_path, monkeypatch, dropped):
    """Whatever a parser does with a block: what it loses is said, with the file and the rows."""
    from cachezoo.traces import delimited as module

    read_csv = module.pacsv.read_csv

    def lossy(*args, **options):
        table = read_csv(*args, **options)
        return table.slice(0, len(table) - dropped)

    monkeypatch.setattr(module.pacsv, "read_csv", lossy)
    path = tmp_path / "t"
    path.write_bytes(b"1,a\n\n2,b\n# c\n3,c\n4,d\n5,e")
    reading = Reading([Source(path)], 9)
    layout = Layout((Column("n", "int"), Column("who", "text")))
    if not dropped:
        assert [part.row.tolist() for part in delimited(reading, layout)] == [[1, 2, 3, 4, 5]]
        return
    with pytest.raises(TraceError, match=rf"t: rows 1 to 5: 5 lines were read as {5 - dropped} rows; fix the file"):
        list(delimited(reading, layout))


def test_an_edit_that_joins_lines_is_refused(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"1,a\n2,b\n3,c\n")
    layout = Layout((Column("n", "int"), Column("who", "text")), edit=lambda block: block.replace(b"\n2", b";2"))
    with pytest.raises(TraceError, match=r"t: rows 1 to 3: 3 lines were read as 2 rows"):
        list(delimited(Reading([Source(path)]), layout))


HEADED = ("biosnoop", "csv", "fio", "iotracer", "libcachesim_csv", "thesios", "vscsi_csv")
JUNK = st.sampled_from(
    ["\r", "\n", '"', ",", " ", "\t", "#", "\0", "\udcff", "\x0b", "\x1c", "\x85", "\u2028", "\r\r\n", " \n", ""]
)
EDITS = st.lists(st.tuples(st.floats(0, 1), JUNK, st.integers(0, 3)), max_size=5)


@given(
    st.sampled_from(sorted(set(FORMATS) - {"blkparse", "blkparse_f", "nbdkit_log", "strace", "tracefs", "tectonic"})),
    EDITS,
)
def test_rows_bad_rows_and_records_left_out_are_as_many_as_lines(tmp_path_factory, fmt, edits):
    """Whatever stands in the lines; the first one, by which some formats tell their columns, is left alone."""
    first, *more = text_lines(20)[fmt]
    text = "\n".join(more)
    for place, junk, gone in edits:
        at = int(place * len(text))
        text = text[:at] + junk + text[at + gone :]
    path = tmp_path_factory.mktemp("t") / "t"
    path.write_bytes(f"{first}\n{text}".encode("utf-8", "surrogateescape"))
    lines = [line for line in re.split(r"\r\n|\r|\n", text) if line.strip(" \t") and not line.startswith("#")]
    given = OpenTrace(TraceFiles([path], fmt, skip_bad_rows=1000), silent)
    requests = sum(len(chunk) for chunk in given.chunks())
    others = len(given.reading.skipped) + given.reading.left_out.total()
    assert requests + others == len(lines) + (fmt not in HEADED)
