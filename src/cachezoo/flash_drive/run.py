"""Write amplification of a drive that replays all cycles, the last of which is counted, and what a placement saves.

Two runs are compared over blocks of (almost) equally many page writes of the host. Garbage collection carries over from
one to the next, so that intervals are of the writes of this cycle, not of drives or days.
"""

import math
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64, U8
from cachezoo.contest.blocks import BLOCKS
from cachezoo.contest.lead import Lead, Mean, ratio_of, saving
from cachezoo.errors import DeviceError, TraceError
from cachezoo.flash_drive.writes import DriveWrites
from cachezoo.kernels.ftl import FlashDrive, open_blocks, run_ftl
from cachezoo.kernels.placing import BY_HOST, Rule
from cachezoo.settings.wear import Drive
from cachezoo.sizes import human

LEAST_SPARE = 2


def drive_for(writes: DriveWrites, settings: Drive, streams: int, seed: int = 0) -> FlashDrive:
    """A drive whose addresses are what is written, or of the capacity that is given.

    Its flash is addresses / (1 - over-provisioning), in whole blocks. The number of streams does not change it: each
    stream's open block and the blocks kept free are part of the over-provisioning, as in a real drive. On a small drive
    they would be most of it, and say nothing of a large one; so a drive without two blocks more is refused.

    Raises:
        DeviceError: what is written is more than the capacity, or the drive is too small for the streams.
    """
    size = settings.page_bytes
    written = f"{writes.footprint} pages of {size} bytes ({human(writes.footprint * size)}) are written"
    addresses = writes.footprint
    if settings.capacity_bytes is not None:
        addresses = settings.capacity_bytes // size
        if writes.footprint > addresses:
            message = (
                f"{written}, more than the drive's capacity of {human(settings.capacity_bytes)}: give a larger "
                "capacity, or none for a drive as large as what is written"
            )
            raise DeviceError(message)
    data_pages = settings.pages_per_block - settings.metadata_pages
    blocks = math.ceil(addresses / (1 - settings.over_provisioning) / data_pages)
    spare = blocks - math.ceil(writes.footprint / data_pages)
    opened = open_blocks(streams, settings.copies)
    needed = opened + settings.gc_free_blocks + LEAST_SPARE
    if spare < needed:
        message = (
            f"{written}: at {settings.over_provisioning:.0%} over-provisioning that leaves {spare} spare blocks of "
            f"{settings.pages_per_block} pages, and {needed} are needed ({settings.gc_free_blocks} kept free, "
            f"{opened} open for streams, {LEAST_SPARE} more): give a trace that writes more places, fewer streams, or "
            "more over-provisioning"
        )
        raise DeviceError(message)
    return FlashDrive(
        blocks=blocks,
        pages_per_block=data_pages,
        logical_pages=writes.footprint,
        gc_free_blocks=settings.gc_free_blocks,
        victim=settings.victim,
        streams=streams,
        wear_slack=settings.wear_slack,
        among=settings.among,
        copies=settings.copies,
        seed=seed,
    )


@dataclass(frozen=True)
class Wear:
    """What a drive did in the counted cycle, cut into B blocks of time of equally many page writes."""

    host: I64  # [B] flash pages that the host wrote
    copied: I64  # [B] and that the drive copied
    erased: I64  # [B] erase blocks
    host_by_stream: I64  # [streams] over the cycle
    copied_by_stream: I64  # [streams]
    erases: I64  # [erase blocks] of each, from the drive's start to the end of the cycle
    drive: FlashDrive
    addresses: int  # flash pages that the host can address; more than are written, where a capacity was given
    cycles: int  # erases that an erase block endures
    page_bytes: int  # of a flash page
    host_bytes: int  # that the host wrote over the cycle

    @property
    def waf(self) -> float:
        """Write amplification: pages that the drive wrote over pages that the host wrote."""
        return 1 + int(self.copied.sum()) / int(self.host.sum())

    @property
    def written(self) -> F64:
        """float64[B]: flash pages written, by the host and by the drive."""
        return (self.host + self.copied).astype(float)

    @property
    def waf_mean(self) -> Mean:
        """`waf` with its interval."""
        return ratio_of(self.written, self.host.astype(float))

    def saved(self, rival: "Wear") -> Lead:
        """The share of a rival's page writes to flash that this placement of the same writes saves."""
        return saving(self.written, rival.written)

    def over(self, rival: "Wear") -> Mean:
        """Its WAF over a rival's."""
        return ratio_of(self.written, rival.written)

    @property
    def streams_used(self) -> int:
        """Streams that the host wrote to in the counted cycle."""
        return int((self.host_by_stream > 0).sum())

    @property
    def by_bytes(self) -> float:
        """Bytes written to flash for each byte of the host: above `waf` where the host writes less than whole pages."""
        return self.page_bytes * float(self.written.sum()) / self.host_bytes

    @property
    def drive_writes(self) -> float:
        """Times that the host can write all addresses, in bytes, until blocks have had their erases.

        It is taken that blocks wear evenly.
        """
        flash = self.drive.blocks * self.drive.pages_per_block
        return self.cycles * flash / (self.by_bytes * self.addresses)


def wear(
    writes: DriveWrites,
    streams: U8 | None,
    settings: Drive,
    counted: int = -1,
    *,
    n_streams: int | None = None,
    rule: Rule = BY_HOST,
    blocks: int = BLOCKS,
    seed: int = 0,
) -> Wear:
    """Run a drive through the cycles up to the counted one, and count that one alone.

    The drive is made for the footprint of all cycles, and pre-filled by address. So a figure of validation does not
    depend on how the test cycle writes, only on how much room it needs.

    Args:
        writes: page writes of all cycles.
        streams: uint8[n] stream of each page write; None writes all to stream 0.
        settings: the drive.
        counted: the cycle that counts; -1 is the last.
        n_streams: streams that the drive has; None has as many as the rule writes, or as are named.
        rule: which stream writes and copies go to; most place by themselves, and do not read `streams`.
        blocks: blocks of time.
        seed: of chance, see `cachezoo.kernels.ftl.FlashDrive`.

    Raises:
        TraceError: the counted cycle writes fewer pages than there are blocks of time.
        DeviceError: a drive that cannot be, see `drive_for`.
        ConfigError: streams that the drive lacks.
    """
    part = writes.cycle(counted)
    n = part.stop - part.start
    if n < blocks:
        message = (
            f"the counted cycle writes {n} pages, at least {blocks} are needed (one a block of time): give a cycle "
            "that writes more"
        )
        raise TraceError(message)
    if n_streams is None:
        n_streams = rule.streams or (1 if streams is None else int(streams.max()) + 1)
    if rule.streams:
        settings = settings.model_copy(update={"copies": "keep"})  # the rule says where copies go
    drive = drive_for(writes, settings, n_streams, seed)
    pages, trim, stop = writes.pages, None, part.stop
    placed = None if rule.streams else streams
    bounds = part.start + np.arange(blocks + 1, dtype=np.int64) * n // blocks
    if settings.trims and writes.trims is not None:
        pages, trim, placed = writes.heeded(placed)
        stop += int(np.searchsorted(writes.trims.at, stop, side="right"))
        bounds = bounds + np.searchsorted(writes.trims.at, bounds)
    run = run_ftl(
        pages[:stop], None if placed is None else placed[:stop], drive, bounds=bounds,
        trim=None if trim is None else trim[:stop], rule=rule, room=writes.room, passed=writes.passed,
    )  # fmt: skip
    return Wear(
        host=run.host,
        copied=run.copied,
        erased=run.erased,
        host_by_stream=run.host_by_stream,
        copied_by_stream=run.copied_by_stream,
        erases=run.erases,
        drive=drive,
        addresses=(settings.capacity_bytes or 0) // settings.page_bytes or writes.footprint,
        cycles=settings.cycles,
        page_bytes=writes.page_bytes,
        host_bytes=writes.host_bytes(part.start, part.stop),
    )
