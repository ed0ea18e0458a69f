"""A binary list of numbers of blocks, one a request, as programs dump arrays: `--format binary_ids --option type=u64`.

Nothing in such a file says what it is, so it is never recognised. Its numbers count blocks of `unit_bytes`. It has
neither times, ops nor sizes: rows are numbered, one microsecond apart, and all read one block.
"""

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from cachezoo.errors import TraceError
from cachezoo.traces.binary import records, whole_number
from cachezoo.traces.formats.base import Fit, Format, Head, Options
from cachezoo.traces.reading import Chunk, Reading, RowClock, bytes_of
from cachezoo.traces.table import OP_READ, PAGE_BYTES

# Unsigned and signed integers of so many bits, the least byte first unless the name ends in `be`.
TYPES = {
    f"{sign}{bits}{order}": np.dtype(f"{'>' if order else '<'}{sign}{bits // 8}")
    for sign in "ui"
    for bits in (16, 32, 64)
    for order in ("", "be")
}


class BinaryIdsOptions(Options):
    """`type`: of the numbers, a key of `TYPES`; has to be said. `unit_bytes`: bytes of a block."""

    type: str = Field(default="", pattern=f"^({'|'.join(TYPES)})?$")
    unit_bytes: int = Field(default=PAGE_BYTES, ge=1, le=2**30)


def recognise(head: Head) -> Fit:
    """Never: any bytes could be such a list."""
    del head
    return Fit.NO


def read(reading: Reading, options: BinaryIdsOptions) -> Iterator[Chunk]:
    """Requests in the files' order; rows of a further file go on from those of the file before.

    Raises:
        TraceError: the type is not said.
    """
    if not options.type:
        said = f"format binary_ids: say what the numbers are: --option type=u64, or another of {', '.join(TYPES)}"
        raise TraceError(f"{reading.sources[0].path}: {said}")
    reading.notes |= {
        "op": "all reads: the format has none",
        "time": "row numbers in microseconds",
        "type": options.type,
        "unit_bytes": str(options.unit_bytes),
    }
    layout = np.dtype([("id", TYPES[options.type])])
    clock = RowClock()
    for source in reading.sources:
        for row, found in records(reading, source, layout):
            ids = found["id"]
            blocks = whole_number(ids) if ids.dtype.kind == "u" else ids.astype(np.int64)
            chunk = Chunk(
                row=row,
                time_us=clock.times(source, row),
                op=np.full(len(row), OP_READ, np.uint8),
                offset=bytes_of(blocks, options.unit_bytes),
                size=np.full(len(row), options.unit_bytes, np.int64),
            )
            yield reading.checked(source, chunk)


FORMAT = Format(
    id="binary_ids",
    title="binary list of block numbers (u64, u32, …; no clock)",
    recognise=recognise,
    read=read,
    options=BinaryIdsOptions,
    binary=True,
    clock=False,
)
