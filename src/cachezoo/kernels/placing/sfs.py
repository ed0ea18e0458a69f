"""SFS: a page goes with the blocks that are about as hot as it is.

Source: Min et al., "SFS: Random Write Considered Harmful in Solid State Drives", FAST 2012: hotness is writes over
age, a block's that of its valid pages together, and iterative segment quantisation finds the centres of as many groups
as there are classes. As Wang et al., FAST 2022, compare with it, the placement runs with the victim of the drive; SFS's
own weighs hotness as cost-benefit weighs age.

Our own reading: the clock is page writes of the host; the writes of a page are those before this one, and its age the
time since the last; what was never written is cold, as there is no file to inherit from; the centres are found anew
after a share of the blocks was erased, three rounds each time, from those before, the first time from evenly spaced
ones; a group without a block keeps its centre; of equally near centres the colder one is taken.
"""

from dataclasses import dataclass
from typing import ClassVar

from cachezoo.arrays import F64
from cachezoo.kernels.placing.state import CLASSES, SFS, Blocks, Placing, Rule
from cachezoo.kernels.step import step

SINCE, SURVEYS, COUNTS = range(3)  # of Placing.numbers: erases since the last survey, surveys, and blocks by class
CENTRES, SUMS, HOT = 0, CLASSES, 2 * CLASSES  # of Placing.reals: falling centres, sums by class, hotness by block
ROUNDS = 3
SHARE = 8  # blocks over this many are erased between two surveys


@step
def nearest(centres: F64, hot: float) -> int:
    """The class whose centre is nearest, of equally near ones the coldest."""
    best = 0
    for k in range(1, CLASSES):
        if abs(centres[k] - hot) <= abs(centres[best] - hot):
            best = k
    return best


@step
def class_of(placing: Placing, clock: int, page: int) -> int:
    """By how hot the page is, but for a write that comes."""
    if placing.writes[page] == 0:
        return CLASSES - 1
    return nearest(placing.reals, placing.writes[page] / (clock - placing.written[page]))


@step
def _hotness(placing: Placing, clock: int, victim: int, blocks: Blocks) -> int:
    """Of each full block with valid pages, in order, into the reals; returns how many."""
    found = 0
    for block in range(blocks.valid.size):
        if blocks.filled[block] < blocks.per_block or blocks.valid[block] == 0 or block == victim:
            continue
        writes, age, first = 0, 0, block << blocks.shift
        for slot in range(first, first + blocks.per_block):
            page = blocks.owner[slot]
            if page >= 0:
                writes += placing.writes[page]
                age += clock - placing.written[page]
        placing.reals[HOT + found] = writes / age
        found += 1
    return found


@step
def _spread(reals: F64, found: int) -> None:
    """The first centres, evenly from the hottest block to the coldest."""
    low, high = reals[HOT], reals[HOT]
    for i in range(HOT + 1, HOT + found):
        low, high = min(low, reals[i]), max(high, reals[i])
    for k in range(CLASSES):
        reals[k] = high - (high - low) * k / (CLASSES - 1)


@step
def _sort(centres: F64) -> None:
    """Falling."""
    for i in range(1, CLASSES):
        own, k = centres[i], i
        while k > 0 and centres[k - 1] < own:
            centres[k] = centres[k - 1]
            k -= 1
        centres[k] = own


@step
def of_erase(placing: Placing, clock: int, victim: int, blocks: Blocks) -> None:
    """Find the centres anew, where enough blocks were erased."""
    numbers, reals = placing.numbers, placing.reals
    numbers[SINCE] += 1
    if numbers[SINCE] < max(blocks.valid.size // SHARE, 1) and numbers[SURVEYS] > 0:
        return
    numbers[SINCE] = 0
    found = _hotness(placing, clock, victim, blocks)
    if found == 0:
        return
    if numbers[SURVEYS] == 0:
        _spread(reals, found)
    numbers[SURVEYS] += 1
    for _ in range(ROUNDS):
        for k in range(CLASSES):
            reals[SUMS + k] = 0.0
            numbers[COUNTS + k] = 0
        for i in range(HOT, HOT + found):
            k = nearest(reals, reals[i])
            reals[SUMS + k] += reals[i]
            numbers[COUNTS + k] += 1
        for k in range(CLASSES):
            if numbers[COUNTS + k] > 0:
                reals[k] = reals[SUMS + k] / numbers[COUNTS + k]
    _sort(reals)


@dataclass(frozen=True)
class Sfs(Rule):
    """SFS."""

    scheme: ClassVar[int] = SFS
    streams: ClassVar[int] = CLASSES
    keeps: ClassVar[int] = CLASSES + 1
    fills: ClassVar[int] = CLASSES - 1

    def start(self, logical_pages: int, blocks: int) -> Placing:
        """See `Rule.start`."""
        reals, numbers = (0.0,) * (HOT + blocks), (0,) * (COUNTS + CLASSES)
        return self._state(written=logical_pages, writes=logical_pages, numbers=numbers, reals=reals)
