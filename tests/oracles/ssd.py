"""An SSD written from its description (cachezoo.settings.device.Ssd)."""


class Drive:
    def __init__(self, ssd):
        self.ssd = ssd
        self.free = dict.fromkeys(range(ssd.channels), 0.0)
        self.interface = 0.0
        self.buffered, self.as_of = 0.0, 0.0

    def ready(self, offset, size, write, now):
        ssd = self.ssd
        if write and ssd.write_buffer_bytes:
            pace = ssd.program_mb_s / ssd.waf
            at = max(now, self.as_of)
            full = max(self.buffered - pace * (at - self.as_of), 0) + size
            entry = at + max(full - ssd.write_buffer_bytes, 0) / pace
            self.buffered, self.as_of = min(full, ssd.write_buffer_bytes), entry
            ready = entry + ssd.write_us
        else:
            channel = offset // ssd.stripe_bytes % ssd.channels
            collecting = size / ssd.program_mb_s * (ssd.waf - 1)
            ready = max(now, self.free[channel]) + (ssd.write_us + collecting if write else ssd.read_us)
            self.free[channel] = ready
        return ready

    def move(self, size, write, ready):
        ssd = self.ssd
        self.interface = max(ready, self.interface) + size / (ssd.write_mb_s if write else ssd.read_mb_s)
        return self.interface


def service_us(ssd, offset, size, write, think):
    drive, now, times = Drive(ssd), 0.0, []
    for row in zip(offset, size, write, think, strict=True):
        now += row[3]
        end = drive.move(row[1], row[2], drive.ready(*row[:3], now))
        times.append(end - now)
        now = end
    return times


def response_us(ssd, offset, size, write, arrive):
    """Open loop: the interface takes what is ready first."""
    drive, times = Drive(ssd), {}
    ready = [(drive.ready(*row), index) for index, row in enumerate(zip(offset, size, write, arrive, strict=True))]
    for at, index in sorted(ready):
        times[index] = drive.move(size[index], write[index], at) - arrive[index]
    return [times[index] for index in range(len(times))]
