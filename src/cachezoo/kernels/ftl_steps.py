"""What a flash drive does with each write, trim and erase; `cachezoo.kernels.ftl` is what runs it."""

from typing import NamedTuple

from cachezoo.arrays import I32, I64, U8, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.lists import link_head, unlink
from cachezoo.kernels.placing import (
    NEVER,
    Placing,
    block_chosen,
    block_opened,
    page_written,
    stream_of_copy,
    stream_of_write,
)
from cachezoo.kernels.step import step

NOWHERE = -1
CANDIDATE, RESTING, NOT_FULL = range(3)
FREE_FIRST, FREE, ERASED, CLOCK, LOWEST, LOWEST_RESTING = range(6)  # of Flash.numbers
HOST, COPIED = range(2)


class Shape(NamedTuple):
    """What does not change; `slack` is -1 for a greedy drive."""

    blocks: int
    per_block: int
    shift: int
    keep_free: int
    slack: int


class Flash(NamedTuple):
    """What changes. A slot is a page's place: block << shift | index in the block.

    Attributes:
        place: int32[logical pages] slot of the valid version, or NOWHERE.
        owner: int32[slots] page of which it is the valid version, or NOWHERE.
        valid, filled: int32[blocks] valid pages; pages written since the block was erased.
        stream: uint8[blocks] of a block that is not free.
        erases: int64[blocks].
        home: uint8[blocks] CANDIDATE or RESTING where the block is full, else NOT_FULL.
        before, after: full blocks in lists by home and valid pages, see `cachezoo.kernels.lists`.
        opened: int32[streams] open block, or NOWHERE.
        free: int32[blocks] ring of free blocks; the first erased is the first taken.
        numbers: int64[6].
    """

    place: I32
    owner: I32
    valid: I32
    filled: I32
    stream: U8
    erases: I64
    home: U8
    before: I32
    after: I32
    opened: I32
    free: I32
    numbers: I64


@step
def _list_of(shape: Shape, home: int, valid: int) -> int:
    return shape.blocks + home * (shape.per_block + 1) + valid


@step
def _enlist(flash: Flash, shape: Shape, block: int) -> None:
    """Put a full block into the list of its home and its valid pages."""
    home, valid = int(flash.home[block]), int(flash.valid[block])
    link_head(flash.before, flash.after, _list_of(shape, home, valid), block)
    flash.numbers[LOWEST + home] = min(flash.numbers[LOWEST + home], valid)


@step
def _kill(flash: Flash, shape: Shape, page: int) -> None:
    """The valid version of a page, if there is one, becomes garbage."""
    slot = flash.place[page]
    if slot == NOWHERE:
        return
    flash.place[page] = NOWHERE
    flash.owner[slot] = NOWHERE
    block = slot >> shape.shift
    flash.valid[block] -= 1
    if flash.home[block] != NOT_FULL:
        unlink(flash.before, flash.after, block)
        _enlist(flash, shape, block)


@step
def _append(flash: Flash, shape: Shape, placing: Placing, page: int, stream: int) -> None:
    """Write a page to its stream's open block; a free block is taken where there is none."""
    block = int(flash.opened[stream])
    if block == NOWHERE:
        block = int(flash.free[flash.numbers[FREE_FIRST]])
        flash.numbers[FREE_FIRST] = (flash.numbers[FREE_FIRST] + 1) % shape.blocks
        flash.numbers[FREE] -= 1
        flash.opened[stream] = block
        flash.stream[block] = stream
        block_opened(placing, int(flash.numbers[CLOCK]), block, stream)
    slot = (block << shape.shift) | int(flash.filled[block])
    flash.place[page] = slot
    flash.owner[slot] = page
    flash.filled[block] += 1
    flash.valid[block] += 1
    if flash.filled[block] == shape.per_block:
        flash.opened[stream] = NOWHERE
        worn = shape.slack >= 0 and flash.erases[block] > flash.numbers[ERASED] // shape.blocks + shape.slack
        flash.home[block] = RESTING if worn else CANDIDATE
        _enlist(flash, shape, block)


@step
def _victim(flash: Flash, shape: Shape) -> int:
    """The full block to erase. Each list is asked at most once for each page that the last victim held."""
    for home in range(2):
        lowest = int(flash.numbers[LOWEST + home])
        sentinel = _list_of(shape, home, lowest)
        while lowest < shape.per_block and flash.before[sentinel] == sentinel:
            lowest += 1
            sentinel += 1
        flash.numbers[LOWEST + home] = lowest
        if lowest < shape.per_block:
            return int(flash.before[sentinel])
    return NOWHERE


@step
def _wake(flash: Flash, shape: Shape) -> None:
    """Blocks that are no longer worn far above the mean can be erased again; once for each round of erases."""
    bound = flash.numbers[ERASED] // shape.blocks + shape.slack
    for block in range(shape.blocks):
        if flash.home[block] == RESTING and flash.erases[block] <= bound:
            unlink(flash.before, flash.after, block)
            flash.home[block] = CANDIDATE
            _enlist(flash, shape, block)


@step
def _collect(flash: Flash, shape: Shape, placing: Placing, counts: I64) -> None:
    """Erase one block; its valid pages are copied first."""
    victim = _victim(flash, shape)
    stream = int(flash.stream[victim])
    unlink(flash.before, flash.after, victim)
    flash.home[victim] = NOT_FULL
    clock = int(flash.numbers[CLOCK])
    block_chosen(placing, clock, victim, stream, int(flash.valid[victim]), flash, shape)
    first = victim << shape.shift
    for slot in range(first, first + shape.per_block):
        page = int(flash.owner[slot])
        if page == NOWHERE:
            continue
        target = stream_of_copy(placing, clock, page, victim, stream)
        flash.owner[slot] = NOWHERE
        _append(flash, shape, placing, page, target)
        counts[COPIED, target] += 1
    flash.valid[victim] = 0
    flash.filled[victim] = 0
    flash.erases[victim] += 1
    flash.free[(flash.numbers[FREE_FIRST] + flash.numbers[FREE]) % shape.blocks] = victim
    flash.numbers[FREE] += 1
    flash.numbers[ERASED] += 1
    if shape.slack >= 0 and flash.numbers[ERASED] % shape.blocks == 0:
        _wake(flash, shape)


@njit
def fill(flash: Flash, shape: Shape, placing: Placing, stream: int, death: I64) -> None:
    """Write each page once, by address; `death` is int64[logical pages] of these versions, or int64[0]."""
    for page in range(flash.place.size):
        _append(flash, shape, placing, page, stream)
        page_written(placing, int(flash.numbers[CLOCK]), page, stream, death[page] if death.size > 0 else NEVER)
        flash.numbers[CLOCK] += 1


@njit
def write(
    flash: Flash, shape: Shape, placing: Placing, pages: I32, streams: U8, trim: Bool, death: I64, counts: I64
) -> None:
    """Writes and trims in their order; `counts` is int64[2, streams] of pages by the host, and copied.

    `streams`, `trim` and `death` (`cachezoo.kernels.placing.deaths`) are as long as `pages`; the last two may be empty.
    """
    for i in range(pages.size):
        page = int(pages[i])
        if trim.size > 0 and trim[i]:
            _kill(flash, shape, page)
            continue
        clock, dies = int(flash.numbers[CLOCK]), death[i] if death.size > 0 else NEVER
        slot = flash.place[page]
        source = int(flash.stream[slot >> shape.shift]) if slot != NOWHERE else NOWHERE
        stream = stream_of_write(placing, clock, page, int(streams[i]), slot != NOWHERE, source, dies)
        _kill(flash, shape, page)
        if flash.opened[stream] == NOWHERE:
            while flash.numbers[FREE] <= shape.keep_free:
                _collect(flash, shape, placing, counts)
        _append(flash, shape, placing, page, stream)
        page_written(placing, clock, page, stream, dies)
        flash.numbers[CLOCK] += 1
        counts[HOST, stream] += 1
