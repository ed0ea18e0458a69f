"""A closed loop before a disk and an SSD from its description: who is outstanding, and each device's own queue."""

from tests.oracles.device_queue import Arm, Request
from tests.oracles.ssd import Drive


def closed_loop(hdd, disk_ios, ssd, ssd_ios, requests, depth, least_us):
    """I/Os are (request, offset, size, write, waits); response times of the disk's, of the SSD's, and the last end."""
    arm, free, drive = Arm(hdd), 0.0, Drive(ssd)
    outstanding, disk_us, ssd_us, ends = [], [], [], [0.0]
    for r in range(requests):
        now = 0.0
        if len(outstanding) >= depth:
            now = min(outstanding)
            outstanding.remove(now)
        waits = [least_us]
        for _, offset, size, write, waited in [io for io in disk_ios if io[0] == r]:
            free = max(free, now) + arm.serve(Request(offset, size, write))
            disk_us.append(free - now)
            waits += [free - now] if waited else []
        for _, offset, size, write, waited in [io for io in ssd_ios if io[0] == r]:
            ssd_us.append(drive.move(size, write, drive.ready(offset, size, write, now)) - now)
            waits += [ssd_us[-1]] if waited else []
        outstanding.append(now + max(waits))
        ends.append(now + max(waits))
    return disk_us, ssd_us, max(ends)
