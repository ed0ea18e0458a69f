"""Which blocks and segments suit a trace, or the train traces of a category."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I64
from cachezoo.kernels.segments import SEGMENT_BITS, Geometry, segment_keys
from cachezoo.traces.table import OP_READ, Trace

FLOOR = Geometry()
DOUBLINGS = 5  # up to 8 MiB / 128 KiB
LEAST_BLOCKS = 1000
MOST_INFLATION = 1.1


@dataclass(frozen=True)
class Touched:
    """What a trace touches, by which geometries are compared."""

    reads: I64  # int64[b] the distinct blocks of the floor that hold a read's first segment, rising
    segments: I64  # int64[s] its distinct segments of the floor, rising

    @classmethod
    def of(cls, trace: Trace) -> "Touched":
        """Of a trace."""
        start, keys = segment_keys(trace.volume.codes, trace.offset, trace.size, FLOOR)
        first = keys[start[:-1]][trace.op == OP_READ]
        volume, index = first >> SEGMENT_BITS, first & ((1 << SEGMENT_BITS) - 1)
        return cls(np.unique((volume << SEGMENT_BITS) + index // FLOOR.per_block), np.unique(keys))

    def blocks(self, geometry: Geometry) -> int:
        """Distinct blocks that hold a read's first segment, of 64 segments or more of the floor."""
        return _distinct(self.reads, geometry.block_bytes // FLOOR.block_bytes)

    def inflation(self, geometry: Geometry) -> float:
        """Bytes of the segments touched over bytes of those of the floor."""
        covered = _distinct(self.segments, geometry.segment_bytes // FLOOR.segment_bytes) * geometry.segment_bytes
        return covered / max(1, len(self.segments) * FLOOR.segment_bytes)


def _distinct(keys: I64, of: int) -> int:
    """How many groups of so many neighbours some keys, rising, fall into; a volume begins with a group."""
    return int(np.count_nonzero(np.diff(keys // of))) + 1 if len(keys) else 0


def choose_geometry(traces: Sequence[Trace]) -> Geometry:
    """The largest 64:1 geometry that has 1,000 read blocks or more, and inflates the footprint to 1.1 or less.

    Larger blocks are worth more to a disk, whose seeks they save; in too few of them there is nothing to learn, and
    segments larger than what is read waste flash.

    Args:
        traces: every one of them must have both.

    Returns:
        Between 8 MiB / 128 KiB and the floor, 256 KiB / 4 KiB.
    """
    touched = [Touched.of(trace) for trace in traces]
    for doublings in range(DOUBLINGS, 0, -1):
        geometry = Geometry(FLOOR.block_bytes << doublings, FLOOR.segment_bytes << doublings)
        if all(own.blocks(geometry) >= LEAST_BLOCKS and own.inflation(geometry) <= MOST_INFLATION for own in touched):
            return geometry
    return FLOOR
