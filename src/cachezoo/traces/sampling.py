"""Samples of a trace: all accesses to a part of the address space, in one pass, in memory of what is kept.

Source: SHARDS, Waldspurger et al., FAST '15. Where so many accesses are wanted it is its SHARDS_max (Sec. 3.3): the
rate falls as they come, and what was kept and lies above it is dropped again.
"""

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from math import sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I64, U64
from cachezoo.coded import Coded
from cachezoo.errors import ConfigError, TraceError
from cachezoo.kernels.distinct import Distinct
from cachezoo.kernels.segments import IdTable
from cachezoo.kernels.spatial import HASH_BITS, block_hashes, drawn_runs, limit_of
from cachezoo.traces.clock import Clock, Outstanding
from cachezoo.traces.memory import pieces as in_pieces
from cachezoo.traces.neighbours import Neighbours, Rows, Stretch, joined
from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.pages import PageAccesses, accesses_of, expand_pages
from cachezoo.traces.pieces import picked, pieces, trimmed
from cachezoo.traces.provenance import recorded
from cachezoo.traces.table import OP_READ, PAGE_BYTES, Trace, TraceMeta

SAMPLE_BLOCK_BYTES = 65_536
PIECE_PAGES = 1 << 22
SAMPLED = 4_000_000
"""Page accesses at most of a sample that commands take of a long trace, where that is left to them."""
LEAST_BLOCKS = 256
"""Blocks that such a sample keeps at least, however many accesses they have; fewer say nothing of the others."""
MARKED = 1 << 14
"""Requests after each of which it is noted how many accesses there were."""
GOES_ON = -1
"""In `SampledTrace.after`."""
MOST_TALLIED = 1 << 23
"""Blocks whose accesses are counted each; of more, those of a part of them, by their hashes."""
Part = float | Literal["auto", "exact"]
"""How much of a trace is read: a part of its blocks; all; or all of a trace that is not long, else `SAMPLED`."""
HASH_SHIFT = np.uint64(64 - HASH_BITS)


@dataclass(frozen=True)
class Plan:
    """How a trace is sampled.

    Raises:
        ConfigError: rate, accesses or block size out of range.
    """

    rate: float = 1.0  # expected part of the blocks, above 0 and at most 1
    most: int | None = None  # accesses that are kept at most: the rate is halved until they are; None for any
    seed: int = 0  # another seed, another choice
    block_bytes: int = SAMPLE_BLOCK_BYTES  # unit of the choice
    page_bytes: int = PAGE_BYTES  # of the pages that accesses are counted in
    least: int = 0  # blocks below which the rate is not halved any more, however many accesses they have
    near: bool = False  # whether the requests around those that are kept are known of the sample

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ConfigError(f"rate is {self.rate}; give a number above 0, at most 1")
        if self.most is not None and self.most < 1:
            raise ConfigError(f"{self.most} accesses; give 1 or more to keep")
        if self.block_bytes < self.page_bytes or self.block_bytes % self.page_bytes:
            raise ConfigError(f"blocks of {self.block_bytes} bytes; give a multiple of {self.page_bytes}")


def plan_of(
    part: float | Literal["auto"],
    page_bytes: int = PAGE_BYTES,
    *,
    requests: bool = True,
    near: bool = False,
    block_bytes: int | None = None,
) -> Plan:
    """How a part of a trace is sampled.

    Args:
        part: how much of it.
        page_bytes: of a page.
        requests: as of `cachezoo.traces.read.read_part`.
        near: likewise.
        block_bytes: unit of the choice, where that is given.
    """
    block = block_bytes or (page_bytes * -(-SAMPLE_BLOCK_BYTES // page_bytes) if requests else page_bytes)
    rate, most = (1.0, SAMPLED) if isinstance(part, str) else (part, None)
    return Plan(rate, most, block_bytes=block, page_bytes=page_bytes, least=LEAST_BLOCKS, near=near)


def _digests(texts: Sequence[str]) -> U64:
    """A 64-bit number for each text, of it alone."""
    digests = [sha256(text.encode()).digest()[:8] for text in texts]
    return np.array([int.from_bytes(digest, "little") for digest in digests], np.uint64)


class _Keys:
    """A 64-bit number for each volume, of its name and the seed alone; an unnamed one has one too."""

    def __init__(self, seed: int) -> None:
        self._seed, self._known = seed, _digests([])
        self._unnamed = _digests([json.dumps([seed, None])])

    def of(self, volume: Coded) -> U64:
        """uint64[n]: of each row; the names of an earlier call are the first ones."""
        new = [json.dumps([self._seed, name]) for name in volume.names[len(self._known) :]]
        self._known = np.append(self._known, _digests(new))
        found: U64 = np.append(self._known[: len(volume.names)], self._unnamed)[volume.codes]
        return found


def _joined(parts: Sequence[Trace]) -> Trace:
    """Traces one behind the other, of which each has the names of the one before, in their order, and further ones."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {}
    for name in (own.name for own in fields(Trace)):
        values = [getattr(part, name) for part in parts]
        if isinstance(values[-1], Coded):
            columns[name] = Coded(np.concatenate([one.codes for one in values]), values[-1].names)
        elif isinstance(values[-1], np.ndarray):
            columns[name] = np.concatenate(values)
    return replace(parts[-1], **columns)


class _Kept(NamedTuple):
    """Parts of a trace's requests, and where they lie in the whole; see `SampledTrace`."""

    trace: Trace
    before: I64
    after: I64
    near: Rows | None


@dataclass(frozen=True)
class SampledTrace:
    """All accesses to some blocks of a trace, and what is known of the whole."""

    trace: Trace  # the sample, on the whole trace's clock
    plan: Plan
    rate: float  # part of the blocks that are in it
    before: I64  # int64[n], accesses of the whole trace before each request of the sample
    # int64[n], the byte past the request that came before each in the whole trace, 0 before the first; `GOES_ON` of a
    # part of a request that does not begin it
    after: I64
    requests: int  # of the whole trace
    reads: int  # of these, those that read
    accesses: int  # of the whole trace; a row that stands for several requests counts as these
    # int64[2, k], rising: up to places of the whole trace not far apart, how many accesses there are, and how many of
    # them read
    marks: I64
    n_pages: int  # distinct pages of the whole trace; where its file does not say them, to about a thousandth
    ends_us: tuple[int, int]  # the whole trace's earliest and latest time, on its clock
    ticks: bool  # whether that is one, see `cachezoo.traces.clock.has_clock`
    # requests of the whole trace that were outstanding on average while any was; None where it has no latencies
    outstanding: float | None = None
    dealt: bool = False  # whether it is one of the groups of another sample
    near: Neighbours | None = None  # of each of its requests, where they are known

    @cached_property
    def pages(self) -> PageAccesses:
        """The sample's page accesses."""
        return expand_pages(self.trace, self.plan.page_bytes)

    def reads_from(self, access: int) -> int:
        """Accesses of the whole trace from one on that read."""
        return round(float(self.marks[1, -1] - np.interp(access, *self.marks)))

    @property
    def rows(self) -> I64:
        """int64[m], which access of the whole trace each of the sample's is; never falling."""
        start = self.pages.request_start
        place = np.repeat(self.before - start[:-1], np.diff(start)) + np.arange(len(self.pages.page_ids))
        found: I64 = np.maximum.accumulate(place)  # requests that were sorted by time lie where others were
        return found

    def groups(self, count: int) -> tuple["SampledTrace", ...]:
        """The sample dealt out to groups that share no block, of the same whole.

        Raises:
            ConfigError: one would be empty.
        """
        found = []
        for number in range(count):
            own = self.group(number, count)
            if not len(own.trace):
                message = (
                    f"{self.trace.meta.trace_id}: a sample of {self.pages.n_pages} pages at rate {self.rate:g} is too "
                    "small for an error; use a higher one, or exact"
                )
                raise ConfigError(message)
            found.append(own)
        return tuple(found)

    def group(self, number: int, count: int) -> "SampledTrace":
        """One of `groups`, from 0 on; it may be empty."""
        own = _Kept(self.trace, self.before, self.after, self.near)
        part = _taken(own, self.plan, self.rate, _Keys(self.plan.seed), number, count)
        return replace(self, **part._asdict(), rate=self.rate / count, dealt=True)


def _taken(own: _Kept, plan: Plan, rate: float, keys: _Keys, group: int = 0, count: int = 1) -> _Kept:
    """The parts of requests in drawn blocks."""
    trace, block, page = own.trace, plan.block_bytes, plan.page_bytes
    row, start, stop = drawn_runs(keys.of(trace.volume), trace.offset, trace.size, block, rate, group, count)
    offset = trace.offset[row]
    return _Kept(
        pieces(trace, row, start, stop, trace.meta),
        own.before[row] + start // page - offset // page,
        np.where(start > offset, GOES_ON, own.after[row]),
        None if own.near is None else own.near.take(row),
    )


class _Limit:
    """The most accesses that a plan keeps; where there are too few blocks to drop some, a little more."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._room = plan, 0

    def passed(self, size: int, blocks: Callable[[], int]) -> bool:
        """Whether the rate of so many accesses that are kept is to be halved; `blocks` says to how many blocks."""
        if self._plan.most is None or size <= max(self._plan.most, self._room):
            return False
        if blocks() < 2 * self._plan.least:
            self._room = size + size // 4  # till then they are not looked at again
            return False
        self._room = 0
        return True


class Sampler:
    """Chooses blocks of a trace that comes in pieces, and keeps all accesses to them.

    Attributes:
        rate: part of the blocks that are kept now.
        size: accesses that are kept now.
        requests: that have come.
        reads: of these, those that read.
        accesses: to pages, that have come; a row that stands for several requests counts as these.
    """

    def __init__(self, plan: Plan, n_pages: int | None = None) -> None:
        """Begin.

        Args:
            plan: how it is sampled.
            n_pages: distinct pages of the whole trace, where they are known.
        """
        self.plan, self.rate = plan, plan.rate
        self._known, self._distinct, self._outstanding, self._clock = n_pages, Distinct(), Outstanding(), Clock()
        self.requests = self.reads = self.accesses = 0
        self._keys = _Keys(plan.seed)
        self._kept: list[_Kept] = []
        self._last: Stretch | None = None
        self._end = np.zeros(1, np.int64)  # of the last request
        self._marks = [np.zeros((2, 1), np.int64)]
        self.size, self._limit = 0, _Limit(plan)

    def add(self, trace: Trace) -> None:
        """The next requests; names of an earlier piece are the first ones of the next, in their order."""
        if not len(trace):
            return
        touched = self._accesses_of(trace)
        ends = np.cumsum(touched)
        self._last = Stretch(trace, self._last) if self.plan.near else None
        after = np.concatenate([self._end, trace.offset + trace.size])
        self._keep(_Kept(trace, self.accesses + ends - touched, after[:-1], self._last))
        self._end = after[-1:].copy()
        if self._known is None:
            self._distinct.add(self._keys.of(trace.volume), trace.offset, trace.size, self.plan.page_bytes)
        self._clock.add(trace.time_us)
        if trace.latency_us is not None:
            self._outstanding.add(trace.time_us, trace.latency_us)
        self.requests += len(trace)
        read = trace.op == OP_READ
        self.reads += int(read.sum())
        places = np.append(np.arange(MARKED, len(trace), MARKED), len(trace)) - 1
        further = np.stack([ends, np.cumsum(touched * read)])[:, places]
        self._marks.append(self._marks[-1][:, -1:] + further)
        self.accesses += int(ends[-1])
        while self._limit.passed(self.size, self.blocks):
            self.thin(self.rate / 2)

    def blocks(self) -> int:
        """How many blocks are kept now."""
        return len(np.unique(self._together().trace.offset // self.plan.block_bytes)) if self._kept else 0

    def thin(self, rate: float) -> None:
        """Drop what a lower rate does not keep, now and from now on."""
        self.rate = rate
        if self._kept:
            whole = self._together()
            self._kept, self.size = [], 0
            self._keep(whole)

    def _keep(self, own: _Kept) -> None:
        part = _taken(own, self.plan, self.rate, self._keys)
        self.size += int(self._accesses_of(part.trace).sum())
        self._kept.append(part)

    def _accesses_of(self, trace: Trace) -> I64:
        touched = accesses_of(trace, self.plan.page_bytes)
        return touched if trace.count is None else touched * trace.count

    def _together(self) -> _Kept:
        traces, before, after, near = zip(*self._kept, strict=True)
        around = None if near[0] is None else joined(near)
        return _Kept(_joined(traces), np.concatenate(before), np.concatenate(after), around)

    def found(self, meta: TraceMeta) -> SampledTrace:
        """The sample.

        Args:
            meta: of the whole trace.

        Raises:
            TraceError: the trace is empty, or no block is chosen.
        """
        if not self.requests:
            raise TraceError(f"{meta.trace_id}: the trace is empty; give one with at least one request")
        part = self._together()
        if not len(part.trace):
            raise TraceError(
                f"{meta.trace_id}: none of its blocks is chosen: raise rate {self.rate:g}, or take all of it"
            )
        own = part._replace(trace=trimmed(replace(part.trace, meta=meta)))
        n_pages, marks = self._known or self._distinct.count, np.concatenate(self._marks, axis=1)
        return SampledTrace(
            **own._asdict(), plan=self.plan, rate=self.rate, requests=self.requests, reads=self.reads,
            accesses=self.accesses, marks=marks, n_pages=n_pages, ends_us=(self._clock.first_us, self._clock.last_us),
            ticks=self._clock.ticks(meta.extra), outstanding=self._outstanding.mean,
        )  # fmt: skip


class Samplers:
    """Samplers of traces at one rate, so that pages of all weigh the same: what they keep together has one limit.

    Attributes:
        rate: part of the blocks that are kept of each now.
        found: the samplers, by whatever tells the traces apart.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan, self._limit, self._size = plan, _Limit(plan), 0
        self.rate = plan.rate
        self.found: dict[Hashable, Sampler] = {}

    def add(self, key: Hashable, trace: Trace, n_pages: int | None = None) -> None:
        """The next requests of one trace, as of `Sampler.add`; distinct pages where they are known."""
        if key not in self.found:
            self.found[key] = Sampler(replace(self._plan, rate=self.rate, most=None), n_pages)
        own = self.found[key]
        self._size -= own.size
        own.add(trace)
        self._size += own.size
        while self._limit.passed(self._size, lambda: sum(one.blocks() for one in self.found.values())):
            self.rate /= 2
            for one in self.found.values():
                one.thin(self.rate)
            self._size = sum(one.size for one in self.found.values())


class Tally:
    """Page accesses to each block of a trace that comes in pieces.

    Attributes:
        part: of the blocks that are looked at, those of the lowest hashes; below 1 where they are very many.
        total: page accesses to all blocks.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan, self._keys, self._table = plan, _Keys(plan.seed), IdTable()
        self._accesses = np.zeros(0, np.int64)
        self.part, self.total = 1.0, 0

    def add(self, trace: Trace) -> None:
        """The next requests, as of `Sampler.add`."""
        for own in in_pieces(trace, PIECE_PAGES):
            hashes, pages = self._parts(own)
            self.total += int(pages.sum())
            looked = hashes >> HASH_SHIFT < limit_of(self.part)
            ids = self._table.lookup(hashes[looked].view(np.int64))
            more = np.bincount(ids, pages[looked], self._table.count).astype(np.int64)
            more[: len(self._accesses)] += self._accesses
            self._accesses = more
            while self._table.count > MOST_TALLIED:
                self.part /= 2
                known = self._table.keys()
                kept = known.view(np.uint64) >> HASH_SHIFT < limit_of(self.part)
                self._table.rebuild(known[kept])
                self._accesses = self._accesses[kept]

    def _parts(self, trace: Trace) -> tuple[U64, I64]:
        """The block of each part of a request by its hash, and the pages that the part touches."""
        size, end = self._plan.block_bytes, trace.offset + trace.size
        low = trace.offset // size
        count = (end - 1) // size - low + 1
        row = np.repeat(np.arange(len(trace)), count)
        block = low[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        start, stop = np.maximum(trace.offset[row], block * size), np.minimum(end[row], (block + 1) * size)
        page = self._plan.page_bytes
        return block_hashes(self._keys.of(trace.volume)[row], block), (stop - 1) // page - start // page + 1

    def said(self, rate: float) -> dict[str, Any]:
        """What a sample of the trace records: blocks and accesses, seen and chosen, and `expected_error`.

        Where not all blocks are looked at, the numbers of blocks and the error are estimates from those that are, and
        `blocks_counted` is that part.
        """
        keys = self._table.keys().view(np.uint64)
        chosen = keys >> HASH_SHIFT < limit_of(rate)
        squares = float((self._accesses.astype(np.float64) ** 2).sum()) / self.part
        whole = {
            "blocks": round(len(keys) / self.part), "blocks_chosen": round(chosen.sum() / min(1.0, self.part / rate)),
            "page_accesses": self.total,
            "expected_error": sqrt((1 - rate) / rate) * sqrt(squares) / self.total,
        }  # fmt: skip
        return whole if self.part == 1 else {**whole, "blocks_counted": self.part}


def as_recorded(found: SampledTrace, tally: Tally) -> Trace:
    """The sample, with how it was made in its metadata."""
    plan, part = found.plan, found.trace
    said = {"rate": float(found.rate), "seed": plan.seed, "block_bytes": plan.block_bytes, "requests": found.requests}
    kept = {"page_accesses_chosen": int(accesses_of(part, plan.page_bytes).sum())}
    kept |= {} if plan.most is None else {"accesses": plan.most}
    return replace(part, meta=recorded(part.meta, "sample", {**said, **tally.said(found.rate), **kept}))


def sampled(trace: Trace, plan: Plan) -> SampledTrace:
    """A sample of a trace that is in memory.

    Raises:
        TraceError: the trace is empty, or no block is chosen.
    """
    sampler = Sampler(plan)
    sampler.add(trace)
    return sampler.found(trace.meta)


def sample(trace: Trace, rate: float, seed: int, block_bytes: int = SAMPLE_BLOCK_BYTES) -> Trace:
    """Spatial sampling: all accesses of a part of the address space, chosen by a hash of the block.

    A block is in or out by volume name, index and seed alone, so the same blocks are chosen in every trace of the
    same volumes. Requests are cut at the borders of blocks, parts outside the chosen blocks dropped, neighbouring
    parts of one request joined again. So the page accesses of the sample are those of the trace within the chosen
    blocks, in their order, and a cache of rate * C pages behaves on the sample about as one of C pages on the trace.

    Args:
        trace: any.
        rate: expected part of the blocks, above 0 and at most 1.
        seed: another seed, another choice.
        block_bytes: unit of the choice, a multiple of 4,096; small blocks lower the error, large ones leave more
            requests whole.

    Returns:
        The sample on the trace's clock. The latency of a request that lost a part is unknown. Recorded: blocks and
        page accesses seen and chosen, and `expected_error`, the relative standard error of the number of page accesses
        over all seeds, sqrt((1 - rate) / rate * sum(a^2)) / sum(a) for a_b accesses to block b. It bounds, to first
        order, the standard error of any ratio per access, as the hit ratio, that is due to the choice of blocks.

    Raises:
        ConfigError: rate or block size out of range.
        TraceError: the trace is empty, or no block is chosen.
    """
    try:
        plan = Plan(rate, None, seed, block_bytes)
    except ConfigError as error:
        raise ConfigError(f"{trace.meta.trace_id}: {error}") from error
    tally = Tally(plan)
    tally.add(trace)
    return as_recorded(sampled(trace, plan), tally)


def sample_objects(trace: ObjectTrace, rate: float, seed: int) -> ObjectTrace:
    """All requests of a part of the objects, chosen by a hash of the key.

    An object is in or out by its key and the seed alone, so that the same objects are chosen in every trace that names
    them alike. A cache of rate * C bytes behaves on the sample about as one of C bytes on the trace. Source: SHARDS,
    Waldspurger et al., FAST '15.

    Args:
        trace: any of objects.
        rate: expected part of the objects, above 0 and at most 1.
        seed: another seed, another choice.

    Returns:
        The sample on the trace's clock. Recorded: objects and accesses seen and chosen, and `expected_error` as of
        `sample`, of accesses to objects.

    Raises:
        ConfigError: the rate is out of range.
        TraceError: the trace is empty, or no object is chosen.
    """
    if not 0 < rate <= 1:
        raise ConfigError(f"{trace.meta.trace_id}: rate is {rate}; give a number above 0, at most 1")
    if len(trace) == 0:
        raise TraceError(f"{trace.meta.trace_id}: the trace is empty; give one with at least one request")
    hashes = _key_hashes(trace, seed)
    chosen: npt.NDArray[np.bool_] = hashes >> HASH_SHIFT < limit_of(rate)
    ids, objects = trace.numbered()
    each = np.ones(len(trace), np.int64) if trace.count is None else trace.count.astype(np.int64)
    accesses = np.bincount(ids, each, objects)
    if not chosen.any():
        raise TraceError(f"{trace.meta.trace_id}: none of its {objects} objects is chosen: raise rate {rate}")
    total, spread = float(accesses.sum()), sqrt(float((accesses**2).sum()))
    said = {"rate": float(rate), "seed": seed, "requests": len(trace), "objects": objects}
    said |= {"objects_chosen": len(np.unique(ids[chosen])), "accesses": int(total)}
    said |= {"accesses_chosen": int(each[chosen].sum()), "expected_error": sqrt((1 - rate) / rate) * spread / total}
    part = picked(trace, np.flatnonzero(chosen))
    return replace(part, meta=recorded(trace.meta, "sample", said))


def _key_hashes(trace: ObjectTrace, seed: int) -> U64:
    """A 64-bit number for each request, of its key and the seed alone."""
    if trace.key_names is None:
        return block_hashes(np.repeat(_digests([json.dumps([seed, "key"])]), len(trace)), trace.key)
    return _digests([json.dumps([seed, name]) for name in trace.key_names])[trace.key]
