"""What a flash drive does with each write, trim and erase; `cachezoo.kernels.ftl` is what runs it.

It is compiled twice: for streams that the host names, which ask nothing of a scheme, and for all schemes together. With
what these do in the way of each page, the first would be less than half as fast.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from cachezoo.arrays import F64, I32, I64, U8, Bool
from cachezoo.kernels.jit import specialise
from cachezoo.kernels.lists import link_head, unlink
from cachezoo.kernels.pairing import NONE, put, take
from cachezoo.kernels.placing import (
    NEVER,
    Blocks,
    Placing,
    block_chosen,
    block_opened,
    page_written,
    stream_of_copy,
    stream_of_write,
)
from cachezoo.kernels.step import step, uncounted

NOWHERE = -1
CANDIDATE, RESTING, NOT_FULL = range(3)
FREE_FIRST, FREE, ERASED, CLOCK, LOWEST, LOWEST_RESTING, CHANCE, SEALED = range(8)  # of Flash.numbers
HOST, COPIED = range(2)
GREEDY, WEAR, COST_BENEFIT, COST_AGE_TIMES, D_CHOICES, WINDOWED, FIFO = range(7)  # victims
KEEP, SHARED, APART = range(3)  # copies
# Lehmer's generator, with the multiplier and the prime of Park and Miller, CACM 36(7), 1993: no product leaves 63 bits.
LEHMER, PRIME = 48271, 2**31 - 1


class Shape(NamedTuple):
    """What does not change; see `cachezoo.kernels.ftl.FlashDrive`."""

    blocks: int
    per_block: int
    shift: int
    keep_free: int
    victim: int
    slack: int
    among: int
    shuffled: bool  # chance decides among equal victims
    copies: int
    streams: int  # of the host


class Flash(NamedTuple):
    """What changes. A slot is a page's place: block << shift | index in the block.

    Full blocks are kept by what the victim asks for. GREEDY, WEAR: in lists by home and valid pages, the last to come
    first (`cachezoo.kernels.lists`). COST_BENEFIT: in heaps by valid pages, the first that became full on top
    (`cachezoo.kernels.pairing`; roots lie in `root`). The others: in one list, the last that became full first.

    Attributes:
        place: int32[logical pages] slot of the valid version, or NOWHERE.
        owner: int32[slots] page of which it is the valid version, or NOWHERE.
        valid, filled: int32[blocks] valid pages; pages written since the block was erased.
        stream: uint8[blocks] of a block that is not free.
        erases: int64[blocks].
        home: uint8[blocks] CANDIDATE or RESTING where the block is full, else NOT_FULL.
        before, after: int32[blocks + lists] of full blocks.
        child: int32[blocks] of heaps, else int32[0].
        root: int32[pages of a block + 1] of heaps by valid pages, else int32[0].
        sealed: int64[blocks] how many blocks became full before this one did; their order.
        full_at: int64[blocks] time at which it became full.
        weight: float64[pages of a block] by valid pages: what cost-benefit multiplies age by.
        opened: int32[streams] open block, or NOWHERE.
        free: int32[blocks] ring of free blocks; the first erased is the first taken.
        numbers: int64[8].
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
    child: I32
    root: I32
    sealed: I64
    full_at: I64
    weight: F64
    opened: I32
    free: I32
    numbers: I64


@step
def _below(flash: Flash, most: int) -> int:
    """A number by chance, from 0 to below `most`."""
    flash.numbers[CHANCE] = flash.numbers[CHANCE] * LEHMER % PRIME
    return int(flash.numbers[CHANCE] % most)


@step
def _list_of(shape: Shape, home: int, valid: int) -> int:
    return shape.blocks + home * (shape.per_block + 1) + valid


@step
def _enlist(flash: Flash, shape: Shape, block: int) -> None:
    """Put a full block where the victim looks for it, by its home and its valid pages."""
    home, valid = int(flash.home[block]), int(flash.valid[block])
    if shape.victim == COST_BENEFIT:
        flash.root[valid] = put(flash.sealed, flash.child, flash.before, flash.after, int(flash.root[valid]), block)
    elif shape.victim <= WEAR:
        link_head(flash.before, flash.after, _list_of(shape, home, valid), block)
        flash.numbers[LOWEST + home] = min(flash.numbers[LOWEST + home], valid)
    else:
        link_head(flash.before, flash.after, shape.blocks, block)


@step
def _delist(flash: Flash, shape: Shape, block: int, valid: int) -> None:
    """Take a full block out of where it lies, by the valid pages that it was put there with."""
    if shape.victim == COST_BENEFIT:
        flash.root[valid] = take(flash.sealed, flash.child, flash.before, flash.after, int(flash.root[valid]), block)
    else:
        unlink(flash.before, flash.after, block)


@step
def _kill(flash: Flash, shape: Shape, page: int) -> None:
    """The valid version of a page, if there is one, becomes garbage."""
    slot = flash.place[page]
    if slot == NOWHERE:
        return
    flash.place[page] = NOWHERE
    flash.owner[slot] = NOWHERE
    block = slot >> shape.shift
    valid = int(flash.valid[block])
    flash.valid[block] = valid - 1
    if flash.home[block] != NOT_FULL and shape.victim <= COST_BENEFIT:
        _delist(flash, shape, block, valid)
        _enlist(flash, shape, block)


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
        worn = flash.erases[block] > flash.numbers[ERASED] // shape.blocks + shape.slack
        flash.home[block] = RESTING if shape.victim == WEAR and worn else CANDIDATE
        flash.sealed[block] = flash.numbers[SEALED]
        flash.numbers[SEALED] += 1
        flash.full_at[block] = flash.numbers[CLOCK]
        _enlist(flash, shape, block)


@step
def _fewest(flash: Flash, shape: Shape) -> int:
    """Greedy. Each list is asked at most once for each page that the last victim held."""
    for home in range(2):
        lowest = int(flash.numbers[LOWEST + home])
        sentinel = _list_of(shape, home, lowest)
        while lowest < shape.per_block and flash.before[sentinel] == sentinel:
            lowest += 1
            sentinel += 1
        flash.numbers[LOWEST + home] = lowest
        if lowest < shape.per_block:
            block = int(flash.before[sentinel])
            if shape.shuffled:
                equal, here = 0, block
                while here != sentinel:
                    equal, here = equal + 1, int(flash.before[here])
                for _ in range(_below(flash, equal)):
                    block = int(flash.before[block])
            return block
    return NOWHERE


@step
def _cost_benefit(flash: Flash, shape: Shape) -> int:
    """The best of the oldest block for each number of valid pages; the first of equals."""
    if flash.root[0] != NONE:
        return int(flash.root[0])
    found, best, now = NOWHERE, -1.0, flash.numbers[CLOCK]
    for valid in range(1, shape.per_block):
        block = int(flash.root[valid])
        if block != NONE:
            score = flash.weight[valid] * (now - flash.full_at[block])
            if score > best:
                found, best = block, score
    return found


@step
def _cost_age_times(flash: Flash, shape: Shape) -> int:
    """As cost-benefit over the erases that a block has had; all full blocks are looked at, the oldest first."""
    found, best, now = NOWHERE, -1.0, flash.numbers[CLOCK]
    block = int(flash.before[shape.blocks])
    while block != shape.blocks:
        valid = int(flash.valid[block])
        if valid == 0:
            return block
        if valid < shape.per_block:
            score = flash.weight[valid] * (now - flash.full_at[block]) / max(flash.erases[block], 1)
            if score > best:
                found, best = block, score
        block = int(flash.before[block])
    return found


@step
def _of_drawn(flash: Flash, shape: Shape) -> int:
    """The fewest valid pages among full blocks drawn by chance, with replacement; the first drawn of equals."""
    found = NOWHERE
    for _ in range(shape.among):
        block = _below(flash, shape.blocks)
        while flash.home[block] == NOT_FULL:
            block = _below(flash, shape.blocks)
        if found == NOWHERE or flash.valid[block] < flash.valid[found]:
            found = block
    return found


@step
def _of_oldest(flash: Flash, shape: Shape) -> int:
    """The fewest valid pages among the `among` full blocks that have been full for the longest."""
    block = int(flash.before[shape.blocks])
    found, equal, seen = block, 0, 0
    while block != shape.blocks and seen < shape.among:
        if flash.valid[block] < flash.valid[found]:
            found, equal = block, 0
        equal += flash.valid[block] == flash.valid[found]
        seen, block = seen + 1, int(flash.before[block])
    if shape.shuffled:
        for _ in range(_below(flash, equal)):
            valid, found = flash.valid[found], int(flash.before[found])
            while flash.valid[found] != valid:
                found = int(flash.before[found])
    return found


@step
def _victim(flash: Flash, shape: Shape) -> int:
    """The full block to erase."""
    if shape.victim <= WEAR:
        return _fewest(flash, shape)
    if shape.victim == COST_BENEFIT:
        return _cost_benefit(flash, shape)
    if shape.victim == COST_AGE_TIMES:
        return _cost_age_times(flash, shape)
    if shape.victim == D_CHOICES:
        return _of_drawn(flash, shape)
    if shape.victim == WINDOWED:
        return _of_oldest(flash, shape)
    return int(flash.before[shape.blocks])


@step
def _wake(flash: Flash, shape: Shape) -> None:
    """Blocks that are no longer worn far above the mean can be erased again; once for each round of erases."""
    bound = flash.numbers[ERASED] // shape.blocks + shape.slack
    for block in range(shape.blocks):
        if flash.home[block] == RESTING and flash.erases[block] <= bound:
            unlink(flash.before, flash.after, block)
            flash.home[block] = CANDIDATE
            _enlist(flash, shape, block)


def _collect(flash: Flash, shape: Shape, placing: Placing, counts: I64) -> None:
    """Erase one block; its valid pages are copied first."""
    victim = _victim(flash, shape)
    stream = int(flash.stream[victim])
    _delist(flash, shape, victim, int(flash.valid[victim]))
    flash.home[victim] = NOT_FULL
    clock = int(flash.numbers[CLOCK])
    blocks = Blocks(flash.owner, flash.valid, flash.filled, flash.stream, shape.shift, shape.per_block)
    block_chosen(placing, clock, victim, stream, blocks)
    first = victim << shape.shift
    for slot in range(first, first + shape.per_block):
        page = int(flash.owner[slot])
        if page == NOWHERE:
            continue
        target = stream_of_copy(placing, clock, page, victim, stream)
        if shape.copies == SHARED:
            target = shape.streams
        elif shape.copies == APART and target < shape.streams:
            target += shape.streams
        flash.owner[slot] = NOWHERE
        _append(flash, shape, placing, page, target)
        counts[COPIED, target] += 1
    flash.valid[victim] = 0
    flash.filled[victim] = 0
    flash.erases[victim] += 1
    flash.free[(flash.numbers[FREE_FIRST] + flash.numbers[FREE]) % shape.blocks] = victim
    flash.numbers[FREE] += 1
    flash.numbers[ERASED] += 1
    if shape.victim == WEAR and flash.numbers[ERASED] % shape.blocks == 0:
        _wake(flash, shape)


def fill(flash: Flash, shape: Shape, placing: Placing, stream: int, death: I64, first: int) -> None:
    """Write each page once, by address from the page `first` on, and then those before it.

    `death` is int64[logical pages] of these versions, or int64[0].
    """
    for k in range(flash.place.size):
        page = (first + k) % flash.place.size
        _append(flash, shape, placing, page, stream)
        page_written(placing, int(flash.numbers[CLOCK]), page, stream, death[page] if death.size > 0 else NEVER)
        flash.numbers[CLOCK] += 1


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


@step
def _named_write(placing: Placing, clock: int, page: int, named: int, lived: bool, source: int, death: int) -> int:
    return named


@step
def _named_copy(placing: Placing, clock: int, page: int, block: int, stream: int) -> int:
    return stream


@step
def _nothing_written(placing: Placing, clock: int, page: int, stream: int, death: int) -> None:
    pass


@step
def _nothing_opened(placing: Placing, clock: int, block: int, stream: int) -> None:
    pass


@step
def _nothing_chosen(placing: Placing, clock: int, block: int, stream: int, blocks: Blocks) -> None:
    pass


Fill = Callable[[Flash, Shape, Placing, int, I64, int], None]
Write = Callable[[Flash, Shape, Placing, I32, U8, Bool, I64, I64], None]


def _compiled(name: str, **steps: Callable[..., Any]) -> tuple[Fill, Write]:
    """`fill` and `write` with the steps of placing bound."""
    append = uncounted(specialise(_append, f"append_{name}", **steps))
    collect = uncounted(specialise(_collect, f"collect_{name}", _append=append, **steps))
    filling = specialise(fill, f"fill_{name}", _append=append, **steps)
    return filling, specialise(write, f"write_{name}", _append=append, _collect=collect, **steps)


FOR_HOST = _compiled(
    "by_host",
    stream_of_write=_named_write,
    stream_of_copy=_named_copy,
    page_written=_nothing_written,
    block_opened=_nothing_opened,
    block_chosen=_nothing_chosen,
)
FOR_SCHEMES = _compiled(
    "by_scheme",
    stream_of_write=stream_of_write,
    stream_of_copy=stream_of_copy,
    page_written=page_written,
    block_opened=block_opened,
    block_chosen=block_chosen,
)
