"""SCSI operation codes: which commands read or write data, and the names of others. Source: SPC and SBC of T10."""

import numpy as np

from cachezoo.arrays import U8
from cachezoo.traces.reading import BAD_OP
from cachezoo.traces.table import OP_READ, OP_WRITE

READS = (0x08, 0x28, 0xA8, 0x88)
WRITES = (0x0A, 0x2A, 0xAA, 0x8A, 0x2E, 0xAE, 0x8E)
# The length of a write same or a compare and write is that of a pattern or of two buffers, not of the range.
OTHERS = {
    0x00: "test unit ready",
    0x03: "request sense",
    0x12: "inquiry",
    0x15: "mode select",
    0x16: "reserve",
    0x17: "release",
    0x1A: "mode sense",
    0x1B: "start stop unit",
    0x25: "read capacity",
    0x2B: "seek",
    0x2F: "verify",
    0x35: "synchronize cache",
    0x41: "write same",
    0x42: "unmap",
    0x4D: "log sense",
    0x55: "mode select",
    0x5A: "mode sense",
    0x5E: "persistent reserve in",
    0x5F: "persistent reserve out",
    0x7F: "variable-length command",
    0x83: "extended copy",
    0x84: "receive copy results",
    0x89: "compare and write",
    0x8F: "verify",
    0x91: "synchronize cache",
    0x93: "write same",
    0x9E: "service action in",
    0xA0: "report luns",
    0xA3: "maintenance in",
    0xA4: "maintenance out",
    0xAF: "verify",
}


def _ops() -> U8:
    table = np.full(256, BAD_OP, np.uint8)
    table[list(READS)] = OP_READ
    table[list(WRITES)] = OP_WRITE
    return table


OPS = _ops()


def name_of(command: int) -> str:
    """What a command that moves no data of a known range is called in counts."""
    return OTHERS.get(command, f"command {command:02x}")
