"""A hard disk: one actuator, zones, rotation, a segmented read buffer with read-ahead, a write buffer.

The model is the one of Ruemmler and Wilkes (An introduction to disk drive modeling, IEEE Computer 27(3), 1994): seek
curve, rotation, zoned media rate, controller overhead, and the two caches, which they found to matter most. Times are
durations from a request's issue, so that they do not lose digits as a long trace's clock grows.
"""

import math
from typing import Any

import numpy as np

from cachezoo.arrays import F64, I64, U8
from cachezoo.kernels.jit import njit

NEARLY_A_REVOLUTION = 1 - 1e-6  # what rounding makes of no wait at all
AT_ONCE = 0.01  # µs; what comes so soon after the disk is free comes before what it would do by itself
MOST_SEGMENTS, MOST_ZONES, MOST_PENDING = 64, 1024, 65536
DISK = np.dtype(
    [
        (name, kind)
        for kind, names in (
            (np.int64, "capacity segment track write_buffer zones by_position cylinder overlap"),
            (np.float64, "rotation seek_base seek_root seek_linear switch write_settle outer inner"),
            (np.float64, "read_fixed write_fixed interface"),
            (np.int64, "head ahead limit held uses first waiting dirty"),
            (np.float64, "free since"),
        )
        for name in names.split()
    ]
    + [
        ("turns", np.float64, (MOST_ZONES,)),
        ("segments", np.int64, (MOST_SEGMENTS, 3)),
        ("pending", np.float64, (MOST_PENDING, 3)),
    ]
)
"""A disk. One record, because that passes by reference, and a tuple of arrays slowly.

- What does not change: lengths in bytes, times in µs, rates in bytes/µs (which is MB/s); `turns`, revolutions laid out
  before each zone.
- head: the address after the last one that passed it; free: when the actuator is free of requests.
- segments: first and last + 1 address held, and when last used; held: how many there are; uses: of them.
- ahead: the segment that is being read into (-1: none); limit: where that ends; since: when its last address was read.
- pending: ring of buffered writes (offset, size, when it came); first, waiting, dirty: which, how many, their bytes.
"""
Disk = Any


def turns_before(capacity: int, rotation: float, outer: float, inner: float, zones: int) -> F64:
    """float64[zones or 1], revolutions laid out before each zone."""
    rates = np.linspace(outer, inner, zones) if zones > 1 else np.array([outer])
    return np.concatenate([[0.0], np.cumsum(capacity / rates.size / rates / rotation)[:-1]])


def make_disk(segments: int, **fixed: float) -> Disk:
    """A disk at rest, its head at address 0, its buffers empty.

    Args:
        segments: of the read buffer.
        fixed: what does not change, by DISK's names.
    """
    disk = np.rec.array(np.zeros(1, DISK))[0]
    for name, value in fixed.items():
        disk[name] = value
    disk.ahead, disk.held = -1, segments
    disk.segments[:] = -1
    turns = turns_before(disk.capacity, disk.rotation, disk.outer, disk.inner, disk.zones)
    disk.turns[: turns.size] = turns
    return disk


@njit
def zone_at(disk: Disk, start: int) -> int:
    """The zone of an address; 0 where there are none."""
    return int(min(math.floor(start / disk.capacity * disk.zones), max(disk.zones - 1, 0)))


@njit
def rate_at(disk: Disk, start: int) -> float:
    """Media rate at an address, bytes/µs."""
    part = start / disk.capacity
    if disk.zones > 0:
        part = zone_at(disk, start) / max(disk.zones - 1, 1)
    rate: float = disk.outer + (disk.inner - disk.outer) * part
    return rate


@njit
def angle_at(disk: Disk, start: int) -> float:
    """Where an address lies on its track, as a part of a revolution.

    Addresses follow each other under the head at the media rate (head and track switches are in that rate), so the
    angle is the integral of 1 / (rate * rotation) up to the address.
    """
    rate = rate_at(disk, start)
    slope = (disk.inner - disk.outer) / disk.capacity
    if disk.zones == 0 and slope != 0.0:
        turns = math.log(rate / disk.outer) / slope / disk.rotation
    else:
        zone = zone_at(disk, start)
        turns = disk.turns[zone] + (start - disk.capacity * (zone / max(disk.zones, 1))) / rate / disk.rotation
    return float(turns - math.floor(turns))


@njit
def positioning(disk: Disk, head: int, start: int, write: bool, now: float) -> float:
    """µs from the decision to move until the first byte is under the head."""
    distance = abs(start - head)
    time = 0.0
    if distance > 0:
        part = distance / disk.capacity
        time = disk.switch
        if distance > disk.cylinder:
            time = disk.seek_base + disk.seek_root * math.sqrt(part) + disk.seek_linear * part
        if write:
            time += disk.write_settle
        if not disk.by_position:
            time += disk.rotation / 2
    if disk.by_position:
        turns = angle_at(disk, start) - (now + time) / disk.rotation
        turns -= math.floor(turns)
        if turns < NEARLY_A_REVOLUTION:
            time += turns * disk.rotation
    return time


@njit
def extend(disk: Disk, at: int, end: int) -> None:
    """The head has read on to `end`; a full segment loses its first addresses."""
    disk.segments[at, 1] = end
    disk.segments[at, 0] = max(disk.segments[at, 0], end - disk.segment)
    disk.head = end % disk.capacity


@njit
def read_ahead(disk: Disk, now: float) -> None:
    """Bring the segment that is being read into up to `now`."""
    at = disk.ahead
    if at < 0:
        return
    end, limit = disk.segments[at, 1], disk.limit
    passed = now - disk.since
    if end >= limit or passed <= 0.0:
        return
    rate = rate_at(disk, end % disk.capacity)
    gained = min(int(passed * rate), limit - end)
    disk.since += gained / rate
    extend(disk, at, end + gained)


@njit
def move(disk: Disk, offset: int, size: int, write: bool, now: float) -> float:
    """Serve a request on the media at once; µs from `now`. It ends reading ahead."""
    read_ahead(disk, now)
    disk.ahead = -1
    start = offset % disk.capacity
    time = positioning(disk, disk.head, start, write, now) + size / rate_at(disk, start)
    disk.head = (start + size) % disk.capacity
    disk.free = now + time
    return float(time)


@njit
def after_media(disk: Disk, offset: int, size: int) -> float:
    """µs that the interface takes longer than the media."""
    time = size / disk.interface
    if disk.overlap:
        time = max(time - size / rate_at(disk, offset), 0.0)
    return float(time)


@njit
def write_back(disk: Disk) -> None:
    """Bring the first pending write to the media as soon as the actuator is free."""
    first = disk.first
    begin = max(disk.free, disk.pending[first, 2])
    move(disk, int(disk.pending[first, 0]), int(disk.pending[first, 1]), True, begin)
    disk.first = (first + 1) % MOST_PENDING
    disk.waiting -= 1
    disk.dirty -= int(disk.pending[first, 1])


@njit
def settle(disk: Disk, now: float) -> None:
    """Do what the disk does by itself before `now`: write back, which goes before reading ahead."""
    while disk.waiting > 0 and max(disk.free, disk.pending[disk.first, 2]) < now - AT_ONCE:
        write_back(disk)


@njit
def buffered_write(disk: Disk, offset: int, size: int, now: float) -> float:
    """Put a write into the buffer, after as many writes have left it as it needs room for; µs from `now`."""
    wait = 0.0
    while disk.waiting == MOST_PENDING or disk.dirty + size > disk.write_buffer:
        write_back(disk)
        wait = max(wait, disk.free - now)
    slot = (disk.first + disk.waiting) % MOST_PENDING
    time: float = wait + disk.write_fixed + size / disk.interface
    disk.pending[slot, 0] = offset
    disk.pending[slot, 1] = size
    disk.pending[slot, 2] = now + time
    disk.waiting += 1
    disk.dirty += size
    return time


@njit
def read_limit(disk: Disk, offset: int, end: int) -> int:
    """Where the disk stops reading on after it was asked for [offset, end)."""
    if disk.track > 0:
        limit = end + (-end) % disk.track
    else:
        limit = max(offset + disk.segment, end)
    return int(max(min(limit, disk.capacity), end))


@njit
def from_segments(disk: Disk, offset: int, size: int, now: float) -> float:
    """µs from `now` of a read that the read buffer holds, or that its read-ahead will reach; -1: neither."""
    for at in range(disk.held):
        start, end = disk.segments[at, 0], disk.segments[at, 1]
        active = at == disk.ahead
        last = max(end, disk.limit) if active and offset <= end else end
        if start < 0 or offset < start or offset + size > last:
            continue
        disk.uses += 1
        disk.segments[at, 2] = disk.uses
        wait = max(offset + size - end, 0) / rate_at(disk, end % disk.capacity)
        if wait > 0.0:
            extend(disk, at, offset + size)
        if active:  # reading goes on, a segment's length ahead of what was asked for
            if wait > 0.0 or end >= disk.limit:
                disk.since = now + wait
            disk.limit = max(disk.limit, read_limit(disk, offset, offset + size))
        return float(wait + disk.read_fixed + size / disk.interface)
    return -1.0


@njit
def new_segment(disk: Disk, offset: int, size: int, now: float) -> None:
    """Read ahead from the end of a read that has just come from the media, into the segment not used for longest."""
    at = 0
    for other in range(1, disk.held):
        if disk.segments[other, 2] < disk.segments[at, 2]:
            at = other
    start = offset - offset % disk.track if disk.track > 0 else offset
    disk.uses += 1
    disk.segments[at, 0] = max(start, offset + size - disk.segment)
    disk.segments[at, 1] = offset + size
    disk.segments[at, 2] = disk.uses
    disk.ahead = at
    disk.limit = read_limit(disk, offset, offset + size)
    disk.since = now


@njit
def serve(disk: Disk, offset: int, size: int, write: bool, now: float) -> float:
    """µs from its issue at `now` until a request is done. `now` must not fall from call to call."""
    offset = offset % disk.capacity
    if disk.waiting > 0:
        settle(disk, now)
    if write and 0 < size <= disk.write_buffer:
        return buffered_write(disk, offset, size, now)
    fixed = disk.write_fixed if write else disk.read_fixed
    if not write and disk.held > 0:
        read_ahead(disk, now)
        time = from_segments(disk, offset, size, now)
        if time >= 0.0:
            return time
    if write and disk.waiting > 0:  # a write past the buffer must not overtake those in it
        settle(disk, math.inf)
    wait = max(disk.free - now, 0.0)
    time = float(wait + fixed) + move(disk, offset, size, write, now + wait + fixed)
    if write:  # what is written went through the interface while the arm moved
        return time
    if disk.held > 0:
        new_segment(disk, offset, size, now + time)
    return time + after_media(disk, offset, size)


@njit
def hdd_service_us(disk: Disk, offset: I64, size: I64, write: U8, think_us: F64) -> F64:
    """Service times at queue depth 1, in trace order.

    Args:
        disk: changed in place.
        offset: int64[n] bytes, folded modulo the capacity.
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
        times[i] = serve(disk, offset[i], size[i], write[i] != 0, now)
        now += times[i]
    return times


@njit
def hdd_transfer_us(disk: Disk, offset: I64, size: I64) -> F64:
    """What of each request's time on the media is transfer, without the way there.

    Args:
        disk: is left as it is.
        offset: int64[n] bytes, folded modulo the capacity.
        size: int64[n] bytes.

    Returns:
        float64[n] µs.
    """
    times = np.empty(offset.size)
    for i in range(offset.size):
        times[i] = size[i] / rate_at(disk, offset[i] % disk.capacity)
    return times


@njit
def hdd_media(disk: Disk, offset: I64, size: I64, write: U8, idle_us: float) -> U8:
    """Which requests the media serve, not a buffer, where the disk is idle for so long before each.

    Args:
        disk: changed in place.
        offset: int64[n] bytes.
        size: int64[n] bytes.
        write: uint8[n], 1 for writes.
        idle_us: µs; if long enough, all is read ahead and written back.

    Returns:
        uint8[n], 1 for requests that the media serve.
    """
    marks = np.zeros(offset.size, np.uint8)
    now = 0.0
    for i in range(offset.size):
        now += idle_us
        settle(disk, now)
        before = disk.free
        now += serve(disk, offset[i], size[i], write[i] != 0, now)
        marks[i] = disk.free != before and (write[i] == 0 or disk.waiting == 0)
    return marks


@njit
def nearest(head: int, capacity: int, offset: I64, waiting: I64, count: int) -> int:
    """Which of the waiting requests has the shortest seek; of several the one that waits longest."""
    best, shortest = 0, capacity
    for at in range(count):
        distance = abs(offset[waiting[at]] % capacity - head)
        if distance < shortest:
            best, shortest = at, distance
    return best


@njit
def hdd_response_us(disk: Disk, offset: I64, size: I64, write: U8, arrive_us: F64, depth: int, shortest: bool) -> F64:
    """Response times with a queue.

    Args:
        disk: as for `hdd_service_us`, as are offset, size and write.
        offset: int64[n] bytes.
        size: int64[n] bytes.
        write: uint8[n].
        arrive_us: float64[n] µs, rising: an open loop. float64[0]: a closed loop, which keeps `depth` requests
            waiting or in service.
        depth: of the closed loop; of an open loop, how many waiting requests the disk chooses from.
        shortest: the next request is that with the shortest seek (SSTF), else the one that waits longest (FCFS).

    Returns:
        float64[n] µs from arrival to end.
    """
    n = offset.size
    closed = arrive_us.size == 0
    times = np.empty(n)
    arrived = np.zeros(n) if closed else arrive_us
    waiting = np.empty(depth, np.int64)
    count, following, now = 0, 0, 0.0
    for _ in range(n):
        while count < depth and following < n and (closed or arrived[following] <= now or count == 0):
            if closed:
                arrived[following] = now
            now = max(now, arrived[following])
            waiting[count] = following
            count += 1
            following += 1
        at = nearest(disk.head, disk.capacity, offset, waiting, count) if shortest else 0
        i = waiting[at]
        count -= 1
        for later in range(at, count):
            waiting[later] = waiting[later + 1]
        now += serve(disk, offset[i], size[i], write[i] != 0, now)
        times[i] = now - arrived[i]
    return times
