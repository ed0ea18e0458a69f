"""Short names of the arrays' types."""

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
