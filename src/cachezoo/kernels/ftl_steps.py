"""What a flash drive does with each write, trim and erase; `cachezoo.kernels.ftl` is what runs it."""

from typing import NamedTuple

from cachezoo.arrays import F64, I32, I64, U8, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.lists import link_head, unlink
from cachezoo.kernels.step import step

NOWHERE = -1
CANDIDATE, RESTING, NOT_FULL = range(3)
FREE_FIRST, FREE, ERASED, CLOCK, LOWEST, LOWEST_RESTING = range(6)  # of Flash.numbers
SHORT, LONG, AFTER_SHORT, YOUNG, MIDDLE, OLD = range(6)  # SepBIT's classes 1 to 6
MEAN_LIFE, LIVES, LIVES_SEEN = range(3)  # of Flash.lives
HOST, COPIED = range(2)


class Shape(NamedTuple):
    """What does not change; `slack` is -1 for a greedy drive."""

    blocks: int
    per_block: int
    shift: int
    keep_free: int
    slack: int
    sepbit: bool
    collected: int
    young: float
    old: float


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
        written: int64[logical pages] time of the host's last write, in its page writes; int64[0] without SepBIT.
        begun: int64[blocks] time at which a block was taken.
        lives: float64[3] of SepBIT: the mean life of erased blocks of class 1, and lives summed since, and counted.
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
    written: I64
    begun: I64
    lives: F64


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
def _append(flash: Flash, shape: Shape, page: int, stream: int) -> None:
    """Write a page to its stream's open block; a free block is taken where there is none."""
    block = int(flash.opened[stream])
    if block == NOWHERE:
        block = int(flash.free[flash.numbers[FREE_FIRST]])
        flash.numbers[FREE_FIRST] = (flash.numbers[FREE_FIRST] + 1) % shape.blocks
        flash.numbers[FREE] -= 1
        flash.opened[stream] = block
        flash.stream[block] = stream
        flash.begun[block] = flash.numbers[CLOCK]
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
def _note_life(flash: Flash, shape: Shape, block: int) -> None:
    """SepBIT: a block of class 1 is erased; the mean life of the last `collected` is the new bound."""
    flash.lives[LIVES] += flash.numbers[CLOCK] - flash.begun[block]
    flash.lives[LIVES_SEEN] += 1
    if flash.lives[LIVES_SEEN] == shape.collected:
        flash.lives[MEAN_LIFE] = flash.lives[LIVES] / flash.lives[LIVES_SEEN]
        flash.lives[LIVES] = 0.0
        flash.lives[LIVES_SEEN] = 0.0


@step
def _class_of_write(flash: Flash, page: int) -> int:
    """SepBIT: a write is short-lived where the version that dies by it was."""
    short = flash.place[page] != NOWHERE and flash.numbers[CLOCK] - flash.written[page] < flash.lives[MEAN_LIFE]
    return SHORT if short else LONG


@step
def _class_of_copy(flash: Flash, shape: Shape, page: int, stream: int) -> int:
    """SepBIT: by the class of the block that it was in, and by its age."""
    if stream == SHORT:
        return AFTER_SHORT
    age = flash.numbers[CLOCK] - flash.written[page]
    if age < shape.young * flash.lives[MEAN_LIFE]:
        return YOUNG
    return MIDDLE if age < shape.old * flash.lives[MEAN_LIFE] else OLD


@step
def _collect(flash: Flash, shape: Shape, counts: I64) -> None:
    """Erase one block; its valid pages are copied first."""
    victim = _victim(flash, shape)
    stream = int(flash.stream[victim])
    unlink(flash.before, flash.after, victim)
    flash.home[victim] = NOT_FULL
    if shape.sepbit and stream == SHORT:
        _note_life(flash, shape, victim)
    first = victim << shape.shift
    for slot in range(first, first + shape.per_block):
        page = int(flash.owner[slot])
        if page == NOWHERE:
            continue
        target = _class_of_copy(flash, shape, page, stream) if shape.sepbit else stream
        flash.owner[slot] = NOWHERE
        _append(flash, shape, page, target)
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
def fill(flash: Flash, shape: Shape, stream: int) -> None:
    """Write each page once, by address."""
    for page in range(flash.place.size):
        _append(flash, shape, page, stream)
        if shape.sepbit:
            flash.written[page] = flash.numbers[CLOCK]
        flash.numbers[CLOCK] += 1


@njit
def write(flash: Flash, shape: Shape, pages: I32, streams: U8, trim: Bool, counts: I64) -> None:
    """Writes and trims in their order; `counts` is int64[2, streams] of pages by the host, and copied."""
    for i in range(pages.size):
        page = int(pages[i])
        if trim.size > 0 and trim[i]:
            _kill(flash, shape, page)
            continue
        stream = _class_of_write(flash, page) if shape.sepbit else int(streams[i])
        _kill(flash, shape, page)
        if flash.opened[stream] == NOWHERE:
            while flash.numbers[FREE] <= shape.keep_free:
                _collect(flash, shape, counts)
        _append(flash, shape, page, stream)
        if shape.sepbit:
            flash.written[page] = flash.numbers[CLOCK]
        flash.numbers[CLOCK] += 1
        counts[HOST, stream] += 1
