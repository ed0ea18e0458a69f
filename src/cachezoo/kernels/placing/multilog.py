"""MultiLog: a log for each update frequency; a page that is copied falls a log, one that is updated early may rise.

Source: Stoica and Ailamaki, "Improving Flash Write Performance by Using Update Frequency", PVLDB 6(9), 2013, as Wang et
al., FAST 2022, compare with it. New pages go to the first log. A valid page of an erased block goes to the next, which
is opened once the last one holds a block's worth. A page that is updated much sooner than those of its log are on
average rises a log, with a chance that grows with how much sooner. Left out: the paper sizes the logs too, by choosing
the log of the victim; here the drive chooses the victim.

Our own reading: a log's mean interval is its valid pages over its share of the host's writes, and half of it is the
bound; the clock is page writes of the host; pages and shares are counted anew after a share of the blocks was erased;
chance is the sequence of multiples of the golden ratio.
"""

from dataclasses import dataclass
from typing import ClassVar

from cachezoo.kernels.placing.state import CLASSES, MULTILOG, Blocks, Placing, Rule
from cachezoo.kernels.step import step

# Of Placing.numbers: erases since the last count, counts, the last log in use, draws of chance, flash pages of a block;
# then by log: valid pages as last counted, and writes of the host since.
SINCE, SURVEYS, DEEPEST, DRAWS, PER_BLOCK, VALID = range(6)
WRITES = VALID + CLASSES
BOUND = 0  # of Placing.reals: by log, the age below which an update is early
LOG = 0  # of Placing.by_page; log 0 is the hottest
SHARE = 64  # blocks over this many are erased between two counts
GOLDEN = 0.6180339887498949


@step
def _chance(placing: Placing) -> float:
    """The next number from 0 to below 1."""
    placing.numbers[DRAWS] += 1
    spread = placing.numbers[DRAWS] * GOLDEN
    return float(spread - int(spread))


@step
def of_write(placing: Placing, clock: int, page: int) -> int:
    """Its log, or the hotter one."""
    log = int(placing.by_page[LOG, page])
    bound = placing.reals[BOUND + log]
    if log > 0 and bound > 0.0:
        early = bound - (clock - placing.written[page])
        if early > 0.0 and _chance(placing) < early / bound:
            log -= 1
            placing.by_page[LOG, page] = log
    return log


@step
def of_copy(placing: Placing, page: int) -> int:
    """The colder log, where there is one or one may be opened."""
    numbers = placing.numbers
    log = int(placing.by_page[LOG, page])
    if log < numbers[DEEPEST]:
        log += 1
    elif log + 1 < CLASSES and numbers[VALID + log] >= numbers[PER_BLOCK]:
        log += 1
        numbers[DEEPEST] = log
    placing.by_page[LOG, page] = log
    return log


@step
def written(placing: Placing, stream: int) -> None:
    """The host wrote a page to a log."""
    placing.numbers[WRITES + stream] += 1


@step
def of_erase(placing: Placing, blocks: Blocks) -> None:
    """Count the logs' valid pages, and find their mean intervals, where enough blocks were erased."""
    numbers, reals = placing.numbers, placing.reals
    numbers[PER_BLOCK] = blocks.per_block
    numbers[SINCE] += 1
    if numbers[SINCE] < max(blocks.valid.size // SHARE, 1) and numbers[SURVEYS] > 0:
        return
    numbers[SINCE] = 0
    numbers[SURVEYS] += 1
    total = 0
    for log in range(CLASSES):
        numbers[VALID + log] = 0
        total += numbers[WRITES + log]
    for block in range(blocks.valid.size):
        if blocks.valid[block] > 0:
            numbers[VALID + blocks.stream[block]] += blocks.valid[block]
    for log in range(CLASSES):
        if numbers[WRITES + log] > 0:
            reals[BOUND + log] = numbers[VALID + log] * total / numbers[WRITES + log] / 2.0
        numbers[WRITES + log] = 0


@dataclass(frozen=True)
class MultiLog(Rule):
    """MultiLog."""

    scheme: ClassVar[int] = MULTILOG
    streams: ClassVar[int] = CLASSES
    keeps: ClassVar[int] = CLASSES + 1

    def start(self, logical_pages: int, blocks: int) -> Placing:
        """See `Rule.start`."""
        numbers, reals = (0,) * (WRITES + CLASSES), (0.0,) * CLASSES
        return self._state(written=logical_pages, numbers=numbers, reals=reals, by_page=(1, logical_pages))
