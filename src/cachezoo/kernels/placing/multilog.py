"""MultiLog: a log for each update frequency; a page that is copied falls a log, one that is updated early may rise.

Source: Stoica and Ailamaki, "Improving Flash Write Performance by Using Update Frequency", PVLDB 6(9), 2013, as Wang et
al., FAST 2022, compare with it. New pages go to the first log. A valid page of an erased block goes to the next, which
is opened once the last one holds a block's worth. A page that is updated sooner than its log's pages are on average
rises with a chance that grows with how much sooner. Left out: the paper sizes the logs too, by choosing the log of the
victim; here the drive chooses the victim.

Our own reading: the clock is page writes of the host; the valid pages of the logs are counted anew after a share of the
blocks was erased; chance is the sequence of multiples of the golden ratio.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cachezoo.kernels.placing.state import CLASSES, MULTILOG, Placing, Rule
from cachezoo.kernels.step import step

if TYPE_CHECKING:
    from cachezoo.kernels.ftl_steps import Flash, Shape

# Of Placing.numbers: erases since the last count, counts, the last log in use, draws of chance, flash pages of a block;
# then by log: valid pages as last counted, flash pages that were erased, and those of them that were garbage.
SINCE, SURVEYS, DEEPEST, DRAWS, PER_BLOCK, VALID = range(6)
COLLECTED, GARBAGE = VALID + CLASSES, VALID + 2 * CLASSES
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
    numbers = placing.numbers
    log = int(placing.by_page[LOG, page])
    if log > 0 and numbers[COLLECTED + log] > 0:
        survive = 1.0 - numbers[GARBAGE + log] / numbers[COLLECTED + log]
        expected = numbers[VALID + log] * survive / 2.0
        early = expected - (clock - placing.written[page])
        if early > 0.0 and _chance(placing) < early / expected:
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
def of_erase(placing: Placing, victim: int, flash: "Flash", shape: "Shape") -> None:
    """Count what the block held, and all logs' valid pages where enough blocks were erased."""
    numbers, log = placing.numbers, flash.stream[victim]
    numbers[PER_BLOCK] = shape.per_block
    numbers[COLLECTED + log] += shape.per_block
    numbers[GARBAGE + log] += shape.per_block - flash.valid[victim]
    numbers[SINCE] += 1
    if numbers[SINCE] < max(shape.blocks // SHARE, 1) and numbers[SURVEYS] > 0:
        return
    numbers[SINCE] = 0
    numbers[SURVEYS] += 1
    for k in range(CLASSES):
        numbers[VALID + k] = 0
    for block in range(shape.blocks):
        if flash.valid[block] > 0:
            numbers[VALID + flash.stream[block]] += flash.valid[block]


@dataclass(frozen=True)
class MultiLog(Rule):
    """MultiLog."""

    scheme: ClassVar[int] = MULTILOG
    streams: ClassVar[int] = CLASSES
    keeps: ClassVar[int] = CLASSES + 1

    def start(self, logical_pages: int, blocks: int) -> Placing:
        """See `Rule.start`."""
        numbers = (0,) * (GARBAGE + CLASSES)
        return self._state(written=logical_pages, numbers=numbers, by_page=(1, logical_pages))
