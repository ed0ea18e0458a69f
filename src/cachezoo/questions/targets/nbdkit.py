"""The nbdkit filter of this project."""

import numpy as np

from cachezoo.kernels.targets.nbdkit import ACCEPT_ALL, nbdkit
from cachezoo.questions.targets.blocks import blocks
from cachezoo.questions.targets.target import Devices, Knob, Mode, Settings, Sizes, Target, TargetRun
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.sizes import PAGE_BYTES
from cachezoo.traces.table import OP_WRITE

KIB = 1024


def block_kib(settings: Settings) -> int:
    """KiB of a block, of which a read makes all the newest: the filter's, or one segment where that is larger."""
    return max(256, int(settings["cz-unit"]))


def run(ts: TierStream, sizes: Sizes, mode: str, settings: Settings) -> TargetRun:
    """Serve a trace."""
    pages = int(settings["cz-unit"]) * KIB // PAGE_BYTES
    own = blocks(ts, pages)
    capacity = min(max(1, sizes.ssd // pages), own.count)
    window = int(settings["cz-window"]) if mode == "rejectx" else ACCEPT_ALL
    start, write = ts.pages.request_start, np.asarray(ts.trace.op == OP_WRITE)
    _, block = np.unique(own.address // (block_kib(settings) * KIB // PAGE_BYTES), return_inverse=True)
    asked = start, ts.pages.page_ids, write, own.block, own.within, own.address, pages
    return TargetRun.of(*nbdkit(*asked, block.astype(np.int32), capacity, window))


def commands(sizes: Sizes, mode: str, settings: Settings, devices: Devices) -> list[str]:
    """How it is started."""
    unit = int(settings["cz-unit"])
    window = [f"cz-window={settings['cz-window']}"] if mode == "rejectx" else []
    block = [f"cz-block={block_kib(settings)}K"]
    return [
        "make -C runtimes/c filter",
        f"nbdkit -U /run/{devices.name}.sock --filter=runtimes/c/build/nbdkit-cachezoo-filter.so file {devices.disk} "
        + " ".join([f"cz-ssd={devices.ssd}", f"cz-size={sizes.ssd * PAGE_BYTES // KIB}K", f"cz-mode={mode}", *window,
                    f"cz-unit={unit}K", *block]),
        f"nbd-client -unix /run/{devices.name}.sock /dev/nbd0",
    ]  # fmt: skip


NBDKIT = Target(
    id="nbdkit",
    title="the nbdkit filter",
    runs="nbdkit with this project's filter, a read cache",
    source="runtimes/c/nbdkit, docs/mounted.md",
    modes=(
        Mode("lru", "around", "admits what misses; writes past the SSD"),
        Mode("rejectx", "around", "admits what misses twice; writes past the SSD"),
    ),
    knobs=(
        Knob("cz-unit", (4, 16, 64, 128), "of a segment", unit="KiB"),
        Knob("cz-window", (100_000, 1_000, 10_000, 1_000_000), "within which a second miss is admitted", ("rejectx",),
             "requests"),
    ),
    run=run,
    commands=commands,
)  # fmt: skip
