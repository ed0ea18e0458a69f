"""A cache that follows the best of several: which expert leads, and what is held while the pages of another come in.

Each expert is a cache of the same capacity that runs beside on the same accesses, its *shadow*. What it did at each
access is given. From it are kept, for each page, the experts that hold it, and for each expert a count of its hits that
decays, and how many pages it holds that the follower does not.

Leading: where the leader misses what another expert hits, the expert of the largest count takes over if its count is
ahead of the leader's by more than `lead` and `price` for each page that it holds and the follower lacks, since these
have to be read again. Following: a missed page enters if the leader holds it after its own step. In its place leaves a
page that the leader does not hold, a *stray*; there is one whenever the follower is full, because the leader holds no
more pages than fit. A page that the last leader held, too, stays until its room is needed. Among strays the queue
decides: a page joins it as the leader evicts it, goes to its end when it is hit, and waits there through a change of
leaders if the new one does not hold it either; the pages that the old leader held alone queue behind it, those used
longest ago first.

Shadows may see drawn pages alone, in as small a part of the capacity (`follow_sampled`). Then they only measure, all
counts are of drawn pages, and what the leader holds is told by a cache of all pages that its own policy runs. Such a
cache is built up when its expert takes over, so that a change waits for the next request.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8, U32
from cachezoo.kernels.jit import njit
from cachezoo.kernels.lists import link_head, links, unlink
from cachezoo.kernels.outcome import ADMITTED, AROUND, BYPASSED, HIT, NONE, PREFETCH, PREFETCHED, REQUEST
from cachezoo.kernels.step import step

MOST_EXPERTS = 32
ALL = 2**MOST_EXPERTS - 1
OUT, KEPT, STRAY = 0, 1, 2
LEADER, USED = 0, 1
LARGEST = 1e100  # of a hit's weight, before all counts are divided by it


class State(NamedTuple):
    """What the follower knows between two accesses.

    Attributes:
        holders: uint32[n_pages], bit e: the shadow of expert e holds the page.
        place: uint8[n_pages]: `OUT` of the follower, `KEPT` as the leader does, or a `STRAY`.
        before, after: int32[n_pages + 2] the kept pages by use and the queue of strays, latest first.
        credit: float64[experts], the decayed hits in units of `weight`.
        weight: float64[1], what a hit counts now; it grows, instead of all counts shrinking.
        lacks: int64[experts], pages that the expert's shadow holds and the follower does not.
        numbers: int64[2], the leader and how many pages the follower holds.
        capacity: pages.
        growth: of the weight from one access to the next.
        lead: hits by which another expert must be ahead.
        price: hits more for each page to be read again.
    """

    holders: U32
    place: U8
    before: I32
    after: I32
    credit: F64
    weight: F64
    lacks: I64
    numbers: I64
    capacity: int
    growth: float
    lead: float
    price: float


def make(n_pages: int, capacity: int, experts: int, half_life: float, lead: float, price: float) -> State:
    """An empty follower whose first leader is expert 0.

    Args:
        n_pages: distinct pages.
        capacity: pages.
        experts: at most `MOST_EXPERTS`.
        half_life: accesses.
        lead: hits.
        price: hits for each page.
    """
    before, after = links(n_pages, 2)
    return State(
        np.zeros(n_pages, np.uint32), np.zeros(n_pages, np.uint8), before, after, np.zeros(experts), np.ones(1),
        np.zeros(experts, np.int64), np.zeros(2, np.int64), capacity, 2.0 ** (1.0 / half_life), lead, price,
    )  # fmt: skip


@step
def _move(state: State, page: int, place: int) -> None:
    """To the head of the kept pages or of the strays, from wherever it is."""
    if state.place[page] != OUT:
        unlink(state.before, state.after, page)
    state.place[page] = place
    link_head(state.before, state.after, state.place.size + place - KEPT, page)


@step
def _left(state: State, expert: int, page: int) -> None:
    """An expert evicted a page."""
    state.holders[page] &= ALL ^ (1 << expert)
    if state.place[page] == OUT:
        state.lacks[expert] -= 1


@step
def _strayed(state: State, page: int) -> None:
    """The leader evicted a page."""
    if state.place[page] == KEPT:
        _move(state, page, STRAY)


@step
def _watch(state: State, page: int, i: int, outcome: U8, victim: I32) -> int:
    """The shadows take step i of the span; returns the bits of those that hit."""
    hit = 0
    for expert in range(state.credit.size):
        did = outcome[expert, i]
        if did == HIT:
            hit |= 1 << expert
            state.credit[expert] += state.weight[0]
        elif did != BYPASSED:
            state.holders[page] |= 1 << expert
            if state.place[page] == OUT:
                state.lacks[expert] += 1
            if victim[expert, i] != NONE:
                _left(state, expert, victim[expert, i])
    return hit


@step
def _age(state: State) -> None:
    """One access more: what was counted so far weighs less beside the next hit."""
    state.weight[0] *= state.growth
    if state.weight[0] > LARGEST:
        for expert in range(state.credit.size):
            state.credit[expert] /= state.weight[0]
        state.weight[0] = 1.0


@step
def _ahead(state: State) -> int:
    """The expert that pays best for a change, or the leader if none pays for it."""
    leader = int(state.numbers[LEADER])
    best, most = leader, 0.0
    for expert in range(state.credit.size):
        ahead = (state.credit[expert] - state.credit[leader]) / state.weight[0]
        gain = ahead - state.lead - state.price * state.lacks[expert]
        if gain > most:
            best, most = expert, gain
    return best


@step
def _keep(state: State, leads: U32, bit: int) -> None:
    """The pages whose `bit` is set in `leads` are kept, all others are strays."""
    kept = state.place.size
    stray = kept + 1
    page = state.before[kept]
    while page != kept:
        newer = state.before[page]
        if not leads[page] >> bit & 1:
            _move(state, page, STRAY)
        page = newer
    page = state.before[stray]
    while page != stray:
        newer = state.before[page]
        if leads[page] >> bit & 1:
            _move(state, page, KEPT)
        page = newer


@step
def _lacking(state: State, page: int, change: int) -> None:
    """The page came in (-1) or left (1): the experts that hold it have one page less, or more, that is not held."""
    for expert in range(state.lacks.size):
        if state.holders[page] >> expert & 1:
            state.lacks[expert] += change


@step
def _enter(state: State, page: int) -> int:
    """A page of the leader comes in; returns the stray that leaves for it, or `NONE` if there was room."""
    left = NONE
    if state.numbers[USED] == state.capacity:
        left = int(state.before[state.place.size + STRAY - KEPT])
        unlink(state.before, state.after, left)
        state.place[left] = OUT
        _lacking(state, left, 1)
    else:
        state.numbers[USED] += 1
    _move(state, page, KEPT)
    _lacking(state, page, -1)
    return left


@step
def _answer(state: State, page: int, flag: int, held: bool, missed: bool, i: int, outcome: U8, victim: I32) -> bool:
    """The follower serves access i, whose page the leader holds after its own step, or not.

    Returns:
        Whether the request missed so far.
    """
    outcome[i] = BYPASSED
    victim[i] = NONE
    asked = not flag & PREFETCH
    if state.place[page] != OUT:
        if asked:
            outcome[i] = HIT
            _move(state, page, KEPT if held else STRAY)
        elif held:
            _move(state, page, KEPT)
    elif asked and not flag & AROUND:
        missed = True
        if held:
            outcome[i] = ADMITTED
            victim[i] = _enter(state, page)
    elif not asked and missed and held:
        outcome[i] = PREFETCHED
        victim[i] = _enter(state, page)
    return missed


@njit
def follow(page_ids: I32, flags: U8, state: State, experts: tuple[U8, I32], followed: tuple[U8, I32, U8]) -> None:
    """Serve a span of accesses that begins with a request's first.

    Args:
        page_ids: int32[m].
        flags: uint8[m] bits of `cachezoo.kernels.outcome`.
        state: as `make` returns it, changed in place.
        experts: uint8[experts, m] outcomes and int32[experts, m] victims of the shadows.
        followed: written: uint8[m] outcome and int32[m] victim of the follower, uint8[m] the leader.
    """
    did, evicted = experts
    outcome, victim, leader = followed
    missed = False
    for i in range(page_ids.size):
        page = page_ids[i]
        flag = flags[i]
        if flag & REQUEST:
            missed = False
        if not flag & PREFETCH:
            _age(state)
        hit = _watch(state, page, i, did, evicted)
        left = evicted[state.numbers[LEADER], i]
        if left != NONE:
            _strayed(state, left)
        if hit and not hit >> state.numbers[LEADER] & 1:
            ahead = _ahead(state)
            if ahead != state.numbers[LEADER]:
                state.numbers[LEADER] = ahead
                _keep(state, state.holders, ahead)
        held = bool(state.holders[page] >> state.numbers[LEADER] & 1)
        leader[i] = state.numbers[LEADER]
        missed = _answer(state, page, flag, held, missed, i, outcome, victim)


@njit
def follow_sampled(
    page_ids: I32, flags: U8, state: State, shadows: tuple[I64, U8, I32], led: tuple[U32, U8, I32],
    followed: tuple[U8, I32, U8],
) -> tuple[int, int]:  # fmt: skip
    """Serve a span of accesses that begins with a request's first, until another than the leader is ahead.

    The shadows hold drawn pages alone and only measure. What is held is what the leader's own cache of all pages holds.

    Args:
        page_ids: int32[m].
        flags: uint8[m] bits of `cachezoo.kernels.outcome`.
        state: as `make` returns it, changed in place; its capacity is the follower's, half-life, lead and price are of
            the drawn pages.
        shadows: int64[k] the accesses to drawn pages, rising, uint8[experts, k] outcomes and int32[experts, k] victims
            of the shadows there.
        led: uint32[n_pages], 1 where the leader's cache holds a page, changed in place; uint8[m] its outcomes and
            int32[m] victims.
        followed: written: uint8[m] outcome and int32[m] victim of the follower, uint8[m] the leader.

    Returns:
        Accesses served, up to a request's end, and who is ahead then.
    """
    rows, did, evicted = shadows
    leads, leads_did, leads_evicted = led
    outcome, victim, leader = followed
    missed, row, ahead = False, 0, int(state.numbers[LEADER])
    for i in range(page_ids.size):
        page = page_ids[i]
        flag = flags[i]
        if flag & REQUEST:
            missed = False
            if ahead != state.numbers[LEADER]:
                return i, ahead
        if row < rows.size and rows[row] == i:
            if not flag & PREFETCH:
                _age(state)
            hit = _watch(state, page, row, did, evicted)
            if hit and ahead == state.numbers[LEADER] and not hit >> ahead & 1:
                ahead = _ahead(state)
            row += 1
        if leads_did[i] == ADMITTED or leads_did[i] == PREFETCHED:
            leads[page] = 1
            if leads_evicted[i] != NONE:
                leads[leads_evicted[i]] = 0
                _strayed(state, leads_evicted[i])
        leader[i] = state.numbers[LEADER]
        missed = _answer(state, page, flag, bool(leads[page]), missed, i, outcome, victim)
    return page_ids.size, ahead


@njit
def change(state: State, leader: int, leads: U32) -> None:
    """Follow another, whose cache of all pages holds those with a 1 in `leads`, uint32[n_pages]."""
    state.numbers[LEADER] = leader
    _keep(state, leads, 0)
