"""What a cache fetches beside what a read asks for: the prefetches that a composition can take, and their streams.

A prefetch is planned for a whole trace, before any cache runs: page ids for each request. The cache fetches them only
where the request missed and was admitted, and only those that are not resident. Writes prefetch nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I32, I64, MOST_NUMBERED
from cachezoo.errors import ConfigError
from cachezoo.kernels.requests import weave
from cachezoo.kernels.segments import SEGMENT_BITS, Geometry, IdTable, segment_keys
from cachezoo.policies.components import Parameter, Values, Whole, settle
from cachezoo.policies.stream import Stream, Unit, Writes, around, build_stream
from cachezoo.traces.pages import PageAccesses, geometry_of
from cachezoo.traces.table import OP_READ, Trace


@dataclass(frozen=True)
class Plan:
    """What is fetched with each of n requests."""

    start: I64  # int64[n + 1]; request r fetches page_ids[start[r]:start[r + 1]], in this order
    # int32[k] in [0, n_pages); a page that the trace never asks for has an id from its number of pages on: it takes up
    # room like any other
    page_ids: I32
    n_pages: int  # distinct pages, those that are only ever prefetched among them


@dataclass(frozen=True)
class Prefetch:
    """What is fetched beside: `plan` of (trace, its page accesses, values), `parameters` as an eviction's."""

    id: str
    title: str
    plan: Callable[[Trace, PageAccesses, Values], Plan]
    parameters: tuple[Parameter, ...] = ()

    def planned(self, trace: Trace, pages: PageAccesses, given: Values) -> Plan:
        """The plan with the values given, defaults for the others.

        Raises:
            ConfigError: a value is outside its range or its name unknown, or the plan does not fit the trace.
        """
        return self.plan(trace, pages, settle(self.id, self.parameters, given))


def plan_ranges(trace: Trace, pages: PageAccesses, low: I64, high: I64) -> Plan:
    """A plan of address ranges: each read fetches the pages [low, high) of its volume, its own left out.

    Args:
        trace: n requests.
        pages: their page accesses.
        low: int64[n] pages from the volume's start; below 0 counts as 0.
        high: int64[n], one past the last; nothing is fetched where it is not above `low`.

    Raises:
        ConfigError: lengths that differ, or more prefetches than a stream can hold.
        TraceError: addresses or volumes outside what keys can hold.
    """
    if not pages.n_requests == len(low) == len(high) == len(trace):
        raise ConfigError(f"{len(trace)} requests, pages of {pages.n_requests}, ranges of {len(low)} and {len(high)}")
    low, high = np.maximum(low, 0), np.minimum(high, 1 << SEGMENT_BITS)
    first, last = trace.offset // pages.page_bytes, (trace.offset + trace.size - 1) // pages.page_bytes
    high = np.where(trace.op == OP_READ, high, low)
    inside = [(low, np.minimum(high, first)), (np.maximum(low, last + 1), high)]  # before its own pages, and after
    counts = [np.maximum(end - begin, 0) for begin, end in inside]
    start = np.concatenate([[0], np.cumsum(counts[0] + counts[1])])
    if start[-1] + len(pages.page_ids) > MOST_NUMBERED:
        message = f"{start[-1]} pages to prefetch, more than a stream of {MOST_NUMBERED} accesses holds; fetch fewer"
        raise ConfigError(message)
    begins = np.stack([begin for begin, _ in inside], axis=1).ravel()
    each = np.stack(counts, axis=1).ravel()
    place = np.arange(start[-1]) - np.repeat(np.cumsum(each) - each, each)
    index = np.repeat(begins, each) + place
    volume = np.repeat(trace.volume.codes.astype(np.int64), np.diff(start))
    ids, n_pages = _number((volume << SEGMENT_BITS) + index, trace, pages)
    return Plan(start, ids, n_pages)


def _number(keys: I64, trace: Trace, pages: PageAccesses) -> tuple[I32, int]:
    """Page ids of addresses, new ones from `pages.n_pages` on in their order; and how many there are in all."""
    table = IdTable()
    _, asked = segment_keys(trace.volume.codes, trace.offset, trace.size, geometry_of(pages.page_bytes))
    if len(asked) != len(pages.page_ids):
        raise ConfigError(f"{len(pages.page_ids)} page accesses for a trace of {len(asked)}; give the trace's own")
    local = table.lookup(asked)
    own = np.empty(table.count, np.int32)
    own[local] = pages.page_ids
    found = table.lookup(keys)
    new = np.arange(pages.n_pages, pages.n_pages + table.count - len(own), dtype=np.int32)
    return np.concatenate([own, new])[found], pages.n_pages + len(new)


def _none(trace: Trace, pages: PageAccesses, values: Values) -> Plan:
    return Plan(np.zeros(len(trace) + 1, np.int64), np.zeros(0, np.int32), pages.n_pages)


def _next(trace: Trace, pages: PageAccesses, values: Values) -> Plan:
    low = (trace.offset + trace.size - 1) // pages.page_bytes + 1
    return plan_ranges(trace, pages, low, low + int(values["n"]))


NONE = Prefetch("none", "nothing but what is asked for", _none)
NEXT = Prefetch(
    "next", "the next n pages after a read (sequential look-ahead: Smith, ACM TODS 3(3), 1978)", _next,
    (Whole("n", 8, 0, 65536, "pages after a read's last, a whole number"),),
)  # fmt: skip
PREFETCHES = (NONE, NEXT)


def by_ranges(
    low: I32, high: I32, geometry: Geometry, prefetch_id: str, title: str = "ranges known beforehand"
) -> Prefetch:
    """The prefetch of what has already said how far: segments, as pages.

    Source: Baleen post, "Training Baleen to predict what and when to prefetch".

    Args:
        low: int32[n] first segment, counted from the start of the block that holds the request's first byte.
        high: int32[n], one past the last; nothing is fetched where it is not above `low`.
        geometry: blocks and segments that `low` and `high` count in.
        prefetch_id: of the prefetch; lower case without punctuation.
        title: one line for people.

    Returns:
        A prefetch that takes no parameters. Its use raises ConfigError for a trace of another length, or where a range
        leaves its block.
    """

    def plan(trace: Trace, pages: PageAccesses, values: Values) -> Plan:
        if not len(low) == len(high) == len(trace):
            message = f"{prefetch_id}: ranges of {len(low)} and {len(high)} requests, the trace has {len(trace)}"
            raise ConfigError(message)
        wrong = np.flatnonzero((low < high) & ((low < 0) | (high > geometry.per_block)))
        if len(wrong):
            row = int(wrong[0])
            message = (
                f"{prefetch_id}: request {row} fetches segments {low[row]} to {high[row]}; a block has 0 to "
                f"{geometry.per_block}"
            )
            raise ConfigError(message)
        block = trace.offset // geometry.block_bytes * geometry.block_bytes
        begin = block + low.astype(np.int64) * geometry.segment_bytes
        end = block + high.astype(np.int64) * geometry.segment_bytes
        past = np.where(high > low, -(-end // pages.page_bytes), 0)
        return plan_ranges(trace, pages, begin // pages.page_bytes, past)

    return Prefetch(prefetch_id, title, plan)


def with_prefetch(stream: Stream, plan: Plan) -> Stream:
    """A stream with what is fetched after each request's own accesses.

    Args:
        stream: without prefetches; with page ids as the plan has them, and so not one of write-around, whose ids are
            versions of pages: `prefetched_stream` makes those.
        plan: for the same requests.

    Raises:
        ConfigError: the plan and the stream do not belong together.
    """
    if stream.writes == "around" or not stream.asked.all():
        raise ConfigError("a plan fits a stream whose ids are pages, without prefetches; use prefetched_stream")
    requests = int(stream.request_of[-1]) + 1 if len(stream) else 0
    if len(plan.start) != requests + 1 or plan.n_pages < stream.n_pages:
        message = (
            f"a plan of {len(plan.start) - 1} requests and {plan.n_pages} pages for a stream of {requests} and "
            f"{stream.n_pages}; plan for the same trace"
        )
        raise ConfigError(message)
    ids, flags, n_bytes = weave(stream.page_ids, stream.flags, stream.page_bytes, plan.start, plan.page_ids)
    return Stream(ids, flags, n_bytes, plan.n_pages, stream.writes)


def prefetched_stream(
    trace: Trace, pages: PageAccesses, plan: Plan, writes: Writes = "back", unit: Unit = "page"
) -> Stream:
    """`cachezoo.policies.stream.build_stream` with prefetches, for every write policy.

    Raises:
        ConfigError: as `build_stream` and `with_prefetch`.
    """
    if writes != "around":
        return with_prefetch(build_stream(trace, pages, writes, unit), plan)
    return around(with_prefetch(build_stream(trace, pages, "back", unit), plan))
