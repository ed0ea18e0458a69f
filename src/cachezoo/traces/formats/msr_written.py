"""Traces written as MSR-Cambridge's CSV."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from cachezoo.errors import TraceError
from cachezoo.traces.formats.base import Options, lost_columns
from cachezoo.traces.formats.text_table import plain_names, slices, texts_of, write_rows
from cachezoo.traces.table import UNKNOWN_LATENCY, Trace

EPOCH = 116_444_736_000_000_000  # 1970 as a FILETIME
TICKS_PER_US = 10
DISK = re.compile(r"(.+)\.(\d{1,9})")
HOST = "cachezoo"


def disks_of(trace: Trace) -> list[tuple[str, str]]:
    """The host and the disk's number of each volume: those that its name says, or else its name and 0.

    Raises:
        TraceError: two volumes would be one.
    """
    found = []
    for name in plain_names(trace.volume, ',"'):
        split = DISK.fullmatch(name)
        found.append((split[1], split[2]) if split else (HOST, name) if re.fullmatch(r"\d{1,9}", name) else (name, "0"))
    if len(set(found)) < len(found):
        raise TraceError(f"{trace.meta.trace_id}: volumes would share a host and disk; split the trace by volume")
    return found


def write(trace: Trace, path: Path, options: Options) -> dict[str, int]:
    """Write a row a request, without a header; times count from 1970, an unknown response time is -1.

    Raises:
        TraceError: two volumes would share a host and disk.
    """
    del options
    disks = disks_of(trace)
    hosts, numbers = (tuple(disk[place] for disk in disks) for place in (0, 1))
    latency = np.full(len(trace), UNKNOWN_LATENCY, np.int64) if trace.latency_us is None else trace.latency_us

    def parts() -> Iterator[list[pa.Array]]:
        for part in slices(len(trace)):
            known = latency[part] >= 0
            yield [
                pa.array(EPOCH + trace.time_us[part] * TICKS_PER_US),
                texts_of(trace.volume.codes[part], hosts),
                texts_of(trace.volume.codes[part], numbers),
                texts_of(trace.op[part], ("Read", "Write")),
                pa.array(trace.offset[part]),
                pa.array(trace.size[part]),
                pa.array(np.where(known, latency[part] * TICKS_PER_US, UNKNOWN_LATENCY)),
            ]

    write_rows(path, parts(), ",")
    lost = lost_columns(trace)
    lost.pop("latency_us", None)
    if trace.host is not None:
        told = np.array([name for name, _ in disks], object)[trace.volume.codes]
        lost["host"] = int(np.count_nonzero(told != np.array(trace.host.names, object)[trace.host.codes]))
    renamed = np.array([f"{host}.{disk}" != name for (host, disk), name in zip(disks, trace.volume.names, strict=True)])
    lost["name of the volume"] = int(np.count_nonzero(renamed[trace.volume.codes])) if len(trace) else 0
    return {what: rows for what, rows in lost.items() if rows}
