"""A closed loop before a disk and an SSD: a fixed number of requests is outstanding, each with I/Os of both.

A request is issued when one of those outstanding ends, and ends with the slowest I/O that it waits for; what it does
not wait for, such as a fill of the SSD or a write-back to the disk, keeps the device busy. Both devices serve in the
order of issue, the SSD's channels at once.
"""

import heapq
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I64, U8, Bool
from cachezoo.kernels.hdd import Disk, serve
from cachezoo.kernels.jit import njit
from cachezoo.kernels.ssd import Drive, State, until_moved, until_ready


class Ios(NamedTuple):
    """I/Os of a tier: `request` int64[k] rising, `offset` and `size` int64[k] bytes, `write` uint8[k].

    `waits` bool[k]: the request ends no earlier than the I/O.
    """

    request: I64
    offset: I64
    size: I64
    write: U8
    waits: Bool


@njit
def closed_loop(
    disk: Disk, disk_ios: Ios, drive: Drive, state: State, ssd_ios: Ios, requests: int, depth: int, least_us: float
) -> tuple[F64, F64, float]:
    """Serve requests 0 to before `requests`, `depth` of them outstanding.

    Args:
        disk: changed in place.
        disk_ios: what the disk is asked.
        drive: the SSD.
        state: its state, changed in place.
        ssd_ios: what the SSD is asked.
        requests: how many there are, also those without an I/O.
        depth: how many are outstanding.
        least_us: that a request takes.

    Returns:
        float64[k] µs of each I/O of the disk, from its request's issue to its end, and of the SSD; and when the last
        request ends.
    """
    disk_us, ssd_us = np.empty(disk_ios.request.size), np.empty(ssd_ios.request.size)
    outstanding = [0.0]
    outstanding.pop()
    on_disk, on_ssd, now, last = 0, 0, 0.0, 0.0
    for r in range(requests):
        if len(outstanding) == depth:
            now = heapq.heappop(outstanding)
        longest = least_us
        while on_disk < disk_ios.request.size and disk_ios.request[on_disk] == r:
            time = serve(
                disk, disk_ios.offset[on_disk], disk_ios.size[on_disk], disk_ios.write[on_disk] != 0, now
            )  # fmt: skip
            disk_us[on_disk] = time
            if disk_ios.waits[on_disk]:
                longest = max(longest, time)
            on_disk += 1
        while on_ssd < ssd_ios.request.size and ssd_ios.request[on_ssd] == r:
            write, size = ssd_ios.write[on_ssd] != 0, ssd_ios.size[on_ssd]
            time = until_ready(drive, state, ssd_ios.offset[on_ssd], size, write, now)
            time += until_moved(drive, state, size, write, now + time)
            ssd_us[on_ssd] = time
            if ssd_ios.waits[on_ssd]:
                longest = max(longest, time)
            on_ssd += 1
        heapq.heappush(outstanding, now + longest)
        last = max(last, now + longest)
    return disk_us, ssd_us, last
