"""An SSD: channels behind one interface, a write buffer, and garbage collection as the flash's time that it takes."""

import heapq
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I64, U8
from cachezoo.kernels.jit import njit


class Drive(NamedTuple):
    """What does not change: lengths in bytes, times in µs, rates in bytes/µs (which is MB/s).

    `drain` is the rate at which the flash takes the host's bytes: its program rate over the write amplification.
    `collect` is what garbage collection adds to a byte that goes around the buffer: (WAF - 1) / program rate.
    """

    read_fixed: float
    write_fixed: float
    read_rate: float
    write_rate: float
    stripe: int
    write_buffer: int
    drain: float
    collect: float


class State(NamedTuple):
    """What changes."""

    channels: F64  # float64[k], when each is free
    shared: F64  # float64[3], when the interface is free, bytes in the write buffer, and when they were so many


INTERFACE, DIRTY, SINCE = range(3)


def make_state(channels: int) -> State:
    """A drive at rest, its write buffer empty."""
    return State(np.zeros(channels), np.zeros(3))


@njit
def room(drive: Drive, state: State, size: int, now: float) -> float:
    """µs from `now` until the write buffer has room for a write, which then is in it."""
    at = max(now, state.shared[SINCE])  # an earlier write may still wait for room
    dirty = max(state.shared[DIRTY] - (at - state.shared[SINCE]) * drive.drain, 0.0) + size
    wait = max(dirty - drive.write_buffer, 0.0) / drive.drain
    state.shared[DIRTY] = min(dirty, float(drive.write_buffer))
    state.shared[SINCE] = at + wait
    return float(at - now + wait)


@njit
def until_ready(drive: Drive, state: State, offset: int, size: int, write: bool, now: float) -> float:
    """µs from its issue at `now` until a request wants the interface. `now` must not fall from call to call."""
    if write and drive.write_buffer > 0:
        return float(room(drive, state, size, now) + drive.write_fixed)
    channel = (offset // drive.stripe) % state.channels.size
    fixed = drive.write_fixed + size * drive.collect if write else drive.read_fixed
    time = max(state.channels[channel] - now, 0.0) + fixed
    state.channels[channel] = now + time
    return float(time)


@njit
def until_moved(drive: Drive, state: State, size: int, write: bool, ready: float) -> float:
    """µs from when a request wants the interface until it is done. `ready` must not fall from call to call."""
    time = max(state.shared[INTERFACE] - ready, 0.0) + size / (drive.write_rate if write else drive.read_rate)
    state.shared[INTERFACE] = ready + time
    return float(time)


@njit
def ssd_service_us(drive: Drive, state: State, offset: I64, size: I64, write: U8, think_us: F64) -> F64:
    """Service times at queue depth 1, in trace order.

    Args:
        drive: the drive.
        state: changed in place.
        offset: int64[n] bytes.
        size: int64[n] bytes.
        write: uint8[n], 1 for writes.
        think_us: float64[n] µs between the end of the request before and the issue of this one; or float64[0]: none.

    Returns:
        float64[n] µs.
    """
    times = np.empty(offset.size)
    now = 0.0
    for i in range(offset.size):
        if think_us.size > 0:
            now += think_us[i]
        mark = write[i] != 0
        times[i] = until_ready(drive, state, offset[i], size[i], mark, now)
        times[i] += until_moved(drive, state, size[i], mark, now + times[i])
        now += times[i]
    return times


@njit
def ssd_response_us(drive: Drive, state: State, offset: I64, size: I64, write: U8, arrive_us: F64, depth: int) -> F64:
    """Response times with a queue for each channel.

    Args:
        drive: as for `ssd_service_us`, as are the next four.
        state: changed in place.
        offset: int64[n] bytes.
        size: int64[n] bytes.
        write: uint8[n].
        arrive_us: float64[n] µs, rising: an open loop. float64[0]: a closed loop, in which a request is issued when
            one of the `depth` before it ends.
        depth: of the closed loop.

    Returns:
        float64[n] µs from arrival to end.
    """
    closed = arrive_us.size == 0
    times = np.empty(offset.size)
    issued = np.zeros(offset.size) if closed else arrive_us
    # Requests take the interface as they become ready for it, not as they were issued: a free channel's overtake.
    ready = [(0.0, 0)]
    ready.pop()
    following = 0
    while following < offset.size or len(ready) > 0:
        now = 0.0
        if following < offset.size:
            free = len(ready) < depth if closed else len(ready) == 0 or issued[following] < ready[0][0]
            if free:
                now = issued[following]
                wait = until_ready(drive, state, offset[following], size[following], write[following] != 0, now)
                heapq.heappush(ready, (now + wait, following))
                following += 1
                continue
        at, i = heapq.heappop(ready)
        end = at + until_moved(drive, state, size[i], write[i] != 0, at)
        times[i] = end - issued[i]
        if closed and following < offset.size:
            issued[following] = end
    return times
