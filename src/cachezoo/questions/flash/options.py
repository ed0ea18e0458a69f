"""Options of `cachezoo recommend --only flash`: how large the cache is, how fast it may write, and which policies run.

A write rate is typed as `10MB/s`, `10MiB/s`, `500GiB/day`, or `25%` of what AcceptAll writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cachezoo.contest.counting import SECOND_HALF, Count
from cachezoo.errors import ConfigError
from cachezoo.flash_cache.cost import MOST_BUSY
from cachezoo.flash_cache.policies import ACCEPT_ALL, ADMISSIONS, BLOOM_REJECTX, BUDGETED, WITH_EVICTIONS
from cachezoo.flash_cache.problem import DISKS, FlashProblem, Whole, flash_problem_at
from cachezoo.kernels.flash import DiskHead
from cachezoo.kernels.segments import Geometry
from cachezoo.settings.flash import DiskName
from cachezoo.settings.prices import BUILT_IN, Prices
from cachezoo.sizes import PAGE_BYTES, Size, human
from cachezoo.traces.table import OP_READ, Trace

if TYPE_CHECKING:
    from cachezoo.traces.reading import Chunk

OPT, BALEEN = "opt", "baleen"
POLICIES = (ACCEPT_ALL, *BUDGETED, BALEEN, OPT)
"""Those that run unless others are named."""
MORE = (BLOOM_REJECTX, *WITH_EVICTIONS)
RIVALS = (*ADMISSIONS, *WITH_EVICTIONS)
"""Those that a controller keeps within each rate, unless others are named; the best has a row."""
BLOCKS = Geometry(262_144, 4_096)
OBJECTS = Geometry(8_388_608, 131_072)  # Tectonic's
DISK = DiskHead(seek_ms=11.5, rate_mib_s=143.0)  # of Baleen's post, as `policy.flash`
MODELLED, CONSTANTS = DISKS  # names of `--disk`
TOLERANCE = 0.025


@dataclass(frozen=True)
class WriteRate:
    """A write rate as typed."""

    text: str  # with its unit
    bytes_s: float | None  # by the trace's clock; None where it is a share
    share: float  # of what AcceptAll writes without prefetch; 0 where it is a rate

    def segments(self, accept_all: int, seconds: float, segment_bytes: int) -> float:
        """Segments that a whole trace may write at this rate.

        Args:
            accept_all: segments that AcceptAll writes without prefetch.
            seconds: the trace's span; 0 where it has no clock.
            segment_bytes: bytes of a segment.

        Raises:
            ConfigError: less than one segment, or the trace has no clock to spread a rate over.
        """
        if self.bytes_s is None:
            return max(1.0, self.share * accept_all)
        if seconds <= 0:
            message = f"--write-rate {self.text}: the trace has no clock, so there is no rate; give a share as 25%"
            raise ConfigError(message)
        found = self.bytes_s * seconds / segment_bytes
        if found < 1:
            short = f"in the trace's {seconds:,.3g} s that is less than one segment of {human(segment_bytes)}"
            raise ConfigError(f"--write-rate {self.text}: {short}; give a higher rate, or a share as 25%")
        return found


@dataclass(frozen=True)
class FlashOptions:
    """What runs on a trace."""

    sizes: Sequence[Size]  # of the cache; every policy runs at each
    rates: Sequence[WriteRate]  # each to be met by every policy that has a knob
    policies: Sequence[str]  # of `POLICIES` and `MORE`; each is set to each rate in hindsight
    rivals: Sequence[str] = ()  # of `RIVALS`, tried under a controller
    # Modes to run in; None: without, and in those that the bundles name.
    prefetch: Sequence[str] | None = None
    cost: DiskHead = DISK  # the two constants
    disk: DiskName = MODELLED  # what disk-head time comes from, of `DISKS`
    count: Count = SECOND_HALF  # from where on requests count; for `auto` AcceptAll fills the cache
    rated_dwpd: float = 1.0  # drive writes a day that the SSD is rated for over five years
    prices: Prices = BUILT_IN  # of disks and flash
    most_busy: float = MOST_BUSY  # share of a disk's time that may be taken in the busiest window


def geometry_by_reads(trace: "Trace | Chunk") -> Geometry:
    """Segments and blocks of a trace: those of large objects where the median read is at least a segment of them."""
    reads = trace.size[trace.op == OP_READ]
    return OBJECTS if len(reads) and np.median(reads) >= OBJECTS.segment_bytes else BLOCKS


def disk_given(disk: str | None, seek_ms: float | None, disk_mib_s: float | None) -> tuple[DiskHead, DiskName]:
    """What an I/O costs a disk, as typed: the constants, and which of `DISKS` counts. None: not given.

    Raises:
        ConfigError: an unknown disk, or constants for the model of one.
    """
    of_constants = seek_ms is not None or disk_mib_s is not None
    found = next((name for name in DISKS if name == disk), None)
    if disk is None:
        found = CONSTANTS if of_constants else MODELLED
    if found is None:
        raise ConfigError(f"--disk {str(disk)[:60]}: use {' or '.join(DISKS)}")
    if of_constants and found != CONSTANTS:
        raise ConfigError(f"--seek-ms, --disk-mib-s: they are of --disk {CONSTANTS}; leave --disk {found} out")
    return DiskHead(DISK.seek_ms if seek_ms is None else seek_ms, disk_mib_s or DISK.rate_mib_s), found


def flash_problem_of(
    trace: Trace, geometry: Geometry, size: Size, options: FlashOptions, whole: Whole | None = None
) -> FlashProblem:
    """The cache of a size; its budget is set for each rate.

    Args:
        trace: the requests.
        geometry: segments and blocks.
        size: of the cache, of the whole trace's where the requests are a sample.
        options: what it costs, and what counts.
        whole: what they are a sample of.

    Raises:
        ConfigError, TraceError: as `flash_problem_at` and `capacity_segments`.
    """

    def capacity(segments: int) -> int:
        found = capacity_segments(size, segments, geometry)
        return found if whole is None or size.unit == "%" else max(1, round(found / whole.segments))

    problem = flash_problem_at(
        trace, geometry, capacity, options.cost, tolerance=TOLERANCE, disk=DISKS[options.disk], count=options.count
    )
    if whole is None:
        return problem
    begun = np.flatnonzero(whole.begins)
    filled = int(np.searchsorted(begun, problem.accept_all.filled_at))
    first = begun[options.count.place(len(begun), filled, trace.time_us[begun])]
    time = trace.time_us if whole.clock else np.arange(len(trace))
    return replace(problem, whole=whole, first=int(first), time=time, clock=whole.clock)


def capacity_segments(size: Size, n_segments: int, geometry: Geometry) -> int:
    """Segments of a cache: a percentage is of the trace's distinct segments, and of bytes those that fit.

    Raises:
        ConfigError: less than one segment.
    """
    if size.unit == "%":
        return size.pages(n_segments)
    found = size.pages(0) * PAGE_BYTES // geometry.segment_bytes
    if found < 1:
        raise ConfigError(f"--size {size}: less than one segment of {human(geometry.segment_bytes)}; give more")
    return found
