"""Rows of Parquet and Arrow (Feather) tables of others, a batch at a time; a bad row is named or skipped.

Values become numbers as those of text do, see `cachezoo.traces.values`: what is not stored as such a number is taken
as text. So whole numbers may be floats, and times integers, floats, timestamps or texts.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from cachezoo.errors import TraceError
from cachezoo.io import read_metadata, table_batches
from cachezoo.remote import Remote, source_of
from cachezoo.traces.delimited import TEXT, Column, Rows
from cachezoo.traces.reading import Reading
from cachezoo.traces.source import Source
from cachezoo.traces.store import VERSION, VERSION_OF_OBJECTS
from cachezoo.traces.values import INT64_END, KINDS

PARQUET, ARROW = b"PAR1", b"ARROW1"
FIRST_ROWS = 200
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_table(data: bytes) -> bool:
    """Whether a file that begins so is a Parquet or an Arrow file."""
    return data.startswith((PARQUET, ARROW))


def is_own(path: Path) -> bool:
    """Whether a Parquet file is one of the project's, or cannot be read at all, which its reader then says."""
    try:
        return not {VERSION, VERSION_OF_OBJECTS}.isdisjoint(read_metadata(path))
    except TraceError:
        return True


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what pyarrow says of a bad file into a typed error."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise TraceError(f"{path}: not a readable Parquet or Arrow file ({said}); fetch or write it again") from error


def stored_table(source: Source) -> Path:
    """Where a table lies.

    Raises:
        TraceError: it is inside a compressed file: a table is read from its end.
    """
    if source.compression != "none":
        raise TraceError(f"{source.path}: is a Parquet or Arrow file inside {source.compression}: unpack it")
    return source.stored


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET


def _mapped(path: Path) -> Any:  # noqa: ANN401 - an open file of pyarrow's
    return source_of(path) if isinstance(path, Remote) else pa.memory_map(str(path))


def schema_of(source: Source) -> pa.Schema:
    """A table's columns.

    Raises:
        TraceError: it is not readable.
    """
    path = stored_table(source)
    with _readable(source.path):
        if _is_parquet(path):
            return pq.read_schema(source_of(path))
        with _mapped(path) as file:
            return ipc.open_file(file).schema


def _batches(source: Source, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Some of a table's columns, a batch of rows at a time."""
    path = stored_table(source)
    if _is_parquet(path):
        yield from table_batches(path, names)
        return
    with _readable(source.path), _mapped(path) as file:
        reader = ipc.open_file(file, options=ipc.IpcReadOptions(use_threads=False))
        for index in range(reader.num_record_batches):
            batch = reader.get_batch(index).select(names)
            batch.validate(full=True)
            yield batch


def first_rows(source: Source) -> list[list[str]]:
    """The fields of a table's first rows as text; those that are no text or number are empty.

    Raises:
        TraceError: the table is not readable, or two columns have one name.
    """
    names = schema_of(source).names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TraceError(f"{source.path}: has two columns called {twice[:60]!r}; rename one")
    for batch in _batches(source, names):
        table = pa.Table.from_batches([batch.slice(0, FIRST_ROWS)])
        with _readable(source.path):
            columns = [pc.fill_null(_text(column), "").to_pylist() for column in table.columns]
        return [list(row) for row in zip(*columns, strict=True)]
    return []


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as text, null where that cannot be."""
    if pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.chunked_array([pa.nulls(len(column), pa.string())])


def _numbers(column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """int64 or float64 of a column, null where a value is none."""
    given = column.type
    if pa.types.is_timestamp(given) and KINDS[kind].moment:
        units = PER_SECOND[given.unit]
        ticks = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
        # Timestamps with a zone count from 1970 in UTC, as those without one are taken.
        scaled = ticks // (units // 10**6) if units > 10**6 else ticks * (10**6 // units)
        return pa.chunked_array([pa.array(scaled, mask=np.asarray(pc.is_null(column)))])
    if pa.types.is_integer(given) and kind in ("int", "float"):
        if pa.types.is_uint64(given):
            fits = pc.less(column, pa.scalar(INT64_END, given))
            column = pc.if_else(fits, column, pa.scalar(None, given))
        return column.cast(pa.int64() if kind == "int" else pa.float64(), safe=False)
    if pa.types.is_floating(given) and kind in ("int", "float"):
        values = np.asarray(pc.fill_null(column.cast(pa.float64()), float("nan")))
        if kind == "float":
            return pa.chunked_array([pa.array(values, mask=~np.isfinite(values))])
        good = (np.abs(values) < float(INT64_END)) & (np.floor(values) == values)
        return pa.chunked_array([pa.array(np.where(good, values, 0).astype(np.int64), mask=~good)])
    texts = _text(column)
    if kind != "float":
        return KINDS[kind].of(texts)
    good = pc.match_substring_regex(texts, rf"^[ \t]*{KINDS[kind].pattern.pattern}[ \t]*$")
    plain = pc.if_else(good, pc.utf8_ltrim(pc.utf8_trim(texts, " \t"), "+"), pa.scalar(None, pa.string()))
    numbers = plain.cast(pa.float64())
    return pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, pa.float64()))


def rows(reading: Reading, source: Source, columns: Mapping[str, Column]) -> Iterator[Rows]:
    """Rows of a table.

    Args:
        reading: where bad rows go.
        source: the file.
        columns: how the reader calls what is in each column of the file, by the file's name of it, and its kind.

    Raises:
        TraceError: the file is damaged, or more rows are bad than may be skipped.
    """
    done = 0
    for batch in _batches(source, list(columns)):
        table = pa.Table.from_batches([batch])
        good = np.ones(len(table), bool)
        found: dict[str, pa.ChunkedArray] = {}
        with _readable(source.path):
            for name, column in columns.items():
                given = table.column(name)
                if column.kind == "text":
                    found[column.name] = pc.fill_null(_text(given), "").cast(TEXT)
                    continue
                numbers = _numbers(given, column.kind)
                wrong = np.asarray(pc.is_null(numbers))
                if column.optional:
                    wrong &= ~_missing(given)
                _name_bad(reading, source, done, given, column, wrong & good)
                good &= ~wrong
                found[column.name] = numbers
        kept = pa.table(found) if good.all() else pa.table(found).filter(pa.array(good))
        if len(kept):
            yield Rows(source, done + 1 + np.flatnonzero(good), kept)
        done += len(table)
    source.consumed = source.size


def _missing(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Where a column has no value: null, or a float that is no number, as data frames write what is missing."""
    return np.array(pc.is_null(column, nan_is_null=pa.types.is_floating(column.type)))


def _name_bad(
    reading: Reading, source: Source, done: int, given: pa.ChunkedArray, column: Column, wrong: npt.NDArray[Any]
) -> None:
    """Count the rows whose value of a column is none."""
    missing = _missing(given)
    for place in np.flatnonzero(wrong).tolist():
        text = "" if missing[place] else (_text(given.slice(place, 1))[0].as_py() or "").strip(" \t")
        said = "empty; fill it in or drop the row"
        if text:
            what = KINDS[column.kind].what
            said = KINDS[column.kind].why_not(text) or f"{text[:40]!r}, not {what}; fix or drop the row"
        reading.bad(source, done + place + 1, f"{column.name} is {said}")
