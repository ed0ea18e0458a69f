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
from cachezoo.traces.formats.headed import is_headed, layout_of
from cachezoo.traces.reading import Chunk, Reading, microseconds

NEEDED = {
    "filename": "text",
    "file_offset": "int",
    "op_type": "text",
    "request_io_size_bytes": "int",
    "start_time": "float",
}
MORE = {"simulated_latency": "float", "application": "text", "service_class": "text"}


def recognise(head: Head) -> Fit:
    """A header with the names of all columns that a request needs."""
    return Fit.SURE if is_headed(head, NEEDED, MORE) else Fit.NO


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order.

    Raises:
        TraceError: a file's header lacks a column.
    """
    del options
    for source in reading.sources:
        for rows in delimited(reading, layout_of(source, NEEDED, MORE), [source]):
            op, text = rows.op("op_type")
            coded = {"volume": rows.coded("filename")}
            for column, name in (("user", "application"), ("flags", "service_class")):
                if rows.has(name):
                    coded[column] = rows.coded(name)
            latency = microseconds(rows.floats("simulated_latency"), "s") if rows.has("simulated_latency") else None
            chunk = Chunk(
                row=rows.row,
                time_us=microseconds(rows.floats("start_time"), "s"),
                op=op,
                offset=rows.ints("file_offset"),
                size=rows.ints("request_io_size_bytes"),
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
