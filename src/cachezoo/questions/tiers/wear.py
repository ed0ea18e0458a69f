"""What a hierarchy does to its SSD: write amplification, erases, and how long the SSD lasts.

The pages that are written to the SSD go through the drive of `cachezoo.flash_drive`: each to its slot, in place, as a
page cache's do. What leaves the SSD is not trimmed: its slot is garbage only when it is written again.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cachezoo.contest.blocks import BLOCKS
from cachezoo.flash_cache.load import DAY_S
from cachezoo.flash_drive.run import wear
from cachezoo.flash_drive.writes import DriveWrites
from cachezoo.questions.tiers.reduced import Reduced
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.settings.wear import Drive
from cachezoo.traces.clock import has_clock, time_scale
from cachezoo.traces.table import PAGE_BYTES

BLOCK_SIZES = (64, 32, 16, 8)
GC_FREE_BLOCKS = 1
RESERVED = GC_FREE_BLOCKS + 1  # blocks: those kept free, and the one that is open
MOST_RESERVED = 0.05
"""Of the spare room: a traced SSD of some MiB stands for a drive of many GiB, where so few blocks are nothing."""
DAYS_A_YEAR = 365.25


@dataclass(frozen=True)
class SsdWear:
    """The SSD over the part of the trace that counts."""

    written: int  # pages written to it
    waf: float  # write amplification: flash pages written for each; 1 where nothing is written
    simulated: bool  # if not, `waf` is that of writes to places drawn evenly, which is more than a cache's
    erases: int  # erase blocks erased; 0 where it was not simulated
    pages_per_block: int  # flash pages of an erase block of the simulated drive; 0 where it was not
    drive_writes: float  # times that it can be written whole until it is worn out
    days: float | None  # that the writes took when they were recorded; None where the trace has no clock
    years: float | None  # until it is worn out at that rate; infinite where nothing is written, None where unknown

    def values(self) -> dict[str, Any]:
        """All of it, for JSON, in which an infinite lifetime is None as well."""
        endless = self.years is not None and math.isinf(self.years)
        return {**asdict(self), "years": None if endless else self.years}


def random_waf(over_provisioning: float) -> float:
    """Write amplification of writes to places drawn evenly, where the block that was written first is erased first.

    Source: Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012, Sec. 3 (LRU cleaning).

    Args:
        over_provisioning: part of the flash that no address has.
    """
    from scipy.special import lambertw

    spread = 1 / (1 - over_provisioning)
    return float(spread / (spread + lambertw(-spread * math.exp(-spread)).real))


def drive_of(ssd_pages: int, cycles: int) -> Drive | None:
    """The drive that an SSD of so many pages is simulated as; None where it is too small for one.

    Its erase blocks have 64 pages, or fewer where so few would be spare that the two which are always kept (one free,
    one open) were more than a twentieth of them.
    """
    for pages_per_block in BLOCK_SIZES:
        drive = Drive(
            page_bytes=PAGE_BYTES,
            pages_per_block=pages_per_block,
            gc_free_blocks=GC_FREE_BLOCKS,
            capacity_bytes=ssd_pages * PAGE_BYTES,
            cycles=cycles,
        )
        data_pages = pages_per_block - drive.metadata_pages
        spare = ssd_pages / (1 - drive.over_provisioning) - ssd_pages
        if RESERVED * data_pages <= MOST_RESERVED * spare:
            return drive
    return None


def ssd_wear(
    ts: TierStream, reduced: Reduced, ssd_pages: int, cycles: int = 3000, *, simulate: bool = True
) -> SsdWear:  # fmt: skip
    """Wear the SSD of a run.

    Args:
        ts: what the hierarchy was run on.
        reduced: the run's I/Os; what was written before they begin fills the drive and does not count.
        ssd_pages: of the SSD.
        cycles: erases that a block endures.
        simulate: simulate the drive; else only its bound, which takes no time.

    Raises:
        TraceError: the trace's time scale is no positive number.
    """
    first = int(ts.pages.request_start[reduced.first_request])
    since = int(np.searchsorted(reduced.slot_at, first))
    written = len(reduced.slots) - since
    days = days_from(ts, reduced.first_request)
    drive = drive_of(ssd_pages, cycles) if simulate and written else None
    share = (drive or Drive()).over_provisioning
    waf, erases, per_block = random_waf(share) if written else 1.0, 0, 0
    drive_writes = cycles / ((1 - share) * waf)
    if drive is not None:
        found = wear(_writes(ts, reduced, since), None, drive, blocks=min(BLOCKS, written))
        waf, erases, per_block = found.waf, int(found.erased.sum()), drive.pages_per_block
        drive_writes = found.drive_writes
    if not written:
        years: float | None = math.inf
    elif days is None:
        years = None
    else:
        years = drive_writes * ssd_pages / written * days / DAYS_A_YEAR
    return SsdWear(written, waf, drive is not None, erases, per_block, drive_writes, days, years)


def days_from(ts: TierStream, first_request: int) -> float | None:
    """Days that the requests from one on lasted; None without a clock, or where they all bear one time."""
    time = ts.trace.time_us
    seconds = float(time[-1] - time[first_request]) / 1e6
    return seconds * time_scale(ts.trace) / DAY_S if seconds > 0 and has_clock(ts.trace) else None


def _writes(ts: TierStream, reduced: Reduced, since: int) -> DriveWrites:
    """What the SSD is written, as two cycles: what came before the part that counts, and that part."""
    return DriveWrites(
        pages=reduced.slots,
        address=np.arange(int(reduced.slots.max()) + 1, dtype=np.int64) * PAGE_BYTES,
        time_us=ts.time_us[reduced.slot_at],
        request=ts.request_of[reduced.slot_at].astype(np.int64),
        starts=np.array([0, since, len(reduced.slots)], np.int64),
        page_bytes=PAGE_BYTES,
    )
