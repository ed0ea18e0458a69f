"""Which blocks of a validation trace choose, and which speak the verdict."""

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]


def halves(hits: U8, blocks: int) -> tuple[U8, U8]:
    """Cut a run's hits in time into twice `blocks` blocks: those that choose, and those that judge, by turns."""
    parts = np.array_split(hits, 2 * blocks)
    return np.concatenate(parts[::2]), np.concatenate(parts[1::2])
