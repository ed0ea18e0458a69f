"""Open CAS."""

import numpy as np

from cachezoo.kernels.targets import open_cas as kernel
from cachezoo.questions.targets.blocks import blocks
from cachezoo.questions.targets.target import Devices, Knob, Mode, Settings, Sizes, Target, TargetRun
from cachezoo.questions.tiers.reduced import volume_trace
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.sizes import PAGE_BYTES
from cachezoo.traces.table import OP_WRITE

KIB = 1024
MODES = {
    "wt": kernel.WRITE_THROUGH, "wb": kernel.WRITE_BACK, "wa": kernel.WRITE_AROUND, "wo": kernel.WRITE_ONLY,
    "pt": kernel.PASS_THROUGH,
}  # fmt: skip
CUTOFF = {"full": kernel.FULL, "always": kernel.ALWAYS, "never": kernel.NEVER}
CLEANING = {"alru": kernel.ALRU, "acp": kernel.ACP, "nop": kernel.NOP}
PROMOTE_COUNT, PROMOTE_KIB = 8, 1024
TRIGGER = 80
WAKE_US = {"alru": 20_000_000, "acp": 10_000, "nop": 1}
IDLE_US, STALE_US = 10_000_000, 120_000_000
BUFFERS = 128
BACK = ("wb", "wo")


def lines_of(ts: TierStream, pages: int) -> kernel.Lines:
    """The volume in lines of so many pages."""
    own = blocks(ts, pages)
    number = own.address // kernel.PIECE_PAGES
    first = np.flatnonzero(np.diff(number, prepend=-1, append=number[-1] + 1))
    piece = np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))
    return kernel.Lines(own.block, own.within, own.address, pages, piece, first)


def requests_of(ts: TierStream) -> kernel.Request:
    """The requests of a trace."""
    volume, start = volume_trace(ts), ts.pages.request_start
    return kernel.Request(
        start, ts.pages.page_ids, ts.trace.op == OP_WRITE, ts.trace.time_us, volume.offset, volume.size
    )  # fmt: skip


def knobs_of(mode: str, settings: Settings) -> kernel.Knobs:
    """The kernel's settings."""
    cleaning = str(settings["cleaning"])
    return kernel.Knobs(
        mode=MODES[mode],
        cutoff=CUTOFF[str(settings["seq-cutoff policy"])],
        cutoff_bytes=KIB * int(settings["seq-cutoff threshold"]),
        promote_count=PROMOTE_COUNT,
        promote_bytes=KIB * PROMOTE_KIB,
        nhit=int(settings["promotion"]),
        trigger=TRIGGER,
        cleaning=CLEANING[cleaning],
        wake_us=WAKE_US[cleaning],
        idle_us=IDLE_US,
        stale_us=STALE_US,
        buffers=BUFFERS,
    )


def run(ts: TierStream, sizes: Sizes, mode: str, settings: Settings) -> TargetRun:
    """Serve a trace."""
    pages = int(settings["cache-line-size"]) * KIB // PAGE_BYTES
    lines = lines_of(ts, pages)
    capacity = min(max(1, sizes.ssd // pages), len(lines.address))
    return TargetRun.of(*kernel.open_cas(requests_of(ts), lines, capacity, knobs_of(mode, settings)))


def commands(sizes: Sizes, mode: str, settings: Settings, devices: Devices) -> list[str]:
    """How it is set up.

    Open CAS takes the whole device that it is given.
    """
    line = settings["cache-line-size"]
    found = [
        f"casadm --start-cache --cache-device {devices.ssd} --cache-id 1 --cache-mode {mode} --cache-line-size {line}",
        f"casadm --add-core --cache-id 1 --core-device {devices.disk}",
    ]
    if mode == "pt":
        return found
    nhit = int(settings["promotion"])
    threshold, policy = settings["seq-cutoff threshold"], settings["seq-cutoff policy"]
    found += [
        f"casadm --set-param --name promotion --cache-id 1 --policy {'nhit' if nhit else 'always'}",
        *(
            [f"casadm --set-param --name promotion-nhit --cache-id 1 --threshold {nhit} --trigger {TRIGGER}"]
            * (nhit > 0)
        ),
        f"casadm --set-param --name seq-cutoff --cache-id 1 --threshold {threshold} --policy {policy}",
    ]
    if mode in BACK:
        found.append(f"casadm --set-param --name cleaning --cache-id 1 --policy {settings['cleaning']}")
    return found


CACHING = ("wt", "wb", "wa", "wo")
OPEN_CAS = Target(
    id="open-cas",
    title="Open CAS",
    runs="Open CAS Linux (cas_cache, casadm)",
    source="Open-CAS/ocf src/engine, src/ocf_lru.c, src/ocf_seq_cutoff.c, src/promotion/nhit, src/cleaning; casadm(8)",
    modes=(
        Mode("wt", "through", "writes to SSD and disk"),
        Mode("wb", "back", "writes to the SSD, and to the disk later"),
        Mode("wa", "around", "writes past the SSD, unless all is there"),
        Mode("wo", "back", "caches writes alone, and writes them to the disk later"),
        Mode("pt", "none", "passes the SSD by"),
    ),
    knobs=(
        Knob("cache-line-size", (4, 8, 16, 32, 64), "cached at once", CACHING, "KiB"),
        Knob("promotion", (0, 2, 3, 5, 10), "requests until a line enters (nhit); 0 at once (always)", CACHING),
        Knob("seq-cutoff policy", ("full", "always", "never"), "when streams pass the cache", CACHING),
        Knob("seq-cutoff threshold", (1024, 64, 256, 4096), "after which a stream passes the cache", CACHING, "KiB"),
        Knob("cleaning", ("alru", "acp", "nop"), "who writes dirty lines to the disk, and when", BACK),
    ),
    run=run,
    commands=commands,
    whole_ssd=True,
)
