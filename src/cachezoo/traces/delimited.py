"""Rows of delimited text block by block; a bad row is named or skipped.

Blocks whose rows are all plain numbers and names, as most files' are, are read by a kernel; all others, and what it
does not know, by pyarrow's CSV reader.
A block that pyarrow refuses, or reads as other rows than it has lines, is looked at line by line, so that the error
names the row, the column and the value, and the rest of the block is kept. Every line that is neither blank nor a
comment becomes a row or a bad row; `_File.convert` holds readers to that.

What files of any format may have is seen by their first lines: a line of names, and fields in double quotes. Whole
numbers may be written as floats, see `cachezoo.traces.values`.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from cachezoo.arrays import F64, I64, U8
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.kernels import delimited_text as kernel
from cachezoo.kernels.delimited_text import lines_of
from cachezoo.traces.reading import BAD_OP, READ_OR_WRITE, Reading
from cachezoo.traces.source import DamagedTrace, Source
from cachezoo.traces.values import BLANKS, INT64_END, KINDS, Precision
from cachezoo.traces.wording import many

TEXT = pa.dictionary(pa.int32(), pa.string())
PLAIN = {"int": kernel.NUMBER, "text": kernel.NAME, "skip": kernel.SKIPPED}  # kinds of columns that a kernel reads
MOST_ODD = 3  # blocks that are not plain after all, until no more are tried
TAB, LF, BLANK = b"\t\n "
# What options call the signs between fields.
DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "bar": "|", "blank": " "}
EMPTY = b" \t\n"
MARK = b"\xef\xbb\xbf"  # a byte order mark; the one that begins a file is taken off
FILLED = re.compile(rb"[^ \t\n]")  # found at once, where stripping would copy a block
BLANK_LINES = re.compile(rb"\A(?:[ \t]*\n)+")
QUOTED = re.compile(r'"((?:[^"]|"")*+)("?)')
BROKEN = re.compile("[\udc80-\udcff]")  # what bytes that are no UTF-8 are decoded to
FIRST_LINES = 11
HEXADECIMAL = re.compile(rb"0[xX]")
NAME = re.compile(r"[^\W\d]\w*[^\n]{0,60}")  # of a column, in a first line
NO_VALUES = ("nan", "inf", "infinity", "na", "null", "none")  # what stands for a number that is none
EXPONENTS = re.compile(rb"[0-9.][eE][+-]?[0-9]")


@dataclass(frozen=True)
class Column:
    """A column of text.

    Attributes:
        name: how the reader calls it.
        kind: a key of `cachezoo.traces.values.KINDS`, ``text``, or ``skip`` for what is not read.
        optional: an empty field is allowed (numbers read as the least int64, or NaN); at the rows' end the column
            may be missing altogether.
        words: of a text, what it says, in small letters; used to explain why a file is of another format.
    """

    name: str
    kind: str
    optional: bool = False
    words: Collection[str] = ()


@dataclass(frozen=True)
class Layout:
    """Columns of delimited text."""

    columns: tuple[Column, ...]  # in their order; fields beyond them are passed over
    delimiter: str = ","  # one character; a blank stands for any run of blanks and tabs
    quoted: bool = False  # fields may be in double quotes, which close on their line
    # whether a file's first line names columns, as a test of its first line
    header: Callable[[str], bool] = lambda _: False
    ragged: bool = False  # rows may differ in how many fields they have beyond the columns; not with `quoted`
    # makes a block of rows regular, comments and needless blanks already out; each line stays one
    edit: Callable[[bytes], bytes] = bytes

    @cached_property
    def _start(self) -> re.Pattern[bytes]:
        """A line end, by which lines are found fast, and the fields up to the last column after it."""
        mark = re.escape(self.delimiter.encode())
        return re.compile(rb"\n([^%b\n]*(?:%b[^%b\n]*){0,%d})" % (mark, mark, mark, len(self.columns) - 1))

    @cached_property
    def decimals(self) -> list[re.Pattern[bytes]]:
        """For each whole number, what finds an x in its field, where fields are not quoted."""
        mark = re.escape(self.delimiter.encode())
        return [
            re.compile(rb"(?m)^(?:[^%b\n]*%b){%d}[^%b\n]*[xX]" % (mark, mark, place, mark))
            for place, column in enumerate(self.columns)
            if column.kind == "int"
        ]

    def cut(self, block: bytes) -> bytes:
        """A block without the fields beyond the columns."""
        return b"\n".join(self._start.findall(b"\n" + block)) + b"\n"

    def regular(self, block: bytes) -> bytes:
        """A block of rows as they are parsed: edited, with no field beyond ragged columns."""
        block = self.edit(block)
        if self.ragged:
            # Where all rows have just the columns, as most files' have, there is nothing to cut.
            lines = block.count(b"\n") + (not block.endswith(b"\n"))
            if block.count(self.delimiter.encode()) != lines * (len(self.columns) - 1):
                return self.cut(block)
        return block

    def fields(self, line: str) -> tuple[list[str], bool]:
        """The fields of a line, blanks around them off, and whether its quotes are closed."""
        return split_line(line, self.delimiter) if self.quoted else (_bare(line.split(self.delimiter)), True)

    @property
    def fewest(self) -> int:
        """How many fields a row has at least: up to the last column that is not optional."""
        return max((place for place, column in enumerate(self.columns, 1) if not column.optional), default=0)

    @property
    def numbers(self) -> list[int]:
        """Indices of the columns of numbers."""
        return [place for place, column in enumerate(self.columns) if column.kind in KINDS]

    def without_quotes(self) -> "Layout":
        """The layout of a file whose fields, or some of them, are in double quotes."""
        if self.quoted:
            return self
        if not self.ragged and self.delimiter != " ":
            return replace(self, quoted=True)
        # Where rows are cut or blanks parted before they are parsed, quotes go first; one around a delimiter stays.
        mark = re.escape(self.delimiter.encode())
        inside = re.compile(rb'(?m)(^|%b)"([^"%b\n]*)"(?=%b|$)' % (mark, mark, mark))
        return replace(self, edit=lambda block: self.edit(inside.sub(rb"\1\2", block)))

    def has_quotes(self, text: bytes) -> bool:
        """Whether a field of some lines is in double quotes."""
        if b'"' not in text:
            return False
        mark = re.escape(self.delimiter.encode())
        return re.search(rb'(?m)(?:^|%b)"[^"\n]*"(?:%b|$)' % (mark, mark), text) is not None

    def named(self, fields: Sequence[str]) -> bool:
        """Whether a line's fields can be names of the columns: a name where each number of two or more would be.

        Args:
            fields: of the line, blanks around them off.
        """
        names = [fields[place].lower() for place in self.numbers if place < len(fields)]
        good = all(NAME.fullmatch(name) and name not in NO_VALUES for name in names)
        words = [field.lower() in column.words for field, column in zip(fields, self.columns, strict=False)]
        return len(names) > 1 and good and len(set(names)) == len(names) and not any(words)


def _bare(parts: list[str]) -> list[str]:
    """Fields without the blanks that pyarrow takes off numbers, too."""
    return [part.strip(BLANKS) for part in parts]


def split_line(line: str, delimiter: str) -> tuple[list[str], bool]:
    """The fields of a line, some of them perhaps in double quotes, as pyarrow parses it.

    Args:
        line: without its end.
        delimiter: one character.

    Returns:
        The fields, blanks around them off; whether every quote is closed: what follows one that is not is one field.
    """
    parts: list[str] = []
    at = 0
    while True:
        inside = ""
        if found := QUOTED.match(line, at):
            inside, at = found[1].replace('""', '"'), found.end()
            if not found[2]:
                return _bare([*parts, inside]), False
        end = line.find(delimiter, at)
        if end < 0:
            return _bare([*parts, inside + line[at:]]), True
        parts.append(inside + line[at:end])
        at = end + 1


@dataclass(frozen=True)
class Rows:
    """Some rows of a file."""

    source: Source  # the file
    row: I64  # int64 their numbers from 1, without header, comments and blank lines
    table: pa.Table  # the columns read

    def has(self, name: str) -> bool:
        """Whether the file has an optional column."""
        return name in self.table.column_names

    def ints(self, name: str) -> I64:
        """int64 values; the least int64 where an optional one is missing."""
        column = self.table.column(name)
        return np.asarray(column.fill_null(-INT64_END) if column.null_count else column)

    def floats(self, name: str) -> F64:
        """float64 values; NaN where an optional one is missing."""
        column = self.table.column(name)
        return np.asarray(column.fill_null(float("nan")) if column.null_count else column)

    def coded(self, name: str) -> Coded:
        """A text column, blanks around the texts off."""
        column = self.table.column(name).combine_chunks()
        names = [text.strip() for text in column.dictionary.to_pylist()]
        return merged(Coded(np.asarray(column.indices), tuple(names)))

    def op(self, name: str, ops: dict[str, int] | None = None) -> tuple[U8, Coded]:
        """Ops of a text column, `BAD_OP` where it says none, and the texts to name them by.

        Args:
            name: the column.
            ops: op by lower-case text; default R, W, read and write.
        """
        text = self.coded(name)
        known = READ_OR_WRITE if ops is None else ops
        codes = np.array([known.get(value.lower(), BAD_OP) for value in text.names], np.uint8)
        return codes[text.codes], text


def merged(coded: Coded) -> Coded:
    """The same column with each name once."""
    if len(set(coded.names)) == len(coded.names):
        return coded
    place = {name: index for index, name in enumerate(dict.fromkeys(coded.names))}
    codes = np.array([place[name] for name in coded.names], np.int32)
    return Coded(codes[coded.codes], tuple(place))


def joined(one: Coded, two: Coded, separator: str) -> Coded:
    """A column of both names of each row; only pairs that occur."""
    width = len(two.names)
    pairs = one.codes.astype(np.int64) * width + two.codes
    used = np.bincount(pairs, minlength=len(one.names) * width) > 0 if len(one.names) * width < 1 << 16 else None
    if used is None:
        distinct, codes = np.unique(pairs, return_inverse=True)
    else:
        distinct = np.flatnonzero(used)
        codes = (np.cumsum(used) - 1)[pairs]
    names = tuple(f"{one.names[pair // width]}{separator}{two.names[pair % width]}" for pair in distinct.tolist())
    return Coded(codes.astype(np.int32), names)


class _File:
    """One file under a layout."""

    def __init__(self, reading: Reading, source: Source, layout: Layout) -> None:
        self.reading, self.source, self.layout = reading, source, layout
        self.width = 0
        self.rows = 0
        self.floats = False  # whether whole numbers are written as floats
        self.written: dict[str, Precision] = {}  # how columns with exponents are written, in rows that are kept
        self._parsed: dict[str, Precision] = {}  # the same of what was parsed last
        self._odd = 0  # blocks that were tried and are not plain

    @cached_property
    def names(self) -> list[str]:
        """A name for each of the file's columns."""
        named = [column.name for column in self.layout.columns[: self.width]]
        return [*named, *(f"further_{index}" for index in range(len(named), self.width))]

    @cached_property
    def read(self) -> list[Column]:
        """The columns that are read."""
        return [column for column in self.layout.columns[: self.width] if column.kind != "skip"]

    def begin(self, block: bytes) -> bool:
        """Learn the width from the header, or else from the first lines; returns whether there is a header."""
        first = b"\n".join(block.split(b"\n", FIRST_LINES)[:FIRST_LINES])
        if self.layout.has_quotes(first):
            self.layout = self.layout.without_quotes()
            first = first if self.layout.quoted else self.layout.edit(first)
        lines = [text.decode("utf-8", "replace") for text in first.split(b"\n") if text.strip(EMPTY)]
        if header := self.learn(*lines):
            return header
        # A line of names that no format of its own has, above a row of what it should have.
        line, *more = lines
        fields = self.layout.fields(line)[0]
        if not more or not self.layout.named(fields):
            return False
        width = self.width
        self.learn(*more)
        fits = self.width <= len(fields) if self.layout.ragged else self.width == len(fields)
        if fits and any(self.complaint(text) is None for text in self.cut(more)):
            return True
        self.width = width
        return False

    def cut(self, lines: Sequence[str]) -> list[str]:
        """Lines as they are looked at one by one: without fields beyond ragged columns."""
        text = "\n".join(lines)
        if self.layout.ragged:
            text = self.layout.cut(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
        return [line for line in text.split("\n") if line.strip(BLANKS)]

    def learn(self, line: str, *more: str) -> bool:
        """Take the width of the header, or the one most frequent; returns whether the first line is a header."""
        header = self.layout.header(line)
        # Ties go to the width that comes first.
        widths = Counter(len(self.layout.fields(text)[0]) for text in ((line,) if header else (line, *more)))
        self.width = widths.most_common(1)[0][0]
        if self.layout.ragged:
            self.width = min(self.width, len(self.layout.columns))
        if self.width < self.layout.fewest:
            self.width = len(self.layout.columns)  # `sift` names the row
        return header

    @cached_property
    def kinds(self) -> list[int]:
        """How a kernel reads the file's columns; empty where it cannot."""
        kinds = [column.kind for column in self.layout.columns[: self.width]]
        if self.layout.quoted or not PLAIN.keys() >= set(kinds):
            return []
        return [*map(PLAIN.__getitem__, kinds), *[kernel.SKIPPED] * (self.width - len(kinds))]

    def plain(self, block: bytes, lines: int) -> pa.Table | None:
        """All of a block, as `parse` gives it, where its rows are plain."""
        if not self.kinds or self._odd == MOST_ODD:
            return None
        found = kernel.plain_rows(block, self.layout.delimiter, self.kinds, lines)
        if found is None:
            self._odd += 1
            return None
        numbers, texts = iter(found.numbers), zip(found.codes, found.names, strict=True)
        columns = {
            column.name: pa.array(next(numbers))
            if column.kind == "int"
            else pa.DictionaryArray.from_arrays(*map(pa.array, next(texts)), safe=False)
            for column in self.read
        }
        return pa.table(columns)

    def parse(self, block: bytes) -> pa.Table:
        """All of a block through pyarrow; raises `pa.ArrowInvalid`.

        Whole numbers are looked for among floats where a block has, or the file had, one that is written so.
        """
        if not self.floats:
            try:
                return self.parsed(block, floats=False)
            except pa.ArrowInvalid:
                table = self.parsed(block, floats=True)
            # Only where that helps: bad rows alone make no file one of floats.
            self.floats = not any(self.needs_sifting(table.column(column.name), column) for column in self.read)
            return table
        return self.parsed(block, floats=True)

    def parsed(self, block: bytes, *, floats: bool) -> pa.Table:
        """A block's columns, numbers made of texts; raises `pa.ArrowInvalid`."""
        texts = {column.name: column for column in self.read if self._is_text(column, floats)}
        self._parsed = {}
        table = self.csv(block, {name: pa.string() for name in texts})
        for place, name in enumerate(table.column_names):
            if name in texts:
                column = table.column(place)
                numbers = KINDS[texts[name].kind].of(column)
                if texts[name].optional:
                    # What is there and is no number differs from what is missing by the least int64, or infinity.
                    wrong = pc.and_(pc.is_null(numbers), pc.not_equal(pc.utf8_trim(column, BLANKS), ""))
                    least = float("inf") if pa.types.is_floating(numbers.type) else -INT64_END
                    numbers = pc.if_else(wrong, pa.scalar(least, numbers.type), numbers)
                if texts[name].kind == "int" and EXPONENTS.search(block):
                    self._parsed[name] = Precision.of(column)
                table = table.set_column(place, name, numbers)
        return table

    @staticmethod
    def _is_text(column: Column, floats: bool) -> bool:
        """Whether a column of numbers is given as text."""
        return column.kind in KINDS and (KINDS[column.kind].stored == pa.string() or (floats and column.kind == "int"))

    def csv(self, block: bytes, types: dict[str, pa.DataType]) -> pa.Table:
        """A block's columns as pyarrow gives them, some of other types than their kinds'."""
        stored = {c.name: KINDS[c.kind].stored if c.kind in KINDS else TEXT for c in self.read}
        return pacsv.read_csv(
            pa.BufferReader(block),
            read_options=pacsv.ReadOptions(
                use_threads=False, column_names=self.names, block_size=max(len(block), 1) + 1
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=self.layout.delimiter, quote_char='"' if self.layout.quoted else False
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=stored | types,
                include_columns=[column.name for column in self.read],
                null_values=[""],
                strings_can_be_null=False,
                check_utf8=True,
            ),
        )

    def complaint(self, line: str) -> str | None:
        """What is wrong with a line, and the fix."""
        if line.startswith(MARK.decode()):
            return f"begins with a byte order mark ({line[:80]!r}); fix or drop the row"
        fields, closed = self.layout.fields(line)
        if not closed:
            return f"has a quote that is not closed on its line ({line[:80]!r}); fix or drop the row"
        if len(fields) != self.width:
            return f"has {many(len(fields), 'field')}, not {self.width} ({line[:80]!r}); fix or drop the row"
        for column, value in zip(self.layout.columns, fields, strict=False):
            if column.kind == "text" and BROKEN.search(value):
                return f"is no text in UTF-8 ({line[:80]!r}); fix or drop the row"
            if column.kind not in KINDS or (not value and column.optional):
                continue
            if not value:
                return f"{column.name} is empty; fill it in or drop the row"
            if said := KINDS[column.kind].why_not(value):
                return f"{column.name} is {said}"
        return None

    def sift(self, block: bytes, numbers: I64 | None) -> Rows | None:
        """The rows of a block that can be used; the others are bad rows."""
        lines = self.cut([block.decode("utf-8", "surrogateescape")])
        kept: list[str] = []
        places: list[int] = []
        for place, line in zip(self.numbers(len(lines), numbers).tolist(), lines, strict=True):
            said = self.complaint(line)
            if said is None:
                kept.append(line)
                places.append(place)
            else:
                self.reading.bad(self.source, place, said)
        if not kept:
            return None
        table = self.parse(("\n".join(kept) + "\n").encode("utf-8", "surrogateescape"))
        self.hold(len(kept), len(table), places[0], places[-1])
        self.keep()
        return Rows(self.source, np.array(places, np.int64), table)

    def keep(self) -> None:
        """Take what was parsed last for rows of the file."""
        for name, found in self._parsed.items():
            self.written[name] = found.joined(self.written.get(name, found))

    def hold(self, lines: int, rows: int, first: int, last: int) -> None:
        """Refuse to lose a line, whatever a parser or an edit made of it.

        Raises:
            TraceError: lines `first` to `last` became another number of rows.
        """
        if rows != lines:
            message = (
                f"{self.source.path}: rows {first} to {last}: {lines} lines were read as {rows} rows; fix the file"
            )
            raise TraceError(message)

    def numbers(self, rows: int, given: I64 | None) -> I64:
        """The numbers of the file's next rows: those given, or those that follow on."""
        self.rows += rows
        return np.arange(self.rows - rows + 1, self.rows + 1) if given is None else given

    def hexadecimal(self, block: bytes) -> bool:
        """Whether pyarrow might take hexadecimal digits for a whole number of a decimal column."""
        # One character is found much faster than two, and most files have none.
        if b"x" not in block and b"X" not in block:
            return False
        if any(column.kind in ("hex", "bare_hex") for column in self.read):
            return any(pattern.search(block) is not None for pattern in self.layout.decimals)
        return any(column.kind == "int" for column in self.read) and HEXADECIMAL.search(block) is not None

    def needs_sifting(self, values: pa.ChunkedArray, column: Column) -> bool:
        """Whether pyarrow took a missing value, or text such as nan, for a number."""
        missing = not column.optional and values.null_count > 0
        if pa.types.is_int64(values.type):  # the least int64 stands for a missing value
            return missing or bool(pc.min(values).as_py() == -INT64_END)
        return missing or (pa.types.is_floating(values.type) and pc.all(pc.is_finite(values)).as_py() is False)

    def closed(self, block: bytes) -> bool:
        """Whether the last line's quotes are closed; pyarrow closes them where the block ends."""
        if not self.layout.quoted:
            return True
        last = block.rstrip(b"\n").rpartition(b"\n")[2]
        return self.layout.fields(last.decode("utf-8", "replace"))[1]

    def convert(self, given: bytes, numbers: I64 | None = None) -> Rows | None:
        """The usable rows of a block, if any.

        Raises:
            TraceError: they are not as many as the block's lines that are neither blank nor bad rows.
        """
        lines = lines_of(given)
        block = self.layout.regular(given)
        if block is not given:
            self.hold(lines, lines_of(block), self.rows + 1, self.rows + lines)
        # pyarrow passes over a byte order mark where a block begins, and nowhere else.
        # One byte is found much faster than three.
        if self.hexadecimal(block) or (MARK[:1] in block and MARK in block):
            return self.sift(block, numbers)
        if (table := self.plain(block, lines)) is not None:
            return Rows(self.source, self.numbers(lines, numbers), table)
        try:
            table = self.parse(block)
        except pa.ArrowInvalid:
            return self.sift(block, numbers)
        odd = any(self.needs_sifting(table.column(column.name), column) for column in self.read)
        if odd or len(table) != lines or not self.closed(block):
            return self.sift(block, numbers)
        self.keep()
        return Rows(self.source, self.numbers(lines, numbers), table)


def _squeezed(block: bytes) -> bytes:
    """A block with single blanks between fields and none at the lines' ends."""
    given = np.frombuffer(block, np.uint8)
    text = np.where(given == TAB, np.uint8(BLANK), given)
    line_end = np.array([LF], np.uint8)
    before = np.concatenate([line_end, text[:-1]])
    text = text[(text != BLANK) | ((before != BLANK) & (before != LF))]
    after = np.concatenate([text[1:], line_end])
    text = text[(text != BLANK) | (after != LF)]
    return bytes(text)


def _plain(block: bytes, layout: Layout) -> bytes:
    """A block without comment lines, with single blanks between fields that blanks part."""
    # One character is found much faster than two, and most files have no comment.
    if b"#" in block and (block.startswith(b"#") or b"\n#" in block):
        block = b"".join(line for line in block.splitlines(keepends=True) if not line.startswith(b"#"))
    if layout.delimiter == " ":
        # Regular rows are by far the most frequent, and a search is cheap.
        odd = any(blanks in block for blanks in (b"\t", b"  ", b"\n ", b" \n"))
        if odd or block[:1] == b" " or block[-1:] == b" ":
            return _squeezed(block)
    return block


def _all_rows(file: _File) -> Iterator[tuple[bytes, None]]:
    """A file's rows in blocks, without header and comments; they follow on."""
    layout = file.layout
    for raw in file.source.lines():
        block = _plain(raw, layout)
        if not file.width and FILLED.search(block):
            block = BLANK_LINES.sub(b"", block, count=1)
            block = block.partition(b"\n")[2] if file.begin(block) else block
        if not FILLED.search(block):
            continue
        yield block, None


def _to_damage(file: _File) -> Iterator[tuple[bytes, None]]:
    """A file's rows; where it is damaged, the error says how many came before."""
    try:
        yield from _all_rows(file)
    except DamagedTrace as error:
        raise error.after(file.rows) from error


def delimited(
    reading: Reading,
    layout: Layout,
    sources: Sequence[Source] | None = None,
    picked: Callable[[Source], Iterator[tuple[bytes, I64]]] | None = None,
) -> Iterator[Rows]:
    """Rows of files of a reading, in order.

    Args:
        reading: where bad rows go.
        layout: the files' columns.
        sources: the files; default all.
        picked: the lines of a file to take where not all are rows, in blocks, with a number for each line; none blank,
            none with more fields than the layout has columns.

    Raises:
        TraceError: a file is damaged, or more rows are bad than may be skipped.
    """
    for source in reading.sources if sources is None else sources:
        file = _File(reading, source, layout)
        file.width = len(layout.columns) if picked else 0
        for block, numbers in picked(source) if picked else _to_damage(file):
            try:
                rows = file.convert(block, numbers)
            except pa.ArrowInvalid as error:
                said = " ".join(str(error).split())[:200]
                message = f"{source.path}: not readable as delimited text after row {file.rows}: {said}; fix the file"
                raise TraceError(message) from error
            if rows is not None:
                yield rows
        reading.notes |= {
            f"rounded.{name}": f"the largest to multiples of 10^{power}: the file has no more digits"
            for name, written in file.written.items()
            if (power := written.rounded_to)
        }
