"""How offsets and sizes of requests fit each other: by what disks, and copies of objects, leave in their numbers."""

import numpy as np

from cachezoo.arrays import I64
from cachezoo.kernels.segments import IdTable
from cachezoo.traces.table import PAGE_BYTES

SECTOR_BYTES = 512
FEW = 20  # requests from which a rule over all of them says something
NEARLY_ALL = 0.95
RESIDUES, LEAST_RESIDUES, LEAST_SHARE = PAGE_BYTES // SECTOR_BYTES, 4, 0.05
RECENT = 8
KINDS = 3  # sizes that differ, so that it says something when each object keeps its own


def multiples(values: I64, unit: int) -> float:
    """The share of int64 values that are multiples of a unit; 0 of none."""
    return float(np.count_nonzero(values % unit == 0)) / len(values) if len(values) else 0.0


def skewed(offset: I64, size: I64) -> bool:
    """Whether requests of whole pages begin anywhere in pages.

    A disk whose file systems count pages of 4 KiB has them at one place in the disk's pages, wherever its partition
    begins. Numbers of blocks that are taken for numbers of smaller sectors are spread over all.

    Args:
        offset: int64[n] bytes, none of them negative.
        size: int64[n] bytes.
    """
    return multiples(size, PAGE_BYTES) >= NEARLY_ALL and spread(offset)


def spread(offset: I64) -> bool:
    """Whether offsets lie at many places in pages of 4 KiB.

    Args:
        offset: int64[n] bytes, none of them negative.
    """
    places = np.unique(offset)
    counts = np.bincount(places % PAGE_BYTES // SECTOR_BYTES, minlength=RESIDUES)
    often = int(np.count_nonzero(counts >= LEAST_SHARE * len(places)))
    return len(places) >= FEW and often >= LEAST_RESIDUES


def continued(offset: I64, size: I64) -> float:
    """The share of requests that begin where one of the last `RECENT` ended, as those of streams do.

    Args:
        offset: int64[n] bytes.
        size: int64[n] bytes.
    """
    if len(offset) < 2:
        return 0.0
    end, found = offset + size, np.zeros(len(offset), bool)
    for back in range(1, min(RECENT, len(offset) - 1) + 1):
        found[back:] |= offset[back:] == end[:-back]
    return float(np.count_nonzero(found)) / (len(offset) - 1)


def fixed_sizes(number: I64, size: I64) -> bool:
    """Whether each number that comes again comes with the size it had, although sizes differ: as ids of objects do.

    Args:
        number: int64[n] ids or offsets.
        size: int64[n] bytes.
    """
    table = IdTable()
    dense = table.lookup(number)
    order = np.argsort(dense, kind="stable")
    again = dense[order][1:] == dense[order][:-1]
    sizes = size[order]
    if np.count_nonzero(again) < FEW or len(np.unique(sizes[1:][again])) < KINDS:
        return False
    return bool(np.count_nonzero(sizes[1:][again] == sizes[:-1][again]) >= NEARLY_ALL * np.count_nonzero(again))
