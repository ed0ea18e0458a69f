"""ZFS with a cache device."""

from cachezoo.kernels.evict import arc
from cachezoo.kernels.targets.zfs import Feed, zfs
from cachezoo.questions.targets.blocks import blocks
from cachezoo.questions.targets.target import Devices, Knob, Mode, Settings, Sizes, Target, TargetRun
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.sizes import PAGE_BYTES
from cachezoo.traces.table import OP_WRITE

KIB, MIB = 1024, 1024 * 1024
L2ARC, ALONE = "l2arc", "none"
DOUBLED = 2  # l2arc_headroom_boost, 200 %: the ARC is compressed as it comes
LEAST_ARC = 32 * MIB  # the least zfs_arc_min that the module takes
PLACE = "/sys/module/zfs/parameters"
PARAMETERS = {
    "l2arc_write_max": MIB, "l2arc_write_boost": MIB, "l2arc_headroom": 1, "l2arc_noprefetch": 1, "l2arc_mfuonly": 1,
    "l2arc_feed_secs": 1, "l2arc_feed_min_ms": 1,
}  # fmt: skip
"""Parameters of the module, and what a knob's value is multiplied by."""


def run(ts: TierStream, sizes: Sizes, mode: str, settings: Settings) -> TargetRun:
    """Serve a trace."""
    pages = int(settings["volblocksize"]) * KIB // PAGE_BYTES
    own = blocks(ts, pages)

    def in_blocks(name: str) -> int:
        return max(1, int(settings[name]) * MIB // PAGE_BYTES // pages)

    feed = Feed(
        budget=in_blocks("l2arc_write_max"),
        boost=in_blocks("l2arc_write_boost"),
        headroom=DOUBLED * int(settings["l2arc_headroom"]),
        every_us=1_000_000 * int(settings["l2arc_feed_secs"]),
        least_us=1_000 * int(settings["l2arc_feed_min_ms"]),
        mfu_only=bool(settings["l2arc_mfuonly"]),
        no_prefetch=bool(settings["l2arc_noprefetch"]),
    )
    ring = 0 if mode == ALONE else max(1, sizes.ssd // pages)
    cache = arc.make(own.count, max(1, sizes.ram // pages))
    asked = ts.pages.request_start, ts.pages.page_ids, ts.trace.op == OP_WRITE, ts.trace.time_us
    return TargetRun.of(*zfs(*asked, own.block, own.address, pages, cache, ring, feed))


def commands(sizes: Sizes, mode: str, settings: Settings, devices: Devices) -> list[str]:
    """How it is set up: a new pool of the disk, with a volume of all that was asked."""
    pool, volume = devices.name, -(-sizes.disk * PAGE_BYTES // MIB)
    found = [
        f"zpool create {pool} {devices.disk}",
        f"zfs create -V {volume}M -o volblocksize={settings['volblocksize']}K {pool}/volume",
        f"echo {LEAST_ARC} > {PLACE}/zfs_arc_min",  # the module refuses a most below its least, a 32nd of all memory
        f"echo {sizes.ram * PAGE_BYTES} > {PLACE}/zfs_arc_max",
    ]
    if mode == ALONE:
        return found
    values = {name: int(settings[name]) * factor for name, factor in PARAMETERS.items()}
    kept = {"zfs_arc_min": LEAST_ARC, "zfs_arc_max": sizes.ram * PAGE_BYTES, **values}
    lasting = " ".join(f"{name}={value}" for name, value in kept.items())
    return [
        *found,
        f"zpool add {pool} cache {devices.ssd}",
        *(f"echo {value} > {PLACE}/{name}" for name, value in values.items()),
        f"echo options zfs {lasting} > /etc/modprobe.d/{pool}.conf",
    ]


ZFS = Target(
    id="zfs",
    title="ZFS with L2ARC",
    runs="OpenZFS 2.3, a pool with a cache device",
    source="OpenZFS 2.3 module/zfs/arc.c; zfs(4), zpool-add(8), zfsprops(7)",
    modes=(
        Mode(L2ARC, "through", "copies to the SSD what ARC is about to evict; writes go to the disk"),
        Mode(ALONE, "none", "ARC alone"),
    ),
    knobs=(
        Knob("volblocksize", (16, 4, 8, 64, 128), "of a volume's block, fixed when it is made", unit="KiB"),
        Knob("l2arc_write_max", (32, 8, 128), "that a feed copies at most", (L2ARC,), "MiB"),
        Knob("l2arc_write_boost", (32, 8, 128), "more until ARC evicts", (L2ARC,), "MiB"),
        Knob("l2arc_headroom", (8, 2, 0), "times that much is looked at in each list; 0: all of it", (L2ARC,)),
        Knob("l2arc_noprefetch", (1, 0), "1: what was prefetched is not copied", (L2ARC,)),
        Knob("l2arc_mfuonly", (0, 1), "1: only what was used twice is copied", (L2ARC,)),
        Knob("l2arc_feed_secs", (1,), "between feeds", (L2ARC,), "s"),
        Knob("l2arc_feed_min_ms", (200, 50, 1000), "until the next if most of what may be copied was", (L2ARC,), "ms"),
    ),
    run=run,
    commands=commands,
    ram=True,
    least_ram_bytes=64 * MIB,
    whole_ssd=True,
)
