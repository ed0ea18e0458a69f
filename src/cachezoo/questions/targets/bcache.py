"""bcache."""

import numpy as np

from cachezoo.arrays import Bool
from cachezoo.kernels.targets import bcache as kernel
from cachezoo.questions.targets.background import ACCESS_US, PAGE_US
from cachezoo.questions.targets.target import Devices, Knob, Mode, Settings, Sizes, Target, TargetRun
from cachezoo.questions.tiers.reduced import volume_trace
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.seeds import derive_seed
from cachezoo.sizes import PAGE_BYTES
from cachezoo.traces.table import OP_WRITE

KIB, MIB = 1024, 1024 * 1024
LEAST_BUCKETS = 1024  # the kernel takes no cache of 512 or fewer
MODES = {"writethrough": kernel.THROUGH, "writeback": kernel.BACK, "writearound": kernel.AROUND}
REPLACEMENTS = {"lru": kernel.LRU, "fifo": kernel.FIFO, "random": kernel.RANDOM}
SECOND_US = 1_000_000
SEED = derive_seed(0, "bcache", "random")


def bucket_pages(sizes: Sizes, settings: Settings) -> int:
    """Pages of a bucket: as set, or as many fewer, by halves, as give the SSD 1,024 of them."""
    pages = int(settings["bucket"]) * KIB // PAGE_BYTES
    while pages > 1 and sizes.ssd // pages < LEAST_BUCKETS:
        pages //= 2
    return pages


def _flagged(ts: TierStream, letter: str) -> Bool:
    """bool[n]: requests with a letter in their flags, as block traces write them; none where there are no flags."""
    flags = ts.trace.flags
    if flags is None:
        return np.zeros(len(ts.trace), np.bool_)
    has = np.array([letter in str(name) for name in flags.names], np.bool_)
    return np.asarray(np.append(has, False)[flags.codes])


def requests_of(ts: TierStream, ahead: bool) -> kernel.Request:
    """The requests of a trace; `ahead`: read-ahead is cached, too.

    Writes are synchronous where their flags say so.
    """
    volume, start, user = volume_trace(ts), ts.pages.request_start, ts.trace.user
    around = np.zeros(len(ts.trace), np.bool_) if ahead else _flagged(ts, "A") & ~_flagged(ts, "M")
    task = np.full(len(ts.trace), kernel.ABSENT, np.int32) if user is None else user.codes.astype(np.int32)
    return kernel.Request(
        ts.order.rank[ts.pages.page_ids[start[:-1]]], np.diff(start).astype(np.int32),
        np.asarray(ts.trace.op == OP_WRITE), ts.trace.time_us, volume.offset, volume.offset + volume.size,
        _flagged(ts, "S"), around, task,
    )  # fmt: skip


def run(ts: TierStream, sizes: Sizes, mode: str, settings: Settings) -> TargetRun:
    """Serve a trace."""
    pages = bucket_pages(sizes, settings)
    setup = kernel.Setup(
        buckets=max(1, sizes.ssd // pages),
        pages=pages,
        mode=MODES[mode],
        replacement=REPLACEMENTS[str(settings["cache_replacement_policy"])],
        cutoff=int(settings["sequential_cutoff"]) * KIB,
        percent=int(settings["writeback_percent"]),
        rest_us=int(settings["writeback_delay"]) * SECOND_US,
        copy_us=(ACCESS_US, PAGE_US),
        seed=SEED,
    )
    asked = requests_of(ts, settings["readahead_cache_policy"] == "all")
    return TargetRun.of(*kernel.bcache(asked, ts.address[ts.order.page], setup))


def partition(device: str) -> str:
    """The first partition of a whole drive, as udev and the kernel name it."""
    if device.startswith("/dev/disk/"):
        return f"{device}-part1"
    return f"{device}p1" if device[-1].isdigit() else f"{device}1"


def commands(sizes: Sizes, mode: str, settings: Settings, devices: Devices) -> list[str]:
    """How it is set up: a whole SSD gets a partition of the size advised, and both devices are formatted.

    The buckets are of 512-byte sectors; congestion is off, as the model has none.
    """
    if mode == "none":
        return [f"make-bcache --bdev {devices.disk}", "echo none > /sys/block/bcache0/bcache/cache_mode"]
    bucket = bucket_pages(sizes, settings) * PAGE_BYTES // KIB
    end = 1 - (-sizes.ssd * PAGE_BYTES // MIB)
    policy, part, split = settings["cache_replacement_policy"], devices.ssd, list[str]()
    if devices.ssd_is_whole:
        part = partition(devices.ssd)
        split = [
            f"# The next line removes all partitions of {devices.ssd}. To keep them, name one of them as --ssd.",
            f"parted --script {devices.ssd} mklabel gpt mkpart {devices.name} 1MiB {end}MiB",
        ]
    own, cache = "/sys/block/bcache0/bcache", "/sys/block/bcache0/bcache/cache"
    written = [
        (f"{own}/cache_mode", mode),
        (f"{own}/sequential_cutoff", f"{settings['sequential_cutoff']}k"),
        (f"{own}/readahead_cache_policy", settings["readahead_cache_policy"]),
        (f"{cache}/congested_read_threshold_us", 0),
        (f"{cache}/congested_write_threshold_us", 0),
        (f"{cache}/cache0/cache_replacement_policy", policy),
    ]
    if mode == "writeback":
        written += [(f"{own}/{name}", settings[name]) for name in ("writeback_percent", "writeback_delay")]
    return [
        *split,
        f"make-bcache --bucket {bucket}k --block 512 --cache {part} --bdev {devices.disk}",
        *(f"echo {value} > {place}" for place, value in written),
    ]


CACHING = ("writethrough", "writeback", "writearound")
BCACHE = Target(
    id="bcache",
    title="bcache",
    runs="Linux's bcache (bcache-tools)",
    source="Linux drivers/md/bcache/request.c, alloc.c, btree.c, writeback.c; Documentation/admin-guide/bcache.rst",
    modes=(
        Mode("writethrough", "through", "writes to SSD and disk"),
        Mode("writeback", "back", "writes to the SSD, and to the disk later"),
        Mode("writearound", "around", "writes past the SSD"),
        Mode("none", "none", "passes the SSD by"),
    ),
    knobs=(
        Knob("sequential_cutoff", (4096, 0, 256, 1024), "after which a stream bypasses; 0: none", CACHING, "KiB"),
        Knob("cache_replacement_policy", ("lru", "fifo", "random"), "which bucket is given up", CACHING),
        Knob("bucket", (512, 64, 2048), "given up at once", CACHING, "KiB"),
        Knob("readahead_cache_policy", ("all", "meta-only"), "whether read-ahead is cached, too", CACHING),
        Knob("writeback_percent", (10, 0, 20, 40), "of the cache, dirty pages that stay; 0: all leave at once",
             ("writeback",), "%"),
        Knob("writeback_delay", (30, 5, 300), "between two sweeps over the dirty pages", ("writeback",), "s"),
    ),
    run=run,
    commands=commands,
    splits_ssd=True,
)  # fmt: skip
