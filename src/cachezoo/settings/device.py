"""Schema of `device`: where response times come from, and the models and targets they come from."""

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from cachezoo.settings.base import Strict

# Bounds wider than any device, within which no model overflows.
Micros = Annotated[float, Field(ge=0, le=1e9)]
Rate = Annotated[float, Field(ge=1e-6, le=1e9)]
Bytes = Annotated[int, Field(ge=0, le=1 << 60)]


class ReadBuffer(Strict):
    """`device.hdd.read_buffer`: the disk's segmented read cache with read-ahead.

    Attributes:
        segments: how many runs of addresses it holds, the least recently used leaves; 0: no read buffer.
        segment_bytes: the longest run; the disk reads on after a miss until its segment is full.
        track_bytes: the disk reads whole tracks of about this length: what lies before a missed address on its track
            comes with it, and reading on ends where the track does; 0: it begins at the address.
    """

    segments: int = Field(default=0, ge=0, le=64)
    segment_bytes: Bytes = 0
    track_bytes: Bytes = 0

    @model_validator(mode="after")
    def _holds(self) -> "ReadBuffer":
        if self.segments and self.segment_bytes < max(self.track_bytes, 512):
            message = f"segment_bytes {self.segment_bytes} is less than a track ({self.track_bytes}) or a sector"
            raise ValueError(message)
        return self


class Hdd(Strict):
    """`device.hdd`: one actuator that serves one request at a time.

    Attributes:
        capacity_bytes: addresses are folded modulo it.
        rotation_us: one revolution.
        rotation: `mean`: a request that is not sequential waits half a revolution; `position`: it waits until its
            sector comes under the head, by the clock.
        seek_base_us, seek_root_us, seek_linear_us: a seek over the part d of the capacity takes
            base + root * sqrt(d) + linear * d; none if d is 0.
        cylinder_bytes, switch_us: what is no further than this takes a switch of heads instead of a seek.
        write_settle_us: what a write's seek takes longer.
        outer_mb_s, inner_mb_s: media rate (10**6 bytes/s) at the first and the last address.
        zones: the rate falls in so many steps of equal capacity; 0: evenly.
        read_us, write_us: the controller's time for each request.
        interface_mb_s: rate of what comes from the read buffer or goes into the write buffer.
        overlap: reads from the media go through the interface while they are read, so that the slower of the two
            counts; false: one after the other.
        read_buffer: none by default.
        write_buffer_bytes: writes end when they are in it; 0: when they are on the disk.
        scheduler: which of the waiting requests is next: the first, or that with the shortest seek.
    """

    capacity_bytes: int = Field(gt=0, le=1 << 60)
    rotation_us: float = Field(ge=1e-3, le=1e9)
    rotation: Literal["mean", "position"] = "mean"
    seek_base_us: Micros
    seek_root_us: Micros
    seek_linear_us: float = Field(default=0.0, ge=-1e9, le=1e9)
    cylinder_bytes: Bytes = 0
    switch_us: Micros = 0.0
    write_settle_us: Micros = 0.0
    outer_mb_s: Rate
    inner_mb_s: Rate
    zones: int = Field(default=0, ge=0, le=1000)
    read_us: Micros = 0.0
    write_us: Micros = 0.0
    interface_mb_s: Rate = 600.0
    overlap: bool = True
    read_buffer: ReadBuffer = ReadBuffer()
    write_buffer_bytes: Bytes = 0
    scheduler: Literal["fcfs", "sstf"] = "fcfs"

    @model_validator(mode="after")
    def _seeks(self) -> "Hdd":
        """A seek curve must not fall below 0; it is lowest at its ends or where its slope is 0."""
        points = [0.0, 1.0]
        if self.seek_linear_us < 0:
            points.append(min(1.0, (self.seek_root_us / (-2 * self.seek_linear_us)) ** 2))
        base, root, linear = self.seek_base_us, self.seek_root_us, self.seek_linear_us
        lowest = min(base + root * math.sqrt(point) + linear * point for point in points)
        if lowest < 0:
            raise ValueError(f"the seek curve falls to {lowest:g} µs")
        return self


class Ssd(Strict):
    """`device.ssd`: a fixed cost for each request on one of several channels, and a rate they share.

    Attributes:
        read_us, write_us: fixed cost.
        read_mb_s, write_mb_s: rate (10**6 bytes/s).
        channels: so many requests pay their fixed cost at once.
        stripe_bytes: addresses go round the channels in steps of it.
        write_buffer_bytes: writes end when they are in it, and wait while it is full; 0: no buffer.
        program_mb_s: at what rate the flash takes what leaves the buffer, before garbage collection has its part.
        waf: measured write amplification: flash writes a byte of the host; what is above 1 is garbage collection.
    """

    read_us: Micros
    write_us: Micros
    read_mb_s: Rate
    write_mb_s: Rate
    channels: int = Field(default=1, ge=1, le=1024)
    stripe_bytes: int = Field(default=4096, ge=512, le=1 << 60)
    write_buffer_bytes: Bytes = 0
    program_mb_s: Rate = 1000.0
    waf: float = Field(default=1.0, ge=1, le=1e6)


class AnalyticDevice(Strict):
    """`device` with `source: analytic`: the models; the same bytes on every machine."""

    source: Literal["analytic"]
    hdd: Hdd
    ssd: Ssd


class EmulatedDevice(Strict):
    """`device` with `source: emulated`: the models' mechanics in real time, behind fio's real requests.

    Attributes:
        hdd, ssd: as for `analytic`; what the emulated disk does not know (buffers, channels) must be off.
        repetitions: whose medians are taken.
        timeout_s: of one replay; then it is killed.
    """

    source: Literal["emulated"]
    hdd: Hdd
    ssd: Ssd
    repetitions: int = Field(default=3, ge=1, le=99)
    timeout_s: float = Field(default=600.0, gt=0, le=1e8)


class Target(Strict):
    """`device.hdd`, `device.ssd` of a real device."""

    path: str = Field(min_length=1)  # a block device, or a file on the device
    name: str = Field(min_length=1)  # what it is, for the record: maker and model


class RealDevice(Strict):
    """`device` with `source: real`: fio replays on targets of the user's.

    Attributes:
        hdd, ssd: the targets.
        engine: fio's I/O engine.
        logical_block_bytes: offsets and sizes are rounded to it.
        writes: what becomes of write requests: `refuse` a trace that has some, replay them `as_reads`, or `replay`
            them, which destroys what is on the target.
        fold: let addresses past the target's end wrap around; else a trace that reaches further is refused.
        force: use a target that is mounted, not empty, or on the disk of the root filesystem.
        repetitions: whose medians are taken.
        chunk_requests: of longer traces fio reads the log bit by bit, which takes less memory; 0: always at once.
        timeout_s: of one replay; then it is killed.
    """

    source: Literal["real"]
    hdd: Target
    ssd: Target
    engine: Literal["psync", "libaio"] = "psync"
    logical_block_bytes: Literal[512, 4096] = 512
    writes: Literal["refuse", "as_reads", "replay"] = "refuse"
    fold: bool = False
    force: bool = False
    repetitions: int = Field(default=3, ge=1, le=99)
    chunk_requests: int = Field(default=0, ge=0, le=1 << 40)
    timeout_s: float = Field(default=3600.0, gt=0, le=1e8)


Device = Annotated[AnalyticDevice | EmulatedDevice | RealDevice, Field(discriminator="source")]
