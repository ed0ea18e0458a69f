"""dm-cache with the policy smq, as LVM sets it up."""

import numpy as np

from cachezoo.kernels.targets import dm_cache as kernel
from cachezoo.questions.targets.background import copy_us
from cachezoo.questions.targets.blocks import blocks
from cachezoo.questions.targets.target import Devices, Knob, Mode, Settings, Sizes, Target, TargetRun
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.sizes import PAGE_BYTES
from cachezoo.traces.table import OP_WRITE

KIB = 1024
LEAST_HOTS = 1024
HOT_BLOCKS = 16
EXTENT_KIB = 4 * KIB  # LVM's; a volume has a whole number of them


def hotspots(volume_pages: int, block_pages: int, capacity: int) -> tuple[int, int]:
    """How many hotspot blocks smq knows, and of how many blocks each is, at most 16: fewer where they would be all."""
    known, each = max(capacity // 4, LEAST_HOTS), HOT_BLOCKS
    while each > 1 and each * known * block_pages > volume_pages:
        each //= 2
    return known, each


def run(ts: TierStream, sizes: Sizes, mode: str, settings: Settings) -> TargetRun:
    """Serve a trace.

    `migration_threshold` is no knob: LVM keeps it at 8 blocks at least, so that blocks are always cleaned in idle time,
    and the kernel limits no promotion by it.
    """
    pages = int(settings["chunksize"]) * KIB // PAGE_BYTES
    own = blocks(ts, pages)
    capacity = max(1, sizes.ssd // pages)
    hots, each = hotspots(ts.span_pages, pages, capacity)
    _, hot = np.unique(own.address // pages // each, return_inverse=True)
    asked = kernel.Request(
        ts.pages.request_start, ts.pages.page_ids, np.asarray(ts.trace.op == OP_WRITE), ts.trace.time_us
    )
    volume = kernel.Volume(own.block, own.within, own.address, hot.astype(np.int32), pages)
    setup = kernel.Setup(capacity, hots, each, mode == "writeback", True, copy_us(pages))
    return TargetRun.of(*kernel.dm_cache(asked, volume, setup))


def commands(sizes: Sizes, mode: str, settings: Settings, devices: Devices) -> list[str]:
    """How it is set up: a new volume group of both devices, with a volume on the whole disk."""
    size = -(-sizes.ssd * PAGE_BYTES // KIB // EXTENT_KIB) * EXTENT_KIB
    found = [
        f"vgcreate {devices.name} {devices.disk} {devices.ssd}",
        f"lvcreate --name main --extents 100%PVS {devices.name} {devices.disk}",
    ]
    if mode == "none":
        return found
    return [
        *found,
        f"lvcreate --type cache-pool --name fast --size {size // KIB}m --chunksize {settings['chunksize']}k "
        f"{devices.name} {devices.ssd}",
        f"lvconvert --yes --type cache --cachepool fast --cachemode {mode} --cachepolicy smq {devices.name}/main",
    ]


DM_CACHE = Target(
    id="dm-cache",
    title="dm-cache",
    runs="Linux's device mapper with the policy smq (LVM, lvmcache)",
    source="Linux drivers/md/dm-cache-policy-smq.c, drivers/md/dm-cache-target.c; lvmcache(7)",
    modes=(
        Mode("writethrough", "through", "writes to SSD and disk"),
        Mode("writeback", "back", "writes to the SSD, and to the disk while it is idle"),
        Mode("none", "none", "passes the SSD by"),
    ),
    knobs=(Knob("chunksize", (64, 32, 256, 512), "of a block", ("writethrough", "writeback"), "KiB"),),
    run=run,
    commands=commands,
)
