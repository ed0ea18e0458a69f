"""Parquet and Arrow tables of others with the canonical names, such as data frames write: time_us, op, offset, size.

Tables with other names are read by naming their columns, see `cachezoo.traces.formats.columns`.
"""

from collections.abc import Iterator

import pyarrow as pa

from cachezoo.errors import TraceError
from cachezoo.traces.formats import columns
from cachezoo.traces.formats.base import Fit, Format, Head, Options
from cachezoo.traces.reading import Reading, Requests
from cachezoo.traces.source import Source
from cachezoo.traces.tabular import PARQUET, is_own, is_table, schema_of

# A role's canonical name.
NAMES = {
    "time": "time_us",
    "offset": "offset",
    "size": "size",
    "op": "op",
    "latency": "latency_us",
    **{name: name for name in columns.CODED},
}


def recognise(head: Head) -> Fit:
    """A table that is not the project's own, with the canonical names."""
    if head.stored is None or not is_table(head.data) or (head.data.startswith(PARQUET) and is_own(head.stored)):
        return Fit.NO
    try:
        names = schema_of(Source(head.stored)).names
    except TraceError:
        return Fit.NO
    return Fit.SURE if all(NAMES[role] in names for role in columns.REQUIRED) else Fit.NO


def read(reading: Reading, options: Options) -> Iterator[Requests]:
    """Requests in the files' order; an op is a text, or 0 for a read and 1 for a write.

    Raises:
        TraceError: a file lacks a column.
    """
    del options
    for source in reading.sources:
        schema = schema_of(source)
        names = schema.names
        roles = {role: name for role, name in NAMES.items() if name in names or role in columns.REQUIRED}
        if roles["op"] in names and pa.types.is_integer(schema.field(roles["op"]).type):
            roles["op"] += ":0/1"
        if others := [name for name in names if name not in {*roles.values(), NAMES["op"]}]:
            reading.notes["columns_not_read"] = ", ".join(others)[:300]
        yield from columns.read_one(reading, source, columns.ColumnsOptions.model_validate(roles))


FORMAT = Format(
    id="table",
    title="Parquet or Arrow (Feather) of others with the columns time_us,op,offset,size[,…] (microseconds, bytes)",
    recognise=recognise,
    read=read,
    binary=True,
    needs="a Parquet or Arrow file with the columns time_us, op, offset and size",
    keeps=("latency_us", *columns.CODED[1:]),
)
