"""In what order addresses come: RC-RNN's TWSD kinds, and runs of requests that go on where the last ended.

TWSD (Temporal Working Set Distribution, RC-RNN Sec. 3.2) puts a request into one of four kinds by the earlier requests
of its window; the limits that the paper leaves open are those of the workload classifier's baseline, whose code runs
here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F32, F64, Bool
from cachezoo.features.window import window_columns
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.traces.chunks import continues
from cachezoo.traces.table import OP_READ, Trace
from cachezoo.zoo.workload.baselines import COARSE_SIZES, TIMES, shares

WINDOW = 100  # requests; each is seen beside the earlier ones of its window, as the workload classifier does
WINDOWS_AT_ONCE = 4_000
KINDS = ("random", "sequential", "strided", "overlapped")
LONG_RUN = 8  # requests from which a run is called long


@dataclass(frozen=True)
class Twsd:
    """Shares of the requests by TWSD's kinds."""

    overlapped: float  # shares bytes with an earlier request of its window
    sequential: float  # else, of 128 KiB or more, or beside an earlier request of its window
    strided: float  # else, up to 64 KiB from one
    random: float  # the rest


@dataclass(frozen=True)
class Runs:
    """Requests of one volume in a row, each of which begins where the one before ended.

    Attributes:
        continues_share: requests that begin where their volume's last one ended.
        mean_requests, longest_requests: of the runs; a request alone is a run of one.
        mean_bytes: of the runs.
        long_share: requests in runs of eight or more.
    """

    continues_share: float
    mean_requests: float
    longest_requests: int
    mean_bytes: float
    long_share: float


@dataclass(frozen=True)
class Patterns:
    """TWSD's shares of `all` requests, of `reads` and of `writes` (None where there are none); and runs."""

    twsd: dict[str, Twsd | None]
    runs: Runs


def _batches(batch: RequestBatch) -> Iterator[F32]:
    """Raw inputs of windows, many at once; the last window may be shorter."""
    whole = np.arange(0, len(batch) - WINDOW + 1, WINDOW, dtype=np.int64)
    for k in range(0, len(whole), WINDOWS_AT_ONCE):
        yield window_columns(batch, whole[k : k + WINDOWS_AT_ONCE], WINDOW)
    rest = len(batch) - WINDOW * len(whole)
    if rest:
        yield window_columns(batch, np.array([WINDOW * len(whole)], np.int64), rest)


def twsd(batch: RequestBatch) -> F64:
    """Requests by kind and type: float64[4, 2] counts, rows as `KINDS`, columns read and write."""
    counts = np.zeros((3 + len(TIMES), 2))
    for columns in _batches(batch):
        found = shares("twsd", columns) * columns.shape[1]
        counts += found.sum(axis=0).reshape(3 + len(TIMES), 2, len(COARSE_SIZES) + 1).sum(axis=2)
    return np.concatenate([counts[:3], counts[3:].sum(axis=0, keepdims=True)])


def runs(trace: Trace, follows: Bool) -> Runs:
    """Measure runs of requests.

    Args:
        trace: requests.
        follows: bool[n], see `cachezoo.traces.chunks.continues`.
    """
    order = np.argsort(trace.volume.codes, kind="stable")
    first = np.flatnonzero(~follows[order])
    lengths = np.diff(np.append(first, len(trace)))
    return Runs(
        float(follows.mean()), float(lengths.mean()), int(lengths.max()),
        float(trace.size.sum()) / len(lengths), float(lengths[lengths >= LONG_RUN].sum()) / len(trace),
    )  # fmt: skip


def patterns(trace: Trace) -> Patterns:
    """Describe in what order addresses come."""
    counts = twsd(batch_of(trace))
    columns = {"all": counts.sum(axis=1), "reads": counts[:, OP_READ], "writes": counts[:, 1 - OP_READ]}
    named: dict[str, Twsd | None] = {}
    for name, column in columns.items():
        total = column.sum()
        share = dict(zip(KINDS, (column / total).tolist(), strict=True)) if total else None
        named[name] = Twsd(**share) if share else None
    return Patterns(named, runs(trace, continues(trace)))
