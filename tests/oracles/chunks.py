"""Chunks by brute force: requests one by one, windows as sets, pairs of chunks and pages by dictionaries."""

import math
from collections import defaultdict
from itertools import combinations, pairwise
from statistics import mean, median

CHUNK, PAGE = 32768, 8192


def naive_windows(requests, length):
    """{window: set of (volume, chunk)}; requests are (when, write, volume, offset, size)."""
    windows = defaultdict(set)
    for when, write, volume, offset, size in requests:
        if write:
            windows[when // length] |= {(volume, byte // CHUNK) for byte in range(offset, offset + size, PAGE)}
            windows[when // length].add((volume, (offset + size - 1) // CHUNK))
    return windows


def naive_uses(requests):
    """{chunk: {writes, following, pages, first, last}} and page writes in all; chunks are (volume, number)."""
    uses, ends, clock = {}, {}, 0
    for _, write, volume, offset, size in requests:
        follows = ends.get(volume) == offset
        ends[volume] = offset + size
        if not write:
            continue
        pages = list(range(offset // PAGE, (offset + size - 1) // PAGE + 1))
        seen = set()
        for page in pages:
            chunk = (volume, page * PAGE // CHUNK)
            use = uses.setdefault(chunk, {"writes": 0, "following": 0, "pages": 0, "first": clock, "last": clock})
            if chunk not in seen:
                seen.add(chunk)
                use["writes"] += 1
                use["following"] += follows
                use["last"] = clock
            use["pages"] += 1
            clock += 1
    return dict(sorted(uses.items())), clock


def naive_shared(requests, length):
    """{chunk: (adjacent, windows, set of windows that it shares with a chunk that it shares another window with)}."""
    windows = naive_windows(requests, length)
    of = defaultdict(set)
    for window, chunks in windows.items():
        for chunk in chunks:
            of[chunk].add(window)
    again = defaultdict(set)
    for one, other in combinations(sorted(of), 2):
        both = sorted(of[one] & of[other])
        again[one] |= set(both[1:])  # in the first they had not met before
        again[other] |= set(both[1:])
    found = {}
    for volume, chunk in sorted(of):
        beside = [of.get((volume, chunk + step), set()) for step in (-1, 1)]
        adjacent = any(of[volume, chunk] & windows_of for windows_of in beside)
        found[volume, chunk] = adjacent, len(of[volume, chunk]), again[volume, chunk]
    return found


def naive_lifetimes(requests):
    """{chunk: (mean, median, died)} of log2 page writes until the next write of the same page."""
    written, clock = defaultdict(list), 0
    for _, write, volume, offset, size in requests:
        if write:
            for page in range(offset // PAGE, (offset + size - 1) // PAGE + 1):
                written[volume, page].append(clock)
                clock += 1
    lives = defaultdict(list)
    died = defaultdict(int)
    for (volume, page), at in written.items():
        chunk = volume, page * PAGE // CHUNK
        died[chunk] += len(at) - 1
        lives[chunk] += [math.log2(b - a) for a, b in pairwise(at)] + [math.log2(clock)]
    return {chunk: (mean(lives[chunk]), median(lives[chunk]), died[chunk]) for chunk in sorted(lives)}
