"""FIOS's features of the chunks that a trace writes, and its choice among them by what the trace is (Bhimani et al.).

Bits of a chunk (Sec. II-B and II-C), each write request counting once in each chunk that it touches:

F  frequency: more writes than the median of the written chunks.
A  adjacent access: in at least one window of time it and the next or the last chunk of its volume are both written.
S  sequentiality: at least half of its writes begin where the request before on the volume, a read or a write, ended.
C  coherency: it is written in at least two windows, which is the paper's own test.

The median, the half and the two windows are `cachezoo.settings.wear.StreamsLabel`, the paper's thresholds. And ours:

P  coherency of pairs, an addition: it is written along with one same other chunk, a friend, in at least two windows.

Windows are those of `cachezoo.traces.chunks.WINDOWS`. For P a chunk remembers its `HISTORY` latest windows alone, so
that the time taken stays linear: a pair counts if two windows that both have lie no further apart than that many
windows of either. Real values are additions, too; they need no threshold.

Five characteristics of a trace's writes, each high or not, choose among these (Sec. IV-A and IV-C). The paper names its
columns (Table II) in a sentence each, and the first three times in other words: "inter-arrival time between two
write/update requests" (IV-A), "update time" (IV-B), "write rates" (IV-C). The readings are ours. That of the first is
the nearest to the values printed of those that lab/notes/fios_readings.py tries on traces of the paper; none of the
reuse ratio, the mean size and the rate is near. Which values are high the paper does not say: these thresholds
reproduce its worked cases.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from cachezoo.arrays import F32, I32, I64, Bool
from cachezoo.kernels import chunks as kernel
from cachezoo.kernels.characteristics import page_uses, updates
from cachezoo.settings.wear import StreamsLabel
from cachezoo.traces.chunks import WINDOWS, ChunkWrites
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace

REAL = ("log2_writes", "log2_interval", "log2_recency", "sequential", "log2_pages")
DAY_S = 86_400
DEFAULT = StreamsLabel()
FEWEST_INTERVALS = 10
# Sec. IV-C and Table III: a characteristic is high from here on. The order is that of the rows below.
HIGH = {
    "acf": 0.75, "random_write_percent": 50.0, "reuse_ratio": 30.0, "mean_write_kb": 64.0, "written_gb_per_day": 88.0,
}  # fmt: skip
# Fig. 8, the base matrix: a feature is chosen where a trace is high in all that one of its rows asks for.
BASE_ROWS = (("A", "10001"), ("C", "11000"), ("S", "00010"), ("S", "10010"), ("F", "00100"), ("F", "10100"))
LETTERS = "FASC"


@dataclass(frozen=True)
class Shared:
    """Features of each of m chunks by windows of one length."""

    adjacent: Bool  # [m] feature A
    coherent: Bool  # [m] feature C
    coherent_pair: Bool  # [m] feature P
    coherence: F32  # [m] of the windows in which the chunk is written, the share in which it meets a friend again


@dataclass(frozen=True)
class ChunkFeatures:
    """Features of the m chunks that a trace writes, in the order of `ChunkWrites`."""

    writes: I64  # [m] requests
    pages: I64  # [m] flash pages written
    frequent: Bool  # [m] feature F
    sequential: Bool  # [m] feature S
    shared: dict[str, Shared]  # by the window's name
    # By name, as the columns of `cachezoo.labels.streams` describe them: of `REAL`.
    real: dict[str, F32]
    total: int  # page writes of the whole trace


def shared_of(writes: ChunkWrites, window: str, history: int = kernel.HISTORY, coherent: int = 2) -> Shared:
    """Features A, C and P, and the degree of coherence, by windows of one length.

    Args:
        writes: of a trace.
        window: one of `WINDOWS`.
        history: how many of a chunk's latest windows are searched for friends.
        coherent: windows in which a chunk of feature C is written.
    """
    seen, friendly, adjacent = kernel.shared_windows(
        writes.rows, writes.when, writes.window_length(window), writes.joined, history
    )
    return Shared(adjacent, seen >= coherent, friendly > 0, (friendly / seen).astype(np.float32))


def chunk_features(
    writes: ChunkWrites, windows: Sequence[str] = tuple(WINDOWS), thresholds: StreamsLabel = DEFAULT
) -> ChunkFeatures:
    """Describe the chunks that a trace writes.

    Args:
        writes: of a trace, see `cachezoo.traces.chunks.chunk_writes`.
        windows: names of `WINDOWS`, one at least for A, C and P.
        thresholds: of F, S and C.
    """
    uses, total = kernel.chunk_uses(writes.rows, writes.follows, len(writes.chunk))
    count, following = uses[:, kernel.WRITES], uses[:, kernel.FOLLOWING]
    between = uses[:, kernel.LAST_AT] - uses[:, kernel.FIRST_AT]
    interval = np.where(count > 1, between / np.maximum(count - 1, 1), total)
    share = following / count
    often = np.median(count) if thresholds.frequency == "median" else thresholds.frequency
    real = (
        np.log2(count), np.log2(interval), np.log2(total - uses[:, kernel.LAST_AT]), share,
        np.log2(uses[:, kernel.PAGES] / count),
    )  # fmt: skip
    return ChunkFeatures(
        count.copy(), uses[:, kernel.PAGES].copy(), count > often, share >= thresholds.sequential,
        {name: shared_of(writes, name, coherent=thresholds.windows) for name in windows},
        {name: values.astype(np.float32) for name, values in zip(REAL, real, strict=True)}, total,
    )  # fmt: skip


@dataclass(frozen=True)
class Theta:
    """The characteristics that choose, of a trace that writes."""

    # autocorrelation at lag one of the times between two writes of a chunk of 32 KiB, in the order in which they end;
    # None below ten of them, or where they never differ
    acf: float | None
    random_write_percent: float  # of all writes, those that do not begin where their volume's last request ended
    reuse_ratio: float  # page writes that update a page of 4 KiB, over those that write a page for the first time
    mean_write_kb: float  # KiB
    written_gb_per_day: float | None  # GB; None without a clock


def choose_features(values: Mapping[str, float | None]) -> tuple[str, str]:
    """FIOS's choice (Sec. IV-C): each row of the base matrix of which no bit is missing selects its feature.

    Args:
        values: the five characteristics, by the names of `HIGH`; None is not high.

    Returns:
        The bits of what is high, and the features in the order A, C, F, S; none where no row is met.
    """
    given = {name: values[name] for name in HIGH}
    bits = "".join("1" if value is not None and value >= HIGH[name] else "0" for name, value in given.items())
    chosen = {feature for feature, row in BASE_ROWS if all(have >= need for have, need in zip(bits, row, strict=True))}
    return bits, "".join(sorted(chosen))


def theta(writes: ChunkWrites, page_writes: I32) -> Theta:
    """The characteristics of a trace.

    The autocorrelation does not depend on the clock's unit, so that a capture made twice as fast has the same; without
    a clock the times are counted in requests.

    Args:
        writes: of the trace.
        page_writes: int32[n_pages] writes of each page of 4 KiB that it touches.
    """
    found = updates(writes.rows.first, writes.rows.chunks, writes.when, len(writes.chunk))
    written, first = int(writes.size.sum(dtype=np.int64)), int(np.count_nonzero(page_writes))
    known = found.intervals >= FEWEST_INTERVALS and not math.isnan(found.correlation)
    return Theta(
        acf=found.correlation if known else None,
        random_write_percent=100 * float((~writes.follows).mean()),
        reuse_ratio=(int(page_writes.sum(dtype=np.int64)) - first) / first,
        mean_write_kb=written / len(writes.size) / 1024,
        written_gb_per_day=written / 1e9 / ((writes.span - 1) / 1e6) * DAY_S if writes.clock else None,
    )


def theta_of(writes: ChunkWrites, trace: Trace, pages: PageAccesses) -> Theta:
    """The characteristics of a trace.

    Args:
        writes: of the trace.
        trace: requests.
        pages: their page accesses.
    """
    return theta(writes, page_uses(pages.page_ids, pages.request_start, trace.op, pages.n_pages)[1])


def chosen(found: Theta | None) -> tuple[str, str]:
    """The bits of what is high, and FIOS's combination as `cachezoo.zoo.streams.learn` names it, in F, A, S, C.

    Args:
        found: None for a trace that writes nothing: nothing is high, and nothing chosen.
    """
    if found is None:
        return "0" * len(HIGH), ""
    bits, features = choose_features(asdict(found))
    return bits, "".join(letter for letter in LETTERS if letter in features)
