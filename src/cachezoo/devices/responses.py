"""The responses file of a trace: what stage replay wrote."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from cachezoo.arrays import F64
from cachezoo.errors import TraceError
from cachezoo.io import read_extent, read_metadata, read_rows, table_batches
from cachezoo.meanings import Column, Each, Means, Table

COLUMNS = {
    "t_hdd_us": Column("float64", Means("service time on the hard disk, queue depth 1", "µs")),
    "t_ssd_us": Column("float64", Means("service time on the SSD, queue depth 1", "µs")),
}
METADATA = {
    "cachezoo.trace_id": Column("text", Means("the trace")),
    "cachezoo.device": Column("text", Means("JSON: device profile, section device of params.yaml")),
    "cachezoo.provenance": Column("text", Means("where the profile comes from (device.source)")),
    "cachezoo.measured_on": Column(
        "text", Means("JSON: of a measurement, what each device is (name, kind, model, identity, virtual)")
    ),
    "cachezoo.unit.<column>": Column("text", Means("unit of a column")),
}
RESPONSES = Table(
    Each("one request", "row number, as in data/requests", text="replayed service times"), COLUMNS, METADATA
)
ONE = ("cachezoo.provenance", "cachezoo.device", "cachezoo.measured_on")


def read_responses(path: Path, requests: int | None = None) -> tuple[F64, F64]:
    """`t_hdd_us` and `t_ssd_us`, float64[n] µs each, rows as in the requests.

    Args:
        path: the file.
        requests: how many rows it must have.

    Raises:
        TraceError: not readable, without these columns, of another trace, or with a time that is no number above 0.
    """
    table, _ = read_rows(path, "replay", requests, list(COLUMNS))
    return _times(table, path, 0)


def _times(table: pa.Table | pa.RecordBatch, path: Path, before: int) -> tuple[F64, F64]:
    """Both columns; `before` rows came earlier.

    Raises:
        TraceError: a time is no number above 0.
    """
    hdd, ssd = (np.asarray(table.column(name)) for name in COLUMNS)
    for name, times in zip(COLUMNS, (hdd, ssd), strict=True):
        wrong = ~((times > 0) & np.isfinite(times))
        if wrong.any():
            row = int(wrong.argmax())
            time = f"row {before + row + 1}: {name} is {times[row]:g}"
            raise TraceError(f"{path}: {time}, no time above 0; run the stage replay again")
    return hdd, ssd


class ResponseReader:
    """A responses file, read as far as its rows are wanted."""

    def __init__(self, path: Path, requests: int) -> None:
        """Open it.

        Args:
            path: the file.
            requests: how many rows it must have.

        Raises:
            TraceError: not readable, without the columns, or of another trace.
        """
        extent = read_extent(path)
        if missing := [name for name in COLUMNS if name not in extent]:
            raise TraceError(f"{path}: columns {', '.join(missing)} are missing; run the stage replay again")
        if (rows := next(extent[name] for name in COLUMNS)) != requests:
            raise TraceError(f"{path}: has {rows} rows for {requests} requests; run the stage replay again")
        self._path, self._batches, self._read = path, table_batches(path, list(COLUMNS)), 0
        self._rest = np.empty((len(COLUMNS), 0), np.float64)

    def take(self, rows: int) -> tuple[F64, F64]:
        """`t_hdd_us` and `t_ssd_us` of the next requests, float64[rows] µs each.

        Raises:
            TraceError: as `read_responses`.
        """
        parts, there = [self._rest], self._rest.shape[1]
        while there < rows:
            batch = next(self._batches)
            parts.append(np.stack(_times(batch, self._path, self._read)))
            there, self._read = there + len(batch), self._read + len(batch)
        found = np.concatenate(parts, axis=1)
        self._rest = found[:, rows:]
        return found[0, :rows], found[1, :rows]


def one_provenance(paths: Iterable[Path]) -> str:
    """What several files' response times come from, of one device and configuration for all of them.

    Returns:
        `analytic`, `emulated`, `real`, or `real, on a virtual disk`.

    Raises:
        TraceError: a file is not readable, or of another device or other settings than the first: times of different
            provenance are never put together.
    """
    first, known = None, dict.fromkeys(ONE, "")
    for path in paths:
        metadata = read_metadata(path)
        said = {name: metadata.get(name, "") for name in ONE}
        if first is None:
            first, known = path, said
        elif said != known:
            message = f"{path}: its times are of another device or other settings than {first}'s; run the stage replay"
            raise TraceError(message)
    provenance = known["cachezoo.provenance"]
    virtual = provenance == "real" and '"virtual"' in known["cachezoo.measured_on"]
    return f"{provenance}, on a virtual disk" if virtual else provenance
