"""What a scheme of placement knows, and what it needs of a drive; see `cachezoo.kernels.placing`."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8
from cachezoo.errors import ConfigError

NAMED, SEPBIT, FUTURE, DAC, SFS, MULTILOG, MIDA, WARCIP, FORESIGHT = range(9)  # schemes
CLASSES = 6  # streams of every scheme that places by itself, as Wang et al., FAST 2022, compare them
NEVER = np.iinfo(np.int64).max  # death of a version that nothing overwrites or trims


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


class Blocks(NamedTuple):
    """What a scheme may look at of a drive; see `cachezoo.kernels.ftl_steps.Flash`.

    Attributes:
        owner: int32[slots] page of which it is the valid version, -1 for none.
        valid, filled: int32[blocks] valid pages; pages written since the block was erased.
        stream: uint8[blocks] of a block that is not free.
        shift: a block's first slot is its number << shift.
        per_block: pages of a block.
    """

    owner: I32
    valid: I32
    filled: I32
    stream: U8
    shift: int
    per_block: int


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
