"""The two loops that run every cache: templates, to which `cachezoo.kernels.jit.specialise` binds a policy's steps.

A policy is a state (a NamedTuple of flat arrays, changed in place; what changes and is a single number lives in an
array of one) and three steps on it. An admission is a state and two. The functions below that only raise stand for
them, so that the loops read as they run; each composition is compiled once, with its steps inlined.
"""

from typing import Any

from cachezoo.arrays import I32, U8
from cachezoo.kernels.near import AHEAD, SOON
from cachezoo.kernels.outcome import (
    ADMITTED,
    AROUND,
    BYPASSED,
    HIT,
    NONE,
    PREFETCH,
    PREFETCHED,
    REFUSED,
    REQUEST,
    UNIT,
)

State = Any
UNDECIDED, YES, NO = 0, 1, 2


def has(state: State, page: int) -> bool:
    """Eviction: is the page resident?"""
    raise NotImplementedError


def touch(state: State, page: int, i: int) -> None:
    """Eviction: access number i hit the resident page."""
    raise NotImplementedError


def insert(state: State, page: int, i: int) -> int:
    """Eviction: access number i missed the page and the admission lets it in.

    Returns:
        The page evicted to make room, `NONE` if there was room, or `REFUSED` if the policy keeps the page out.
        At most one page leaves, and what is not resident afterwards is the page returned or the one refused.
    """
    raise NotImplementedError


def admit(admission: State, page: int, i: int) -> bool:
    """Admission: may the page missed by access number i enter? Asked once for each unit, at its first miss."""
    raise NotImplementedError


def saw(admission: State, page: int, i: int) -> None:
    """Admission: access number i hit."""
    raise NotImplementedError


def far() -> bool:
    """Is the state too large for the processor's caches, so that `near` is worth its while?"""
    raise NotImplementedError


def near(state: State, page: int) -> Any:  # noqa: ANN401 - whatever it finds there
    """Eviction: the page's turn comes in `cachezoo.kernels.near.AHEAD` accesses; changes nothing."""
    raise NotImplementedError


def soon(state: State, page: int) -> Any:  # noqa: ANN401 - whatever it finds there
    """Eviction: the same of a page that `near` was given before, whose turn comes in `SOON` accesses."""
    raise NotImplementedError


def run(page_ids: I32, state: State, outcome: U8) -> None:
    """Admit everything, a page at a time, and report hits alone: the fast loop.

    Args:
        page_ids: int32[m].
        state: the eviction's, empty.
        outcome: uint8[m], written: `BYPASSED`, `ADMITTED` or `HIT`.
    """
    for i in range(page_ids.size):
        page = page_ids[i]
        if has(state, page):
            outcome[i] = HIT
            touch(state, page, i)
        else:
            outcome[i] = BYPASSED if insert(state, page, i) == REFUSED else ADMITTED


def simulate(page_ids: I32, flags: U8, state: State, admission: State, span: tuple[int, int], outcome: U8,
           victim: I32) -> None:  # fmt: skip
    """Serve the accesses of a stream from `span[0]` to before `span[1]`, both the first of a request (or the end).

    Args:
        page_ids: int32[m] the whole stream's.
        flags: uint8[m] bits of `cachezoo.kernels.outcome`.
        state: the eviction's.
        admission: the admission's.
        span: first and past-last access.
        outcome: uint8 of each access of the span, written: `BYPASSED`, `ADMITTED`, `HIT` or `PREFETCHED`; a prefetch
            that is not carried out, or refused, is `BYPASSED`.
        victim: int32 of each access of the span, written: the page that the access evicted, or `NONE`.
    """
    decided = UNDECIDED
    fetch = False
    for i in range(span[0], span[1]):
        at = i - span[0]
        page = page_ids[i]
        flag = flags[i]
        if far() and i + AHEAD < span[1]:
            near(state, page_ids[i + AHEAD])
            soon(state, page_ids[i + SOON])
        victim[at] = NONE
        outcome[at] = BYPASSED
        if flag & REQUEST:
            fetch = False
        if flag & UNIT:
            decided = UNDECIDED
        if flag & PREFETCH:
            if fetch and not has(state, page):
                left = insert(state, page, i)
                if left != REFUSED:
                    outcome[at] = PREFETCHED
                    victim[at] = left
        elif has(state, page):
            outcome[at] = HIT
            touch(state, page, i)
            saw(admission, page, i)
        elif not flag & AROUND:
            if decided == UNDECIDED:
                decided = YES if admit(admission, page, i) else NO
            if decided == YES:
                fetch = True
                left = insert(state, page, i)
                if left != REFUSED:
                    outcome[at] = ADMITTED
                    victim[at] = left
