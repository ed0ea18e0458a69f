"""`sid.bin` of kind streams with the standard library alone, to compare two of them."""

from __future__ import annotations

import struct
from array import array
from typing import NamedTuple

from cachezoo.runtime.errors import RuntimeFault

FILE = "sid.bin"
HEADER = struct.Struct("<8sIIQ")


class Moved(NamedTuple):
    """Chunks below the last one that either dictionary has learned, and those of another stream in the second."""

    chunks: int
    moved: int


def ranges(data: bytes) -> list[tuple[int, int]]:
    """(first chunk, stream) of each range of a checked `sid.bin`.

    Raises:
        RuntimeFault: its size is not that of its ranges.
    """
    count = HEADER.unpack_from(data)[3] if len(data) >= HEADER.size else 0
    if count < 1 or len(data) != HEADER.size + 5 * count:
        raise RuntimeFault(f"{FILE}: its size is not that of its ranges; copy the bundle again")
    end = HEADER.size + 4 * count
    starts = struct.unpack(f"<{count}I", data[HEADER.size : end])
    return list(zip(starts, array("B", data[end:])))  # noqa: B905 - Python 3.9 has no strict


def moved(old: bytes, new: bytes) -> Moved:
    """How many chunks have another stream in the second dictionary."""
    before, after = ranges(old), ranges(new)
    end = max(before[-1][0], after[-1][0])
    cuts = sorted({start for start, _ in (*before, *after)} | {end})
    i = j = found = 0
    for low, high in zip(cuts, cuts[1:]):  # noqa: B905, RUF007 - as above, and no pairwise
        while i + 1 < len(before) and before[i + 1][0] <= low:
            i += 1
        while j + 1 < len(after) and after[j + 1][0] <= low:
            j += 1
        found += (high - low) * (before[i][1] != after[j][1])
    return Moved(end, found)
