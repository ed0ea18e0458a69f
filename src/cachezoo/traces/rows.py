"""Long traces a row group at a time: which are long, their requests in files, and tables with a row for each."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cachezoo.arrays import Room
from cachezoo.coded import Coded
from cachezoo.io import ROW_GROUP_ROWS, TableWriter, atomic_file, read_extent, table_of
from cachezoo.meanings import Columns
from cachezoo.traces.memory import long_from
from cachezoo.traces.store import paged_pieces, read_meta
from cachezoo.traces.table import Trace


def is_read_in_pieces(requests: Path) -> bool:
    """Whether a canonical trace has so many page accesses that it is read a row group at a time.

    Raises:
        TraceError: it cannot be read.
    """
    return read_extent(requests).get("page_ids", 0) >= long_from()


def trace_in(room: Room, requests: Path) -> Trace:
    """The requests of a canonical trace with page ids, their arrays in a room; without users and what else has a name.

    Raises:
        TraceError: it cannot be read, or there is no room.
    """
    n, names, done = read_extent(requests).get("offset", 0), dict[str, int](), 0
    time_us, offset, size = (room(np.int64, n) for _ in range(3))
    op, volume = room(np.uint8, n), room(np.int32, n)
    for piece, _ in paged_pieces(requests):
        rows = slice(done, done + len(piece))
        time_us[rows], offset[rows], size[rows], op[rows] = piece.time_us, piece.offset, piece.size, piece.op
        numbers = np.array([names.setdefault(name, len(names)) for name in piece.volume.names], np.int32)
        volume[rows] = numbers[piece.volume.codes]
        done = rows.stop
    return Trace(time_us, op, offset, size, Coded(volume, tuple(names)), read_meta(requests))


class RowWriter:
    """Writes a table a row group at a time, with the bytes that `cachezoo.io.write_table` gives all of it."""

    def __init__(self, temporary: Path, columns: Columns) -> None:
        """Begin; use `row_writer`.

        Args:
            temporary: where it is written.
            columns: what its columns are.
        """
        self._temporary, self._columns = temporary, columns
        self._waiting: list[pa.Table] = []
        self._writer: TableWriter | None = None

    def add(self, values: Mapping[str, npt.NDArray[Any]]) -> None:
        """Write the next rows, arrays of the same columns each time."""
        self._waiting.append(table_of(values, self._columns))
        self._write(ROW_GROUP_ROWS)

    def close(self, metadata: dict[str, str]) -> None:
        """Finish the table, of at least one row."""
        self._write(1)
        if self._writer is not None:
            self._writer.close(metadata)

    def _write(self, whole: int) -> None:
        """Write what waits, as far as it is a multiple of so many rows."""
        there = sum(map(len, self._waiting))
        if there < whole:
            return
        table = pa.concat_tables(self._waiting).combine_chunks()
        done = there - there % whole
        self._writer = self._writer or TableWriter(self._temporary, table.schema)
        self._writer.add(table.slice(0, done))
        self._waiting = [table.slice(done)]


@contextmanager
def row_writer(path: Path, columns: Columns) -> Iterator[RowWriter]:
    """Yield a writer, to be closed with metadata; after an error nothing is left, and `path` as it was."""
    with atomic_file(path) as temporary:
        yield RowWriter(temporary, columns)
