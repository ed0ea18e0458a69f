"""Blocks of time: the pieces of a trace over which leads are estimated, and by turns choose and judge."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I64

Values = TypeVar("Values", bound=np.generic)
BLOCKS = 20
LEAST_BLOCKS = 4
LEAST_IN_BLOCK = 50
"""Accesses or requests of a block below which its mean says nothing."""


def blocks_in(counted: int) -> int:
    """Into how many blocks so many accesses or requests are cut; 0 where they are too few for an interval."""
    blocks = min(BLOCKS, counted // LEAST_IN_BLOCK)
    return blocks if blocks >= LEAST_BLOCKS else 0


def edges_of(counted: int, blocks: int) -> I64:
    """int64[blocks + 1]: where (almost) equally long blocks of so many accesses or requests begin and end."""
    edges: I64 = np.linspace(0, counted, blocks + 1).astype(np.int64)
    return edges


def block_sums(values: npt.NDArray[Values], blocks: int) -> F64:
    """float64[blocks]: sums of consecutive blocks of (almost) equally many values, in the order of time."""
    edges = edges_of(len(values), blocks)
    kind = np.int64 if values.dtype.kind in "bui" else np.float64
    sums = np.append(np.zeros(1, kind), np.cumsum(values, dtype=kind))
    return np.diff(sums[edges]).astype(np.float64)


def block_means(values: npt.NDArray[Values], blocks: int | None = None) -> F64:
    """float64[blocks]: means of consecutive blocks of (almost) equally many values.

    Args:
        values: [n] of each access or request that counts, in the order of time.
        blocks: how many; None as `blocks_in`, so that the result is empty where an interval would say nothing.
    """
    number = blocks_in(len(values)) if blocks is None else blocks
    if not number:
        return np.zeros(0)
    means: F64 = block_sums(values, number) / np.diff(edges_of(len(values), number))
    return means


def halves(values: npt.NDArray[Values], blocks: int = BLOCKS) -> tuple[npt.NDArray[Values], npt.NDArray[Values]]:
    """Cut a series in time into twice `blocks` blocks: those that choose, and those that judge, by turns."""
    parts = np.array_split(values, 2 * blocks)
    return np.concatenate(parts[::2]), np.concatenate(parts[1::2])
