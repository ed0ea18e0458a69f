"""Lines of text of which a pattern takes what is wanted, block by block; a line may be of any form.

For logs whose lines are no rows of the same fields. Delimited text has `cachezoo.traces.delimited`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cachezoo.arrays import F64, I64
from cachezoo.coded import Coded
from cachezoo.traces.source import DamagedTrace, Source
from cachezoo.traces.values import KINDS

MISSING = np.iinfo(np.int64).min
BLANKS = " \t"


def _like(texts: pa.Array, pattern: str) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.match_substring_regex(texts, pattern), bool)


def how_many(lines: Sequence[str], pattern: str) -> int:
    """How many lines a pattern (of RE2, which takes no longer for any text) is found in."""
    return int(np.count_nonzero(_like(pa.array(lines, pa.string()), pattern)))


@dataclass(frozen=True)
class Lines:
    """Some lines of a file that are neither blank nor comments."""

    source: Source  # the file
    row: I64  # int64 their numbers from 1
    text: pa.Array  # strings, blanks around them off

    def __len__(self) -> int:
        return len(self.row)

    def where(self, kept: npt.NDArray[np.bool_]) -> "Lines":
        """The lines that a mask selects."""
        return Lines(self.source, self.row[kept], self.text.filter(pa.array(kept)))

    def like(self, pattern: str) -> npt.NDArray[np.bool_]:
        """Which lines a pattern (of RE2) is found in."""
        return _like(self.text, pattern)

    def parts(self, pattern: str) -> "tuple[Parts, Lines]":
        """What the groups of a pattern (of RE2, all of them named) find, and the lines that it is not found in."""
        found = pc.extract_regex(self.text, pattern)
        kept = np.asarray(found.is_valid(), bool)
        return Parts(self.source, self.row[kept], found.filter(pa.array(kept))), self.where(~kept)


@dataclass(frozen=True)
class Parts:
    """The groups that a pattern found in some lines; patterns bound how many digits a number has."""

    source: Source  # the file
    row: I64  # int64 the lines' numbers
    found: pa.Array  # a struct of strings; empty where an optional group is missing

    def __len__(self) -> int:
        return len(self.row)

    def __contains__(self, name: str) -> bool:
        return bool(self.found.type.get_field_index(name) >= 0)

    def texts(self, name: str) -> pa.Array:
        """Strings of a group."""
        return self.found.field(name)

    def _numbers(self, name: str, kind: pa.DataType) -> pa.Array:
        texts = self.texts(name)
        return pc.if_else(pc.equal(texts, ""), None, texts).cast(kind)

    def ints(self, name: str) -> I64:
        """int64 of a group of decimal digits, or of 0x and hexadecimal ones; `MISSING` where it is missing."""
        return np.asarray(self._numbers(name, pa.int64()).fill_null(MISSING))

    def dates(self, name: str) -> I64:
        """int64 microseconds since 1970 of a group of dates; `MISSING` where one is none."""
        return np.asarray(KINDS["date"].of(pa.chunked_array([self.texts(name)])).fill_null(MISSING))

    def floats(self, name: str) -> F64:
        """float64 of a group; NaN where it is missing."""
        return np.asarray(self._numbers(name, pa.float64()).fill_null(float("nan")))

    def coded(self, name: str) -> Coded:
        """A group as a coded column."""
        column = self.texts(name).dictionary_encode()
        return Coded(np.asarray(column.indices), tuple(column.dictionary.to_pylist()))


def lines_of(source: Source, passed: str = "") -> Iterator[Lines]:
    """The lines of a file, in blocks.

    Args:
        source: the file.
        passed: a pattern (of RE2) of lines that are passed over and have no numbers, as headers.

    Raises:
        TraceError: the file is damaged, or a line is too long for text.
    """
    done = 0
    try:
        for block in source.lines():
            every = pa.array(block.decode("utf-8", "replace").split("\n"), pa.string())
            text = pc.utf8_trim(every, characters=BLANKS)
            kept = np.asarray(pc.not_equal(text, ""), bool) & ~np.asarray(pc.starts_with(every, "#"), bool)
            if passed:
                kept &= ~np.asarray(pc.match_substring_regex(text, passed), bool)
            count = int(np.count_nonzero(kept))
            if count:
                yield Lines(source, np.arange(done + 1, done + count + 1), text.filter(pa.array(kept)))
            done += count
    except DamagedTrace as error:
        raise error.after(done) from error
