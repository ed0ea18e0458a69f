"""WARCIP: a page goes with the cluster whose mean rewrite interval is nearest to its own.

Source: Yang, Pei and Yang, "WARCIP: Write Amplification Reduction by Clustering I/O Pages", SYSTOR 2019, as Wang et
al., FAST 2022, compare with it. A cluster's centre is a mean of the intervals that went to it, whose weight starts over
with each block. All copies go to a class of their own, and a copied page's age is added to its next interval, so that
it will go to a cluster of longer ones. After a number of full blocks a cluster that took more than half of all writes
is split, and one that took hardly any is given up.

Our own reading: the clock is page writes of the host; the centres begin at the drive's pages, a quarter of them, a 16th
…; what is new goes to the cluster of the longest intervals and leaves its centre; the cluster that is given up, of less
than one in 256 writes, becomes the half of the one that is split, at half of its interval, so that their number stays.
"""

from dataclasses import dataclass
from typing import ClassVar

from cachezoo.errors import ConfigError
from cachezoo.kernels.placing.state import CLASSES, WARCIP, Placing, Rule
from cachezoo.kernels.step import step

COPIES = 0  # the class of copies; clusters are the classes behind it
# Of Placing.numbers: blocks between two splits, blocks since the last; then by class: pages of the open block, and
# writes since the last split.
WINDOW, FULL, HELD = range(3)
WRITES = HELD + CLASSES
PENALTY = 0  # of Placing.by_page: the age at which a page was copied last, 0 where it was not since its last write
IDLE = 256  # a cluster that takes less than one of so many writes is given up


@step
def of_write(placing: Placing, clock: int, page: int, lived: bool) -> int:
    """The nearest cluster, whose centre moves."""
    centres, best = placing.reals, 1
    if not lived:
        for k in range(2, CLASSES):
            if centres[k] > centres[best]:
                best = k
        return best
    interval = float(clock - placing.written[page] + placing.by_page[PENALTY, page])
    placing.by_page[PENALTY, page] = 0
    for k in range(2, CLASSES):
        if abs(centres[k] - interval) < abs(centres[best] - interval):
            best = k
    held = placing.numbers[HELD + best]
    centres[best] = (centres[best] * held + interval) / (held + 1)
    return best


@step
def written(placing: Placing, stream: int) -> None:
    """The host wrote a page to a class."""
    placing.numbers[HELD + stream] += 1
    placing.numbers[WRITES + stream] += 1


@step
def of_copy(placing: Placing, clock: int, page: int) -> int:
    """The class of copies; the age is noted."""
    placing.by_page[PENALTY, page] = clock - placing.written[page]
    return COPIES


@step
def _split(placing: Placing) -> None:
    """Split the busiest cluster where it has too much and another hardly any, and start over."""
    numbers = placing.numbers
    most, least, total = 1, 1, numbers[WRITES + 1]
    for k in range(2, CLASSES):
        total += numbers[WRITES + k]
        if numbers[WRITES + k] > numbers[WRITES + most]:
            most = k
        if numbers[WRITES + k] < numbers[WRITES + least]:
            least = k
    if 2 * numbers[WRITES + most] > total and IDLE * numbers[WRITES + least] < total:
        placing.reals[least] = placing.reals[most] / 2.0
    for k in range(CLASSES):
        numbers[WRITES + k] = 0


@step
def of_block(placing: Placing, stream: int) -> None:
    """A block is taken for a class, so that the one before is full."""
    if stream == COPIES:
        return
    numbers = placing.numbers
    numbers[HELD + stream] = 0
    numbers[FULL] += 1
    if numbers[FULL] == numbers[WINDOW]:
        numbers[FULL] = 0
        _split(placing)


@dataclass(frozen=True)
class Warcip(Rule):
    """WARCIP.

    Attributes:
        window: blocks that the clusters fill between two splits.
    """

    scheme: ClassVar[int] = WARCIP
    streams: ClassVar[int] = CLASSES
    keeps: ClassVar[int] = 2
    fills: ClassVar[int] = CLASSES - 1
    window: int = 256

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ConfigError(f"WARCIP that looks every {self.window} blocks whether to split: at least 1")

    def start(self, logical_pages: int, blocks: int) -> Placing:
        """See `Rule.start`."""
        centres = (0.0, *(logical_pages / 4 ** (CLASSES - 1 - k) for k in range(1, CLASSES)))
        numbers = (self.window, *(0,) * (WRITES + CLASSES - 1))
        return self._state(written=logical_pages, numbers=numbers, reals=centres, by_page=(1, logical_pages))
