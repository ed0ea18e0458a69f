"""Writes by chunk of 32 KiB: dense numbers of the chunks, the windows that they share, lifetimes of flash pages.

Every loop is linear in the chunks or flash pages that are written, with a row of a few numbers for each chunk.
"""

import math
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, F64, I32, I64, MOST_NUMBERED, U8, U16, U64, Bool
from cachezoo.kernels.jit import njit

# A stretch of chunk keys is the part of a bitmap that is kept where anything in it is written: 4,096 chunks, 128 MiB.
STRETCH_BITS = 12
WORDS = 1 << (STRETCH_BITS - 6)
PAGES_PER_CHUNK = 4
HISTORY = 4  # a chunk's latest windows in which friends are looked for

# Columns of a chunk's row while windows pass; after these its latest windows.
LAST, SEEN, FRIENDLY, HIT, ADJACENT = range(5)
N_WINDOW = 5
# Columns of a chunk's row of uses: write requests, those in sequence, page writes, and the clock at its first and last.
WRITES, FOLLOWING, PAGES, FIRST_AT, LAST_AT = range(5)
N_USES = 5


class WriteRows(NamedTuple):
    """Write requests, in order, by the chunks that they touch."""

    first: I32  # int32[n] dense number of the first chunk; the others follow it
    chunks: U16  # uint16[n] how many chunks
    page: U8  # uint8[n] the first flash page within the first chunk
    pages: I32  # int32[n] flash pages


@njit
def _follows(volume: I32, offset: I64, size: I64, ends: I64, found: Bool) -> None:
    for i in range(volume.size):
        found[i] = offset[i] == ends[volume[i]]
        ends[volume[i]] = offset[i] + size[i]


def follows(volume: I32, offset: I64, size: I64, volumes: int) -> Bool:
    """bool[n]: which requests begin where the last one of their volume ended.

    Args:
        volume: int32[n] in [0, volumes), or -1 for requests of no known volume, which are as of one.
        offset: int64[n] bytes.
        size: int64[n] bytes.
        volumes: how many there are.
    """
    found = np.empty(len(volume), np.bool_)
    _follows(volume, offset, size, np.full(volumes + 1, -1, np.int64), found)
    return found


@njit
def _slot(stretch: int, stretches: I64, near: int) -> int:
    """Place of a stretch that is there: looked for at `near`, as if all between were written, then by halves."""
    if stretches[near] == stretch:
        return near
    low, high = 0, stretches.size - 1
    guess = int(high * ((stretch - stretches[low]) / (stretches[high] - stretches[low])))
    if stretches[guess] == stretch:
        return guess
    while low < high:
        middle = (low + high) >> 1
        if stretches[middle] < stretch:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def _mark(first: I64, count: U16, stretches: I64, words: U64) -> None:
    slot = 0
    for i in range(first.size):
        for key in range(first[i], first[i] + count[i]):
            slot = _slot(key >> STRETCH_BITS, stretches, slot)
            place = key & ((1 << STRETCH_BITS) - 1)
            words[slot, place >> 6] |= np.uint64(1) << np.uint64(place & 63)


@njit
def _ones(word: int) -> int:
    """Bits set in a uint64."""
    x = np.uint64(word)
    x = (x & np.uint64(0x5555555555555555)) + ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    x = x + (x >> np.uint64(8))
    x = x + (x >> np.uint64(16))
    x = x + (x >> np.uint64(32))
    return int(x & np.uint64(0x7F))


@njit
def _ranks(words: U64, ranks: I64) -> int:
    total = 0
    for slot in range(words.shape[0]):
        for w in range(words.shape[1]):
            ranks[slot, w] = total
            total += _ones(words[slot, w])
    return total


@njit
def _list(words: U64, stretches: I64, keys: I64) -> None:
    k = 0
    for slot in range(words.shape[0]):
        for w in range(words.shape[1]):
            if words[slot, w] == np.uint64(0):
                continue
            for bit in range(64):
                if (words[slot, w] >> np.uint64(bit)) & np.uint64(1):
                    keys[k] = (stretches[slot] << STRETCH_BITS) + (w << 6) + bit
                    k += 1


@njit
def _number(first: I64, stretches: I64, words: U64, ranks: I64, ids: I32) -> None:
    slot = 0
    for i in range(first.size):
        slot = _slot(first[i] >> STRETCH_BITS, stretches, slot)
        place = first[i] & ((1 << STRETCH_BITS) - 1)
        below = words[slot, place >> 6] & ((np.uint64(1) << np.uint64(place & 63)) - np.uint64(1))
        ids[i] = ranks[slot, place >> 6] + _ones(below)


def number_chunks(first: I64, count: U16) -> tuple[I64, I32]:
    """Number the chunks that writes touch, in the order of their keys.

    Args:
        first: int64[n] key of each write's first chunk, at 0 or later.
        count: uint16[n] chunks that it touches, at least 1: its keys are consecutive.

    Returns:
        int64[m] the keys, ascending, and int32[n] the number of each write's first chunk in them.

    Raises:
        OverflowError: more than `MOST_NUMBERED` chunks.
    """
    spread = (first + (count - np.uint16(1))) >> STRETCH_BITS
    spread -= first >> STRETCH_BITS
    most = int(spread.max(initial=0))
    some = [np.unique((first[spread >= step] >> STRETCH_BITS) + step) for step in range(most + 1)]
    stretches = np.unique(np.concatenate(some))
    words = np.zeros((len(stretches), WORDS), np.uint64)
    _mark(first, count, stretches, words)
    ranks = np.empty(words.shape, np.int64)
    total = _ranks(words, ranks)
    if total > MOST_NUMBERED:
        raise OverflowError(f"{total} chunks are written, at most {MOST_NUMBERED} can be numbered")
    keys, ids = np.empty(total, np.int64), np.empty(len(first), np.int32)
    _list(words, stretches, keys)
    _number(first, stretches, words, ranks, ids)
    return keys, ids


@njit
def _uses(rows: WriteRows, following: Bool, found: I64) -> int:
    clock = 0
    for i in range(rows.first.size):
        start, left = int(rows.page[i]), int(rows.pages[i])
        for k in range(rows.chunks[i]):
            c = rows.first[i] + k
            here = min(left, PAGES_PER_CHUNK - start)
            if found[c, WRITES] == 0:
                found[c, FIRST_AT] = clock
            found[c, WRITES] += 1
            found[c, FOLLOWING] += following[i]
            found[c, PAGES] += here
            found[c, LAST_AT] = clock
            clock += here
            left -= here
            start = 0
    return clock


def chunk_uses(rows: WriteRows, following: Bool, chunks: int) -> tuple[I64, int]:
    """How each chunk is written.

    Args:
        rows: n write requests.
        following: bool[n] which of them begin where their volume's last request ended.
        chunks: m.

    Returns:
        int64[m, N_USES], columns as listed above; the clock counts flash pages written. And the page writes in all.
    """
    found = np.zeros((chunks, N_USES), np.int64)
    return found, _uses(rows, following, found)


@njit
def _windows(when: I64, length: int, ids: I32) -> int:
    number, last = -1, -1
    for i in range(when.size):
        window = when[i] // length
        if window != last:
            number, last = number + 1, window
        ids[i] = number
    return number + 1


@njit
def _hit(c: int, w: int, state: I32) -> None:
    """Chunk c meets a friend in window w; each window counts once."""
    if state[c, HIT] != w:
        state[c, HIT] = w
        state[c, FRIENDLY] += 1


@njit
def _meet(c: int, w: int, latest: int, state: I32, stamp: I32, who: I32) -> None:
    """Note chunk c for each of its latest windows; it has a friend if another chunk of window w noted the same one."""
    for k in range(min(state[c, SEEN], latest)):
        past = state[c, N_WINDOW + k]
        if stamp[past] != w:
            stamp[past] = w
            who[past] = c
            continue
        _hit(c, w, state)
        _hit(who[past], w, state)


@njit
def _shared(first: I32, count: U16, window: I32, joined: Bool, state: I32, stamp: I32, who: I32) -> None:
    latest = state.shape[1] - N_WINDOW
    for i in range(first.size):
        w = window[i]
        for c in range(first[i], first[i] + count[i]):
            if state[c, LAST] == w:
                continue
            _meet(c, w, latest, state, stamp, who)
            state[c, N_WINDOW + state[c, SEEN] % latest] = w
            state[c, SEEN] += 1
            state[c, LAST] = w
            if joined[c] and state[c - 1, LAST] == w:
                state[c, ADJACENT] = 1
                state[c - 1, ADJACENT] = 1
            if c + 1 < joined.size and joined[c + 1] and state[c + 1, LAST] == w:
                state[c, ADJACENT] = 1
                state[c + 1, ADJACENT] = 1


def shared_windows(
    rows: WriteRows, when: I64, length: int, joined: Bool, history: int = HISTORY
) -> tuple[I32, I32, Bool]:
    """What chunks share windows of time.

    Two chunks are friends if both are written in each of two windows. Friends are looked for in the `history` latest
    windows of a chunk before the present one, so that a pair whose shared windows lie further apart, counted in windows
    in which either is written, is not found; what is found is always there.

    Args:
        rows: n write requests.
        when: int64[n] their time, at 0 or later, never decreasing.
        length: of a window [k length, (k + 1) length), in the unit of `when`.
        joined: bool[m] whether a chunk is the neighbour of the one numbered before it; False at 0.
        history: how many of a chunk's latest windows are remembered.

    Returns:
        int32[m] windows in which the chunk is written; int32[m] those of them in which it meets a friend again; bool[m]
        whether a neighbour is written in one of its windows.
    """
    ids = np.empty(len(when), np.int32)
    windows = _windows(when, length, ids)
    state = np.zeros((len(joined), N_WINDOW + history), np.int32)
    state[:, LAST] = state[:, HIT] = -1
    stamp, who = np.full(windows, -1, np.int32), np.empty(windows, np.int32)
    _shared(rows.first, rows.chunks, ids, joined, state, stamp, who)
    return state[:, SEEN].copy(), state[:, FRIENDLY].copy(), state[:, ADJACENT] != 0


@njit
def _lives(rows: WriteRows, total: int, starts: I64, last: I64, filled: I64, lives: F32) -> None:
    """Put the log2 lifetime of each page write into its chunk's part of `lives`; of the last ones that of `total`."""
    clock = 0
    for i in range(rows.first.size):
        c, p = int(rows.first[i]), int(rows.page[i])
        for _ in range(rows.pages[i]):
            if p == PAGES_PER_CHUNK:
                c, p = c + 1, 0
            if last[c, p] >= 0:
                lives[starts[c] + filled[c]] = math.log2(float(clock - last[c, p]))
                filled[c] += 1
            last[c, p] = clock
            clock += 1
            p += 1


@njit
def _sum_up(starts: I64, died: I64, whole: float, lives: F32, mean: F64, median: F64) -> None:
    for c in range(died.size):
        mine = lives[starts[c] : starts[c + 1]]
        mine[died[c] :] = whole
        total = 0.0
        for value in mine:
            total += value
        mean[c] = total / mine.size
        mine.sort()
        half = mine.size // 2
        median[c] = mine[half] if mine.size % 2 else (float(mine[half - 1]) + float(mine[half])) / 2


def lifetimes(rows: WriteRows, pages: I64, total: int) -> tuple[F64, F64, I64]:
    """How long the writes of each chunk live: log2 of page writes until the same flash page is written again.

    A write that is the last of its page counts as if it had lived as long as all writes, log2(total), so that it is
    longer than any other. Memory: 4 bytes a page write and 40 a chunk.

    Args:
        rows: n write requests.
        pages: int64[m] page writes of each chunk, as `chunk_uses` counts them.
        total: page writes in all.

    Returns:
        float64[m] mean and float64[m] median of a chunk's page writes, log2 of page writes; int64[m] how many of them
        died.
    """
    starts = np.append(0, np.cumsum(pages))
    last = np.full((len(pages), PAGES_PER_CHUNK), -1, np.int64)
    died, lives = np.zeros(len(pages), np.int64), np.empty(total, np.float32)
    _lives(rows, total, starts, last, died, lives)
    mean, median = np.empty(len(pages)), np.empty(len(pages))
    _sum_up(starts, died, math.log2(float(total)), lives, mean, median)
    return mean, median, died
