"""Options of `cachezoo flash`: how large the cache is, how fast it may write, and which policies run.

A write rate is typed as `10MB/s`, `10MiB/s`, `500GiB/day`, or `25%` of what AcceptAll writes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.contest.counting import SECOND_HALF, Count
from cachezoo.errors import ConfigError
from cachezoo.flash.policies import ACCEPT_ALL, BUDGETED
from cachezoo.flash.problem import FlashProblem, flash_problem_at
from cachezoo.kernels.flash import DiskHead
from cachezoo.kernels.segments import Geometry
from cachezoo.sizes import BYTES, PAGE_BYTES, Size, human
from cachezoo.traces.table import OP_READ, Trace

OPT, BALEEN = "opt", "baleen"
POLICIES = (ACCEPT_ALL, *BUDGETED, BALEEN, OPT)
BLOCKS = Geometry(262_144, 4_096)
OBJECTS = Geometry(8_388_608, 131_072)  # Tectonic's
DISK = DiskHead(seek_ms=11.5, rate_mib_s=143.0)  # of Baleen's post, as `policy.flash`
TOLERANCE = 0.025
SECONDS = {"s": 1, "min": 60, "h": 3600, "day": 86_400}
NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(.*)")
UNITS = {unit.lower(): value for unit, value in BYTES.items()}
LONGEST = 24  # characters: a longer text is no rate, and is cut in messages
HOW = "write a rate as 10MB/s, 500GiB/day or 25% (of what accept_all writes)"


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


def parse_rates(text: str) -> list[WriteRate]:
    """Rates from ``10,20,30MB/s``: each number takes the unit that stands next behind it.

    Args:
        text: as typed, with commas between rates.

    Returns:
        Each rate once, in the order given.

    Raises:
        ConfigError: no rate, a number without a unit, a rate of 0, or more than 100 %.
    """
    parts = [part.strip() for part in text.split(",")]
    unit, found = "", list[WriteRate]()
    for part in reversed(parts):
        match = NUMBER.fullmatch(part) if len(part) <= LONGEST else None
        if match is None:
            raise _refused(part, HOW)
        unit = match[2].strip() or unit
        if not unit:
            raise _refused(part, f"a number without a unit; {HOW}")
        found.append(_rate(match[1], unit))
    return list(dict.fromkeys(reversed(found)))


def _rate(number: str, unit: str) -> WriteRate:
    value, text = float(number), f"{number}{unit}"
    if value <= 0:
        raise _refused(text, "it must be above 0")
    if unit == "%":
        if value > 100:
            raise _refused(text, "at most 100 % of what accept_all writes; accept_all itself is a policy")
        return WriteRate(text, None, value / 100)
    size, _, time = unit.partition("/")
    size_bytes, seconds = UNITS.get(size.strip().lower()), SECONDS.get(time.strip().lower())
    if size_bytes is None or seconds is None:
        fix = f"unknown unit {unit!r}; a size ({', '.join(BYTES)}) over a time ({', '.join(SECONDS)}), or %"
        raise _refused(text, fix)
    return WriteRate(text, value * size_bytes / seconds, 0.0)


def _refused(text: str, fix: str) -> ConfigError:
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return ConfigError(f"--write-rate {shown!r}: {fix}")


@dataclass(frozen=True)
class FlashOptions:
    """What runs on a trace."""

    capacity: Size
    rates: Sequence[WriteRate]  # each to be met by every policy that has a knob
    policies: Sequence[str]  # of `POLICIES`
    # Modes to run in; None: without, in the plain ones that the bundles name, and bundles in the learned one of their
    # prefetch bundle.
    prefetch: Sequence[str] | None = None
    cost: DiskHead = DISK
    count: Count = SECOND_HALF  # from where on requests count; for `auto` AcceptAll fills the cache
    rated_dwpd: float = 1.0  # drive writes a day that the SSD is rated for over five years


def geometry_by_reads(trace: Trace) -> Geometry:
    """Segments and blocks of a trace: those of large objects where the median read is at least a segment of them."""
    reads = trace.size[trace.op == OP_READ]
    return OBJECTS if len(reads) and np.median(reads) >= OBJECTS.segment_bytes else BLOCKS


def flash_problem_of(trace: Trace, geometry: Geometry, options: FlashOptions) -> FlashProblem:
    """The cache; its budget is set for each rate. Errors as `flash_problem_at` and `capacity_segments`."""
    return flash_problem_at(
        trace,
        geometry,
        lambda segments: capacity_segments(options.capacity, segments, geometry),
        options.cost,
        tolerance=TOLERANCE,
        count=options.count,
    )


def capacity_segments(size: Size, n_segments: int, geometry: Geometry) -> int:
    """Segments of a cache: a percentage is of the trace's distinct segments, and of bytes those that fit.

    Raises:
        ConfigError: less than one segment.
    """
    if size.unit == "%":
        return size.pages(n_segments)
    found = size.pages(0) * PAGE_BYTES // geometry.segment_bytes
    if found < 1:
        raise ConfigError(f"--capacity {size}: less than one segment of {human(geometry.segment_bytes)}; give more")
    return found
