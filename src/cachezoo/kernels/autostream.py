"""Streams by how often and how lately a chunk is written, found while it is written: AutoStream's SFR.

Source: Yang, Pandurangan, Choi and Balakrishnan, "AutoStream: Automatic Stream Management for Multi-streamed SSDs",
SYSTOR 2017, the algorithm of sequentiality, frequency and recency.
"""

import numpy as np

from cachezoo.arrays import I64, U8, Bool
from cachezoo.kernels.jit import njit


@njit
def sfr(chunks: I64, at: I64, follows: Bool, n_chunks: int, decay: float, streams: int) -> U8:
    """The stream of each of r write requests.

    One that follows the request before by address goes where that went, and its chunk is not touched. Any other halves
    its chunk's count once for each `decay` page writes since the chunk was counted last, and adds one; its stream is
    log2 of the count, rounded down, the last stream at most. So stream 0 takes what is new or cold.

    Args:
        chunks: int64[r] dense number of the chunk that each request begins in, in [0, n_chunks).
        at: int64[r] page writes of the host before it; rising.
        follows: bool[r] begins where the request before ended; the first does not.
        n_chunks: chunks.
        decay: page writes in which a count halves, above 0.
        streams: that there are, at least 1.
    """
    count = np.zeros(n_chunks)
    last = np.zeros(n_chunks, np.int64)
    found = np.zeros(chunks.size, np.uint8)
    for i in range(chunks.size):
        if follows[i]:
            found[i] = found[i - 1]
            continue
        chunk = chunks[i]
        left = count[chunk] * 2.0 ** (-(at[i] - last[chunk]) / decay) + 1.0
        count[chunk] = left
        last[chunk] = at[i]
        stream = 0
        while left >= 2.0 and stream < streams - 1:
            left /= 2.0
            stream += 1
        found[i] = stream
    return found
