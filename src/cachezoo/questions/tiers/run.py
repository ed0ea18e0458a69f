"""Run a hierarchy over a trace: RAM by the engine of policies, then what is below it.

What RAM does depends on nothing below it, and what the SSD is asked depends on nothing that the SSD does. So RAM's run,
and the questions, serve for SSDs of every size and policy.
`run_shared` keeps both for the next hierarchies on the same stream.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from cachezoo.arrays import I32, U8, Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels import l2arc, tier_buffer, tier_counts, tier_queue, tiers
from cachezoo.kernels.evict import arc
from cachezoo.kernels.jit import specialise
from cachezoo.kernels.outcome import HIT, NONE, WRITE
from cachezoo.kernels.step import step
from cachezoo.kernels.tiers import (
    BUFFER,
    DISK,
    EVICTED,
    MOVED_UP,
    OFFER,
    RAM,
    SSD,
    VOIDED,
    WRITTEN,
    Asked,
    Events,
)
from cachezoo.policies.components import Composition, Eviction, Step, Values, settle
from cachezoo.policies.decisions import for_each_access
from cachezoo.policies.engine import Run
from cachezoo.policies.stream import Stream
from cachezoo.questions.tiers.budget import Point
from cachezoo.questions.tiers.hierarchy import BUNDLE, HCALFU, Hierarchy, read_part
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.sizes import PAGE_BYTES

__all__ = (
    "BUFFER", "DISK", "EVICTED", "MOVED_UP", "RAM", "SSD", "VOIDED", "WRITTEN", "Questions", "TierCounts", "TierRun",
    "counts", "questions", "run_shared", "run_tiers",
)  # fmt: skip

MOST_KEPT = 4
"""Runs of RAM, and of questions to the SSD, that `run_shared` keeps; of a RAM there are as many kinds of questions."""
HOW = {"exclusive": tier_buffer.EXCLUSIVE, "promotion": tier_buffer.PROMOTION, "inclusive": tier_buffer.INCLUSIVE}


@dataclass(frozen=True)
class TierRun:
    """What a hierarchy did with the m page accesses of a trace."""

    tier: U8  # [m] where each access found its page: `RAM`, `BUFFER`, `SSD` or `DISK`; writes too
    event_at: I32  # [e] access at which each event of the SSD happened
    event_page: I32  # [e] its page
    event: U8  # [e] `WRITTEN`, `EVICTED`, `MOVED_UP` or `VOIDED`, in order
    ram_pages: int
    ssd_pages: int  # 0 without an SSD
    hierarchy: Hierarchy


@dataclass(frozen=True)
class Questions:
    """What the SSD is asked, whatever its size."""

    asked: Asked  # in order
    tier: U8  # [m] as `TierRun.tier`, `DISK` for all below RAM and the buffer
    stream: Stream  # the questions as a cache's stream, for the components that look at it


@dataclass(frozen=True)
class Below:
    """An eviction of the SSD; its steps are those of `cachezoo.kernels.tiers`."""

    id: str  # of the eviction that it is; one id, one set of steps
    make: Callable[[Stream, int, Values], Any]  # (stream of what the SSD is asked, capacity in pages, values)
    has: Step
    touch: Step
    insert: Step
    remove: Step  # where it does nothing, copies stay that can serve nobody
    learn: Callable[[Any, int], None] | None = None  # as `Eviction.learn`, every `learn_every` questions
    learn_every: int = 0


@step
def _stays(state: object, page: int) -> None:
    """Nothing: the copy stays where it is until the eviction evicts it."""


def _queue(name: str, touch: Step) -> Below:
    def make(stream: Stream, capacity: int, _: Values) -> tier_queue.State:
        return tier_queue.make(stream.n_pages, capacity)

    return Below(name, make, tier_queue.has, touch, tier_queue.insert, tier_queue.remove)


def _counted(name: str, keeps: bool, refuses: bool) -> Below:
    def make(stream: Stream, capacity: int, _: Values) -> tier_counts.State:
        return tier_counts.make(stream.n_pages, capacity, keeps, refuses)

    return Below(name, make, tier_counts.has, tier_counts.touch, tier_counts.insert, tier_counts.remove)


REMOVING = {
    own.id: own
    for own in (
        _queue("lru", tier_queue.touch),
        _queue("fifo", tier_queue.stay),
        _counted("lfu", keeps=True, refuses=True),
        _counted("inlfu", keeps=False, refuses=False),
        _counted(HCALFU.id, keeps=True, refuses=False),
    )
}
"""Evictions that can remove a page of the SSD at once."""


def below(eviction: Eviction) -> Below:
    """The eviction as the SSD's: one that removes where there is one, else the zoo's with dead copies."""
    if eviction.id in REMOVING:
        return REMOVING[eviction.id]

    def make(stream: Stream, capacity: int, given: Values) -> Any:  # noqa: ANN401 - each eviction's own
        return eviction.make(stream, capacity, settle(eviction.id, eviction.parameters, given))

    return Below(
        eviction.id, make, eviction.has, eviction.touch, eviction.insert, _stays, eviction.learn, eviction.learn_every
    )  # fmt: skip


@cache
def _loop(name: str, has: Step, touch: Step, insert: Step, remove: Step, admit: Step, saw: Step) -> Step:
    steps = {"has": has, "touch": touch, "insert": insert, "remove": remove, "admit": admit, "saw": saw}
    return specialise(tiers.serve, f"serve_{name}", **steps)


def questions(hierarchy: Hierarchy, ts: TierStream, l1: Run) -> Questions:
    """What the SSD of an exclusive, promoting or inclusive hierarchy is asked, by RAM's run over the accesses.

    Raises:
        ConfigError: the run does not say what was evicted.
    """
    if not l1.says_who_left:
        raise ConfigError(f"hierarchy {hierarchy}: RAM's run does not say which pages left; take a cache that does")
    flags = ts.stream.flags
    below_ram = np.count_nonzero((l1.outcome != HIT) & (flags & WRITE == 0))
    room = 2 * below_ram + int(ts.write.sum()) + np.count_nonzero(l1.victim != NONE)
    empty = Asked(
        np.empty(room, np.uint8), np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    )
    tier = np.empty(len(ts), np.uint8)
    upper = tier_buffer.Upper(ts.stream.page_ids, flags, l1.outcome, l1.victim)
    used = tier_buffer.questions(upper, ts.order, HOW[hierarchy.kind], hierarchy.buffer_pages, tier, empty)
    asked = Asked(empty.code[:used], empty.page[:used], empty.at[:used], empty.seen[:used])
    return Questions(asked, tier, _as_stream(ts.stream, asked))


def _as_stream(stream: Stream, asked: Asked) -> Stream:
    """Each question as the access that asked for its page last."""
    return Stream(
        asked.page, stream.flags[asked.seen], np.broadcast_to(np.int32(PAGE_BYTES), len(asked.page)), stream.n_pages,
        stream.writes, stream.request_pages[asked.seen],
    )  # fmt: skip


def _spans(own: Below, length: int) -> list[tuple[int, int]]:
    """Questions between two lessons of an eviction that learns; all of another."""
    stops = [*range(own.learn_every, length, own.learn_every), length] if own.learn else [length]
    return list(zip([0, *stops], stops, strict=False))


def _served(parts: Composition, found: Questions, ssd_pages: int) -> tuple[U8, Events]:
    """Where each access found its page, and the SSD's events."""
    own, admission = below(parts.eviction), parts.admission
    values = settle(admission.id, admission.parameters, parts.admission_values)
    gate_name = str(admission.admit.__module__).rpartition(".")[2]
    loop = _loop(f"{gate_name}_{own.id}", own.has, own.touch, own.insert, own.remove, admission.admit, admission.saw)
    state = own.make(found.stream, ssd_pages, parts.eviction_values)
    gate_state = admission.make(found.stream, ssd_pages, values)
    room = 2 * np.count_nonzero(found.asked.code == OFFER)
    events = Events(np.empty(room, np.uint8), np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(1, np.int64))
    tier, live = found.tier.copy(), np.zeros(found.stream.n_pages, np.uint8)
    for span in _spans(own, len(found.asked.code)):
        loop(found.asked, span, state, gate_state, live, tier, events)
        if own.learn is not None and span[1] < len(found.asked.code):
            own.learn(state, span[1])
    return tier, events


def _l2arc(hierarchy: Hierarchy, ts: TierStream, ram_pages: int, ssd_pages: int) -> tuple[U8, Events]:
    """As `_served`, of ARC and the ring that it feeds."""
    rate, headroom, feed_ms = (hierarchy.options[name] for name in ("rate", "headroom", "feed"))
    budget = int(rate * feed_ms / 1000) // PAGE_BYTES
    feed = l2arc.Feed(round(1000 * feed_ms), budget, max(1, int(headroom * budget)))
    cache = arc.make(ts.stream.n_pages, ram_pages)
    return l2arc.l2arc(ts.stream.page_ids, ts.write, ts.time_us, cache, ssd_pages, feed)


def run_tiers(
    hierarchy: Hierarchy,
    ts: TierStream,
    ram_pages: int,
    ssd_pages: int,
    l1: Run | None = None,
    asked: Questions | None = None,
    decisions: Bool | None = None,
) -> TierRun:
    """Serve a trace from an empty hierarchy.

    Args:
        hierarchy: what runs.
        ts: the accesses.
        ram_pages: RAM's capacity, at least 1; the buffer is beside it.
        ssd_pages: the SSD's, at least 1; of no meaning where there is none.
        l1: RAM's run, where it is known; `l2arc` runs its ARC itself, since the feed looks into it.
        asked: what `questions` says of that run, where it is known.
        decisions: what the admission `bundle` decides: bool, one for each request or each access, True where its pages
            may enter. On the SSD a page follows the last one before it is offered. Others do not look at them.

    Raises:
        ConfigError: a capacity below 1, decisions that are missing or do not fit, or RAM's run does not say which pages
            left.
    """
    if ram_pages < 1 or (hierarchy.has_ssd and ssd_pages < 1):
        message = (
            f"hierarchy {hierarchy}: {ram_pages} pages of RAM and {ssd_pages} on the SSD; each has at least one; "
            f"without an SSD write {hierarchy.ram} alone"
        )
        raise ConfigError(message)
    if hierarchy.kind == "l2arc":
        return _run_of(hierarchy, *_l2arc(hierarchy, ts, ram_pages, ssd_pages), ram_pages, ssd_pages)
    if asked is None and l1 is None:
        l1 = hierarchy.ram_policy(decisions).simulate(ts.stream, ram_pages)
    if hierarchy.kind == "ram":
        assert l1 is not None
        tier = np.where(l1.outcome == HIT, RAM, DISK).astype(np.uint8)
        none = np.empty(0, np.int32)
        return TierRun(tier, none, none, np.empty(0, np.uint8), ram_pages, 0, hierarchy)
    if asked is None:
        assert l1 is not None
        asked = questions(hierarchy, ts, l1)
    if decisions is not None:
        decisions = for_each_access(decisions, ts.stream, BUNDLE)[asked.asked.seen]
    tier, events = _served(hierarchy.ssd_composition(decisions), asked, ssd_pages)
    return _run_of(hierarchy, tier, events, ram_pages, ssd_pages)


def _run_of(hierarchy: Hierarchy, tier: U8, events: Events, ram_pages: int, ssd_pages: int) -> TierRun:
    used = int(events.used[0])
    at, page, code = events.at[:used].copy(), events.page[:used].copy(), events.code[:used].copy()
    return TierRun(tier, at, page, code, ram_pages, ssd_pages, hierarchy)


@lru_cache(MOST_KEPT)
def _ram_run(ts: TierStream, ram: str, ram_pages: int) -> Run:
    return read_part(ram, "RAM").policy().simulate(ts.stream, ram_pages)


@lru_cache(MOST_KEPT)
def _questions(ts: TierStream, top: Hierarchy, ram_pages: int) -> Questions:
    return questions(top, ts, _ram_run(ts, top.ram, ram_pages))


def run_shared(point: Point, ts: TierStream, decisions: Bool | None = None) -> TierRun:
    """As `run_tiers`; what RAM does, and what it asks of the SSD, is kept for further points with the same RAM.

    With a bundle's decisions nothing is kept. Without RAM there is no cache at all: the disk serves everything.
    """
    hierarchy, ram, ssd = point.hierarchy, point.ram_pages, point.ssd_pages
    if not ram:
        none = np.empty(0, np.int32)
        return TierRun(np.full(len(ts), DISK, np.uint8), none, none, np.empty(0, np.uint8), 0, 0, hierarchy)
    if decisions is not None or hierarchy.kind == "l2arc":
        return run_tiers(hierarchy, ts, ram, ssd, decisions=decisions)
    if not hierarchy.has_ssd:
        return run_tiers(hierarchy, ts, ram, ssd, _ram_run(ts, hierarchy.ram, ram))
    return run_tiers(hierarchy, ts, ram, ssd, asked=_questions(ts, replace(hierarchy, ssd=""), ram))


@dataclass(frozen=True)
class TierCounts:
    """Page accesses by where they found their page."""

    reads: int  # page reads; the next four are those of them that found their page there
    ram: int
    buffer: int
    ssd: int
    disk: int
    writes: int  # page writes, written through to the disk
    ssd_writes: int  # pages written to the SSD

    @property
    def rhr(self) -> float:
        """RAM hits per read, the buffer's among them."""
        return (self.ram + self.buffer) / max(self.reads, 1)

    @property
    def shr(self) -> float:
        """SSD hits per read."""
        return self.ssd / max(self.reads, 1)

    @property
    def dhr(self) -> float:
        """Reads from the disk per read."""
        return self.disk / max(self.reads, 1)


def counts(run: TierRun, ts: TierStream, first: int = 0, last: int | None = None) -> TierCounts:
    """Count a run's accesses `first` to before `last` (all where None)."""
    part = slice(first, len(ts) if last is None else last)
    write = ts.write[part]
    found = np.bincount(run.tier[part][~write], minlength=DISK + 1)
    written = run.event_at[run.event == WRITTEN]
    inside = np.count_nonzero((written >= part.start) & (written < part.stop))
    return TierCounts(
        int(found.sum()), int(found[RAM]), int(found[BUFFER]), int(found[SSD]), int(found[DISK]), int(write.sum()),
        int(inside),
    )  # fmt: skip
