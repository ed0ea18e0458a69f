"""The drive that a trace's writes are judged on, scaled to what they write."""

import math

from cachezoo.errors import DeviceError
from cachezoo.kernels.ftl import FlashDrive
from cachezoo.settings.wear import Drive
from cachezoo.sizes import human
from cachezoo.wear.writes import DriveWrites

LEAST_SPARE = 2


def drive_for(writes: DriveWrites, settings: Drive, streams: int) -> FlashDrive:
    """A drive whose addresses are what is written, or of the capacity that is given.

    Its flash is addresses / (1 - over-provisioning), in whole blocks. The number of streams does not change it: each
    stream's open block and the blocks kept free are part of the over-provisioning, as in a real drive. On a small drive
    they would be most of it, and say nothing of a large one; so a drive is refused that has not two blocks beside them.

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
    needed = streams + settings.gc_free_blocks + LEAST_SPARE
    if spare < needed:
        message = (
            f"{written}: at {settings.over_provisioning:.0%} over-provisioning that leaves {spare} spare blocks of "
            f"{settings.pages_per_block} pages, and {needed} are needed ({settings.gc_free_blocks} kept free, "
            f"{streams} open for streams, {LEAST_SPARE} more): give a trace that writes more places, fewer streams, "
            "or more over-provisioning"
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
    )
