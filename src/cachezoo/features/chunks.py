"""Features of the chunks that a trace writes, by which FIOS puts them into streams (Sec. II-B and II-C).

Bits of a chunk, each write request counting once in each chunk that it touches:

F  frequency: more writes than the median of the written chunks.
A  adjacent access: in at least one window of time it and the next or the last chunk of its volume are both written.
S  sequentiality: at least half of its writes begin where the request before on the volume, a read or a write, ended.
C  coherency: it is written in at least two windows, which is the paper's test as it stands.
P  coherency of pairs, an addition: it is written along with one same other chunk, a friend, in at least two windows.

Windows are those of `cachezoo.traces.chunks.WINDOWS`. For P a chunk remembers its `HISTORY` latest windows alone, so
that the time taken stays linear: a pair counts if two windows that both have lie no further apart than that many
windows of either. Real values are additions, too; they need no threshold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F32, I64, Bool
from cachezoo.kernels import chunks as kernel
from cachezoo.traces.chunks import WINDOWS, ChunkWrites

SEQUENTIAL_SHARE = 0.5
REAL = ("log2_writes", "log2_interval", "log2_recency", "sequential", "log2_pages")


@dataclass(frozen=True)
class Shared:
    """What windows of one length say of each of m chunks.

    Attributes:
        adjacent: bool[m] feature A.
        coherent: bool[m] feature C.
        coherent_pair: bool[m] feature P.
        coherence: float32[m] of the windows in which the chunk is written, the share in which it meets a friend again.
    """

    adjacent: Bool
    coherent: Bool
    coherent_pair: Bool
    coherence: F32


@dataclass(frozen=True)
class ChunkFeatures:
    """Features of the m chunks that a trace writes, in the order of `ChunkWrites`.

    Attributes:
        writes: int64[m] write requests.
        pages: int64[m] flash pages written.
        frequent: bool[m] feature F.
        sequential: bool[m] feature S.
        shared: by the window's name.
        real: float32[m] by name: log2 of the writes; log2 of the mean page writes of the whole trace from one of the
            chunk's writes to the next, all page writes for a chunk written once; log2 of the page writes from its last
            write to the end; the share of its writes that are sequential; log2 of the mean pages a write.
        total: page writes of the whole trace.
    """

    writes: I64
    pages: I64
    frequent: Bool
    sequential: Bool
    shared: dict[str, Shared]
    real: dict[str, F32]
    total: int


def shared_of(writes: ChunkWrites, window: str, history: int = kernel.HISTORY) -> Shared:
    """Features A, C and P, and the degree of coherence, by windows of one length.

    Args:
        writes: of a trace.
        window: one of `WINDOWS`.
        history: how many of a chunk's latest windows are searched for friends.
    """
    seen, friendly, adjacent = kernel.shared_windows(
        writes.rows, writes.when, writes.window_length(window), writes.joined, history
    )
    return Shared(adjacent, seen >= 2, friendly > 0, (friendly / seen).astype(np.float32))


def chunk_features(writes: ChunkWrites, windows: Sequence[str] = tuple(WINDOWS)) -> ChunkFeatures:
    """Describe the chunks that a trace writes.

    Args:
        writes: of a trace, see `cachezoo.traces.chunks.chunk_writes`.
        windows: names of `WINDOWS`, one at least for A, C and P.
    """
    uses, total = kernel.chunk_uses(writes.rows, writes.follows, len(writes.chunk))
    count, following = uses[:, kernel.WRITES], uses[:, kernel.FOLLOWING]
    between = uses[:, kernel.LAST_AT] - uses[:, kernel.FIRST_AT]
    interval = np.where(count > 1, between / np.maximum(count - 1, 1), total)
    share = following / count
    real = (
        np.log2(count), np.log2(interval), np.log2(total - uses[:, kernel.LAST_AT]), share,
        np.log2(uses[:, kernel.PAGES] / count),
    )  # fmt: skip
    return ChunkFeatures(
        count.copy(), uses[:, kernel.PAGES].copy(), count > np.median(count), share >= SEQUENTIAL_SHARE,
        {name: shared_of(writes, name) for name in windows},
        {name: values.astype(np.float32) for name, values in zip(REAL, real, strict=True)}, total,
    )  # fmt: skip
