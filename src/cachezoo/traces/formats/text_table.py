"""Rows of text from columns, as formats of delimited text are written."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.io import atomic_file

ROWS_PER_WRITE = 1 << 18


def slices(rows: int) -> Iterator[slice]:
    """The rows in parts that fit in memory as text."""
    for first in range(0, rows, ROWS_PER_WRITE):
        yield slice(first, min(first + ROWS_PER_WRITE, rows))


def texts_of(codes: npt.NDArray[np.integer], names: tuple[str, ...]) -> pa.Array:
    """Strings of a coded column; none where a code is below 0."""
    places = pa.array(codes.astype(np.int32), mask=codes.astype(np.int64) < 0)
    return pa.DictionaryArray.from_arrays(places, pa.array(names, pa.string())).cast(pa.string())


def seconds_of(time: I64, digits: int) -> pa.Array:
    """Times as seconds with so many digits after the point, of int64 units of as many digits; none below 0."""
    unit = 10**digits
    part = pc.utf8_lpad(pa.array(time % unit).cast(pa.string()), digits, "0")
    return pc.binary_join_element_wise(pa.array(time // unit).cast(pa.string()), part, ".")


def plain_names(column: Coded, spoilers: str) -> list[str]:
    """A coded column's names with underscores for signs that would part fields or rows."""
    return ["".join("_" if sign in spoilers or sign < " " else sign for sign in name) for name in column.names]


def write_rows(
    path: Path, parts: Iterator[list[pa.Array]], delimiter: str, header: str = "", *, quoted: bool = False
) -> None:
    """Write rows of text, whole or not at all.

    Args:
        path: the file.
        parts: columns of the rows, part by part; texts hold neither delimiters nor line ends, unless they are quoted.
        delimiter: one character.
        header: a first line, if any.
        quoted: whether texts are in quotes.
    """
    style = pacsv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="needed" if quoted else "none")
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        if header:
            file.write(f"{header}\n".encode())
        for columns in parts:
            pacsv.write_csv(pa.table(columns, [str(index) for index in range(len(columns))]), file, style)
