"""What a cache's admission writes, as the input of a drive: SSD writes of a policy become erases.

A page cache keeps each page in a slot of its SSD: a page that enters takes the slot of the page that it evicts, and a
write that hits is written in place. Baleen's flash cache keeps segments so. What is overwritten dies; nothing is
trimmed.
"""

from dataclasses import dataclass, replace

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.console import Advance
from cachezoo.contest.blocks import BLOCKS
from cachezoo.errors import ConfigError, TraceError
from cachezoo.flash_cache.problem import FlashProblem
from cachezoo.flash_drive.writes import DriveWrites
from cachezoo.kernels.flash import FlashRun
from cachezoo.kernels.outcome import HIT, PREFETCH, REQUEST
from cachezoo.kernels.slots import slots_written, write_slots
from cachezoo.policies.engine import Run
from cachezoo.policies.long import LongSimulator
from cachezoo.policies.registry import policy
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.wear.options import LEARNED, WearOptions
from cachezoo.questions.wear.table import WearTable, check_room, count_rows, wear_table
from cachezoo.sizes import PAGE_BYTES, human_pages
from cachezoo.traces.spill import Spill

SLOTS, REQUESTS = "slots", "request"


@dataclass(frozen=True)
class CacheWrites:
    """What a cache writes to its SSD."""

    policy: str
    writes: DriveWrites  # by slot, cut into cycles of equally many requests; a page is `PAGE_BYTES`
    hit_ratio: float  # page hits over page accesses, or segment hits over segments read, in the last cycle


def page_cache_writes(simulator: Simulator | LongSimulator, name: str, capacity: int, cycles: int) -> CacheWrites:
    """The writes of a page cache.

    Args:
        simulator: a trace.
        name: a policy, or a composition of parts.
        capacity: pages.
        cycles: that the trace is cut into; the last will be counted.

    Raises:
        ConfigError: an unknown policy, or one that does not say which pages it moves.
        TraceError: the cache writes too little in the last cycle.
    """
    if isinstance(simulator, LongSimulator):
        return _long_cache_writes(simulator, name, capacity, cycles)
    entry = policy(name)
    stream = simulator.stream(entry)
    run = entry.simulate(stream, capacity)
    _check_moved(entry.id, run)
    slots, access = slots_written(stream.page_ids, stream.flags, run.outcome, run.victim, stream.n_pages)
    request = stream.request_of[access].astype(np.int64)
    first = len(simulator.trace) * (cycles - 1) // cycles
    counted = (stream.request_of >= first) & (stream.flags & PREFETCH == 0)
    hits = float((run.outcome[counted] == HIT).mean()) if counted.any() else 0.0
    times = simulator.trace.time_us[request]
    return CacheWrites(entry.id, _writes(entry.id, slots, request, times, len(simulator.trace), cycles), hits)


def _check_moved(name: str, run: Run) -> None:
    if run.moved is not None:
        message = f"{name}: it does not say which pages enter and leave, so not what its SSD writes; name another"
        raise ConfigError(message)


def _long_cache_writes(simulator: LongSimulator, name: str, capacity: int, cycles: int) -> CacheWrites:
    """The same of a long trace: its slots go to files as they are written."""
    entry, stream = simulator.ready(name, capacity), simulator.stream
    spill, slot_of = Spill(simulator.meta.trace_id), np.full(simulator.n_pages, -1, np.int32)
    first, requests, used, accesses, hits = simulator.requests * (cycles - 1) // cycles, 0, 0, 0, 0
    for low, high, run in simulator.spans(entry, capacity):
        _check_moved(entry.id, run)
        slots, access = np.empty(high - low, np.int32), np.empty(high - low, np.int64)
        page_ids, flags = stream.page_ids[low:high], stream.flags[low:high]
        used, written = write_slots(page_ids, flags, run.outcome, run.victim, slot_of, used, slots, access)
        request = requests - 1 + np.cumsum(flags & REQUEST != 0)
        counted = int(np.searchsorted(request, first))
        accesses += len(request) - counted
        hits += int(np.count_nonzero(run.outcome[counted:] == HIT))
        spill.append(SLOTS, slots[:written])
        spill.append(REQUESTS, request[access[:written]])
        requests = int(request[-1]) + 1
        stream.spill.release()
    own = _writes(
        entry.id, spill.column(SLOTS), spill.column(REQUESTS), np.zeros(0, np.int64), simulator.requests, cycles, spill
    )
    return CacheWrites(entry.id, own, hits / accesses if accesses else 0.0)


def flash_cache_writes(problem: FlashProblem, name: str, run: FlashRun, time_us: I64, cycles: int) -> CacheWrites:
    """The writes of Baleen's flash cache.

    Args:
        problem: the cache and its requests.
        name: of the policy.
        run: what it did, with its slots noted.
        time_us: int64[n] of the requests.
        cycles: that the requests are cut into; the last will be counted.

    Raises:
        TraceError: the cache writes too little in the last cycle.
    """
    n = len(problem)
    per_slot = problem.geometry.segment_bytes // PAGE_BYTES
    slots = (run.slots.astype(np.int64)[:, None] * per_slot + np.arange(per_slot)).ravel()
    request = np.repeat(np.repeat(np.arange(n, dtype=np.int64), run.written), per_slot)
    last = np.arange(n) >= n * (cycles - 1) // cycles
    reads = int(problem.accesses.sizes[last & problem.read].sum())
    hits = float(run.hits[last].sum()) / max(reads, 1)
    return CacheWrites(name, _writes(name, slots, request, time_us[request], n, cycles), hits)


def _writes(
    name: str, slots: I32 | I64, request: I64, time_us: I64, requests: int, cycles: int, spill: Spill | None = None
) -> DriveWrites:
    """Slot writes as those of a drive; slots are dense, as each is written when it is first used."""
    starts = np.searchsorted(request, np.arange(cycles + 1) * requests // cycles).astype(np.int64)
    if starts[-1] - starts[-2] < BLOCKS:
        message = (
            f"{name}: the cache writes {starts[-1] - starts[-2]} pages in the last cycle, at least {BLOCKS} are "
            "needed; give a larger part of a trace, or another policy"
        )
        raise TraceError(message)
    pages = np.asarray(slots, np.int32)
    return DriveWrites(
        pages=pages,
        address=np.arange(int(pages.max()) + 1, dtype=np.int64) * PAGE_BYTES,
        time_us=time_us,
        request=request,
        starts=starts,
        page_bytes=PAGE_BYTES,
        spill=spill,
    )


def check_cache(options: WearOptions) -> None:
    """Refuse placements that learn from the chunks of a volume: a cache writes to slots.

    Raises:
        ConfigError: FIOS, or the forest of lifetimes.
    """
    learned = next((name for name in options.by if name.partition(":")[0] in LEARNED), None)
    if learned:
        message = (
            f"--placement {learned}: it learns from chunks of the trace's volume, and a cache writes to slots of its "
            "SSD; leave it out"
        )
        raise ConfigError(message)


def cache_tables(caches: list[CacheWrites], capacity: int, options: WearOptions, advance: Advance) -> list[WearTable]:
    """What each cache's writes do to an SSD of its capacity.

    Args:
        caches: what they write.
        capacity: of each, pages.
        options: placements and drives; pages and capacity are the cache's.
        advance: progress, in rows.

    Raises:
        DeviceError: the SSD is too small for its streams.
    """
    drive = options.drive.model_copy(update={"page_bytes": PAGE_BYTES, "capacity_bytes": capacity * PAGE_BYTES})
    own, rows = replace(options, drive=drive), count_rows(options)
    for cache in caches:
        name = f"{cache.policy} with a cache of {human_pages(capacity)}"
        check_room(cache.writes, own, name, larger=", or a larger --size")
    found = []
    for number, cache in enumerate(caches):

        def on(done: float, note: str = "", before: int = number * rows, policy_id: str = cache.policy) -> None:
            advance(before + done, f"{policy_id} {note}")

        found.append(wear_table(cache.writes, [], own, on))
    return found
