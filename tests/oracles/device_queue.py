"""Queues before a disk and an SSD, event by event, with lists and dictionaries; buffers off, rotation at its mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cachezoo.settings.device import Hdd, Ssd


@dataclass(frozen=True)
class Request:
    """A request: bytes, and whether it writes."""

    offset: int
    size: int
    write: bool


class Arm:
    """A disk without buffers."""

    def __init__(self, hdd: Hdd) -> None:
        self.hdd, self.head = hdd, 0

    def distance(self, request: Request) -> int:
        """Bytes from the head."""
        return abs(request.offset % self.hdd.capacity_bytes - self.head)

    def serve(self, request: Request) -> float:
        """µs, and the head is at its end."""
        hdd, start = self.hdd, request.offset % self.hdd.capacity_bytes
        distance = self.distance(request) / hdd.capacity_bytes
        time = hdd.write_us if request.write else hdd.read_us
        if distance:
            time += hdd.seek_base_us + hdd.seek_root_us * math.sqrt(distance) + hdd.seek_linear_us * distance
            time += hdd.rotation_us / 2 + (hdd.write_settle_us if request.write else 0)
        media = request.size / (hdd.outer_mb_s + (hdd.inner_mb_s - hdd.outer_mb_s) * start / hdd.capacity_bytes)
        time += media if request.write else max(media, request.size / hdd.interface_mb_s)
        self.head = (start + request.size) % hdd.capacity_bytes
        return time


def pick(arm: Arm, waiting: list[tuple[int, float]], requests: Sequence[Request], shortest: bool) -> tuple[int, float]:
    """Take the next of (request, arrival) out of those waiting, who stand in the order of their arrival."""
    chosen = min(waiting, key=lambda own: arm.distance(requests[own[0]])) if shortest else waiting[0]
    waiting.remove(chosen)
    return chosen


def closed_disk(requests: Sequence[Request], hdd: Hdd, depth: int, shortest: bool) -> list[float]:
    """Response times: whenever a request ends, the next is issued."""
    arm, now, times = Arm(hdd), 0.0, [0.0] * len(requests)
    waiting = [(index, 0.0) for index in range(min(depth, len(requests)))]
    following = len(waiting)
    while waiting:
        index, issued = pick(arm, waiting, requests, shortest)
        now += arm.serve(requests[index])
        times[index] = now - issued
        if following < len(requests):
            waiting.append((following, now))
            following += 1
    return times


def open_disk(
    requests: Sequence[Request], arrive: Sequence[float], hdd: Hdd, window: int, shortest: bool
) -> list[float]:
    """Response times: requests queue from their arrival; the disk chooses from the first `window` of them."""
    arm, now, times = Arm(hdd), 0.0, [0.0] * len(requests)
    left = list(range(len(requests)))
    while left:
        now = max(now, arrive[left[0]])
        queue = [index for index in left if arrive[index] <= now][:window]
        chosen = min(queue, key=lambda index: arm.distance(requests[index])) if shortest else queue[0]
        left.remove(chosen)
        now += arm.serve(requests[chosen])
        times[chosen] = now - arrive[chosen]
    return times


class Flash:
    """An SSD without a buffer: each request waits for its channel, then for the interface, first ready first served."""

    def __init__(self, ssd: Ssd) -> None:
        self.ssd, self.interface, self.channels = ssd, 0.0, {}
        self.ready: dict[int, float] = {}
        self.requests: list[Request] = []

    def issue(self, request: Request, now: float) -> None:
        """Give a request to its channel."""
        ssd = self.ssd
        channel = request.offset // ssd.stripe_bytes % ssd.channels
        fixed = ssd.read_us
        if request.write:
            fixed = ssd.write_us + request.size * (ssd.waf - 1) / ssd.program_mb_s
        self.channels[channel] = max(now, self.channels.get(channel, 0.0)) + fixed
        self.ready[len(self.requests)] = self.channels[channel]
        self.requests.append(request)

    def finish(self) -> tuple[int, float]:
        """Which request is next through the interface, and when it is done."""
        index = min(self.ready, key=lambda own: (self.ready[own], own))
        request = self.requests[index]
        rate = self.ssd.write_mb_s if request.write else self.ssd.read_mb_s
        self.interface = max(self.interface, self.ready.pop(index)) + request.size / rate
        return index, self.interface


def closed_ssd(requests: Sequence[Request], ssd: Ssd, depth: int) -> list[float]:
    """Response times: whenever a request ends, the next is issued."""
    flash, issued, ends = Flash(ssd), [0.0] * len(requests), [0.0] * len(requests)
    for request in requests[:depth]:
        flash.issue(request, 0.0)
    while flash.ready:
        index, ends[index] = flash.finish()
        following = len(flash.requests)
        if following < len(requests):
            issued[following] = ends[index]
            flash.issue(requests[following], ends[index])
    return [end - begin for begin, end in zip(issued, ends, strict=True)]


def open_ssd(requests: Sequence[Request], arrive: Sequence[float], ssd: Ssd) -> list[float]:
    """Response times: each request is issued when it arrives. Channels know nothing of what comes later."""
    flash, times = Flash(ssd), [0.0] * len(requests)
    for request, at in zip(requests, arrive, strict=True):
        flash.issue(request, at)
    while flash.ready:
        index, end = flash.finish()
        times[index] = end - arrive[index]
    return times


def outstanding_while_busy(start: Sequence[int], lasted: Sequence[int]) -> float:
    """Mean number of requests outstanding over the microseconds in which there is any; 1 if there are none."""
    counts: dict[int, int] = {}
    for begin, length in zip(start, lasted, strict=True):
        for moment in range(begin, begin + length):
            counts[moment] = counts.get(moment, 0) + 1
    return sum(counts.values()) / len(counts) if counts else 1.0
