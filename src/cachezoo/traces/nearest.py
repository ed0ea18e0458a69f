"""Why a file is no trace of any known format: what it looks like, and the formats that it is nearest to."""

import re
import shlex
from collections.abc import Callable
from typing import NamedTuple

from cachezoo.traces.delimited import Layout
from cachezoo.traces.formats import FORMATS
from cachezoo.traces.formats.base import Format, Head
from cachezoo.traces.guess import Guess, guessed
from cachezoo.traces.source import WIDE_BYTES, Source, wide_text
from cachezoo.traces.tabular import first_rows, is_table, schema_of
from cachezoo.traces.values import KINDS

NEAREST = 3
MOST_SHOWN = 160
NAME_BONUS = 1.0
SEPARATORS = {",": "between commas", "\t": "between tabs", " ": "between blanks"}
# What other files begin with, and what they are.
SIGNATURES = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive: unpack it and give the traces in it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive: unpack it and give the traces in it"),
    (b"\x02\x21\x4c\x18", "LZ4 in its legacy frame: unpack it, or pack it with lz4 of today"),
    (b"Rar!", "a RAR archive: unpack it and give the traces in it"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xd4\xc3\xb2\xa1", "a capture of network packets"),
    (b"\xa1\xb2\xc3\xd4", "a capture of network packets"),
    (b"\x0a\x0d\x0d\x0a", "a capture of network packets"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
)
MARKUP = re.compile(r"\s*<(!doctype|html|\?xml|svg)", re.IGNORECASE)
TAR = slice(257, 262)


class Near(NamedTuple):
    """How near a file is to a format."""

    score: float  # from 0 to about 1
    why: str  # what is missing


def looks_like(head: Head) -> str:
    """What a file is, if it is something well known that is no trace; else empty."""
    for magic, what in SIGNATURES:
        if head.data.startswith(magic):
            return what
    if head.data[TAR] == b"ustar":
        return "a tar archive: unpack it and give the traces in it"
    if wide_text(head.data[:WIDE_BYTES]):
        return "text in UTF-16 without a byte order mark: convert it to UTF-8, as iconv -f UTF-16LE -t UTF-8 does"
    text = (head.text or "").lstrip()
    if text[:1] in ("{", "[") and re.match(r"[\[{]\s*([\"\[{\]}\d-]|$)", text):
        return "JSON"
    if MARKUP.match(text):
        return "HTML or XML"
    return ""


def near(entry: Format, head: Head) -> Near:
    """How near a file's beginning is to a format that does not fit it."""
    if (head.text is None) != entry.binary:
        return Near(0.0, f"needs {'text' if head.text is None else 'binary records'}: {entry.needs}")
    if head.text is None:
        return Near(0.2, f"needs {entry.needs}, and the file begins with the bytes {head.data[:8].hex(' ')}")
    if entry.layout is not None:
        return _near_layout(entry, entry.layout, head)
    return Near(0.1, f"needs {entry.needs}")


def _near_layout(entry: Format, layout: Layout, head: Head) -> Near:
    rows = head.rows(None if layout.delimiter == " " else layout.delimiter)
    if not rows:
        return Near(0.0, f"needs {entry.needs}")
    # A first row without a number is a header; what matters stands below.
    number = 2 if len(rows) > 1 and not any(KINDS["float"].pattern.fullmatch(text) for text in rows[0]) else 1
    row = rows[number - 1]
    most = len(layout.columns)
    fits = layout.fewest <= len(row) and (layout.ragged or len(row) <= most)
    if not fits:
        columns = f"{layout.fewest} to {most}" if layout.fewest < most else str(most)
        where = SEPARATORS.get(layout.delimiter, "")
        if len(row) == 1:
            return Near(0.05, f"needs {columns} columns {where}, row {number} has one")
        missed = max(layout.fewest - len(row), len(row) - most)
        return Near(0.5 / (1 + missed), f"needs {columns} columns {where}, row {number} has {len(row)}")
    wrong = []
    for column, value in zip(layout.columns, row, strict=False):
        if column.kind in KINDS and not KINDS[column.kind].pattern.fullmatch(value) and (value or not column.optional):
            wrong.append(f"{column.name} is {value[:30]!r} in row {number}, not {KINDS[column.kind].what}")
        elif column.words and value.lower() not in column.words:
            wrong.append(f"{column.name} is {value[:30]!r} in row {number}, not one of {', '.join(column.words)}")
    if wrong:
        return Near(0.5 + 0.4 * (1 - len(wrong) / most), wrong[0])
    return Near(0.95, f"its columns are there, but not its values: {entry.needs}")


def _table_refusal(source: Source) -> str:
    """One line on a Parquet or Arrow file whose columns have to be named.

    Raises:
        TraceError: the file cannot be read.
    """
    schema, rows = schema_of(source), first_rows(source)
    has = ", ".join(f"{field.name} ({field.type})" for field in schema)[:MOST_SHOWN]
    # The guess looks at lines; what would part a field in two is no name or number.
    lines = ["\t".join(" ".join(text.split("\t")) for text in row) for row in (schema.names, *rows)]
    guess = guessed([" ".join(line.splitlines()) for line in lines])
    fix = f"; a guess to be checked: --columns {shlex.quote(guess.columns)}" if guess.columns else ""
    fix += f"; {guess.op}" if guess.op else ""
    return (
        f"{source.path}: is a Parquet or Arrow table of no known format with the columns {has}. "
        f"Fix: name the columns with --columns{fix}"
    )


def refusal(source: Source, head: Head, is_named: Callable[[Format], bool], guess: Guess) -> str:
    """One line on why a file is refused.

    Args:
        source: the file.
        head: its beginning.
        is_named: whether the file's name is one of a format's.
        guess: at its columns.
    """
    if is_table(head.data):
        return _table_refusal(source)
    found = []
    for place, entry in enumerate(FORMATS.values()):
        if entry.needs:
            score, why = near(entry, head)
            found.append((-score - NAME_BONUS * is_named(entry), place, f"{entry.id}: {why}"))
    listed = "; ".join(said for _, _, said in sorted(found)[:NEAREST])
    what = looks_like(head)
    looks = f" (it looks like {what})" if what else ""
    if head.text is None or what:
        fix = "give a trace; `cachezoo trace formats` lists what is read"
    else:
        looks = f" (it begins with {head.lines[0][:MOST_SHOWN]!r})" if head.lines else ""
        fix = "name the columns with --columns, or the format with --format"
        lines = " or ".join(f"--columns {shlex.quote(text)}" for text in (guess.columns, *guess.others) if text)
        fix += f"; {'guesses' if guess.others else 'a guess'} to be checked: {lines}" if lines else ""
        fix += f"; {guess.op}" if guess.op else ""
    return f"{source.path}: is no trace of a known format{looks}; the nearest: {listed}. Fix: {fix}"
