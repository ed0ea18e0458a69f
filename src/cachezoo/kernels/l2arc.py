"""ZFS's L2ARC: ARC in RAM, and a feed that copies what ARC is about to evict to an SSD, which is a ring.

Now and then in the trace's time the feed looks from the tails of ARC's lists, T2 before T1, at `depth` pages of each,
and copies those that the SSD lacks until it has copied `budget`. Pages stay in ARC. A page found on the SSD enters ARC
and stays on the SSD, until the ring's hand comes to it or a write voids it.

While nothing is asked, ARC's lists stay as they are. Then the feed rests as soon as it finds nothing to copy, or has
gone once round the ring: without this a ring shorter than what the feed looks at would be rewritten without end.

Source: OpenZFS, module/zfs/arc.c, "Level 2 ARC" (the feed, its lists' order, headroom); the cache that HCA's paper
(see `cachezoo.kernels.tier_buffer`) measures, Sec. V-A.
Where it differs: there are no lists of metadata; before ARC has evicted anything OpenZFS looks from the heads.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8, Bool
from cachezoo.kernels.evict import arc
from cachezoo.kernels.jit import njit
from cachezoo.kernels.tiers import DISK, EVICTED, RAM, SSD, VOIDED, WRITTEN, Events, note

EMPTY = -1


class Ring(NamedTuple):
    """`page` int32[capacity] in each slot, `slot` int32[n_pages] of each page, or `EMPTY`; `hand` int64[1]."""

    page: I32
    slot: I32
    hand: I64


class Feed(NamedTuple):
    """`every_us` between two; `budget` pages copied at once; `depth` pages looked at in each list."""

    every_us: int
    budget: int
    depth: int


@njit
def _grown(events: Events, more: int) -> Events:
    """The events with room for so many more."""
    used = events.used[0]
    if used + more <= events.code.size:
        return events
    size = 2 * (used + more)
    code, page, at = np.empty(size, np.uint8), np.empty(size, np.int32), np.empty(size, np.int32)
    code[:used], page[:used], at[:used] = events.code[:used], events.page[:used], events.at[:used]
    return Events(code, page, at, events.used)


@njit
def _copy(ring: Ring, page: int, at: int, events: Events) -> None:
    """Write a page where the hand is."""
    hand = ring.hand[0]
    old = ring.page[hand]
    if old != EMPTY:
        ring.slot[old] = EMPTY
        note(events, EVICTED, old, at)
    ring.page[hand] = page
    ring.slot[page] = hand
    ring.hand[0] = hand + 1 if hand + 1 < ring.page.size else 0
    note(events, WRITTEN, page, at)


@njit
def _fed(cache: arc.State, ring: Ring, budget: int, depth: int, at: int, events: Events) -> int:
    """One feed; the pages that it copied."""
    copied = 0
    for which in (arc.T2, arc.T1):
        sentinel = cache.place.size + which
        page = cache.before[sentinel]
        for _ in range(depth):
            if page == sentinel or copied == budget:
                break
            if ring.slot[page] == EMPTY:
                _copy(ring, page, at, events)
                copied += 1
            page = cache.before[page]
    return copied


@njit
def l2arc(page_ids: I32, write: Bool, time_us: I64, cache: arc.State, ring_pages: int, feed: Feed) -> tuple[U8, Events]:
    """Serve a trace.

    Args:
        page_ids: int32[m].
        write: bool[m].
        time_us: int64[m] never decreasing.
        cache: ARC, empty.
        ring_pages: pages of the SSD.
        feed: how it is fed.

    Returns:
        uint8[m] where each access found its page, and the SSD's events; what a feed did stands at the access after it.
    """
    n_pages = cache.place.size
    ring = Ring(np.full(ring_pages, EMPTY, np.int32), np.full(n_pages, EMPTY, np.int32), np.zeros(1, np.int64))
    tier = np.empty(page_ids.size, np.uint8)
    room = page_ids.size + 1
    events = Events(np.empty(room, np.uint8), np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(1, np.int64))
    due = feed.every_us
    for i in range(page_ids.size):
        left = ring_pages
        while due <= time_us[i]:
            due += feed.every_us
            budget = min(feed.budget, left)
            events = _grown(events, 2 * budget)
            copied = _fed(cache, ring, budget, feed.depth, i, events)
            left -= copied
            if copied == 0 or left == 0:
                due += max(0, (time_us[i] - due) // feed.every_us + 1) * feed.every_us
        page = page_ids[i]
        held = ring.slot[page] != EMPTY
        if arc.has(cache, page):
            tier[i] = RAM
            arc.touch(cache, page, i)
        else:
            tier[i] = SSD if held else DISK
            arc.insert(cache, page, i)
        if write[i] and held:
            events = _grown(events, 1)
            ring.page[ring.slot[page]] = EMPTY
            ring.slot[page] = EMPTY
            note(events, VOIDED, page, i)
    return tier, events
