"""Files written whole or not at all, with the same bytes for the same content."""

import errno
import fcntl
import glob
import hashlib
import json
import math
import os
import re
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cachezoo.errors import DEEP, CachezooError, TraceError
from cachezoo.meanings import Column, Columns
from cachezoo.remote import Remote, source_of

ROW_GROUP_ROWS = 1 << 20
# Level 9 halves the speed and saves half a percent on traces.
COMPRESSION_LEVEL = 3
ARROW_TYPES = {
    **{str(kind): kind for kind in (pa.int64(), pa.int32(), pa.uint8(), pa.bool_())},
    "float64": pa.float64(),
    "float32": pa.float32(),
    "coded text": pa.dictionary(pa.int32(), pa.string()),
    "list of int32": pa.list_(pa.int32()),
}

FULL = ("No space left on device", "Disk quota exceeded", "disk is full", "os error 28")
PROC = Path("/proc")
MAX_LINKS = 40  # as many as Linux follows


@contextmanager
def held(temporary: Path) -> Iterator[None]:
    """Hold a lock on a temporary file or folder while it is written, which ends with the process however it ends."""
    handle = os.open(temporary, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _sweep(path: Path) -> None:
    """Remove what processes that were killed while they wrote `path` have left beside it."""
    name = re.escape(path.name)
    for left in path.parent.glob(f".{glob.escape(path.name)}.*"):
        if not re.fullmatch(rf"\.{name}\.[a-z0-9_]{{8}}\.(tmp|old|spill)", left.name):
            continue
        try:
            handle = os.open(left, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
        finally:
            os.close(handle)


@contextmanager
def names_full_disk(path: Path) -> Iterator[None]:
    """Name the output where the disk has no room for it; libraries that write report that in ways of their own."""
    try:
        yield
    except CachezooError:
        raise
    except Exception as error:
        said = next((words for words in FULL if words in str(error)), None)
        if said is None:
            raise
        reason = said if said == FULL[1] else FULL[0]
        raise CachezooError(f"{path}: cannot be written ({reason}); make room and run it again") from error


def _unwritable(path: Path, error: OSError) -> CachezooError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        fix = "make room and run it again"
    elif error.errno == errno.EPIPE:
        fix = "what reads it has ended"
    else:
        fix = "name a file in a folder that can be written to"
    return CachezooError(f"{path}: cannot be written ({error.strerror}); {fix}")


def _followed(path: Path) -> Path:
    """Where symbolic links at `path` lead, which may not be there yet; links of /proc, to open files, are an end.

    Raises:
        CachezooError: they lead in a circle.
    """
    name = path
    for _ in range(MAX_LINKS):
        if not name.is_symlink() or name.parent.resolve().is_relative_to(PROC):
            return name
        name = name.parent / name.readlink()
    raise CachezooError(f"{path}: its symbolic links lead in a circle; name a file")


def _is_regular(path: Path, name: Path) -> bool:
    """Whether a new file may take the place of what `name`, where `path` leads, is: a regular file, or nothing yet.

    Raises:
        CachezooError: it is a folder, or a disk, whose content must not be written over.
    """
    try:
        mode = name.stat().st_mode
    except OSError:  # what makes the file says why
        return not name.is_symlink()
    if stat.S_ISDIR(mode):
        raise CachezooError(f"{path}: is a folder; name a file to write")
    if stat.S_ISBLK(mode):
        raise CachezooError(f"{path}: is a block device, whose content would be lost; name a file to write")
    return stat.S_ISREG(mode) and not name.is_symlink()


def _temporary_name(path: Path, name: Path) -> Path:
    """A name beside `name`, where `path` leads, that no other process uses, hidden from globs of outputs.

    Raises:
        CachezooError: nothing can be written there.
    """
    try:
        name.parent.mkdir(parents=True, exist_ok=True)
        _sweep(name)
        with tempfile.NamedTemporaryFile(dir=name.parent, prefix=f".{name.name}.", suffix=".tmp", delete=False) as file:
            return Path(file.name)
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path; on success it is renamed to `path`, on any error removed.

    Symbolic links are followed. What is no regular file, as a device or a pipe, stays: the whole file is written to it.

    Raises:
        CachezooError: `path` cannot be written, or the disk is full.
    """
    name = _followed(path)
    if not _is_regular(path, name):
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder) / "written"
            with names_full_disk(temporary):
                yield temporary
            _pour(temporary, path, name)
        return
    temporary = _temporary_name(path, name)
    try:
        with held(temporary), names_full_disk(path):
            yield temporary
            temporary.chmod(0o644)
            os.replace(temporary, name)
    finally:
        temporary.unlink(missing_ok=True)


def _pour(source: Path, path: Path, name: Path) -> None:
    """Write a file's bytes to what `name`, where `path` leads, is; an open file keeps what it has.

    Raises:
        CachezooError: it takes no bytes.
    """
    try:
        with source.open("rb") as whole, os.fdopen(os.open(name, os.O_WRONLY | os.O_APPEND), "wb") as file:
            shutil.copyfileobj(whole, file)
    except OSError as error:
        raise _unwritable(path, error) from error


def beside(path: Path) -> Path:
    """The folder for what is needed while `path` is written: where its file lies, which is made; else a temporary one.

    Raises:
        CachezooError: it cannot be made.
    """
    name = _followed(path)
    if not _is_regular(path, name):
        return Path(tempfile.gettempdir())
    try:
        name.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error
    return name.parent


def check_file(path: Path) -> None:
    """Refuse what `atomic_file` would refuse, and a folder that is not there, before the work that ends in the file.

    Stages make the folders of their outputs; of a path that a person types a missing folder is a slip.

    Raises:
        CachezooError: `path` cannot be written, or its folder does not exist.
    """
    name = _followed(path)
    folder = name.parent
    if not folder.is_dir():
        why = "is no folder" if folder.exists() else "no such folder"
        raise CachezooError(f"{path}: cannot be written ({folder}: {why}); make it first, or name another")
    if _is_regular(path, name):
        _temporary_name(path, name).unlink(missing_ok=True)


@contextmanager
def atomic_dir(path: Path) -> Iterator[Path]:
    """Yield a temporary folder; on success it replaces `path`, on any error it is removed and `path` left alone.

    Symbolic links are followed.

    Raises:
        CachezooError: `path` is a file or cannot be written, or the disk is full.
    """
    name = _followed(path)
    if name.exists() and not name.is_dir():
        raise CachezooError(f"{path}: is a file where a folder is to be written; move it away")
    try:
        name.parent.mkdir(parents=True, exist_ok=True)
        _sweep(name)
        temporary = Path(tempfile.mkdtemp(dir=name.parent, prefix=f".{name.name}.", suffix=".tmp"))
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with held(temporary), names_full_disk(path):
            yield temporary
            temporary.chmod(0o755)
            _replace_dir(temporary, name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _replace_dir(new: Path, path: Path) -> None:
    """Rename `new` to `path`; a folder already there is renamed aside first, and back if the new one cannot come."""
    if not path.exists():
        os.replace(new, path)
        return
    aside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".old"))
    try:
        os.replace(path, aside / path.name)
        try:
            os.replace(new, path)
        except OSError:
            os.replace(aside / path.name, path)
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _first_non_finite(value: Any, where: str) -> str | None:  # noqa: ANN401 - any JSON value
    if isinstance(value, float) and not math.isfinite(value):
        return where
    items: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        items = [(f"{where}.{key}", item) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        items = [(f"{where}[{index}]", item) for index, item in enumerate(value)]
    return next((bad for name, item in items if (bad := _first_non_finite(item, name))), None)


def dump_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """JSON text with sorted keys, two spaces, a final newline; NaN and infinities are refused."""
    bad = _first_non_finite(value, "$")
    if bad is not None:
        message = f"{bad} is NaN or infinite, which no output may hold: write null where a figure is undefined"
        raise CachezooError(message)
    return json.dumps(value, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 - any JSON value
    """Write `dump_json(value)` atomically."""
    text = dump_json(value)
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def parsed_json(text: str, where: str) -> Any:  # noqa: ANN401 - any JSON value
    """The value of a JSON text.

    Args:
        text: of a file, or of a part of one.
        where: what the error names.

    Raises:
        CachezooError: it is no JSON or nested too deeply, or holds NaN, which JSON lacks and no output may hold.
    """

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no number of JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        why = DEEP if isinstance(error, RecursionError) else error
        raise CachezooError(f"{where}: not readable as JSON ({why})") from error


def read_json(path: Path) -> Any:  # noqa: ANN401 - any JSON value
    """Read a JSON file.

    Raises:
        CachezooError: the file is missing, or as `parsed_json`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CachezooError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CachezooError(f"{path}: not readable as JSON ({error})") from error
    return parsed_json(text, str(path))


def read_refusal(path: Path) -> str:
    """Why export wrote no bundle, as it says in a bundle's place.

    Raises:
        CachezooError: the file is missing or not JSON, or gives no reason.
    """
    content = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("reason"), str):
        raise CachezooError(f"{path}: gives no reason; run the stage that exports the model again")
    return str(content["reason"])


def _column_of(columns: Columns, name: str) -> Column:
    """The column of that name, or the one whose `<name>` stands for it."""
    if name in columns:
        return columns[name]
    for pattern, column in columns.items():
        if re.fullmatch(".+".join(re.escape(part) for part in re.split(r"<[^>]+>", pattern)), name):
            return column
    raise KeyError(name)


def arrow_type(columns: Columns, name: str) -> pa.DataType:
    """The Arrow type of a column.

    Raises:
        KeyError: there is no such column.
    """
    return ARROW_TYPES[_column_of(columns, name).type]


def table_of(values: Mapping[str, Any], columns: Columns) -> pa.Table:
    """Arrays by name as a table, each of its column's type.

    Raises:
        KeyError: one is of no column.
    """
    return pa.table({name: pa.array(array, arrow_type(columns, name)) for name, array in values.items()})


class TableWriter:
    """A Parquet file (zstd, large row groups) written piece by piece."""

    def __init__(self, path: Path, schema: pa.Schema, delta_columns: tuple[str, ...] = ()) -> None:
        """Begin the file.

        Args:
            path: where it is written, usually a temporary name (`atomic_file`).
            schema: columns of every piece.
            delta_columns: integer columns stored as DELTA_BINARY_PACKED instead of dictionary pages; right for
                times and offsets, whose values seldom repeat.
        """
        # Parquet's name of a column's only leaf: this project's nested columns are lists of numbers.
        lists = {field.name for field in schema if pa.types.is_list(field.type)}
        leaves = {name: f"{name}.list.element" if name in lists else name for name in schema.names}
        self._writer = pq.ParquetWriter(
            path,
            schema.remove_metadata(),
            compression="zstd",
            compression_level=COMPRESSION_LEVEL,
            use_dictionary=[leaf for name, leaf in leaves.items() if name not in delta_columns],
            column_encoding={leaves[name]: "DELTA_BINARY_PACKED" for name in delta_columns},
            write_statistics=True,
        )

    def add(self, table: pa.Table) -> None:
        """Write rows in row groups of their own."""
        self._writer.write_table(table, row_group_size=ROW_GROUP_ROWS)

    def close(self, metadata: dict[str, str]) -> None:
        """Finish the file, its metadata in sorted order so that bytes do not depend on insertion."""
        if metadata:
            self._writer.add_key_value_metadata(dict(sorted(metadata.items())))
        self._writer.close()


def write_table(
    path: Path, table: pa.Table, metadata: dict[str, str] | None = None, delta_columns: tuple[str, ...] = ()
) -> None:
    """Write a Parquet file atomically, see `TableWriter`."""
    with atomic_file(path) as temporary:
        writer = TableWriter(temporary, table.schema, delta_columns)
        writer.add(table)
        writer.close(metadata or {})


def read_metadata(path: Path) -> dict[str, str]:
    """A Parquet file's key/value metadata.

    Raises:
        TraceError: the file is missing, truncated or not Parquet, or its metadata is no text.
    """
    with _readable(path):
        raw = pq.read_metadata(source_of(path)).metadata or {}
        return {key.decode(): value.decode() for key, value in raw.items() if key != b"ARROW:schema"}


def read_extent(path: Path) -> dict[str, int]:
    """How many values each column of a Parquet file has, without reading them: of lists the elements of all.

    Raises:
        TraceError: the file is missing, truncated or not Parquet.
    """
    with _readable(path):
        said, found = pq.read_metadata(source_of(path)), Counter[str]()
        for group in range(said.num_row_groups):
            for place in range(said.num_columns):
                column = said.row_group(group).column(place)
                found[column.path_in_schema.partition(".")[0]] += column.num_values
        return dict(found)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what pyarrow says of a bad file into a typed error."""
    try:
        yield
    except FileNotFoundError as error:
        raise TraceError(f"{path}: no such file") from error
    except (pa.ArrowException, OSError) as error:
        raise TraceError(f"{path}: not a readable Parquet file ({str(error).splitlines()[0]})") from error
    except UnicodeDecodeError as error:
        message = f"{path}: its metadata is no text in UTF-8 ({error.object[:60]!r}); write the file again"
        raise TraceError(message) from error


def table_batches(path: Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file, a row group at a time at most.

    Raises:
        TraceError: the file is missing, truncated or not Parquet.
    """
    rows = 0
    # Ranges of an object come together, as each takes a round trip.
    with _readable(path), pq.ParquetFile(source_of(path), pre_buffer=isinstance(path, Remote)) as file:
        said = file.metadata.num_rows
        for group in range(file.num_row_groups):  # all at once, they would be joined up to that many rows
            for batch in file.iter_batches(batch_size=ROW_GROUP_ROWS, row_groups=[group], columns=columns):
                batch.validate(full=True)
                rows += len(batch)
                yield batch
    _check_rows(path, rows, said)


def _check_rows(path: Path, rows: int, said: int) -> None:
    """Refuse a file whose row groups do not hold the rows that its end says it has."""
    if rows != said:
        raise TraceError(f"{path}: holds {rows} rows, and its end says {said}; the file is damaged, write it again")


def read_table(path: Path, columns: list[str] | None = None) -> tuple[pa.Table, dict[str, str]]:
    """Read a Parquet file and its key/value metadata.

    Raises:
        TraceError: the file is missing, truncated or not Parquet, or lacks a column.
    """
    with _readable(path):
        table = pq.read_table(source_of(path), columns=columns, partitioning=None)
        table.validate(full=True)  # codes within their dictionary, among others
        said = pq.read_metadata(source_of(path)).num_rows
    _check_rows(path, len(table), said)
    if columns is not None and (missing := sorted(set(columns) - set(table.column_names))):
        message = f"{path}: columns {', '.join(missing)} are missing; the file has {', '.join(table.column_names)}"
        raise TraceError(message)
    return table, read_metadata(path)


def read_rows(
    path: Path, stage: str, requests: int | None = None, columns: list[str] | None = None
) -> tuple[pa.Table, dict[str, str]]:
    """Read a table that a stage wrote with one row for each request of a trace; its numbers must be finite.

    Args:
        path: the file.
        stage: the stage that wrote it, which the error says to run again.
        requests: how many rows there must be; None where the requests are not at hand.
        columns: as `read_table`.

    Raises:
        TraceError: as `read_table`, or the rows are another trace's, or one holds NaN or an infinity.
    """
    table, metadata = read_table(path, columns)
    if requests is not None and len(table) != requests:
        raise TraceError(f"{path}: has {len(table)} rows for {requests} requests; run the stage {stage} again")
    for name in table.column_names:
        if pa.types.is_floating(table.schema.field(name).type):
            bad = ~np.isfinite(table.column(name).to_numpy())
            if bad.any():
                row = int(bad.argmax())
                raise TraceError(f"{path}: row {row + 1}: {name} is no finite number; run the stage {stage} again")
    return table, metadata


def sha256_file(path: Path) -> str:
    """Hex sha256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
