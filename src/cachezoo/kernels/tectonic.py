"""The requests that blocks of a storage cluster get, drawn block by block, see `cachezoo.synth.tectonic`.

All randomness is SplitMix64's (Steele et al., OOPSLA '14), from one state.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8, U64, Bool
from cachezoo.kernels.jit import njit

STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
UNIT = 2.0**-53
SCANS, REREADS = 0, 1
"""How a user reads its blocks: on from where the last read ended, or one range again and again; else anywhere."""
ALIGN = 4096


class Gaps(NamedTuple):
    """Times between two reads of a block, seconds: piecewise uniform in their logarithm, the first piece in itself."""

    short: F64  # [k + 1] edges of those that stay in a burst
    short_share: F64  # [k] cumulative shares of the pieces
    long: F64  # [l + 1] edges of those between bursts
    long_share: F64  # [l]
    delay: tuple[float, float]  # from a block's write to its first read


class Drawn(NamedTuple):
    """Requests by block, not by time; n of them."""

    time_us: I64
    write: U8
    offset: I64
    size: I64
    user: I32


@njit
def _uniform(state: U64) -> float:
    """In [0, 1)."""
    state[0] += STEP
    z = state[0]
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    z = z ^ (z >> S31)
    return float(z >> S11) * UNIT


@njit
def _piece(state: U64, edges: F64, share: F64, linear_first: bool) -> float:
    draw, k = _uniform(state), 0
    while k < share.size - 1 and draw >= share[k]:
        k += 1
    low, high, at = float(edges[k]), float(edges[k + 1]), _uniform(state)
    if k == 0 and linear_first:
        return low + (high - low) * at
    found: float = low * (high / low) ** at
    return found


@njit
def draw_requests(
    blocks: tuple[I32, I32, Bool, I64, F64], way: U8, full: float, block_bytes: int, gaps: Gaps, clock: F64,
    seconds: float, state: U64,
) -> Drawn:  # fmt: skip
    """The requests of each block.

    Args:
        blocks: int32[b] user, int32[b] reads, bool[b] whether it is written, int64[b] bytes of a read, whole pages, and
            float64[b] how likely the next read is of the same burst.
        way: uint8[u] how the users read.
        full: share of blocks that are full; the others hold anything up to it.
        block_bytes: of a full block.
        gaps: between a block's reads.
        clock: float64[c] times at which 0, 1, 2 … equal parts of the load have passed, seconds.
        seconds: the trace's span.
        state: uint64[1], moved on.
    """
    user, gets, put, read_bytes, together = blocks
    n = int(gets.sum()) + int(put.sum())
    time_us, write = np.empty(n, np.int64), np.zeros(n, np.uint8)
    offset, size, of = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int32)
    most = 1
    for b in range(gets.size):
        most = max(most, gets[b])
    after = np.empty(most)  # seconds since the block's first read, of each burst
    within = np.empty(most)  # and since its burst began, of each read
    burst = np.empty(most, np.int64)
    parts = clock.size - 1
    at = 0
    for b in range(gets.size):
        own, length = user[b], read_bytes[b]
        held = block_bytes
        if _uniform(state) >= full:
            held = max(length, int(_uniform(state) * block_bytes) // ALIGN * ALIGN)
        bursts, total = 0, 0.0
        for k in range(gets[b]):
            if k > 0 and _uniform(state) < together[b]:
                within[k] = within[k - 1] + _piece(state, gaps.short, gaps.short_share, True)
            else:
                if k > 0:
                    total += _piece(state, gaps.long, gaps.long_share, False)
                    bursts += 1
                within[k], after[bursts] = 0.0, total
            burst[k] = bursts
        begin, room = _uniform(state) * seconds, seconds
        if put[b]:
            low, high = gaps.delay
            wait = low * (high / low) ** _uniform(state)
            born = begin * max(1.0 - (total + wait) / seconds, 0.0)
            offset[at], size[at], of[at], write[at] = 0, held, own, 1
            time_us[at] = int(1e6 * _at(clock, parts, born, seconds))
            at += 1
            begin = min(born + wait, seconds)
            room = seconds - begin
        shrunk = room / total if total > room else 1.0
        place = 0
        if way[own] != SCANS:
            place = int(_uniform(state) * (held - length + 1)) // ALIGN * ALIGN
        for k in range(gets[b]):
            since = begin + shrunk * after[burst[k]]
            # What was read before the trace began, and is not written in it, is read on from its begin: the load of a
            # first hour is then no other than that of a last.
            when = _at(clock, parts, since if since <= seconds else since - seconds, seconds) + within[k]
            time_us[at] = int(1e6 * min(when, seconds))
            if way[own] > REREADS:
                place = int(_uniform(state) * (held - length + 1)) // ALIGN * ALIGN
            offset[at], size[at], of[at] = place, length, own
            if way[own] == SCANS:
                place = place + length if place + 2 * length <= held else 0
            at += 1
    return Drawn(time_us, write, offset, size, of)


@njit
def _at(clock: F64, parts: int, when: float, seconds: float) -> float:
    """The time at which so much of the load has passed as would have in an even load."""
    at = min(max(when / seconds, 0.0), 1.0) * parts
    k = min(int(at), parts - 1)
    return float(clock[k] + (clock[k + 1] - clock[k]) * (at - k))
