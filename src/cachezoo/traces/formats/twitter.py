"""Twitter's clusters of in-memory caches: CSV without a header, a request a row.

Columns: time (seconds), key, key size, value size, client, operation, time to live (seconds, 0 of what writes nothing).
Sizes are of values. Source: Yang et al., "A large scale analysis of hundreds of in-memory cache clusters at Twitter"
(OSDI '20), and its data set's page.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import Fit, Format, Head, is_int, most_fit
from cachezoo.traces.formats.keyed import NO_DATA, STORE_OPS, KeyOptions, key_column, keys_of, lasting
from cachezoo.traces.formats.other_ops import data_only
from cachezoo.traces.objects import NO_TTL
from cachezoo.traces.reading import ObjectChunk, Reading, microseconds
from cachezoo.traces.table import OP_WRITE

LAYOUT = Layout(
    (
        Column("time", "float"),
        Column("key", "text"),
        Column("key_size", "skip"),
        Column("size", "int"),
        Column("client", "text"),
        Column("op", "text", words=tuple(STORE_OPS)),
        Column("ttl", "int", optional=True),
    )
)


def _row_fits(row: list[str]) -> bool:
    return row[5].lower() in STORE_OPS and all(is_int(row[place]) for place in (0, 2, 3, 4, 6))


def recognise(head: Head) -> Fit:
    """Seven fields with an operation of a key-value store in the sixth."""
    return Fit.SURE if most_fit(head.rows(), 7, _row_fits) else Fit.NO


def read(reading: Reading, options: KeyOptions) -> Iterator[ObjectChunk]:
    """Requests in the files' order; the client is kept as `user`."""
    for source in reading.sources:
        time, _, *others = LAYOUT.columns
        key = key_column(source, 1, len(LAYOUT.columns), options.keys)
        for rows in delimited(reading, replace(LAYOUT, columns=(time, key, *others)), [source]):
            op, text = rows.op("op", STORE_OPS)
            ttl_s = lasting(rows, "ttl")
            chunk = ObjectChunk(
                row=rows.row,
                time_us=microseconds(rows.floats("time"), "s"),
                op=op,
                key=keys_of(rows, "key"),
                size=rows.ints("size"),
                ttl_s=None if ttl_s is None else np.where(op == OP_WRITE, ttl_s, NO_TTL),
                coded={"user": rows.coded("client"), "flags": text},
                op_text=text,
            )
            yield reading.checked(source, data_only(reading, chunk, NO_DATA))


FORMAT = Format(
    id="twitter",
    title="Twitter's cache clusters: CSV time,key,key size,value size,client,op,ttl (objects; seconds)",
    recognise=recognise,
    read=read,
    options=KeyOptions,
    layout=LAYOUT,
    needs="seven fields at commas, the sixth an operation such as get or set",
    name=r"\bcluster\d",
    objects=True,
    keeps=("user", "flags"),
)
