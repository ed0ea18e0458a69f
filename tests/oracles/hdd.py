"""A hard disk written from its description (cachezoo.settings.device.Hdd), with lists and no arrays."""

import math


def seek_us(hdd, part):
    """µs of a seek over a part of the capacity."""
    return hdd.seek_base_us + hdd.seek_root_us * math.sqrt(part) + hdd.seek_linear_us * part


class Disk:
    def __init__(self, hdd):
        self.hdd = hdd
        self.head, self.free = 0, 0.0
        self.segments = []  # [first, last + 1] each, in their places: of several that hold a read the first serves it
        self.used = []  # the same, least recently used first
        self.reading, self.limit, self.since = None, 0, 0.0
        self.pending = []  # (offset, size, when it came)

    def rate(self, address):
        hdd = self.hdd
        part = address / hdd.capacity_bytes
        if hdd.zones == 1:
            return hdd.outer_mb_s
        if hdd.zones > 1:
            part = min(int(part * hdd.zones), hdd.zones - 1) / (hdd.zones - 1)
        return hdd.outer_mb_s * (1 - part) + hdd.inner_mb_s * part

    def turns(self, address):
        """Revolutions from address 0 on, zone by zone, or the integral where the rate falls evenly."""
        hdd = self.hdd
        if hdd.zones == 0 and hdd.inner_mb_s != hdd.outer_mb_s:
            fall = (hdd.inner_mb_s - hdd.outer_mb_s) / hdd.capacity_bytes
            return math.log(1 + fall * address / hdd.outer_mb_s) / fall / hdd.rotation_us
        zones, done = max(hdd.zones, 1), 0.0
        for zone in range(zones):
            first, last = (hdd.capacity_bytes * (zone + i) / zones for i in (0, 1))
            rate = hdd.outer_mb_s + (hdd.inner_mb_s - hdd.outer_mb_s) * zone / max(zones - 1, 1)
            done += max(min(address, last) - first, 0) / rate / hdd.rotation_us
        return done

    def mechanics(self, offset, size, write, now):
        hdd = self.hdd
        self.read_on(now)
        self.reading = None
        distance, time = abs(offset - self.head), 0.0
        if distance:
            near = distance <= hdd.cylinder_bytes
            time = hdd.switch_us if near else seek_us(hdd, distance / hdd.capacity_bytes)
            time += hdd.write_settle_us if write else 0
        if hdd.rotation == "mean":
            time += hdd.rotation_us / 2 if distance else 0
        else:
            turn = (self.turns(offset) - (now + time) / hdd.rotation_us) % 1
            time += 0 if turn > 1 - 1e-6 else turn * hdd.rotation_us
        time += size / self.rate(offset)
        self.head, self.free = (offset + size) % hdd.capacity_bytes, now + time
        return time

    def read_on(self, now):
        if self.reading is None or now <= self.since or self.reading[1] >= self.limit:
            return
        rate = self.rate(self.reading[1] % self.hdd.capacity_bytes)
        more = min(int((now - self.since) * rate), self.limit - self.reading[1])
        self.since += more / rate
        self.reach(self.reading[1] + more)

    def reach(self, end):
        self.reading[:] = [max(self.reading[0], end - self.hdd.read_buffer.segment_bytes), end]
        self.head = end % self.hdd.capacity_bytes

    def write_one_back(self):
        offset, size, came = self.pending.pop(0)
        self.mechanics(offset, size, True, max(self.free, came))

    def stop(self, offset, end):
        buffer, capacity = self.hdd.read_buffer, self.hdd.capacity_bytes
        track = buffer.track_bytes
        last = math.ceil(end / track) * track if track else max(offset + buffer.segment_bytes, end)
        return max(min(last, capacity), end)

    def held(self, offset, end, now):
        for segment in self.segments:
            active = segment is self.reading
            last = self.limit if active and offset <= segment[1] else segment[1]
            if not segment[0] <= offset or end > max(last, segment[1]):
                continue
            self.used = [other for other in self.used if other is not segment] + [segment]
            wait = max(end - segment[1], 0) / self.rate(segment[1] % self.hdd.capacity_bytes)
            if active:
                if wait or segment[1] >= self.limit:
                    self.since = now + wait
                if wait:
                    self.reach(end)
                self.limit = max(self.limit, self.stop(offset, end))
            return wait
        return None

    def serve(self, offset, size, write, now):
        hdd = self.hdd
        offset %= hdd.capacity_bytes
        # A request that comes when the disk is just free goes first; two clocks' rounding must not decide that.
        while self.pending and max(self.free, self.pending[0][2]) < now - 0.01:
            self.write_one_back()
        if write and 0 < size <= hdd.write_buffer_bytes:
            wait = 0.0
            while sum(item[1] for item in self.pending) + size > hdd.write_buffer_bytes:
                self.write_one_back()
                wait = max(wait, self.free - now)
            time = wait + hdd.write_us + size / hdd.interface_mb_s
            self.pending.append((offset, size, now + time))
            return time
        if not write and hdd.read_buffer.segments:
            self.read_on(now)
            wait = self.held(offset, offset + size, now)
            if wait is not None:
                return wait + hdd.read_us + size / hdd.interface_mb_s
        while write and self.pending:
            self.write_one_back()
        begin = max(self.free, now) + (hdd.write_us if write else hdd.read_us)
        time = begin - now + self.mechanics(offset, size, write, begin)
        if write:
            return time
        buffer = hdd.read_buffer
        if buffer.segments:
            first = offset // buffer.track_bytes * buffer.track_bytes if buffer.track_bytes else offset
            self.reading = [max(first, offset + size - buffer.segment_bytes), offset + size]
            if len(self.segments) < buffer.segments:
                self.segments.append(self.reading)
            else:
                oldest = self.used.pop(0)
                self.segments = [self.reading if other is oldest else other for other in self.segments]
            self.used.append(self.reading)
            self.limit, self.since = self.stop(offset, offset + size), now + time
        after = size / hdd.interface_mb_s
        if hdd.overlap:
            after = max(after - size / self.rate(offset), 0.0)
        return time + after


def ios_us(hdd, ios):
    """µs of I/Os one after the other, each offset, size and whether it writes; 0 where there is none."""
    kept = [io for io in ios if io is not None]
    times = iter(service_us(hdd, *zip(*kept, strict=True), [0.0] * len(kept)) if kept else [])
    return [0.0 if io is None else next(times) for io in ios]


def service_us(hdd, offset, size, write, think):
    disk, now, times = Disk(hdd), 0.0, []
    for row in zip(offset, size, write, think, strict=True):
        now += row[3]
        times.append(disk.serve(row[0], row[1], row[2], now))
        now += times[-1]
    return times
