"""Google's Thesios traces: CSV with a header, of which eight columns are read, in any order.

`filename` (a volume), `file_offset`, `op_type` (READ, WRITE), `request_io_size_bytes`, `start_time` (the arrival at
the server, seconds since 1970); if there, `simulated_latency` (seconds from arrival to response), `application` (kept
as user) and `service_class` (kept as flags). `c_time` is when the file changed, and no time of the request. Source:
Phothilimthana et al., "Thesios: Synthesizing Accurate Counterfactual I/O Traces from I/O Samples" (ASPLOS '24), and
the data set's page.
"""

from collections.abc import Iterator

from cachezoo.traces.delimited import delimited
from cachezoo.traces.formats.base import Fit, Format, Head, Options
from cachezoo.traces.formats.headed import Field, is_headed, layout_of
from cachezoo.traces.reading import Chunk, Reading, microseconds

FIELDS = (
    Field("volume", ("filename",), "text"),
    Field("offset", ("file_offset",), "int"),
    Field("op", ("op_type",), "text"),
    Field("size", ("request_io_size_bytes",), "int"),
    Field("time", ("start_time",), "float"),
    Field("latency", ("simulated_latency",), "float", needed=False),
    Field("user", ("application",), "text", needed=False),
    Field("flags", ("service_class",), "text", needed=False),
)


def recognise(head: Head) -> Fit:
    """A header with the names of all columns that a request needs."""
    return Fit.SURE if is_headed(head, FIELDS) else Fit.NO


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order.

    Raises:
        TraceError: a file's header lacks a column.
    """
    del options
    for source in reading.sources:
        for rows in delimited(reading, layout_of(source, FIELDS), [source]):
            op, text = rows.op("op")
            coded = {"volume": rows.coded("volume")}
            coded |= {name: rows.coded(name) for name in ("user", "flags") if rows.has(name)}
            latency = microseconds(rows.floats("latency"), "s") if rows.has("latency") else None
            chunk = Chunk(
                row=rows.row,
                time_us=microseconds(rows.floats("time"), "s"),
                op=op,
                offset=rows.ints("offset"),
                size=rows.ints("size"),
                latency_us=latency,
                coded=coded,
                op_text=text,
            )
            yield reading.checked(source, chunk)


FORMAT = Format(
    id="thesios",
    title="Google Thesios CSV (seconds, bytes in files)",
    recognise=recognise,
    read=read,
    needs="a header with filename, file_offset, op_type, request_io_size_bytes and start_time",
    name="thesios",
    keeps=("latency_us", "user", "flags"),
)
