"""Traces written as the text that blkparse prints: an issue (D) a request, and its completion (C) where it is known."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from cachezoo.errors import TraceError
from cachezoo.traces.events import operation
from cachezoo.traces.formats.base import Options, lost_columns
from cachezoo.traces.formats.text_table import plain_names, seconds_of, slices, texts_of, write_rows
from cachezoo.traces.reading import SECTOR_BYTES
from cachezoo.traces.table import Trace

DEVICE = re.compile(r"\d{1,4},\d{1,7}")
NO_MAJOR = 259  # of devices whose volume's name is no MAJOR,MINOR
RWBS = re.compile(r"[A-Z]{1,8}")
OPS = ("R", "W")
PROCESS = "cachezoo"
SPOILERS = ' "[]'


def devices_of(trace: Trace) -> list[str]:
    """MAJOR,MINOR of each volume: its name, where that is one, or else 259 and its number.

    Raises:
        TraceError: two volumes would be one.
    """
    names = trace.volume.names
    found = [name if DEVICE.fullmatch(name) else f"{NO_MAJOR},{number}" for number, name in enumerate(names)]
    if len(set(found)) < len(found):
        raise TraceError(f"{trace.meta.trace_id}: volumes would share a device's number; split the trace by volume")
    return found


def _letters(trace: Trace) -> tuple[np.ndarray, tuple[str, ...], int]:
    """The kernel's letters of each request: its flags, where they are such letters of its op; and how many are not."""
    codes = trace.op.astype(np.int32)
    if trace.flags is None:
        return codes, OPS, 0
    names = [*OPS, *trace.flags.names]
    ops = np.array([operation(name, 1) if RWBS.fullmatch(name) else -1 for name in trace.flags.names], np.int64)
    fits = (trace.flags.codes >= 0) & (ops[trace.flags.codes] == trace.op)
    return np.where(fits, trace.flags.codes + len(OPS), codes), tuple(names), int(np.count_nonzero(~fits))


def write(trace: Trace, path: Path, options: Options) -> dict[str, int]:
    """Write the events of each request, in the order of time; sectors hold a request's bytes whole.

    Raises:
        TraceError: two volumes would share a device's number.
    """
    del options
    devices = tuple(devices_of(trace))
    letters, names, lost_letters = _letters(trace)
    user = trace.user
    processes = tuple(plain_names(user, SPOILERS)) if user is not None else (PROCESS,)
    process = np.zeros(len(trace), np.int32) if user is None else np.maximum(user.codes, 0)
    first = trace.offset // SECTOR_BYTES
    sectors = -(-(trace.offset + trace.size) // SECTOR_BYTES) - first
    answered = np.zeros(len(trace), bool) if trace.latency_us is None else trace.latency_us >= 0
    request = np.concatenate([np.arange(len(trace)), np.flatnonzero(answered)])
    ends = np.arange(len(request)) >= len(trace)
    time_us = trace.time_us[request]
    if trace.latency_us is not None:
        time_us = time_us + np.where(ends, trace.latency_us[request], 0)
    order = np.lexsort((ends, request, time_us))

    def parts() -> Iterator[list[pa.Array]]:
        for part in slices(len(order)):
            event = order[part]
            of, end = request[event], ends[event]
            name = texts_of(np.where(end, len(processes), process[of]), (*(f"[{one}]" for one in processes), "[0]"))
            yield [
                texts_of(trace.volume.codes[of], devices),
                texts_of(np.zeros(len(of), np.int32), ("0",)),
                pa.array(np.arange(part.start + 1, part.stop + 1)),
                seconds_of(time_us[event] * 1000, 9),
                texts_of(end.astype(np.int32), ("1", "0")),
                texts_of(end.astype(np.int32), ("D", "C")),
                texts_of(letters[of], names),
                pa.array(first[of]),
                texts_of(np.zeros(len(of), np.int32), ("+",)),
                pa.array(sectors[of]),
                name,
            ]

    write_rows(path, parts(), " ")
    lost = lost_columns(trace)
    for kept in ("latency_us", "flags", "user"):
        lost.pop(kept, None)
    renamed = np.array([name != device for name, device in zip(trace.volume.names, devices, strict=True)], bool)
    part = (trace.offset % SECTOR_BYTES != 0) | (trace.size % SECTOR_BYTES != 0)
    if user is not None:
        spoiled = np.array([name != told for name, told in zip(user.names, processes, strict=True)], bool)
        lost["signs in user"] = int(np.count_nonzero(spoiled[user.codes])) if len(trace) else 0
    lost |= {
        "flags": lost_letters,
        "name of the volume": int(np.count_nonzero(renamed[trace.volume.codes])) if len(trace) else 0,
        "part of a sector": int(np.count_nonzero(part)),
    }
    return {what: rows for what, rows in lost.items() if rows}
