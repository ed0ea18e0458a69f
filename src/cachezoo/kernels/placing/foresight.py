"""Foresight: a small model inside the drive that predicts when a page write dies, and learns from each death.

Of the kind of PHFTL (Sun et al., "Learning-Based Data Separation for Write Amplification Reduction in Solid State
Drives", DAC 2023) and ML-DT (Chakraborttii and Litz, SYSTOR 2021), which have neural networks; the model here is ours.
A prediction is a sum of one weight for each of seven inputs, each cut into bins, so that it takes seven look-ups. The
inputs: the life of the version that dies by this write and of the one before; how long ago the pages before and behind
it were written, and the region of 128 pages; the mean life there; how often the page was written. When a version dies,
the weights move towards the logarithm of how long it lived; when it is copied and has outlived what was predicted,
towards twice its age, as it lives at least so long. So nothing but the past is used. What is written goes to classes by
quantiles of the predictions, followed as they come; what is copied by how often it was, as in MiDA.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from cachezoo.kernels.placing.state import CLASSES, FORESIGHT, Placing, Rule
from cachezoo.kernels.step import step

INPUTS, BINS = 7, 48
HOST = 3  # classes of what the host writes; the others take copies
REGION_SHIFT = 7
LIFE, KNOWN = (
    0,
    1,
)  # of Placing.by_page: the last version's life, 0 for none, and the bins of the last write, a byte each
CUTS, WEIGHTS = (
    0,
    HOST - 1,
)  # of Placing.reals: rising cuts, in logarithms of a life, and the weights of each input's bins
LIVES = WEIGHTS + INPUTS * BINS  # then the mean logarithm of a life in each region, 0 for none
SEEN = 0  # of Placing.numbers: of each region, the time of its last write, -1 for none
RATE = 1.0 / 64.0  # of what a prediction was off by, that each of its weights moves
FOLLOW = 1.0 / 256.0  # that a cut moves by, in doublings of a life
RECENT = 0.125  # weight of the newest life in a region's mean


@step
def log2_of(value: int) -> float:
    """Base-2 logarithm of 1 + value, between powers of two as a straight line; value is not negative."""
    mantissa, exponent = math.frexp(value + 1.0)
    return exponent - 1.0 + (2.0 * mantissa - 1.0)


@step
def _bin(value: float) -> int:
    """Of a logarithm; bin 0 is for what is not known."""
    return int(min(value, BINS - 2.0)) + 1


@step
def _age(placing: Placing, clock: int, page: int) -> int:
    """The bin of a page's age; 0 for a page that there is none, or that was never written."""
    if not 0 <= page < placing.written.size or placing.writes[page] == 0:
        return 0
    return _bin(log2_of(clock - placing.written[page]))


@step
def _describe(placing: Placing, clock: int, page: int) -> int:
    """The bins of a page write, before it is counted, a byte each."""
    region, life = page >> REGION_SHIFT, placing.by_page[LIFE, page]
    seen, mean = placing.numbers[SEEN + region], placing.reals[LIVES + region]
    known = _age(placing, clock, page)
    known |= (_bin(log2_of(life)) if life > 0 else 0) << 8
    known |= _age(placing, clock, page - 1) << 16
    known |= _age(placing, clock, page + 1) << 24
    known |= (_bin(log2_of(clock - seen)) if seen >= 0 else 0) << 32
    known |= (_bin(2.0 * mean) if mean > 0.0 else 0) << 40
    return known | _bin(2.0 * log2_of(placing.writes[page])) << 48


@step
def _predicted(placing: Placing, known: int) -> float:
    """Logarithm of a life, of what was known."""
    total = 0.0
    for k in range(INPUTS):
        total += placing.reals[WEIGHTS + k * BINS + (known >> 8 * k & 255)]
    return total


@step
def _learn(placing: Placing, known: int, life: float) -> None:
    """Move the weights of what was known towards a logarithm of a life."""
    off = life - _predicted(placing, known)
    for k in range(INPUTS):
        placing.reals[WEIGHTS + k * BINS + (known >> 8 * k & 255)] += RATE * off


@step
def of_write(placing: Placing, clock: int, page: int, lived: bool) -> int:
    """Learn from the version that dies, then predict."""
    region, life = page >> REGION_SHIFT, 0
    if lived:
        life = int(clock - placing.written[page])
        own, mean = log2_of(life), placing.reals[LIVES + region]
        _learn(placing, int(placing.by_page[KNOWN, page]), own)
        placing.reals[LIVES + region] = own if mean <= 0.0 else mean + RECENT * (own - mean)
    known = _describe(placing, clock, page)
    placing.by_page[LIFE, page], placing.by_page[KNOWN, page] = life, known
    placing.numbers[SEEN + region] = clock
    found, predicted = 0, _predicted(placing, known)
    for k in range(HOST - 1):
        above = predicted >= placing.reals[CUTS + k]
        found += 1 if above else 0
        placing.reals[CUTS + k] += FOLLOW * ((k + 1) / HOST - (0.0 if above else 1.0))
    return found


@step
def of_copy(placing: Placing, clock: int, page: int, stream: int) -> int:
    """The class behind the victim's, of those of copies."""
    age, known = log2_of(clock - placing.written[page]), int(placing.by_page[KNOWN, page])
    if age > _predicted(placing, known):
        _learn(placing, known, age + 1.0)
    return max(HOST, min(stream + 1, CLASSES - 1))


@dataclass(frozen=True)
class Foresight(Rule):
    """A small model inside the drive."""

    scheme: ClassVar[int] = FORESIGHT
    streams: ClassVar[int] = CLASSES
    keeps: ClassVar[int] = CLASSES - HOST + 1
    fills: ClassVar[int] = HOST - 1

    def start(self, logical_pages: int, blocks: int) -> Placing:
        """See `Rule.start`."""
        regions, life = (logical_pages >> REGION_SHIFT) + 1, float(log2_of(logical_pages))
        cuts = (life + k for k in range(HOST - 1))
        reals = (*cuts, *(life / INPUTS,) * (INPUTS * BINS), *(0.0,) * regions)
        rows, seen = (2, logical_pages), (-1,) * regions
        return self._state(written=logical_pages, writes=logical_pages, numbers=seen, reals=reals, by_page=rows)
