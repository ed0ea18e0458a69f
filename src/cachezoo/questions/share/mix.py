"""Applications that share one cache, and the order in which their references follow each other.

A reference is one access to a page of 4 KiB. Reads and writes alike are references, as in the paper (Sec. 4.2): a write
too brings its page into the cache. Pages of different applications are different pages, even at one address.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from json import loads
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64, MOST_NUMBERED, Bool
from cachezoo.coded import Coded
from cachezoo.contest.sampled import GROUPS
from cachezoo.errors import ConfigError, TraceError
from cachezoo.kernels.partition import add_misses
from cachezoo.kernels.stack_distance import stack_distances
from cachezoo.kernels.virtual.queues import Moves, moves
from cachezoo.traces.clock import are_numbered, has_clock, time_scale
from cachezoo.traces.mixing import sources
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.provenance import SOURCES
from cachezoo.traces.sampling import SampledTrace
from cachezoo.traces.table import Trace, TraceMeta

if TYPE_CHECKING:  # a stage that reads no raw trace does not depend on how they are read
    from cachezoo.traces.read import Drawn

Order = Literal["lockstep", "clock"]
OrderOption = Literal["auto", "lockstep", "clock"]
Apart = Literal["source", "volume"]
APART: tuple[Apart, ...] = get_args(Apart)
Kept = TypeVar("Kept")
LEAST, MOST = 2, 1024
MOST_KEPT = 4  # queues of a mix, 12 bytes a reference each
MOST_RATIO = 10  # of the longest trace's time to the shortest's: above it one runs nearly always without the other
ROUNDING = 1e-9  # of a product with a rate, which is no whole number though it should be
LADDER = (("days", 86_400), ("h", 3600), ("min", 60), ("s", 1))


@dataclass(frozen=True)
class Population:
    """What an application's references are a sample of: all references to some of its pages."""

    rows: I64  # int64[m] which of all its references each one of the sample is, never falling
    references: int  # of all
    n_pages: int  # distinct pages of all
    drawn: float  # part of the pages that is in the sample


@dataclass(frozen=True)
class Application:
    """One of those that share the cache."""

    name: str  # unlike any other's
    page_ids: I32  # int32[m] its references, in [0, n_pages)
    n_pages: int  # its distinct pages
    trace: Trace | None = None  # its requests; None where the references are all that is known
    reused: bool = False  # it is in several mixes, so what depends on it alone is computed once and kept
    whole: Population | None = None  # of which these are a sample; None where they are all
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        """References, of a sample its own."""
        return len(self.page_ids)

    @property
    def references(self) -> int:
        """All of them."""
        return len(self) if self.whole is None else self.whole.references

    @property
    def weight(self) -> float:
        """Misses of all that one here stands for; where no page was drawn, none is there to be weighed."""
        return 1.0 if self.whole is None or not self.whole.drawn else 1 / self.whole.drawn

    @property
    def adjusted(self) -> float:
        """References that so many pages of all have, over those that the pages of this sample have."""
        return 1.0 if self.whole is None or not len(self) else self.whole.drawn * self.references / len(self)

    def place(self, reference: int) -> int:
        """The first row here that is that one of all references, or a later one."""
        return reference if self.whole is None else int(np.searchsorted(self.whole.rows, reference))

    def before(self, row: int) -> int:
        """How many of all references there are before one of these, or where there is no such one."""
        if self.whole is None:
            return row
        return int(self.whole.rows[row]) if row < len(self) else self.references

    def distance(self) -> I32:
        """int32[m]: its other pages since the page's last reference; -1 at its first."""
        return self._once("distance", lambda: stack_distances(self.page_ids, self.n_pages))

    def moves(self, queue: str, n: int) -> Moves:
        """What a queue of n pages does at each of its references."""
        return self._once((queue, n), lambda: moves(queue, self.page_ids, self.n_pages, n))

    def _once(self, key: Any, make: Callable[[], Kept]) -> Kept:  # noqa: ANN401 - a hashable
        if not self.reused:
            return make()
        if key not in self._kept:
            self._kept[key] = make()
        found: Kept = self._kept[key]
        return found


@dataclass(frozen=True)
class Mix:
    """Applications, and the one order of their M references; what no cache changes is computed once."""

    applications: tuple[Application, ...]  # A of them
    app: I32  # int32[M] whose each reference is; an application's own come in its own order
    order: Order  # `lockstep`: one of each in turn, and one that has ended is over; `clock`: by the traces' times
    remarks: tuple[str, ...] = ()  # what to know of that order, a line each
    rate: float = 1.0  # of the blocks that are in it; below 1 of a sample, in which a cache is as much smaller
    groups: tuple["Mix", ...] = ()  # a sample dealt out to samples that share no page
    _moves: OrderedDict[tuple[tuple[str, ...], tuple[int, ...]], Moves] = field(
        default_factory=OrderedDict, repr=False, compare=False
    )
    # Misses that partitioners counted, by application, its references, policy and pages: several learn from the same.
    measured: dict[tuple[str, int, str, int], int] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        """References of all."""
        return len(self.app)

    @property
    def count(self) -> int:
        """Applications."""
        return len(self.applications)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the applications."""
        return tuple(one.name for one in self.applications)

    @property
    def n_pages(self) -> int:
        """Distinct pages of all, of a sample of what it is a sample of."""
        return sum(one.n_pages if one.whole is None else one.whole.n_pages for one in self.applications)

    @property
    def references(self) -> int:
        """Of all applications; where this is a sample, of what it is a sample of."""
        return sum(one.references for one in self.applications)

    def own(self, pages: int) -> int:
        """Pages of the cache here that stands for one of so many."""
        return pages if self.rate == 1 or not pages else scaled(pages, self.rate)

    @cached_property
    def _ends(self) -> I64:
        """int64[M + 1]: of a sample, how many of all references there are up to each, its own among them."""
        ends = np.zeros(len(self) + 1, np.int64)
        for places, one in zip(self.at, self.applications, strict=True):
            assert one.whole is not None
            ends[places + 1] = np.diff(one.whole.rows, prepend=-1)
        return np.cumsum(ends)

    def before(self, places: npt.ArrayLike) -> I64:
        """int64[k]: how many of all references there are before some places here, in [0, M]."""
        own = np.asarray(places, np.int64)
        if self.rate == 1:
            return own
        ends = np.append(self._ends[1:] - 1, self.references)
        found: I64 = ends[own]
        return found

    def place(self, reference: int) -> int:
        """The first place here that is that one of all references, or a later one."""
        return reference if self.rate == 1 else int(np.searchsorted(self._ends[1:], reference, "right"))

    @cached_property
    def at(self) -> tuple[I64, ...]:
        """Of each application int64[m]: the places of its references among all."""
        order = np.argsort(self.app, kind="stable")
        ends = np.cumsum([len(one) for one in self.applications])
        return tuple(np.split(order.astype(np.int64), ends[:-1]))

    def spread(self, values: Sequence[npt.NDArray[np.int32]]) -> I32:
        """int32[M]: what each application has for each of its references, in the order of all."""
        out = np.empty(len(self), np.int32)
        for places, own in zip(self.at, values, strict=True):
            out[places] = own
        return out

    @cached_property
    def page_ids(self) -> I32:
        """int32[M]: pages of all in one numbering: those of the first application, then those of the second."""
        base = np.cumsum([0, *(one.n_pages for one in self.applications)])  # of a sample its own
        return self.spread(
            [one.page_ids + np.int32(first) for one, first in zip(self.applications, base, strict=False)]
        )

    @cached_property
    def distinct(self) -> I64:
        """int64[M]: distinct pages up to each reference, its own among them."""
        new = np.zeros(len(self), np.int64)
        for places, own in zip(self.at, self.applications, strict=True):
            new[places[np.unique(own.page_ids, return_index=True)[1]]] = 1
        return np.cumsum(new)

    @cached_property
    def distance(self) -> I32:
        """int32[M]: pages of the same application since the page's last reference; -1 at its first."""
        return self.spread([one.distance() for one in self.applications])

    def until(self, stop: int) -> "Mix":
        """The first references of all; an application whose first comes later has none."""
        counts = np.bincount(self.app[:stop], minlength=self.count).tolist()
        own = []
        for one, count in zip(self.applications, counts, strict=True):
            ids, whole = one.page_ids[:count], one.whole
            if whole is not None:
                whole = replace(whole, rows=whole.rows[:count], references=one.before(count))
            own.append(Application(one.name, ids, int(ids.max(initial=-1)) + 1, whole=whole))
        return Mix(tuple(own), self.app[:stop], self.order, rate=self.rate)

    def moves(self, queues: str | Sequence[str], n: int | Sequence[int]) -> Moves:
        """What every application's queue does at each of all references; the last few are kept.

        Args:
            queues: which, of each application or for all.
            n: pages of each one's, or of all.
        """
        names = (queues,) * self.count if isinstance(queues, str) else tuple(queues)
        lengths = (n,) * self.count if isinstance(n, int) else tuple(n)
        key = names, lengths
        if key not in self._moves:
            each = zip(self.applications, names, lengths, strict=True)
            own = [one.moves(name, length) for one, name, length in each]
            self._moves[key] = Moves(*(self.spread([part[k] for part in own]) for k in range(3)))
            if len(self._moves) > MOST_KEPT:
                self._moves.popitem(last=False)
        self._moves.move_to_end(key)
        return self._moves[key]

    def misses(self, counted: Bool, pages: int, fragment: int) -> I64:
        """int64[A, k + 1]: misses of references that count (bool[M]), of an LRU partition of 0 to k whole fragments."""
        found = np.zeros((self.count, pages // fragment + 1), np.int64)
        add_misses(self.app, self.distance, counted, 0, len(self), fragment, found)
        return found


def scaled(pages: int, rate: float) -> int:
    """So many pages in a sample of that rate, at least one."""
    return max(1, int(pages * rate + ROUNDING))


def lockstep(lengths: Sequence[int]) -> I32:
    """int32[M]: one reference of each in turn; one that has ended is over.

    Args:
        lengths: references of each application.
    """
    return by_clock([np.arange(length, dtype=np.int64) for length in lengths])


def by_clock(times: Sequence[I64]) -> I32:
    """int32[M]: by time; of references at one time those of the application named first come first.

    Args:
        times: int64[m] of each application's references, µs, not falling.
    """
    app = np.repeat(np.arange(len(times), dtype=np.int32), [len(own) for own in times])
    return app[np.argsort(np.concatenate(times), kind="stable")]


def check_names(names: Sequence[str]) -> None:
    """Refuse applications that cannot share a cache.

    Raises:
        ConfigError: fewer than two, too many, or two of one name.
    """
    if len(names) < LEAST:
        found = f"there is one application, {names[0]}" if names else "no application is named"
        message = (
            f"{found}; a cache is shared by at least {LEAST}: name more traces, or take one apart by source or volume"
        )
        raise ConfigError(message)
    if len(names) > MOST:
        raise ConfigError(f"{len(names)} applications; at most {MOST} share a cache")
    for name in names:
        if names.count(name) > 1:
            message = f"{names.count(name)} applications are called {name}; give each a name of its own (--names A,B,…)"
            raise ConfigError(message)


def mix_pages(
    applications: Sequence[Application], times: Sequence[I64 | None] = (), remarks: Sequence[str] = ()
) -> Mix:
    """Applications by their times where each has them, else in lockstep.

    Args:
        applications: in the order that breaks ties.
        times: int64[m] of each one's references, µs; None of one without a clock.
        remarks: of the mix.

    Raises:
        ConfigError: as `check_names`, or too many references.
        TraceError: one has no reference.
    """
    check_names([one.name for one in applications])
    for one in applications:
        if not len(one):
            message = f"{one.name}: it has no reference; leave it out, or give a trace with at least one request"
            raise TraceError(message)
    total = sum(len(one) for one in applications)
    if total > MOST_NUMBERED:
        message = (
            f"{total} references of all applications, at most {MOST_NUMBERED} can be run; cut or sample the traces"
        )
        raise ConfigError(message)
    known = [own for own in times if own is not None]
    if len(known) == len(applications):
        return Mix(tuple(applications), by_clock(known), "clock", tuple(remarks))
    return Mix(tuple(applications), lockstep([len(one) for one in applications]), "lockstep", tuple(remarks))


@dataclass(frozen=True)
class _Part:
    """A trace, or an application's requests in it: it has a clock though a few requests may all be at one time."""

    name: str
    trace: Trace
    ticks: bool
    sample: SampledTrace | None = None  # of which the requests are

    @property
    def seconds(self) -> float:
        """From time 0, at which all begin, to its last request, of a sample the last of all."""
        if self.sample is not None:
            return self.sample.ends_us[1] / 1e6
        return float(self.trace.time_us[-1]) / 1e6 if len(self.trace) else 0.0


def mix_traces(
    traces: Sequence[Trace], order: OrderOption = "auto", apart: Apart | None = None, names: Sequence[str] = ()
) -> Mix:
    """Applications from traces.

    Args:
        traces: an application each; or one mixture, whose sources are the applications.
        order: `auto` is `clock` where all have one, else `lockstep`. By the clock all traces begin together at their 0.
        apart: what every trace is taken apart by; None: one trace alone by its sources, several not at all.
        names: of the applications in their order, in place of their traces' own.

    Raises:
        ConfigError: as `check_names`, as many names as there are no applications, a trace without a clock under
            `clock`, under `auto` one that lasts much longer than another, or one trace that cannot be taken apart.
        TraceError: a trace is empty, or requests of a mixture are of no source.
    """
    parts = _named(_parts(traces, apart), names)
    # Parts of a trace have its clock, and may well be of a moment only.
    clocks = [_undivided(trace) for trace in traces] if apart is not None or len(traces) == 1 else parts
    order, remarks = _ordered(order, parts, clocks)
    applications, times = list[Application](), list[I64 | None]()
    for part in parts:
        pages = expand_pages(part.trace)
        applications.append(Application(part.name, pages.page_ids, pages.n_pages, part.trace))
        times.append(reference_times(part.trace, pages.request_start) if order == "clock" else None)
    return mix_pages(applications, times, remarks)


def mixed(
    traces: "Sequence[Trace] | Sequence[Drawn]", order: OrderOption = "auto", apart: Apart | None = None,
    names: Sequence[str] = (),
) -> Mix:  # fmt: skip
    """Applications from traces, or from samples that are taken apart already, see `mix_traces` and `mix_drawn`."""
    whole = [one for one in traces if isinstance(one, Trace)]
    drawn = [one for one in traces if not isinstance(one, Trace)]
    return mix_drawn(drawn, order, apart, names) if drawn else mix_traces(whole, order, apart, names)


def mix_drawn(
    traces: "Sequence[Drawn]", order: OrderOption = "auto", apart: Apart | None = None, names: Sequence[str] = ()
) -> Mix:
    """Applications from samples of traces, all at one rate: as `mix_traces`, and of a sample's figures and groups.

    Args:
        traces: with the applications in each.
        order: as of `mix_traces`.
        apart: what they were taken apart by; None where each is an application, or one trace is a mixture.
        names: as of `mix_traces`.

    Raises:
        ConfigError, TraceError: as `mix_traces`, or a group of the sample would be empty.
    """
    found, clocks = list[_Part](), list[_Part]()
    for trace in traces:
        prefix, own = f"{trace.meta.trace_id}/" if apart and len(traces) > 1 else "", list[_Part]()
        together = _tick(trace.meta, ticks=trace.ticks)
        for name, sample, ticks in trace.parts:
            own.append(_Part(f"{prefix}{name}", sample.trace, together and ticks, sample))
        found += own
        longest = max(own, key=lambda part: part.seconds)
        clocks.append(_Part(trace.meta.trace_id, longest.trace, together, longest.sample))
    parts, mixes = _named(found, names), list[Mix]()
    order, remarks = _ordered(order, parts, clocks)
    every = [part.sample for part in parts if part.sample is not None]
    for group in (None, *range(GROUPS if every[0].rate < 1 else 0)):  # at 1 nothing is estimated
        samples = [one if group is None else one.group(group, GROUPS) for one in every]
        applications = [_drawn(part.name, own) for part, own in zip(parts, samples, strict=True)]
        keys = [own.rows for own in samples]
        if order == "clock":
            keys = [reference_times(own.trace, own.pages.request_start) for own in samples]
        if not sum(map(len, keys)):
            raise ConfigError(f"a sample at rate {samples[0].rate:g} is too small for an error; use a higher, or exact")
        mixes.append(Mix(tuple(applications), by_clock(keys), order, tuple(remarks), samples[0].rate))
    return replace(mixes[0], groups=tuple(mixes[1:]))


def _drawn(name: str, sample: SampledTrace) -> Application:
    """An application of which there is a sample."""
    pages, whole = sample.pages, None
    if sample.rate < 1:
        whole = Population(sample.rows, sample.accesses, sample.n_pages, pages.n_pages / sample.n_pages)
    return Application(name, pages.page_ids, pages.n_pages, sample.trace, whole=whole)


def _named(parts: "Sequence[_Part]", names: Sequence[str]) -> "list[_Part]":
    """The applications under the names that are given, if any."""
    own = [part.name for part in parts] if not names else list(names)
    if len(own) != len(parts):
        raise ConfigError(f"{len(own)} names for {len(parts)} applications; give one each")
    check_names(own)
    return [replace(part, name=name) for name, part in zip(own, parts, strict=True)]


def reference_times(trace: Trace, request_start: npt.NDArray[Any]) -> I64:
    """int64[m]: the time of each reference, that of its request."""
    return np.repeat(trace.time_us, np.diff(request_start))


def _ordered(order: OrderOption, parts: Sequence[_Part], traces: Sequence[_Part]) -> tuple[Order, list[str]]:
    """The order of applications, and what to know of it.

    Args:
        order: as required.
        parts: the applications.
        traces: that they come from.

    Raises:
        ConfigError: as `mix_traces`.
    """
    without = [one.name for one in parts if not one.ticks]
    if order == "lockstep":
        return "lockstep", []
    if order == "clock" and without:
        message = (
            f"{without[0]}: its trace has no clock, so that its page accesses cannot be ordered among others by time; "
            "use --order lockstep"
        )
        raise ConfigError(message)
    if without:
        more = f" and {len(without) - 1} more have" if len(without) > 1 else " has"
        return "lockstep", [f"{without[0]}{more} no clock: page accesses come in lockstep, one of each in turn"]
    apart = _apart_in_time(traces)
    if order == "auto" and apart:
        raise ConfigError(f"{apart}; use --order lockstep, or --order clock if that is meant")
    return "clock", [line for line in (apart, _paces(traces)) if line]


def lasting(seconds: float) -> str:
    """A length of time for people, in the largest unit that it has at least two of: `7 days`, `49 h`, `8.2 min`."""
    unit, size = next(((unit, size) for unit, size in LADDER if seconds >= 2 * size), LADDER[-1])
    return f"{seconds / size:.3g} {unit}"


def _apart_in_time(traces: Sequence[_Part]) -> str:
    """What is wrong with an order by clocks where one trace lasts much longer than another; empty where none does."""
    longest, shortest = max(traces, key=lambda one: one.seconds), min(traces, key=lambda one: one.seconds)
    if longest.seconds <= MOST_RATIO * shortest.seconds:
        return ""
    return (
        f"{longest.name} lasts {lasting(longest.seconds)}, {shortest.name} {lasting(shortest.seconds)}: by the clock, "
        "from 0 on, they hardly ever run at the same time"
    )


def _paces(traces: Sequence[_Part]) -> str:
    """What to know where a second of one trace is another time of its day than a second of another; or empty."""
    scales = {one.name: time_scale(one.trace) for one in traces}
    slow, fast = min(scales, key=lambda name: scales[name]), max(scales, key=lambda name: scales[name])
    if scales[slow] == scales[fast]:
        return ""
    return (
        f"a second of {slow} stands for {scales[slow]:g} s of its day, one of {fast} for {scales[fast]:g} s: by the "
        f"clock {fast} comes {scales[fast] / scales[slow]:.3g} times too fast next to {slow}; if that is too much, use "
        "--order lockstep, where all are equally busy"
    )


def _undivided(trace: Trace) -> _Part:
    """A trace."""
    return _Part(trace.meta.trace_id, trace, _tick(trace.meta, ticks=has_clock(trace)))


def _tick(meta: TraceMeta, *, ticks: bool) -> bool:
    """Whether a trace has a clock; a mixture has one where all its sources have one too."""
    inner = loads(meta.extra.get(SOURCES, "[]"))
    return ticks and not any(are_numbered(entry.get("extra", {})) for entry in inner)


def _parts(traces: Sequence[Trace], apart: Apart | None) -> list[_Part]:
    """The applications."""
    if apart is None and len(traces) == 1:
        apart = "source"
        if traces[0].source is None:
            volumes = len(traces[0].volume.names)
            way = (
                f"take its {volumes} volumes apart (--apart volume)" if volumes > 1 else "name at least one more trace"
            )
            raise ConfigError(f"{traces[0].meta.trace_id}: one trace, which is no mixture of several; {way}")
    if apart is None:
        return [_undivided(trace) for trace in traces]
    found = list[_Part]()
    for trace in traces:
        own = _apart(trace, sources(trace) if apart == "source" else trace.volume, apart)
        prefix, ticks = f"{trace.meta.trace_id}/" if len(traces) > 1 else "", _undivided(trace).ticks
        for name, part in own:
            timed = apart == "source" and part.time_us.min() < part.time_us.max()  # a source had times of its own
            found.append(_Part(f"{prefix}{name}", part, ticks and (has_clock(part) or not timed)))
    return found


def _apart(trace: Trace, column: Coded, what: Apart) -> list[tuple[str, Trace]]:
    """A trace's requests by a column, names in its order; those that no request has are left out."""
    if int(column.codes.min(initial=0)) < 0:
        unknown = int((column.codes < 0).sum())
        raise TraceError(f"{trace.meta.trace_id}: {unknown} of its requests have no {what}; leave those out")
    counts = np.bincount(column.codes, minlength=len(column.names))
    return [(name, trace.take(np.flatnonzero(column.codes == k))) for k, name in enumerate(column.names) if counts[k]]
