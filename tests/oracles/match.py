"""Naive joins of block events: with plain queues event by event, and by a look through all later events."""

from collections import deque
from dataclasses import dataclass
from typing import Any

ISSUE, COMPLETE, REQUEUE = 0, 1, 2


@dataclass
class _Pending:
    """A part of request `row` that the device still owes; `left` in sectors."""

    row: int
    left: int


def _take(queue: deque[_Pending] | None, sectors: int) -> _Pending | None:
    """The oldest entry of exactly this length, else the oldest longer one (a partial completion)."""
    if not queue:
        return None
    exact = next((entry for entry in queue if entry.left == sectors), None)
    chosen = exact or next((entry for entry in queue if entry.left > sectors), None)
    if chosen is not None:
        queue.remove(chosen)
    return chosen


def naive_join(steps: list[tuple[int, int, int, int, int]]) -> tuple[list[int], list[int], list[int]]:
    """Join (kind, device, sector, sectors, error) steps of reads and writes.

    Returns:
        The first issue of each request; the step that completed its last part, -1 none; how many were requeued,
        failed, completed without an issue.
    """
    pending: dict[tuple[int, int], deque[_Pending]] = {}
    requeued: dict[tuple[int, int, int], deque[int]] = {}
    first: list[int] = []
    last: list[int] = []
    counts = [0, 0, 0]
    for index, (kind, device, sector, sectors, error) in enumerate(steps):
        if kind == ISSUE:
            waiting = requeued.get((device, sector, sectors))
            if waiting:
                row = waiting.popleft()
            else:
                row = len(first)
                first.append(index)
                last.append(-1)
            pending.setdefault((device, sector), deque()).append(_Pending(row, sectors))
            continue
        entry = _take(pending.get((device, sector)), sectors)
        if entry is None:
            counts[2] += kind == COMPLETE
        elif kind == REQUEUE:
            counts[0] += 1
            requeued.setdefault((device, sector, sectors), deque()).append(entry.row)
        else:
            counts[1] += error != 0
            if entry.left > sectors:
                rest = _Pending(entry.row, entry.left - sectors)
                pending.setdefault((device, sector + sectors), deque()).append(rest)
            else:
                last[entry.row] = index
    return first, last, counts


def naive_latencies(events: Any, rwbs: list[str]) -> list[tuple[int, int, int, int]]:
    """(time, sector, sectors, latency) of each issue in microseconds, for events that are completed whole, never
    requeued.

    The i-th issue of an address and length is completed by the i-th later completion of the same address and
    length that no earlier issue took; -1 without one. Quadratic.
    """
    taken: set[int] = set()
    rows = []
    time_us = events.time_ns // 1000
    for i in range(len(events)):
        if events.kind[i] != ISSUE or events.sectors[i] == 0 or rwbs[i][0] not in "RW":
            continue
        key = (events.sector[i], events.sectors[i])
        latency = -1
        for j in range(i + 1, len(events)):
            if events.kind[j] == COMPLETE and j not in taken and (events.sector[j], events.sectors[j]) == key:
                taken.add(j)
                latency = int(time_us[j] - time_us[i])
                break
        rows.append((int(time_us[i]), int(key[0]), int(key[1]), latency))
    return rows
