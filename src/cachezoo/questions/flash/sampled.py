"""A flash cache judged by a sample of a trace: drawing it, scaling its figures to the whole trace, and their errors.

Whole blocks are drawn, with all that is done to them, and the cache holds as much less. What the disks do is scaled by
the segments that are read, or written by requests, whose numbers in the whole trace are known. A request that reaches
into blocks that are not drawn is cut there, and the disk seeks for its first part alone.

Source: SHARDS, Waldspurger et al., FAST '15.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from cachezoo.contest.sampled import half_widths
from cachezoo.errors import ConfigError
from cachezoo.flash_cache.problem import Whole
from cachezoo.kernels.flash import AS_LEFT, ONWARDS
from cachezoo.kernels.segments import Geometry
from cachezoo.metrics.flash import RateRow
from cachezoo.questions.flash.bench import FlashOutcome
from cachezoo.questions.flash.options import geometry_by_reads
from cachezoo.traces.memory import ACCESS_BYTES, hold, long_from
from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.pages import accesses_of
from cachezoo.traces.read import TraceFiles, read_either, read_sampled, replayed
from cachezoo.traces.reading import Chunk
from cachezoo.traces.sampling import GOES_ON, Part, Plan, SampledTrace, plan_of, sampled
from cachezoo.traces.table import OP_READ, Trace

FIGURES = (
    *("disks_busy", "disks_busy_peak", "disk_ms_per_read", "io_hit_ratio", "written_bytes_s", "written_share"),
    "usd_a_year",
)
"""Of a row, those whose error is estimated."""
REQUEST_BYTES = 365
"""Of memory, that each request takes where policies run on all of them: what a peak grows by with their number."""


def plan_by_reads(part: float | Literal["auto"], geometry: Geometry | None) -> Callable[[Chunk | Trace], Plan]:
    """How a trace is sampled, by its first requests: its pages are segments, and what is drawn are blocks.

    Args:
        part: how much of it.
        geometry: segments and blocks; None: those of `geometry_by_reads`.
    """

    def plan(first: Chunk | Trace) -> Plan:
        own = geometry or geometry_by_reads(first)
        return plan_of(part, own.segment_bytes, block_bytes=own.block_bytes)

    return plan


def read_requests(
    source: TraceFiles | Trace | ObjectTrace, part: Part, geometry: Geometry | None
) -> Trace | ObjectTrace | SampledTrace:
    """A trace in memory, whole or a sample of it.

    Args:
        source: files, or a trace in memory, which is sampled at a rate alone.
        part: how much of it; one of objects is always taken whole.
        geometry: as of `plan_by_reads`.

    Raises:
        TraceError: as of `read_sampled`, or there is too little memory.
    """
    plan = None if part == "exact" else plan_by_reads(part, geometry)
    own: Trace | ObjectTrace | SampledTrace
    if isinstance(source, TraceFiles):
        if plan is None:
            own = read_either(source, pages=False, replay=True)
        else:
            above = long_from() - 1 if isinstance(part, str) else 0
            own = read_sampled(source, plan, above, replay=True)
    elif isinstance(source, ObjectTrace):
        return source
    else:
        own = replayed(source)
        own = own if plan is None or isinstance(part, str) else sampled(own, plan(own))
    if isinstance(own, Trace):
        unit = geometry or geometry_by_reads(own)
        accesses = int(accesses_of(own, unit.segment_bytes).sum())
        hold(accesses, len(own) * REQUEST_BYTES + accesses * ACCESS_BYTES, own.meta.trace_id)
    return own


def geometry_of_sample(sample: SampledTrace) -> Geometry:
    """The segments and blocks that it was drawn by."""
    return Geometry(sample.plan.block_bytes, sample.plan.page_bytes)


def whole_of(sample: SampledTrace) -> Whole:
    """The trace that it is a sample of.

    Raises:
        ConfigError: it has no reads.
    """
    trace = sample.trace
    touched, read = accesses_of(trace, sample.plan.page_bytes), trace.op == OP_READ
    begins = sample.after != GOES_ON
    if not (read & begins).any():
        raise ConfigError(
            f"{trace.meta.trace_id}: a sample at rate {sample.rate:g} has no read; use a higher one, or exact"
        )
    of_whole, reads_of_whole = (int(own) for own in sample.marks[:, -1])
    reads, writes = int(touched[read].sum()), int(touched[~read].sum())
    follows = np.append(False, sample.before[1:] == (sample.before + touched)[:-1])
    return Whole(
        accesses=of_whole / (reads + writes),
        reads=reads_of_whole / reads,
        writes=(of_whole - reads_of_whole) / max(1, writes),
        segments=sample.n_pages / sample.pages.n_pages,
        begins=begins,
        heads=np.where(~begins, ONWARDS, np.where(follows, AS_LEFT, sample.after)),
        ends_us=sample.ends_us,
        clock=sample.ticks,
    )


def with_errors(
    row: RateRow, found: FlashOutcome, groups: Sequence[tuple[RateRow, FlashOutcome]]
) -> tuple[RateRow, FlashOutcome]:
    """A run of a sample with its errors, by the same of the sample's groups."""
    names = [name for name in FIGURES if getattr(row, name) is not None]

    def figures(own: RateRow) -> list[float]:
        return [getattr(own, name) for name in names]

    widths = half_widths(np.array(figures(row)), np.array([figures(own) for own, _ in groups]))
    means = np.array([own.mean for _, own in groups])
    errors = dict(zip(names, widths.tolist(), strict=True))
    return row.model_copy(update={"errors_90": errors}), replace(found, groups=means)
