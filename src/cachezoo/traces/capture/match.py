"""Joins the events of a request: issued, perhaps requeued and issued again, completed whole or in parts."""

from collections import Counter, deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.traces.capture.events import COMPLETE, ISSUE, SECTOR_BYTES, Events
from cachezoo.traces.table import OP_READ, OP_WRITE, UNKNOWN_LATENCY

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Requests:
    """Data requests in the order of their first issue, one entry each.

    Attributes:
        time_us: int64 first issue, on the trace clock.
        op: uint8, read or write.
        offset, size: int64 bytes.
        latency_us: int64 from first issue to the completion of the last part; -1 never seen completed.
        flags: the kernel's rwbs letters.
        comm: the issuing process.
        counts: events left out or not joined: flush, discard, other, requeued, failed, unmatched_issue,
            unmatched_complete.
    """

    time_us: I64
    op: npt.NDArray[np.uint8]
    offset: I64
    size: I64
    latency_us: I64
    flags: tuple[str, ...]
    comm: tuple[str, ...]
    counts: dict[str, int]


@dataclass
class _Pending:
    """A part of request `row` that the device still owes; `left` in sectors."""

    row: int
    left: int


def operation(rwbs: str, sectors: int) -> str:
    """What an event asks for: read, write, flush, discard or other.

    Args:
        rwbs: the kernel's letters; a leading F is a flush before the data.
        sectors: length; a request without data is a flush.
    """
    if sectors == 0:
        return "flush"
    letter = rwbs[1:2] if rwbs.startswith("F") and len(rwbs) > 1 else rwbs[:1]
    return {"R": "read", "W": "write", "D": "discard", "F": "flush"}.get(letter, "other")


def _take(queue: deque[_Pending] | None, sectors: int) -> _Pending | None:
    """The oldest entry of exactly this length, else the oldest longer one (a partial completion)."""
    if not queue:
        return None
    exact = next((entry for entry in queue if entry.left == sectors), None)
    chosen = exact or next((entry for entry in queue if entry.left > sectors), None)
    if chosen is not None:
        queue.remove(chosen)
    return chosen


def match_requests(events: Events) -> Requests:
    """Join issues with completions, first in first out among requests of the same address.

    A requeued request keeps its row and its first issue time. Flushes, discards and other operations without
    data are counted and left out.

    Args:
        events: in the order of time.
    """
    pending: dict[int, deque[_Pending]] = {}
    requeued: dict[tuple[int, int], deque[int]] = {}
    counts = Counter(
        dict.fromkeys(("flush", "discard", "other", "requeued", "failed", "unmatched_issue", "unmatched_complete"), 0)
    )
    issues: list[int] = []
    latency: list[int] = []
    for index in range(len(events)):
        sector, sectors = int(events.sector[index]), int(events.sectors[index])
        what = operation(events.rwbs[index], sectors)
        kind = events.kind[index]
        if what not in ("read", "write"):
            counts[what] += int(kind == ISSUE)
            continue
        if kind == ISSUE:
            waiting = requeued.get((sector, sectors))
            if waiting:
                row = waiting.popleft()
            else:
                row = len(issues)
                issues.append(index)
                latency.append(UNKNOWN_LATENCY)
            pending.setdefault(sector, deque()).append(_Pending(row, sectors))
            continue
        entry = _take(pending.get(sector), sectors)
        if entry is None:
            counts["unmatched_complete"] += int(kind == COMPLETE)
            continue
        if kind != COMPLETE:
            counts["requeued"] += 1
            requeued.setdefault((sector, sectors), deque()).append(entry.row)
            continue
        counts["failed"] += int(events.error[index] != 0)
        if entry.left > sectors:
            pending.setdefault(sector + sectors, deque()).append(_Pending(entry.row, entry.left - sectors))
        else:
            latency[entry.row] = int(events.time_us[index] - events.time_us[issues[entry.row]])
    counts["unmatched_issue"] = latency.count(UNKNOWN_LATENCY)
    rows = np.array(issues, np.int64)
    is_write = np.array([operation(events.rwbs[row], int(events.sectors[row])) == "write" for row in issues], bool)
    return Requests(
        time_us=events.time_us[rows],
        op=np.where(is_write, OP_WRITE, OP_READ).astype(np.uint8),
        offset=events.sector[rows] * SECTOR_BYTES,
        size=events.sectors[rows] * SECTOR_BYTES,
        latency_us=np.array(latency, np.int64),
        flags=tuple(events.rwbs[row] for row in issues),
        comm=tuple(events.comm[row] for row in issues),
        counts=dict(counts),
    )
