"""What a trace of objects asks of a cache: all figures of its report.

Deletes are no requests for an object, and a row that stands for several accesses is so many requests. Nothing here is
of addresses: what a key is, beyond which object it names, changes no figure.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I64, U8
from cachezoo.characteristics.arrivals import Arrivals, arrivals, ticks
from cachezoo.characteristics.describe import WINDOWS
from cachezoo.characteristics.pages import Popularity, Uses, popularity
from cachezoo.characteristics.requests import Latency, latency
from cachezoo.characteristics.values import CDF_SHARES, quantiles
from cachezoo.coded import Coded
from cachezoo.console import Advance
from cachezoo.errors import TraceError
from cachezoo.questions.objects.bench import ObjectBench, Rules
from cachezoo.sized.evictions import LRU
from cachezoo.sized.requests import Requests
from cachezoo.sized.simulate import SizedRun, simulate
from cachezoo.traces.glance import Glance
from cachezoo.traces.object_stats import describe_objects
from cachezoo.traces.objects import NO_TTL, OP_DELETE, ObjectTrace
from cachezoo.traces.plausible import warnings_of
from cachezoo.traces.remarks import remarks_of
from cachezoo.traces.table import OP_READ, Trace

MARKS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
POINTS, LEAST_SHARE = 28, 0.001  # cache sizes of the curve, and the smallest, of all objects' bytes
LARGEST = 0.1  # of the objects, whose share of the bytes is told
CURVE_SHARE = 0.8  # of the work, for the progress bar


@dataclass(frozen=True)
class Spread:
    """How a quantity is spread; its unit is its owner's.

    Attributes:
        count: of how many.
        mean, largest: of them.
        at_most: the smallest value that 10, 25, 50, 75, 90, 99 % of them do not exceed.
        cdf_share, cdf: float64[k]; such a share of them is at most so large.
    """

    count: int
    mean: float
    largest: float
    at_most: dict[str, float]
    cdf_share: F64
    cdf: F64

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> "Spread | None":
        """Of number[n]; None where there are none."""
        if not len(values):
            return None
        marks = dict(zip((f"{mark:.0%}" for mark in MARKS), quantiles(values, MARKS).tolist(), strict=True))
        return cls(
            len(values), float(values.mean()), float(values.max()), marks, CDF_SHARES, quantiles(values, CDF_SHARES)
        )

    @property
    def median(self) -> float:
        """What half of them do not exceed."""
        return self.at_most["50%"]


@dataclass(frozen=True)
class ObjectSizes:
    """How large objects are, and what requests ask for; an object is as large as it first was.

    Attributes:
        object_bytes, request_bytes: of objects and of requests whose size is known.
        histogram_from_bytes, histogram_objects, histogram_requests: int64[b]; so many are at least so large and below
            twice that.
        whole_bytes: of all objects.
        largest_tenth_share: share of these that the largest tenth of the objects has (at least one object).
        sizes_change: whether an object's size changes.
        unknown_objects: whose size no request says.
    """

    object_bytes: Spread
    request_bytes: Spread
    histogram_from_bytes: I64
    histogram_objects: I64
    histogram_requests: I64
    whole_bytes: int
    largest_tenth_share: float
    sizes_change: bool
    unknown_objects: int


@dataclass(frozen=True)
class ObjectReuse:
    """How soon an object is requested again.

    Attributes:
        again_share: requests of objects requested before, of all requests.
        held_share: those that a cache of all objects hits: neither deleted nor expired since.
        requests_between: other requests between two of an object; None where none is requested twice.
        bytes_between: bytes that these ask for; None too where no size is known.
        time_between_s: seconds between the two; None too without a clock.
    """

    again_share: float
    held_share: float
    requests_between: Spread | None
    bytes_between: Spread | None
    time_between_s: Spread | None


@dataclass(frozen=True)
class ObjectCurve:
    """LRU's hits over the cache size, in the requests' second half.

    Attributes:
        policy: its id.
        unit: of a capacity: ``bytes``, or ``objects`` where no size is known.
        whole: all objects, in this unit.
        capacities: int64[k], rising, to all objects.
        hit_ratio, byte_hit_ratio: float64[k]; no bytes where no size is known.
    """

    policy: str
    unit: str
    whole: int
    capacities: I64
    hit_ratio: F64
    byte_hit_ratio: F64 | None


@dataclass(frozen=True)
class Lifetimes:
    """What ends an object's life; found in a cache of all objects.

    Attributes:
        deletes: requests to delete.
        deleted: those that found their object.
        with_ttl: requests that have a time to live.
        ttl_s: these times; None where there are none.
        expired: requests, to delete too, that found their object expired.
    """

    deletes: int
    deleted: int
    with_ttl: int
    ttl_s: Spread | None
    expired: int


@dataclass(frozen=True)
class ObjectCharacteristics:
    """What a trace of objects is.

    Attributes:
        summary: JSON values of `cachezoo.traces.object_stats.ObjectStatistics.result`, with `remarks` and `warnings`.
        curve, popularity, reuse: as their classes say.
        sizes: None where no size is known.
        arrivals: of reads and writes; None without a clock.
        latency: of reads and writes; None where none was traced.
        lifetimes: None where nothing is deleted and nothing expires.
    """

    summary: dict[str, Any]
    curve: ObjectCurve
    popularity: Popularity
    reuse: ObjectReuse
    sizes: ObjectSizes | None
    arrivals: Arrivals | None
    latency: dict[str, Latency | None] | None
    lifetimes: Lifetimes | None


def _summary(trace: ObjectTrace) -> dict[str, Any]:
    glance = Glance()
    glance.add_objects(trace.time_us, trace.op, trace.size)
    said = {"remarks": remarks_of(trace.meta.extra), "warnings": warnings_of(glance, trace.meta)}
    return {**describe_objects(trace), **said}


def _asked(trace: ObjectTrace, requests: Requests) -> Trace:
    """When reads and writes come, how many bytes they move and how long they took, for what looks at nothing else.

    It has one volume and no address but 0, so that what looked for more would find it equal everywhere.
    """
    row = np.arange(len(trace)) if requests.row is None else requests.row
    row = row[requests.op != OP_DELETE]
    return Trace(
        time_us=trace.time_us[row], op=trace.op[row], offset=np.zeros(len(row), np.int64), size=trace.size[row],
        volume=Coded.constant("0", len(row)), meta=trace.meta,
        latency_us=None if trace.latency_us is None else trace.latency_us[row],
    )  # fmt: skip


def _popularity(requests: Requests) -> Popularity:
    """Of objects that are requested at all."""
    by_op = [
        np.bincount(requests.ids[chosen], minlength=requests.n_objects).astype(np.int32)
        for chosen in (requests.op == OP_READ, (requests.op != OP_READ) & (requests.op != OP_DELETE))
    ]
    there = (by_op[0] > 0) | (by_op[1] > 0)
    return popularity(Uses(by_op[0][there], by_op[1][there]))


def _octaves(sizes: I64) -> I64:
    """int64[b] how many are at least 2**k bytes and less than twice that, from k = 0 on."""
    return np.bincount(np.frexp(sizes.astype(np.float64))[1] - 1).astype(np.int64)


def _sizes(requests: Requests, asked: Requests) -> ObjectSizes | None:
    own, of_requests = requests.object_bytes, asked.size[asked.size > 0]
    known = own[own > 0]
    objects, wanted = Spread.of(known), Spread.of(of_requests)
    if objects is None or wanted is None:
        return None
    counts = [_octaves(known), _octaves(of_requests)]
    end = max(map(len, counts))
    by_objects, by_requests = (np.pad(count, (0, end - len(count))) for count in counts)
    first = int(np.flatnonzero(by_objects + by_requests)[0])
    largest = np.sort(known)[::-1][: max(1, round(LARGEST * len(known)))]
    seen = np.zeros(requests.n_objects, np.bool_)
    seen[asked.ids] = True
    return ObjectSizes(
        object_bytes=objects, request_bytes=wanted,
        histogram_from_bytes=2 ** np.arange(first, end, dtype=np.int64),
        histogram_objects=by_objects[first:], histogram_requests=by_requests[first:],
        whole_bytes=requests.footprint_bytes,
        largest_tenth_share=int(largest.sum()) / int(known.sum()), sizes_change=asked.sizes_change,
        unknown_objects=int(np.count_nonzero(seen & (own == 0))),
    )  # fmt: skip


def _reuse(asked: Requests, time_us: I64 | None, held: SizedRun) -> ObjectReuse:
    """How soon objects come again; `time_us` is None without a clock."""
    order = np.argsort(asked.ids, kind="stable")
    same = np.flatnonzero(asked.ids[order][1:] == asked.ids[order][:-1])
    before, after = order[same], order[same + 1]
    until = np.concatenate([[0], np.cumsum(asked.size)])  # bytes asked for before each request
    return ObjectReuse(
        again_share=len(same) / len(asked), held_share=held.hit_ratio,
        requests_between=Spread.of(after - before - 1),
        bytes_between=Spread.of(until[after] - until[before + 1]) if until[-1] else None,
        time_between_s=None if time_us is None else Spread.of((time_us[after] - time_us[before]) / 1e6),
    )  # fmt: skip


def _lifetimes(trace: ObjectTrace, requests: Requests, held: SizedRun) -> Lifetimes | None:
    life = np.empty(0, np.int64)
    if trace.ttl_s is not None:
        life = (trace.ttl_s if requests.row is None else trace.ttl_s[requests.row])[requests.op != OP_DELETE]
        life = life[life != NO_TTL]
    if not len(life) and not held.deletes:
        return None
    return Lifetimes(held.deletes, held.deleted, len(life), Spread.of(life), held.expired)


def _curve(trace: ObjectTrace, sized: bool, advance: Advance | None) -> ObjectCurve:
    bench = ObjectBench(trace, Rules(sizes=sized))
    places = np.unique(np.geomspace(max(1, LEAST_SHARE * bench.whole), bench.whole, POINTS).round().astype(np.int64))
    runs = []
    for k, capacity in enumerate(places.tolist()):
        if advance is not None:
            advance(1 - CURVE_SHARE + CURVE_SHARE * k / len(places), LRU.id)
        runs.append(bench.run(LRU.id, capacity).found)
    of_bytes = np.array([run.byte_hit_ratio for run in runs]) if sized else None
    return ObjectCurve(LRU.id, bench.unit, bench.whole, places, np.array([run.hit_ratio for run in runs]), of_bytes)


def _of(requests: Requests, chosen: npt.NDArray[np.bool_]) -> Requests:
    """Some of the requests, without what only a simulator needs."""
    op: U8 = requests.op[chosen]
    return Requests(requests.ids[chosen], requests.size[chosen], op, requests.n_objects)


def characterise_objects(trace: ObjectTrace, advance: Advance | None = None) -> ObjectCharacteristics:
    """Describe a trace of objects.

    Args:
        trace: as read; rows that stand for several accesses are taken as often.
        advance: told the part of the work done.

    Raises:
        TraceError: nothing but deletes is in it.
    """
    summary = _summary(trace)
    requests = Requests.of(trace)
    asked, times = _of(requests, requests.op != OP_DELETE), _asked(trace, requests)
    if not len(asked):
        raise TraceError(f"{trace.meta.trace_id}: it has deletes alone, which ask for nothing; give one with reads")
    clock = summary["span_s"] is not None and times.time_us[0] < times.time_us[-1]
    sizes = _sizes(requests, asked)
    # All objects fit into this cache whatever their sizes, so that it misses what is new or void alone.
    every = replace(requests, size=np.ones(len(requests), np.int64))
    held = simulate(every, LRU.id, requests.n_objects)
    return ObjectCharacteristics(
        summary=summary,
        curve=_curve(trace, sizes is not None, advance),
        popularity=_popularity(requests),
        reuse=_reuse(asked, times.time_us if clock else None, held),
        sizes=sizes,
        arrivals=arrivals(times, min(WINDOWS, ticks(times.time_us))) if clock else None,
        latency=latency(times),
        lifetimes=_lifetimes(trace, requests, held),
    )
