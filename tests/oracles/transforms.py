"""Naive transforms: one request after the other, names as text, no arrays."""

import hashlib
import json
from bisect import insort
from collections.abc import Sequence
from typing import Any

Request = dict[str, Any]
MASK = 2**64 - 1


def naive_hash(volume: str, block: int, seed: int) -> int:
    """The 64-bit hash of a block, in whole numbers."""
    text = json.dumps([seed, volume])
    z = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") + block * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def naive_chosen(volume: str, block: int, seed: int, rate: float) -> bool:
    """Whether a block is in the sample."""
    return naive_hash(volume, block, seed) >> 11 < rate * 2**53


def naive_sample(requests: Sequence[Request], rate: float, seed: int, block_bytes: int) -> list[Request]:
    """Walk over the blocks of every request and join chosen neighbours."""
    out: list[Request] = []
    for request in requests:
        open_part: Request | None = None
        end = request["offset"] + request["size"]
        for block in range(request["offset"] // block_bytes, (end - 1) // block_bytes + 1):
            if not naive_chosen(request["volume"], block, seed, rate):
                open_part = None
                continue
            start, stop = max(request["offset"], block * block_bytes), min(end, (block + 1) * block_bytes)
            if open_part is None:
                open_part = {**request, "offset": start, "size": 0}
                out.append(open_part)
            open_part["size"] += stop - start
            if "latency_us" in request:
                open_part["latency_us"] = request["latency_us"] if open_part["size"] == request["size"] else -1
    return out


def naive_pages(requests: Sequence[Request]) -> list[tuple[str, int]]:
    """(volume, page) of every page access."""
    return [
        (one["volume"], page)
        for one in requests
        for page in range(one["offset"] // 4096, (one["offset"] + one["size"] - 1) // 4096 + 1)
    ]


def naive_error(requests: Sequence[Request], rate: float, block_bytes: int) -> float:
    """Relative standard error of the number of page accesses in a sample."""
    accesses: dict[tuple[str, int], int] = {}
    for volume, page in naive_pages(requests):
        key = (volume, page * 4096 // block_bytes)
        accesses[key] = accesses.get(key, 0) + 1
    variance = sum(count**2 * (1 - rate) / rate for count in accesses.values())
    return variance**0.5 / sum(accesses.values())


def naive_cut(
    requests: Sequence[Request], start_us: int, stop_us: int | None, first: int, last: int | None
) -> list[Request]:
    """Keep what lies in both windows, with times from the first request kept."""
    kept = [
        one
        for row, one in enumerate(requests)
        if one["time_us"] >= start_us
        and (stop_us is None or one["time_us"] < stop_us)
        and row >= first
        and (last is None or row < last)
    ]
    return [{**one, "time_us": one["time_us"] - kept[0]["time_us"]} for one in kept]


def naive_merge(streams: Sequence[Sequence[Request]]) -> list[Request]:
    """Insert each request behind all that come no later; those of earlier streams first."""
    merged: list[tuple[int, int, int]] = []
    for index, stream in enumerate(streams):
        for row, one in enumerate(stream):
            insort(merged, (one["time_us"], index, row))
    return [streams[index][row] for _, index, row in merged]


def naive_turns(
    streams: dict[str, Sequence[Request]], turns: Sequence[tuple[str, int | None, int | None]], periods: int
) -> list[Request]:
    """A clock that runs from microsecond to microsecond: (source, requests, microseconds) a turn.

    Each source's own clock stands still outside its turns.
    """
    left = {name: list(stream) for name, stream in streams.items()}
    clock = {name: stream[0]["time_us"] for name, stream in streams.items()}
    out: list[Request] = []
    now = 0
    for _ in range(periods):
        for name, requests, microseconds in turns:
            issued = elapsed = 0
            while True:
                while left[name] and left[name][0]["time_us"] == clock[name]:
                    if requests is not None and issued == requests:
                        break
                    if microseconds is not None and elapsed == microseconds:
                        break
                    out.append({**left[name].pop(0), "time_us": now})
                    issued += 1
                due = bool(left[name]) and left[name][0]["time_us"] == clock[name]
                if microseconds is not None:
                    over = elapsed == microseconds
                else:
                    over = not left[name] or (issued == requests and due)
                if over:
                    break
                clock[name], now, elapsed = clock[name] + 1, now + 1, elapsed + 1
    return out
