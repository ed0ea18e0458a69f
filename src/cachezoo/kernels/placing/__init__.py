"""Which open block a drive of flash puts a page into: the host's streams, and schemes that place by themselves.

The host's writes and the drive's copies go to *streams*, each with an open block of its own. A *scheme* says which,
and learns of each write, of each block that is taken, and of each that is erased. All schemes share one state,
`Placing`, so that one drive is compiled for all of them; `cachezoo.kernels.ftl_steps` calls the steps below, which ask
for the scheme by its number.

A new scheme is: a number in `state.py`, its lines in the steps below, and a module with its arithmetic and a `Rule`
that says what it needs and makes its state. Time is `clock`, the page writes of the host so far, those of the pre-fill
included.

Sources: the host's streams, that copies keep: FIOS, Sec. III-C. SepBIT: Wang et al., FAST 2022, Alg. 1; their public
simulator places alike, but for what a queue of limited length forgets just after the bound has grown. The modules of
the other schemes name theirs. Of these the papers' abstracts and that simulator's behaviour were at hand, and not the
whole text, so that each module says what is our own reading.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cachezoo.arrays import I32, I64, Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels.jit import njit
from cachezoo.kernels.placing import dac, foresight, future, mida, multilog, sfs, warcip
from cachezoo.kernels.placing.state import (
    DAC,
    FORESIGHT,
    FUTURE,
    MIDA,
    MULTILOG,
    NAMED,
    NEVER,
    SEPBIT,
    SFS,
    WARCIP,
    Blocks,
    Placing,
    Rule,
)
from cachezoo.kernels.step import step

__all__ = [
    "BY_HOST",
    "NEVER",
    "Blocks",
    "Named",
    "Placing",
    "Rule",
    "SepBit",
    "block_chosen",
    "block_opened",
    "deaths",
    "page_written",
    "stream_of_copy",
    "stream_of_write",
]
SHORT, LONG, AFTER_SHORT, YOUNG, MIDDLE, OLD = range(6)  # SepBIT's classes 1 to 6
COLLECTED, LIVES_SEEN = range(2)  # SepBIT's numbers
MEAN_LIFE, LIVES, YOUNG_UNTIL, OLD_FROM = range(4)  # SepBIT's reals


@step
def stream_of_write(placing: Placing, clock: int, page: int, named: int, lived: bool, source: int, death: int) -> int:
    """The stream of a write of the host; called before the version that dies by it is gone.

    Args:
        placing: the scheme.
        clock: time of the write.
        page: that is written.
        named: stream that the host names.
        lived: whether a version dies by it.
        source: stream of the block which holds that version; -1 for none.
        death: time at which the new version will die; NEVER where it does not, or the future is not known.
    """
    if placing.scheme == SEPBIT:
        return SHORT if lived and clock - placing.written[page] < placing.reals[MEAN_LIFE] else LONG
    if placing.scheme == FUTURE:
        return future.class_of(placing, death - clock)
    if placing.scheme == DAC:
        return dac.of_write(placing, clock, page, lived)
    if placing.scheme == SFS:
        return sfs.class_of(placing, clock, page)
    if placing.scheme == MULTILOG:
        return multilog.of_write(placing, clock, page)
    if placing.scheme == MIDA:
        return 0
    if placing.scheme == WARCIP:
        return warcip.of_write(placing, clock, page, lived)
    if placing.scheme == FORESIGHT:
        return foresight.of_write(placing, clock, page, lived)
    return named


@step
def stream_of_copy(placing: Placing, clock: int, page: int, block: int, stream: int) -> int:
    """The stream of a copy of a page, out of a block of a stream."""
    if placing.scheme == SEPBIT:
        if stream == SHORT:
            return AFTER_SHORT
        age = clock - placing.written[page]
        if age < placing.reals[YOUNG_UNTIL] * placing.reals[MEAN_LIFE]:
            return YOUNG
        return MIDDLE if age < placing.reals[OLD_FROM] * placing.reals[MEAN_LIFE] else OLD
    if placing.scheme == FUTURE:
        return future.class_of(placing, int(placing.death[page] - clock))
    if placing.scheme == DAC:
        return dac.of_copy(placing, clock, page)
    if placing.scheme == SFS:
        return sfs.class_of(placing, clock, page)
    if placing.scheme == MULTILOG:
        return multilog.of_copy(placing, page)
    if placing.scheme == MIDA:
        return mida.of_copy(stream)
    if placing.scheme == WARCIP:
        return warcip.of_copy(placing, clock, page)
    if placing.scheme == FORESIGHT:
        return foresight.of_copy(placing, clock, page, stream)
    return stream


@step
def page_written(placing: Placing, clock: int, page: int, stream: int, death: int) -> None:
    """The host has written a page to a stream, at `clock`."""
    if placing.written.size > 0:
        placing.written[page] = clock
    if placing.writes.size > 0:
        placing.writes[page] += 1
    if placing.death.size > 0:
        placing.death[page] = death
    if placing.scheme == WARCIP:
        warcip.written(placing, stream)
    if placing.scheme == MULTILOG:
        multilog.written(placing, stream)


@step
def block_opened(placing: Placing, clock: int, block: int, stream: int) -> None:
    """A free block is taken for a stream."""
    if placing.begun.size > 0:
        placing.begun[block] = clock
    if placing.scheme == WARCIP:
        warcip.of_block(placing, stream)


@step
def block_chosen(placing: Placing, clock: int, block: int, stream: int, blocks: Blocks) -> None:
    """A block is about to be erased; its valid pages are copied after this."""
    if placing.scheme == SEPBIT and stream == SHORT:
        numbers, reals = placing.numbers, placing.reals
        reals[LIVES] += clock - placing.begun[block]
        numbers[LIVES_SEEN] += 1
        if numbers[LIVES_SEEN] == numbers[COLLECTED]:
            reals[MEAN_LIFE] = reals[LIVES] / numbers[LIVES_SEEN]
            reals[LIVES] = 0.0
            numbers[LIVES_SEEN] = 0
    if placing.scheme == SFS:
        sfs.of_erase(placing, clock, block, blocks)
    if placing.scheme == MULTILOG:
        multilog.of_erase(placing, blocks)


@dataclass(frozen=True)
class Named(Rule):
    """The host names a stream with each write, and copies keep it."""

    scheme: ClassVar[int] = NAMED


BY_HOST = Named()


@dataclass(frozen=True)
class SepBit(Rule):
    """SepBIT: writes by how long the version lived that dies by them, copies by how old they are.

    Attributes:
        collected: blocks of class 1 that are erased between two estimates of their mean life; the values are the
            paper's.
        young, old: a copied page is young below `young` mean lives of such a block, and old from `old` on.
    """

    scheme: ClassVar[int] = SEPBIT
    streams: ClassVar[int] = 6
    keeps: ClassVar[int] = 5
    fills: ClassVar[int] = LONG
    collected: int = 16
    young: float = 4.0
    old: float = 16.0

    def __post_init__(self) -> None:
        if self.collected < 1 or not 0 < self.young <= self.old:
            raise ConfigError(f"SepBIT with {self}: collected is at least 1, and 0 < young <= old")

    def start(self, logical_pages: int, blocks: int) -> Placing:
        """See `Rule.start`."""
        reals = (np.inf, 0.0, self.young, self.old)
        return self._state(written=logical_pages, begun=blocks, numbers=(self.collected, 0), reals=reals)


@njit
def deaths(pages: I32, trim: Bool, logical_pages: int, start: int, found: I64) -> I64:
    """When each version dies, for schemes that know the future.

    Args:
        pages: int32[n] written or trimmed.
        trim: bool[n], or bool[0] for none.
        logical_pages: of the drive.
        start: time of the first of them: pages of the pre-fill.
        found: int64[n], written: the time at which the version dies that entry i writes (NEVER; of a trim it means
            nothing).

    Returns:
        int64[logical pages], the same of what the pre-fill wrote.
    """
    first = np.full(logical_pages, NEVER, np.int64)
    clock = start
    for i in range(pages.size):
        clock += not (trim.size > 0 and trim[i])
    for i in range(pages.size - 1, -1, -1):
        page = pages[i]
        if trim.size > 0 and trim[i]:
            first[page] = clock  # the time of the next write: a trim takes none
            continue
        clock -= 1
        found[i] = first[page]
        first[page] = clock
    return first
