"""Fixed-size binary records of files, block by block; a record cut short is a bad row."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I64
from cachezoo.traces.reading import Reading
from cachezoo.traces.source import Source

MOST = 2**62
RECORDS_AT_ONCE = 1 << 17


def records(reading: Reading, source: Source, layout: np.dtype[Any]) -> Iterator[tuple[I64, npt.NDArray[Any]]]:
    """Records of a file.

    Args:
        reading: where a record cut short goes.
        source: the file.
        layout: the record's structured type.

    Yields:
        int64 numbers of the records from 1, and the records, a view of the bytes read.

    Raises:
        TraceError: the file is damaged, or a record is cut short and no row may be skipped.
    """
    width, done = layout.itemsize, 0
    for block in source.blocks(width * RECORDS_AT_ONCE):
        whole, rest = divmod(len(block), width)
        if whole:
            yield np.arange(done + 1, done + whole + 1), np.frombuffer(block, layout, whole)
        done += whole
        if rest:
            reading.bad(source, done + 1, f"has {rest} of {width} bytes; the file is cut short: fetch it again")


def whole_number(values: npt.NDArray[Any]) -> I64:
    """A column of unsigned integers as contiguous int64; what is above 2**62 becomes 2**62."""
    fitting = values if values.dtype.itemsize < 8 else np.minimum(values, np.uint64(MOST))
    return np.asarray(fitting, np.int64)
