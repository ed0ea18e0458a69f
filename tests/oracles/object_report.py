"""Naive figures of a trace of objects: a request at a time, on Python's integers, lists and dictionaries."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple


class Request(NamedTuple):
    """A row of a trace of objects; an op is get, set or delete."""

    time_us: int
    key: Any
    size: int
    op: str
    ttl_s: int = 0
    count: int = 1


def accesses(rows: Sequence[Request]) -> list[Request]:
    """A request for each access."""
    return [row for row in rows for _ in range(row.count)]


def asked(rows: Sequence[Request]) -> list[Request]:
    """Accesses that are no deletes, each with the last size known."""
    known: dict[Any, int] = {}
    found = []
    for row in accesses(rows):
        known[row.key] = row.size or known.get(row.key, 0)
        if row.op != "delete":
            found.append(row._replace(size=known[row.key]))
    return found


def at_most(values: Sequence[float], percent: int) -> float:
    """The smallest value that at least so many per cent of them do not exceed."""
    return sorted(values)[max(ceil(Fraction(percent, 100) * len(values)), 1) - 1]


def sizes(rows: Sequence[Request]) -> tuple[list[int], list[int]]:
    """First known size of each object; size of each request: none where it is not known."""
    first: dict[Any, int] = {}
    for row in asked(rows):
        if row.size:
            first.setdefault(row.key, row.size)
    return list(first.values()), [row.size for row in asked(rows) if row.size]


def between(rows: Sequence[Request]) -> list[tuple[int, int, float]]:
    """Other requests, their bytes, and seconds between two requests of an object."""
    wanted, found = asked(rows), []
    for i, row in enumerate(wanted):
        before = [j for j in range(i) if wanted[j].key == row.key]
        if before:
            others = wanted[before[-1] + 1 : i]
            seconds = (row.time_us - wanted[before[-1]].time_us) / 1e6
            found.append((len(others), sum(other.size for other in others), seconds))
    return found


def popularity(rows: Sequence[Request]) -> list[int]:
    """Requests of each object, most first."""
    return sorted(Counter(row.key for row in asked(rows)).values(), reverse=True)


def endless(rows: Sequence[Request]) -> Counter[str]:
    """What a cache of all objects does: hits, deletes, deleted, expired."""
    void: dict[Any, float] = {}
    found: Counter[str] = Counter()
    for row in accesses(rows):
        if row.key in void and row.time_us >= void[row.key]:
            found["expired"] += 1
            del void[row.key]
        if row.op == "delete":
            found["deletes"] += 1
            found["deleted"] += void.pop(row.key, None) is not None
            continue
        found["hits"] += row.key in void
        if row.key not in void or row.op == "set":
            void[row.key] = row.time_us + row.ttl_s * 1_000_000 if row.ttl_s else float("inf")
    return found


def lru(rows: Sequence[Request], capacity: int) -> tuple[float, float]:
    """Object and byte hit ratio of LRU by bytes in the second half of the accesses."""
    held: dict[Any, int] = {}
    void: dict[Any, float] = {}
    total, hits, total_bytes, hit_bytes = 0, 0, 0, 0
    whole = accesses(rows)
    known: dict[Any, int] = {}
    for i, row in enumerate(whole):
        size = known[row.key] = row.size or known.get(row.key, 0)
        if row.key in held and row.time_us >= void[row.key]:
            del held[row.key]
        if row.op == "delete":
            held.pop(row.key, None)
            continue
        counts = i >= len(whole) // 2
        total, total_bytes = total + counts, total_bytes + counts * size
        until = row.time_us + row.ttl_s * 1_000_000 if row.ttl_s else float("inf")
        if row.key in held and size > capacity:
            del held[row.key]
        elif row.key in held:
            hits, hit_bytes = hits + counts, hit_bytes + counts * size
            del held[row.key]
            held[row.key] = size
            void[row.key] = until if row.op == "set" else void[row.key]
        elif 0 < size <= capacity:
            held[row.key], void[row.key] = size, until
        while sum(held.values()) > capacity:
            del held[next(iter(held))]
    return hits / max(total, 1), hit_bytes / max(total_bytes, 1)
