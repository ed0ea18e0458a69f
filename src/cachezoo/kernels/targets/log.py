"""What a cache asks of its two devices, in order: the one record of all targets.

A code is the sum of bits: `WRITE`, `ON_SSD`, and `LATER` of an I/O that no request waits for. I/Os that follow each
other, of one request and one code, and whose pages follow each other on the device, are one.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.step import step

WRITE, ON_SSD, LATER = 1, 2, 4


class Log(NamedTuple):
    """`code` uint8, `request` int32 the row that caused it, `place` int64 first page on its device, `pages` int32.

    `used` int64[1] counts the I/Os.
    """

    code: U8
    request: I32
    place: I64
    pages: I32
    used: I64


@njit
def empty(size: int) -> Log:
    """A log without I/Os, with room for so many."""
    return Log(
        np.empty(size, np.uint8), np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int32),
        np.zeros(1, np.int64),
    )  # fmt: skip


@njit
def room(log: Log, more: int) -> Log:
    """The log with room for so many I/Os more; the same one where it has it."""
    used = log.used[0]
    if used + more <= log.code.size:
        return log
    grown = empty(2 * (used + more))
    grown.code[:used], grown.request[:used] = log.code[:used], log.request[:used]
    grown.place[:used], grown.pages[:used] = log.place[:used], log.pages[:used]
    grown.used[0] = used
    return grown


@step
def note(log: Log, code: int, request: int, place: int, pages: int) -> None:
    """Write an I/O down, or lengthen the last one where this one goes on with it."""
    used = log.used[0]
    last = used - 1
    follows = last >= 0 and log.code[last] == code and log.request[last] == request
    if follows and log.place[last] + log.pages[last] == place:
        log.pages[last] += pages
        return
    log.code[used], log.request[used] = code, request
    log.place[used], log.pages[used] = place, pages
    log.used[0] = used + 1
