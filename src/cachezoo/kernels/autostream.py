"""Streams by how often and how lately a chunk is written, found while it is written: AutoStream's two algorithms.

Source: Yang, Pandurangan, Choi and Balakrishnan, "AutoStream: Automatic Stream Management for Multi-streamed SSDs",
SYSTOR 2017: the one of sequentiality, frequency and recency, and the one of several queues.
"""

import numpy as np

from cachezoo.arrays import I64, U8, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.lists import link_head, own_links, unlink

NONE = -1
NEVER = np.iinfo(np.int64).max


@njit
def sfr(chunks: I64, at: I64, follows: Bool, n_chunks: int, decay: float, streams: int, found: U8) -> None:
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
        found: uint8[r], written.
    """
    count = np.zeros(n_chunks)
    last = np.zeros(n_chunks, np.int64)
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


@njit
def multiq(chunks: I64, at: I64, n_chunks: int, streams: int, found: U8) -> None:
    """The stream of each of r write requests: the queue that its chunk is in when it comes.

    A write puts its chunk at the end of the queue of log2 of the chunk's writes, rounded down, the last at most. The
    chunk expires where it is not written again within a lifetime: the page writes between the last two writes of the
    hottest chunk, the one with the most writes. After each write the chunk at the head of each queue, from the last
    queue on, goes down a queue if it has expired, and may stay there for another lifetime; it keeps its count.

    Our own reading, as the paper's text was not at hand: the queues are those of Zhou, Philbin and Li, "The Multi-Queue
    Replacement Algorithm for Second Level Buffer Caches", USENIX ATC 2001, with promotion by count and demotion by
    expiry as the claims of US patent 10656838 have them, and the lifetime of the hottest chunk as a public simulator
    has it. Time is page writes of the host; before a chunk was written twice none expires; once the hottest chunk goes
    down, the hottest is the one that was written last in the highest queue that has any. A new chunk is in the first.

    Args:
        chunks: int64[r] as `sfr` has them.
        at: int64[r] likewise.
        n_chunks: chunks.
        streams: that there are, a queue each, at least 1.
        found: uint8[r], written.
    """
    before, after = own_links(n_chunks, streams)
    queue = np.full(n_chunks, NONE, np.int64)
    count, last, expires = np.zeros(n_chunks, np.int64), np.zeros(n_chunks, np.int64), np.zeros(n_chunks, np.int64)
    hottest, most, life = NONE, 0, NEVER
    for i in range(chunks.size):
        chunk, now = chunks[i], at[i]
        found[i] = max(queue[chunk], 0)
        count[chunk] += 1
        if count[chunk] > most:
            hottest, most = chunk, count[chunk]
            if count[chunk] > 1:
                life = now - last[chunk]
        own = 0
        while own < streams - 1 and count[chunk] >> (own + 1) > 0:
            own += 1
        if queue[chunk] != NONE:
            unlink(before, after, chunk)
        queue[chunk], last[chunk] = own, now
        expires[chunk] = NEVER if life == NEVER else now + life
        link_head(before, after, n_chunks + own, chunk)
        for k in range(streams - 1, 0, -1):
            head = before[n_chunks + k]
            if head == n_chunks + k or expires[head] >= now:
                continue
            unlink(before, after, head)
            queue[head], expires[head] = k - 1, now + life
            link_head(before, after, n_chunks + k - 1, head)
            if head == hottest:
                top = streams - 1
                while after[n_chunks + top] == n_chunks + top:
                    top -= 1
                hottest = after[n_chunks + top]
                most = count[hottest]
