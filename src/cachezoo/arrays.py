"""Short names of the arrays' types, and where arrays as long as a trace lie."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Bool = npt.NDArray[np.bool_]
U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
MOST_NUMBERED = int(np.iinfo(np.int32).max)
"""Pages, accesses, writes or chunks that an `I32` can number."""
Room = Callable[[npt.DTypeLike, int], npt.NDArray[Any]]
"""Makes an array of zeros, of a type and a length: in memory, or elsewhere (`cachezoo.traces.spill.InFiles`)."""
EVERY = slice(None)
"""All places of an array."""
AT_ONCE = 1 << 20
"""Values of a long array that are worked on together, as what is made of them lies in memory."""


def in_memory(dtype: npt.DTypeLike, length: int) -> npt.NDArray[Any]:
    """A `Room`."""
    return np.zeros(length, dtype)


def stretches(length: int) -> Iterator[slice]:
    """The places of an array, in order, so many at a time."""
    for low in range(0, length, AT_ONCE):
        yield slice(low, min(low + AT_ONCE, length))
