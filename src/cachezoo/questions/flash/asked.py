"""What is asked of the flash cache of one trace: how large it is, how fast it may write, and who decides."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.contest.counting import SECOND_HALF, Count
from cachezoo.errors import ConfigError, TraceError
from cachezoo.flash.policies import ACCEPT_ALL, BUDGETED
from cachezoo.flash.problem import FlashProblem
from cachezoo.kernels.flash import DiskHead, simulate_flash
from cachezoo.kernels.segments import Geometry, expand_segments
from cachezoo.questions.flash.rate import WriteRate
from cachezoo.sizes import PAGE_BYTES, Size, human
from cachezoo.traces.table import OP_READ, Trace

OPT, BALEEN = "opt", "baleen"
WITHOUT_MODEL = (ACCEPT_ALL, *BUDGETED)
POLICIES = (*WITHOUT_MODEL, BALEEN, OPT)
BLOCKS = Geometry(262_144, 4_096)
OBJECTS = Geometry(8_388_608, 131_072)  # Tectonic's
DISK = DiskHead(seek_ms=11.5, rate_mib_s=143.0)  # of Baleen's post, as `policy.flash`
TOLERANCE = 0.025


@dataclass(frozen=True)
class FlashAsked:
    """What is asked of a trace.

    Attributes:
        capacity: of the cache.
        rates: write rates, each to be met by every policy that has a knob.
        policies: of `POLICIES`.
        prefetch: modes to run in; None: without, in the plain ones that the bundles name, and bundles in the learned
            one of their prefetch bundle.
        geometry: None takes the bundles', or by the trace's reads `BLOCKS` or `OBJECTS`.
        cost: of a disk's I/O.
        count: from where on the trace's requests count; for `auto` AcceptAll fills the cache.
        rated_dwpd: drive writes a day that the SSD is rated for over five years.
    """

    capacity: Size
    rates: Sequence[WriteRate]
    policies: Sequence[str]
    prefetch: Sequence[str] | None = None
    geometry: Geometry | None = None
    cost: DiskHead = DISK
    count: Count = SECOND_HALF
    rated_dwpd: float = 1.0


def geometry_by_reads(trace: Trace) -> Geometry:
    """Segments and blocks of a trace: those of large objects where the median read is at least a segment of them."""
    reads = trace.size[trace.op == OP_READ]
    return OBJECTS if len(reads) and np.median(reads) >= OBJECTS.segment_bytes else BLOCKS


def flash_problem_of(trace: Trace, geometry: Geometry, asked: FlashAsked) -> FlashProblem:
    """The cache that is asked for; its budget is set for each rate.

    Raises:
        TraceError: the trace has no reads.
        ConfigError: the cache is smaller than a segment, or nothing would be left to count.
    """
    read = trace.op == OP_READ
    if not read.any():
        message = f"{trace.meta.trace_id}: the trace has no reads, and a flash cache is filled by reads; give another"
        raise TraceError(message)
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, geometry)
    capacity = capacity_segments(asked.capacity, accesses.n_segments, geometry)
    accept_all = simulate_flash(accesses, read, np.ones(len(read), np.bool_), capacity)
    cost, budget = asked.cost, float(accept_all.segment_writes)
    first = asked.count.place(len(trace), accept_all.filled_at, trace.time_us)
    return FlashProblem(accesses, read, capacity, geometry, cost, True, accept_all, budget, TOLERANCE, first)


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
