"""Readers of foreign trace formats: a file in, a validated `Trace` out."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from cachezoo.errors import TraceError
from cachezoo.io import sha256_file
from cachezoo.traces.table import Trace, TraceMeta, read_trace, trace_from_table

CSV_TYPES = {
    "time_us": pa.int64(),
    "op": pa.string(),
    "offset": pa.int64(),
    "size": pa.int64(),
    "latency_us": pa.int64(),
    "volume": pa.string(),
}
MSR_COLUMNS = ("Timestamp", "Hostname", "DiskNumber", "Type", "Offset", "Size", "ResponseTime")
MSR_TYPES = dict(
    zip(MSR_COLUMNS, (pa.int64(), pa.string(), pa.string(), pa.string(), *(pa.int64(),) * 3), strict=True)
)
TICKS_PER_US = 10
OPS = {"r": 0, "read": 0, "w": 1, "write": 1}


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _read_csv(path: Path, types: dict[str, pa.DataType], columns: tuple[str, ...] | None) -> pa.Table:
    """Parse a CSV, plain or compressed. One thread, because only then pyarrow's errors name the row.

    Rows are counted as requests are: a header is none.
    """
    read = pacsv.ReadOptions(use_threads=False, column_names=columns)
    convert = pacsv.ConvertOptions(column_types=types, strings_can_be_null=False)
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            return pacsv.read_csv(stream, read_options=read, convert_options=convert)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, pa.ArrowInvalid) and "Empty CSV" in str(error):
            message = f"{path}: the trace is empty; give a file with at least one request"
        else:
            header = 0 if columns else 1
            said = re.sub(r"Row #(\d+)", lambda found: f"row {int(found[1]) - header}", _one_line(error))
            message = f"{path}: not readable as CSV: {said}; mend that row, or the file if it is cut short"
        raise TraceError(message) from error


def _op_codes(column: pa.ChunkedArray, where: str) -> pa.Array:
    text = pc.utf8_lower(pc.utf8_trim_whitespace(column)).to_numpy(zero_copy_only=False)
    codes = np.array([OPS.get(value, 255) for value in text], np.uint8)
    if (codes == 255).any():
        row = int(np.argmax(codes == 255))
        message = f"{where}: row {row + 1}: op is {column[row].as_py()!r}; use R, W, read or write"
        raise TraceError(message)
    return pa.array(codes)


def read_csv(path: Path, meta: TraceMeta) -> Trace:
    """CSV with a header naming time_us, op, offset, size and optionally latency_us, volume; plain or .gz.

    A latency below 0 is unknown. Errors count rows below the header, from 1.

    Raises:
        TraceError: wrong or missing columns, a value of another type, or rows that no trace can have.
    """
    table = _read_csv(path, CSV_TYPES, None)
    unknown = sorted(set(table.column_names) - set(CSV_TYPES))
    missing = [name for name in ("time_us", "op", "offset", "size") if name not in table.column_names]
    if unknown or missing or len(set(table.column_names)) < table.num_columns:
        message = (
            f"{path}: header is {','.join(table.column_names)[:200]}; name the columns "
            "time_us,op,offset,size[,latency_us,volume], each once"
        )
        raise TraceError(message)
    table = table.set_column(table.column_names.index("op"), "op", _op_codes(table.column("op"), str(path)))
    return trace_from_table(table, meta, str(path))


def read_msr(path: Path, meta: TraceMeta) -> Trace:
    """MSR-Cambridge CSV without header: FILETIME ticks of 100 ns, host, disk, type, offset, size, response ticks.

    Raises:
        TraceError: as `read_csv`.
    """
    table = _read_csv(path, MSR_TYPES, MSR_COLUMNS)
    for name in ("Timestamp", "Offset", "Size", "ResponseTime"):
        if table.column(name).null_count:
            row = pc.index(pc.is_null(table.column(name)), True).as_py()
            message = f"{path}: row {row + 1}: {name} is empty; fill it in or drop the row"
            raise TraceError(message)
    ticks = table.column("Timestamp").to_numpy()
    time_us = (ticks - (ticks[0] if len(ticks) else 0)) // TICKS_PER_US
    if (backwards := np.diff(time_us) < 0).any():
        row = int(np.argmax(backwards)) + 1
        message = (
            f"{path}: row {row + 1}: Timestamp is {ticks[row]}, before row {row}'s {ticks[row - 1]}; the time runs "
            "backwards: sort the rows by time"
        )
        raise TraceError(message)
    columns = {
        "time_us": pa.array(time_us),
        "op": _op_codes(table.column("Type"), str(path)),
        "offset": table.column("Offset"),
        "size": table.column("Size"),
        "latency_us": pa.array(table.column("ResponseTime").to_numpy() // TICKS_PER_US),
        "volume": pc.binary_join_element_wise(table.column("Hostname"), table.column("DiskNumber"), "."),
        "host": table.column("Hostname"),
    }
    return trace_from_table(pa.table(columns), meta, str(path))


def read_parquet(path: Path, meta: TraceMeta) -> Trace:
    """Canonical Parquet; its own provenance is kept and `meta` is not used.

    Raises:
        TraceError: not a canonical trace.
    """
    del meta
    return read_trace(path)


READERS: dict[str, Callable[[Path, TraceMeta], Trace]] = {
    "csv": read_csv,
    "msr": read_msr,
    "parquet": read_parquet,
}


def detect(path: Path) -> str:
    """Recognise a format by content.

    Raises:
        TraceError: the file is missing, unreadable, or none of the formats.
    """
    try:
        with path.open("rb") as file:
            if file.read(4) == b"PAR1":
                return "parquet"
        with pa.input_stream(str(path), compression="detect") as stream:
            head = stream.read(4096)
    except (OSError, pa.ArrowException) as error:
        message = f"{path}: cannot be read ({_one_line(error)})"
        raise TraceError(message) from error
    if not head.strip():
        message = f"{path}: the trace is empty; give a file with at least one request"
        raise TraceError(message)
    fields = head.split(b"\n", 1)[0].strip().decode("utf-8-sig", "replace").split(",")
    if "time_us" in [field.strip() for field in fields]:
        return "csv"
    if len(fields) == len(MSR_COLUMNS) and fields[0].isdigit() and fields[3].strip().lower() in OPS:
        return "msr"
    message = f"{path}: row 1 fits none of {', '.join(READERS)}; use --format, or a header (time_us,op,offset,size)"
    raise TraceError(message)


def read_any(path: Path, fmt: str = "auto", category: str = "unknown") -> Trace:
    """Read a trace in any known format.

    Args:
        path: the file.
        fmt: ``auto`` or a key of `READERS`.
        category: the workload category to record where the file names none.

    Raises:
        TraceError: unknown format, or what the reader says.
    """
    if fmt != "auto" and fmt not in READERS:
        message = f"format {fmt}: unknown; use auto or one of {', '.join(READERS)}"
        raise TraceError(message)
    if not path.is_file():
        message = f"{path}: no such file"
        raise TraceError(message)
    chosen = detect(path) if fmt == "auto" else fmt
    name = path.name.removesuffix(".gz").rsplit(".", 1)[0]
    return READERS[chosen](path, TraceMeta(name, category, chosen, sha256_file(path)))
