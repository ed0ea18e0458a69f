"""Who sends the requests: volumes, namespaces, processes or users, hosts, and the traces that were merged."""

from dataclasses import dataclass

import numpy as np

from cachezoo.coded import Coded
from cachezoo.kernels.characteristics import footprints
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import OP_READ, PAGE_BYTES, Trace

COLUMNS = ("volume", "namespace", "user", "host", "source")
MOST = 10
UNKNOWN = "(unknown)"


@dataclass(frozen=True)
class Sender:
    """One of those who send requests.

    Attributes:
        name: as the trace has it.
        requests, request_share: its own, and of all.
        bytes: read and written.
        read_share: reads of its requests.
        footprint_bytes: distinct pages that it touched.
    """

    name: str
    requests: int
    request_share: float
    bytes: int
    read_share: float
    footprint_bytes: int


@dataclass(frozen=True)
class Senders:
    """Those of one kind: how many there are, and the busiest ten by requests."""

    count: int
    top: tuple[Sender, ...]


def senders(trace: Trace, pages: PageAccesses, coded: Coded) -> Senders:
    """The busiest of one kind.

    Args:
        trace: requests.
        pages: their page accesses.
        coded: each request's sender; a code below 0 is unknown.
    """
    codes = np.where(coded.codes < 0, len(coded.names), coded.codes).astype(np.int64)
    names = (*coded.names, UNKNOWN)
    requests = np.bincount(codes, minlength=len(names))
    best = np.argsort(-requests, kind="stable")[:MOST]
    best = best[requests[best] > 0]
    place = np.full(len(names), -1, np.int32)
    place[best] = np.arange(len(best), dtype=np.int32)
    total = np.bincount(codes, trace.size, len(names))
    reads = np.bincount(codes[trace.op == OP_READ], minlength=len(names))
    touched = footprints(pages.page_ids, pages.request_start, place[codes], len(best), pages.n_pages)
    top = tuple(
        Sender(
            names[k], int(requests[k]), int(requests[k]) / len(trace), int(total[k]), int(reads[k]) / int(requests[k]),
            int(touched[rank]) * PAGE_BYTES,
        )
        for rank, k in enumerate(best.tolist())
    )  # fmt: skip
    return Senders(int((requests > 0).sum()), top)


def all_senders(trace: Trace, pages: PageAccesses) -> dict[str, Senders]:
    """Those who send requests, by every column that the trace has."""
    columns = {name: getattr(trace, name) for name in COLUMNS}
    return {name: senders(trace, pages, coded) for name, coded in columns.items() if coded is not None}
