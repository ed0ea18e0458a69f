"""Block traces of cacheMon's io-tracer: CSV with a header, whose columns differ by version.

`timestamp` (a date, of the *completion*), `sector` (512 bytes), `operation`, `size` (bytes), `latency_ms` (from issue
to completion); if there, `command` (kept as user) and `dev` or `device` (a volume). A request was issued at timestamp -
latency_ms. Source: io-tracer's description of its traces.
"""

from collections.abc import Iterator

from cachezoo.coded import Coded
from cachezoo.traces.delimited import Rows, delimited, merged
from cachezoo.traces.events import process_name
from cachezoo.traces.formats.base import OFFSET, Fit, Format, Head, Options
from cachezoo.traces.formats.headed import Field, is_headed, layout_of
from cachezoo.traces.formats.other_ops import data_only
from cachezoo.traces.reading import SECTOR_BYTES, Chunk, Reading, bytes_of, issued_us, microseconds

FIELDS = (
    Field("timestamp", ("timestamp",), "date"),
    Field("sector", ("sector",), "int"),
    Field("operation", ("operation",), "text"),
    Field("size", ("size",), "int"),
    Field("latency_ms", ("latency_ms",), "float"),
    *(Field(name, (name,), "text", needed=False) for name in ("command", "dev", "device")),
)
KINDS = {
    "flush": "flush",
    "discard": "discard",
    "secure_erase": "discard",
    **dict.fromkeys(("write_zeroes", "write_same", "drv_in", "drv_out", "scsi_in", "scsi_out", "other"), "other"),
    **dict.fromkeys(("zone_open", "zone_close", "zone_finish", "zone_append", "zone_reset", "zone_reset_all"), "other"),
}


def recognise(head: Head) -> Fit:
    """A header with the names of all columns that a request needs."""
    return Fit.SURE if is_headed(head, FIELDS) else Fit.NO


def _chunk(reading: Reading, rows: Rows) -> Chunk:
    op, text = rows.op("operation")
    ended_us, latency_us = rows.ints("timestamp"), microseconds(rows.floats("latency_ms"), "ms")
    device = next((name for name in ("dev", "device") if rows.has(name)), None)
    coded = {} if device is None else {"volume": rows.coded(device)}
    if rows.has("command"):
        command = rows.coded("command")
        coded["user"] = merged(Coded(command.codes, tuple(process_name(name) for name in command.names)))
    chunk = Chunk(
        row=rows.row,
        time_us=issued_us(ended_us, latency_us),
        op=op,
        offset=bytes_of(rows.ints("sector"), SECTOR_BYTES),
        size=rows.ints("size"),
        latency_us=latency_us,
        coded=coded,
        op_text=text,
    )
    return data_only(reading, chunk, KINDS)


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the order of completion.

    Raises:
        TraceError: a file's header lacks a column.
    """
    del options
    for source in reading.sources:
        for rows in delimited(reading, layout_of(source, FIELDS), [source]):
            yield reading.checked(source, _chunk(reading, rows))


FORMAT = Format(
    id="iotracer",
    title="cacheMon io-tracer CSV of block requests (dates, 512-byte sectors)",
    recognise=recognise,
    read=read,
    needs="a header with timestamp, sector, operation, size and latency_ms",
    name=r"^ds_|iotracer|io-tracer",
    sectors=OFFSET,
    keeps=("latency_us", "user"),
)
