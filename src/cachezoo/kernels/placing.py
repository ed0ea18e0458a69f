"""Which open block a drive of flash puts a page into: the host's streams, and schemes that place by themselves.

The host's writes and the drive's copies go to *streams*, each with an open block of its own. A *scheme* says which, and
is told of each write, trim, block that is taken, and block that is erased. All schemes share one state, `Placing`, so
that one drive is compiled for all of them; `cachezoo.kernels.ftl_steps` calls the steps below, which ask for the scheme
by its number.

A new scheme is: a number here, its lines in the steps, and a `Rule` that says what it needs and makes its state. Time
is `clock`, the page writes of the host so far, those of the pre-fill included.

Sources: the host's streams, that copies keep: FIOS, Sec. III-C. SepBIT: Wang et al., FAST 2022, Alg. 1.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels.jit import njit
from cachezoo.kernels.step import step

NAMED, SEPBIT = range(2)  # schemes
NEVER = np.iinfo(np.int64).max  # death of a version that nothing overwrites or trims
SHORT, LONG, AFTER_SHORT, YOUNG, MIDDLE, OLD = range(6)  # SepBIT's classes 1 to 6
COLLECTED, LIVES_SEEN = range(2)  # SepBIT's numbers
MEAN_LIFE, LIVES, YOUNG_UNTIL, OLD_FROM = range(4)  # SepBIT's reals


class Placing(NamedTuple):
    """What a scheme knows. Arrays that it does not need have length 0, and are not kept.

    Attributes:
        scheme: its number.
        written: int64[logical pages] time of the host's last write of each page.
        writes: int64[logical pages] writes of the host of each page, the pre-fill's included.
        death: int64[logical pages] time at which the current version will die, for schemes that know the future; NEVER.
        begun: int64[blocks] time at which each block that is not free was taken.
        numbers, reals: knobs and state of the scheme's own.
        by_page: int64[rows, logical pages], by_block: int64[rows, blocks]: the same for each page and block.
    """

    scheme: int
    written: I64
    writes: I64
    death: I64
    begun: I64
    numbers: I64
    reals: F64
    by_page: I64
    by_block: I64


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


@step
def block_opened(placing: Placing, clock: int, block: int, stream: int) -> None:
    """A free block is taken for a stream."""
    if placing.begun.size > 0:
        placing.begun[block] = clock


@step
def block_chosen(placing: Placing, clock: int, block: int, stream: int, valid: int) -> None:
    """A block is about to be erased; its valid pages are copied after this."""
    if placing.scheme == SEPBIT and stream == SHORT:
        numbers, reals = placing.numbers, placing.reals
        reals[LIVES] += clock - placing.begun[block]
        numbers[LIVES_SEEN] += 1
        if numbers[LIVES_SEEN] == numbers[COLLECTED]:
            reals[MEAN_LIFE] = reals[LIVES] / numbers[LIVES_SEEN]
            reals[LIVES] = 0.0
            numbers[LIVES_SEEN] = 0


@dataclass(frozen=True)
class Rule:
    """A scheme and its knobs, and what it needs of a drive."""

    scheme: ClassVar[int]
    streams: ClassVar[int] = 0  # that it writes, those of copies included; 0: those of the host, whatever they are
    keeps: ClassVar[int] = 1  # blocks to be kept free: one more than streams that one erased block's copies go to
    fills: ClassVar[int] = 0  # stream of the pre-fill
    knows: ClassVar[bool] = False  # whether it knows when each version dies

    def start(self, logical_pages: int, blocks: int) -> Placing:
        """The state before the first write."""
        return self._state()

    def check(self, streams: int, keep_free: int) -> None:
        """Refuse a drive that has too few streams for it.

        Raises:
            ConfigError: it has.
        """
        if streams < self.streams or keep_free < self.keeps:
            message = (
                f"{type(self).__name__} on a drive with {streams} streams that keeps {keep_free} blocks free: it "
                f"writes {self.streams} streams, and {self.keeps} free blocks are kept to copy to"
            )
            raise ConfigError(message)

    def _state(
        self,
        *,
        written: int = 0,
        writes: int = 0,
        begun: int = 0,
        numbers: tuple[int, ...] = (),
        reals: tuple[float, ...] = (),
        by_page: tuple[int, int] = (0, 0),
        by_block: tuple[int, int] = (0, 0),
        death: int = 0,
    ) -> Placing:
        """A state with arrays of these lengths, all 0, and with these numbers."""
        return Placing(
            scheme=self.scheme,
            written=np.zeros(written, np.int64),
            writes=np.zeros(writes, np.int64),
            death=np.full(death, NEVER, np.int64),
            begun=np.zeros(begun, np.int64),
            numbers=np.array(numbers, np.int64),
            reals=np.array(reals, np.float64),
            by_page=np.zeros(by_page, np.int64),
            by_block=np.zeros(by_block, np.int64),
        )


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
def deaths(pages: I32, trim: Bool, logical_pages: int, start: int) -> tuple[I64, I64]:
    """When each version dies, for schemes that know the future.

    Args:
        pages: int32[n] written or trimmed.
        trim: bool[n], or bool[0] for none.
        logical_pages: of the drive.
        start: time of the first of them: pages of the pre-fill.

    Returns:
        int64[n], the time at which the version dies that entry i writes (NEVER; of a trim it means nothing), and
        int64[logical pages], the same of what the pre-fill wrote.
    """
    first = np.full(logical_pages, NEVER, np.int64)
    found = np.full(pages.size, NEVER, np.int64)
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
    return found, first
