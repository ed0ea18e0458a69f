"""An SSD below RAM: the loop that answers what RAM asks of it, and the one table of codes of hierarchies.

What RAM does depends on nothing below it, so `cachezoo.kernels.tier_buffer` writes down beforehand what the SSD is
asked, in order. `serve` is a template, to which `cachezoo.kernels.jit.specialise` binds the steps of an eviction and of
an admission, as they stand in `cachezoo.kernels.loops`, and one more, `remove`.

`live` says what the SSD can serve. An eviction that can remove a page at once holds just these. Another keeps the
*dead* copy of a page that moved up or was overwritten, which takes room until the eviction evicts it, or until the page
is written again: then it is in use again, and the eviction takes that for a hit. So it knows pages by their addresses
for as long as it wants to, and never holds two copies of one.

Source: HCA (see `cachezoo.kernels.tier_buffer`), Sec. IV; dead copies as in log-structured caches on flash (Berg et
al., "The CacheLib caching engine", OSDI 2020, Sec. 4.2, for large items).
"""

from typing import Any, NamedTuple

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.outcome import NONE, REFUSED
from cachezoo.kernels.step import step

State = Any

# Where an access found its page, uint8.
RAM, BUFFER, SSD, DISK = 0, 1, 2, 3
# What happened to a page of the SSD, uint8.
WRITTEN, EVICTED, MOVED_UP, VOIDED = 0, 1, 2, 3
# What the SSD is asked, uint8: find the page and give it up; find it and keep it; take it in; forget it.
TAKE, PEEK, OFFER, VOID = 0, 1, 2, 3


class Asked(NamedTuple):
    """What the SSD is asked, in order: `code` uint8[k], `page` int32[k], `at` int32[k] the access that it belongs to.

    `seen` int32[k] is the access that asked for the page last: of an offer, the last one before the page left RAM.
    """

    code: U8
    page: I32
    at: I32
    seen: I32


class Events(NamedTuple):
    """What happened to pages of the SSD, in order: `code` uint8, `page` int32, `at` int32 of the access.

    `used` int64[1] counts them.
    """

    code: U8
    page: I32
    at: I32
    used: I64


def has(state: State, page: int) -> bool:
    """Eviction: does it hold the page, live or dead?"""
    raise NotImplementedError


def touch(state: State, page: int, k: int) -> None:
    """Eviction: question number k hit the page that it holds."""
    raise NotImplementedError


def insert(state: State, page: int, k: int) -> int:
    """Eviction: take the page in; the page evicted, `NONE`, or `REFUSED`."""
    raise NotImplementedError


def remove(state: State, page: int) -> None:
    """Eviction: let go of the page that it holds; one that cannot does nothing, and the copy is dead."""
    raise NotImplementedError


def admit(admission: State, page: int, k: int) -> bool:
    """Admission: may the page offered by question number k be written?"""
    raise NotImplementedError


def saw(admission: State, page: int, k: int) -> None:
    """Admission: question number k hit."""
    raise NotImplementedError


@step
def note(events: Events, code: int, page: int, at: int) -> None:
    """Write an event down."""
    used = events.used[0]
    events.code[used], events.page[used], events.at[used] = code, page, at
    events.used[0] = used + 1


def serve(asked: Asked, span: tuple[int, int], state: State, admission: State, live: U8, tier: U8,
          events: Events) -> None:  # fmt: skip
    """Answer questions `span[0]` to before `span[1]`.

    Args:
        asked: all questions.
        span: first and past-last question.
        state: the eviction's.
        admission: the admission's.
        live: uint8[n_pages] 1 where the SSD can serve the page; changed.
        tier: uint8[m], changed: `SSD` where it says `DISK` of an access whose page the SSD had.
        events: written on from `used`; room for two of each offer.
    """
    for k in range(span[0], span[1]):
        code, page, at = asked.code[k], asked.page[k], asked.at[k]
        if code == OFFER:
            if live[page] or not admit(admission, page, k):
                continue
            left = NONE
            if has(state, page):
                touch(state, page, k)
            else:
                left = insert(state, page, k)
            if left == REFUSED:
                continue
            if left != NONE and live[left]:
                live[left] = 0
                note(events, EVICTED, left, at)
            live[page] = 1
            note(events, WRITTEN, page, at)
        elif live[page]:
            if tier[at] == DISK:
                tier[at] = SSD
            if code == VOID:
                live[page] = 0
                remove(state, page)
                note(events, VOIDED, page, at)
                continue
            saw(admission, page, k)
            if code == PEEK:
                touch(state, page, k)
            else:
                live[page] = 0
                remove(state, page)
                note(events, MOVED_UP, page, at)
