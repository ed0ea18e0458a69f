"""Wikimedia's CDN of 2019: tables at tabs whose first line names the columns.

Of uploads: relative_unix, hashed_path_query, image_type, response_size, time_firstbyte; of text: relative_unix,
hashed_host_path_query, response_size, time_firstbyte. Times are seconds since the trace's start, and those to the first
byte seconds. All are reads. Source: Wikimedia's page of the caching data set.
"""

from collections.abc import Iterator

import numpy as np

from cachezoo.traces.delimited import delimited
from cachezoo.traces.formats.base import Fit, Format, Head
from cachezoo.traces.formats.headed import Field, is_headed, layout_of
from cachezoo.traces.formats.keyed import KeyOptions, keys_of
from cachezoo.traces.reading import ObjectChunk, Reading, microseconds
from cachezoo.traces.table import OP_READ, UNKNOWN_LATENCY

KEYS = ("hashed_path_query", "hashed_host_path_query", "hashed_host_path_query_params")
FIELDS = (
    Field("time", ("relative_unix",), "float"),
    Field("key", KEYS, "key"),
    Field("size", ("response_size",), "int"),
    Field("latency", ("time_firstbyte",), "float", needed=False),
    Field("flags", ("image_type",), "text", needed=False),
)


def recognise(head: Head) -> Fit:
    """A first line with relative_unix, a hashed path and response_size."""
    return Fit.SURE if is_headed(head, FIELDS, "\t") else Fit.NO


def read(reading: Reading, options: KeyOptions) -> Iterator[ObjectChunk]:
    """Requests in the files' order; the image's type is kept as `flags`."""
    reading.notes["op"] = "all reads: the format has none"
    for source in reading.sources:
        for rows in delimited(reading, layout_of(source, FIELDS, "\t", options.keys), [source]):
            latency = microseconds(rows.floats("latency"), "s") if rows.has("latency") else None
            chunk = ObjectChunk(
                row=rows.row,
                time_us=microseconds(rows.floats("time"), "s"),
                op=np.full(len(rows.row), OP_READ, np.uint8),
                key=keys_of(rows, "key"),
                size=rows.ints("size"),
                latency_us=None if latency is None else np.maximum(latency, UNKNOWN_LATENCY),
                coded={"flags": rows.coded("flags")} if rows.has("flags") else {},
            )
            yield reading.checked(source, chunk)


FORMAT = Format(
    id="wikimedia",
    title="Wikimedia's CDN of 2019: a table at tabs with relative_unix and a hashed path (objects; seconds)",
    recognise=recognise,
    read=read,
    options=KeyOptions,
    needs="a header at tabs with relative_unix, hashed_path_query and response_size",
    name=r"\b(upload|text|cache)-?2?\d*\.tsv|wiki",
    objects=True,
    keeps=("latency_us", "flags"),
)
