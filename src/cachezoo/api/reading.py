"""Traces for Python: files as the commands read them, and tables and arrays that are in memory."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo.api import libcachesim
from cachezoo.api.given import text, text_or_none
from cachezoo.api.objects import addressed
from cachezoo.arrays import I64
from cachezoo.cli.reading import chosen
from cachezoo.coded import Coded
from cachezoo.errors import ConfigError, TraceError
from cachezoo.remote import located
from cachezoo.sizes import refused
from cachezoo.traces import long
from cachezoo.traces.formats.columns import required
from cachezoo.traces.long import LongTrace
from cachezoo.traces.memory import hold_pages
from cachezoo.traces.objects import Either, ObjectTrace
from cachezoo.traces.read import TraceFiles, read_either, read_part
from cachezoo.traces.sampling import Part, SampledTrace, plan_of, sampled
from cachezoo.traces.table import CODED_COLUMNS, MAX_END_BYTES, PAGE_BYTES, Trace, TraceMeta, validate

if TYPE_CHECKING:
    import pyarrow as pa

# Columns of the canonical table, by the roles of --columns, with what they count.
CANONICAL = {"time": "time_us:us", "offset": "offset", "size": "size", "op": "op", "latency": "latency_us:us"}
CANONICAL |= {name: name for name in ("count", *CODED_COLUMNS) if name != "source"}
CANONICAL_OF_OBJECTS = {"key": "key", "ttl": "ttl_s", **CANONICAL}
NO_COLUMNS_OF_OBJECTS = ("offset", "volume")
OPS = ("read", "write", "delete")  # by their numbers in the canonical table
TABLE = "table.csv"
MOST_PAGE = MAX_END_BYTES // PAGE_BYTES - 1


def read(
    source: Any,  # noqa: ANN401 - the kinds that are listed
    fmt: str = "auto",
    *,
    columns: str | Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    name: str | None = None,
    quiet: bool = False,
) -> Either:
    """A trace in memory: of addresses, or of objects where its rows name what they ask for by keys.

    Args:
        source: a file, or a trace's files in their order; a DataFrame, an Arrow table, a dict of arrays or a structured
            array with a column a role, of objects where one is called `key`; an array of whole numbers, each a page of
            4 KiB that is read, by its place on the disk; a reader of libCacheSim's Python package, whose requests are
            of objects unless `columns` says otherwise (its columns are clock_time, obj_id, obj_size, op and ttl); or a
            trace, which is given back.
        fmt: of files: `auto`, or an id of `cachezoo trace formats`.
        columns: as `--columns`: `time=ts:ms,offset=lba:512,size=len,op=rw`, or the same as a dict. A table whose
            columns have the names of the canonical one (time_us, op, offset, size …) needs none.
        options: of the format, as `--option`.
        name: to record; by default the file's.
        quiet: say nothing on standard error of what was inferred or is doubtful.

    Raises:
        TraceError: what the reader says.
        ConfigError: something that no trace can be made of, or a format of what is no file.
    """
    columns, options, name = _columns_text(columns), _options(options), text_or_none(name, "name")
    if (files := files_of(source, text(fmt, "fmt"), options, columns, name)) is not None:
        return read_either(files, quiet=quiet)
    if fmt != "auto":
        raise refused("fmt", str(fmt), "it is of files; leave it out")
    if (columns is not None or options) and (isinstance(source, Trace | ObjectTrace) or _is_row(source)):
        raise refused("columns", columns or str(options), "they are of files and tables; leave them and options out")
    if isinstance(source, Trace | ObjectTrace):
        return source
    if libcachesim.is_reader(source):
        source, columns = libcachesim.table_of(source), columns or libcachesim.COLUMNS
        return _of_table(source, columns, options, name or "reader", quiet)
    if _is_row(source):
        return _of_pages(_row(source), name or "array")
    return _of_table(source, columns, options, name or "table", quiet)


def opened(
    source: Any,  # noqa: ANN401 - as of `read`
    part: Part, page_bytes: int = PAGE_BYTES, first: int | None = None, *, requests: bool = True,
    unread: bool = True,
) -> Trace | ObjectTrace | SampledTrace | LongTrace:  # fmt: skip
    """A trace as it is simulated, see `cachezoo.traces.long.opened`.

    What is in memory is sampled at a rate alone, and where `requests` are to stay whole.

    Raises:
        ConfigError, TraceError: as of `read`.
    """
    if (files := files_of(source)) is not None:
        return long.opened(files, part, page_bytes, first, requests=requests, unread=unread)
    return in_memory(source, part if requests else "exact", page_bytes)


def in_memory(
    source: Any,  # noqa: ANN401 - as of `read`
    part: Part, page_bytes: int = PAGE_BYTES, *, keyed: bool = True,
) -> Trace | ObjectTrace | SampledTrace:  # fmt: skip
    """The same of what has to be in memory; `keyed` says whether it may be of objects.

    Raises:
        ConfigError, TraceError: as of `read`; or it is of objects, and may not be.
    """
    if (files := files_of(source)) is not None:
        return read_part(files, part, page_bytes, objects=keyed, near=not keyed)
    own = read(source)
    if keyed and isinstance(own, ObjectTrace):
        return own
    own = addressed(own)
    return own if isinstance(part, str) else sampled(own, plan_of(part, page_bytes, near=not keyed))


def files_of(
    source: Any,  # noqa: ANN401 - as of `read`
    fmt: str = "auto", options: Mapping[str, str] | None = None, columns: str | None = None, name: str | None = None,
) -> TraceFiles | None:  # fmt: skip
    """What to read; None of what is no file."""
    if not (isinstance(source, str | Path) or _is_paths(source)):
        return None
    paths = [located(source)] if isinstance(source, str | Path) else [located(path) for path in source]
    known, own = chosen(fmt, [f"{key}={value}" for key, value in (options or {}).items()], columns)
    return TraceFiles(paths, known, trace_id=name, options=own)


def _columns_text(columns: str | Mapping[str, str] | None) -> str | None:
    if isinstance(columns, Mapping):
        return ",".join(f"{role}={column}" for role, column in columns.items())
    return text_or_none(columns, "columns")


def _options(options: Mapping[str, str] | None) -> dict[str, str]:
    if not isinstance(options, Mapping | None):
        raise refused("options", str(options), "give a dict")
    return dict(options or {})


def _is_paths(source: object) -> bool:
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(own, str | Path) for own in source)


def _has_columns(source: object) -> bool:
    return isinstance(source, np.ndarray) and source.dtype.names is not None


def _is_row(source: object) -> bool:
    """Whether it is an array, or what becomes one: a list, a range, a column of a DataFrame."""
    one_axis = hasattr(source, "__array__") and getattr(source, "ndim", 0) == 1
    return (one_axis or isinstance(source, np.ndarray | list | tuple | range)) and not _has_columns(source)


def _row(source: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 - as of `_is_row`
    """It as an array.

    Raises:
        ConfigError: its parts are not as long.
    """
    try:
        return np.asarray(source)
    except (ValueError, TypeError, OverflowError) as error:
        raise ConfigError(f"{type(source).__name__} is no trace: give a row of page numbers") from error


def _of_pages(pages: np.ndarray[Any, Any], name: str) -> Trace:
    """Reads of a page each.

    Raises:
        ConfigError: no row of whole numbers.
        TraceError: no page, or one that no disk has.
    """
    if pages.ndim != 1 or (len(pages) and pages.dtype.kind not in "iu"):
        fix = "give a row of page numbers, or a table with a column a role"
        raise ConfigError(f"an array of {pages.dtype} with {pages.ndim} axes is no trace: {fix}")
    if len(pages) and not (0 <= int(pages.min()) and int(pages.max()) <= MOST_PAGE):
        wrong = int(pages.min()) if int(pages.min()) < 0 else int(pages.max())
        fix = "where they are names and no places, give a table with a column key in place of offset"
        raise TraceError(f"{name}: page {wrong} lies on no disk (0 to {MOST_PAGE}); {fix}")
    offset: I64 = pages.astype(np.int64) * PAGE_BYTES
    count = len(offset)
    meta = TraceMeta(name, "unknown", "array", sha256(offset.tobytes()).hexdigest())
    trace = Trace(
        np.arange(count, dtype=np.int64), np.zeros(count, np.uint8), offset, np.full(count, PAGE_BYTES, np.int64),
        Coded.constant("0", count), meta,
    )  # fmt: skip
    hold_pages(validate(trace, name), name)
    return trace


def _of_table(source: object, columns: str | None, options: dict[str, str], name: str, quiet: bool) -> Either:
    """A table's requests, through the reader of `--columns`, so that what it takes and refuses is the same."""
    import pyarrow as pa
    import pyarrow.csv as csv

    table = _plain(_table(source))
    if columns is None:
        columns = _roles(table.column_names)
    known, own = chosen("auto", [f"{key}={value}" for key, value in options.items()], columns)
    with TemporaryDirectory() as folder:
        path = Path(folder) / TABLE
        try:
            csv.write_csv(table, path)
        except pa.ArrowException as error:
            raise ConfigError(f"{name}: cannot be written as text: {_words(error)}") from error
        if columns is not None:
            own = {"delimiter": "comma", "has_header": "true", **own}
        try:
            return read_either(TraceFiles([path], known, trace_id=name, options=own), quiet=quiet)
        except TraceError as error:
            raise TraceError(str(error).replace(str(path), name)) from error


def _words(error: Exception) -> str:
    """What Arrow says, on one line."""
    return " ".join("; ".join(map(str, error.args)).split())


def _roles(names: Sequence[str]) -> str | None:
    """`--columns` of a table with the canonical names; None where it has others, which its values then have to say.

    Raises:
        ConfigError: it names objects and places.
    """
    known = CANONICAL
    if "key" in names:
        if "offset" in names:
            fix = "drop one, or name the columns that count in columns="
            raise ConfigError(f"the table has a column key, of objects, and offset, of places: {fix}")
        known = {role: name for role, name in CANONICAL_OF_OBJECTS.items() if role not in NO_COLUMNS_OF_OBJECTS}
    roles = {role: column for role, column in known.items() if column.partition(":")[0] in names}
    if not set(required(roles)) <= set(roles):
        return None
    return ",".join(f"{role}={column}" for role, column in roles.items())


def _table(source: object) -> "pa.Table":
    """What has columns, as an Arrow table.

    Raises:
        ConfigError: it has none.
    """
    import pyarrow as pa

    try:
        if isinstance(source, pa.Table):
            return source
        if isinstance(source, pa.RecordBatch):
            return pa.Table.from_batches([source])
        if isinstance(source, np.ndarray) and source.dtype.names is not None:
            return pa.table({own: _column(own, np.ascontiguousarray(source[own])) for own in source.dtype.names})
        if isinstance(source, Mapping):
            return pa.table({str(own): _column(str(own), values) for own, values in source.items()})
        if hasattr(source, "__arrow_c_stream__"):  # pandas, polars and others
            return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"{type(source).__name__} is no table with a column a role: {_words(error)}") from error
    kinds = "a file, a DataFrame, an Arrow table, a dict of arrays, or an array of page numbers"
    raise ConfigError(f"{type(source).__name__} is no trace: give {kinds}")


def _column(name: str, values: Any) -> "pa.Array":  # noqa: ANN401 - whatever a dict holds
    """Values as a column.

    Raises:
        ConfigError: they are none.
    """
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"column {name}: {_words(error)}; give a row of numbers, texts or dates") from error


def _plain(table: "pa.Table") -> "pa.Table":
    """The table without an index of pandas, its dates as microseconds since 1970, its ops as words where they are bare.

    The canonical `op` is 0 for a read, 1 for a write and, of objects, 2 for a delete, which no other table's numbers
    need mean.

    Raises:
        ConfigError: two columns have one name, one's name has a line break, or a column holds lists or the like.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for own in table.column_names:
        if table.column_names.count(own) > 1 or len(own.splitlines()) > 1:
            raise ConfigError(f"column {own!r}: give each column a name of its own, on one line")
    columns = {}
    for column in table.column_names:
        values = table.column(column)
        if column.startswith("__index_level_"):
            continue
        if pa.types.is_timestamp(values.type):
            values = values.cast(pa.timestamp("us", values.type.tz), safe=False).cast(pa.int64())
        if column == "op" and "time_us" in table.column_names and pa.types.is_integer(values.type):
            words = pa.array(OPS if "key" in table.column_names else OPS[:2])
            known = pc.and_(pc.greater_equal(values, 0), pc.less(values, len(words)))
            values = pc.fill_null(pc.take(words, pc.if_else(known, values, None)), "unknown")
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pa.types.is_nested(values.type) or isinstance(values.type, pa.BaseExtensionType):
            raise ConfigError(f"column {column}: is of {values.type}; give numbers, texts or dates, or leave it out")
        columns[column] = values
    return pa.table(columns)
