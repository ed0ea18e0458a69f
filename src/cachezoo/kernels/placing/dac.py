"""DAC: a page rises a region with each update, and falls one with each copy.

Source: Chiang, Lee and Chang, "Using Data Clustering to Improve Cleaning Performance for Flash Memory", Software:
Practice and Experience 29(3), 1999: regions by how often data is updated, with an open block each. Wang et al., FAST
2022, compare with it without the threshold on ages, which depends on the workload; so does a threshold of 0 here. With
one, an update within it raises the page, and a copy after it lowers the page: that the other two cases leave the region
as it is, is our reading.
"""

from dataclasses import dataclass
from typing import ClassVar

from cachezoo.errors import ConfigError
from cachezoo.kernels.placing.state import CLASSES, DAC, Placing, Rule
from cachezoo.kernels.step import step

YOUNG = 0  # of Placing.numbers: page writes of the host within which a page is young, or 0
REGION = 0  # of Placing.by_page; region 0 is the coldest


@step
def of_write(placing: Placing, clock: int, page: int, lived: bool) -> int:
    """One region above that of the version that dies; the coldest for what is new."""
    region, young = int(placing.by_page[REGION, page]), placing.numbers[YOUNG]
    if not lived:
        region = 0
    elif young == 0 or clock - placing.written[page] < young:
        region = min(region + 1, CLASSES - 1)
    placing.by_page[REGION, page] = region
    return region


@step
def of_copy(placing: Placing, clock: int, page: int) -> int:
    """One region below."""
    region, young = int(placing.by_page[REGION, page]), placing.numbers[YOUNG]
    if young == 0 or clock - placing.written[page] >= young:
        region = max(region - 1, 0)
    placing.by_page[REGION, page] = region
    return region


@dataclass(frozen=True)
class Dac(Rule):
    """DAC.

    Attributes:
        young: the threshold, as a share of the drive's pages that the host writes within it; 0 is none.
    """

    scheme: ClassVar[int] = DAC
    streams: ClassVar[int] = CLASSES
    keeps: ClassVar[int] = CLASSES + 1
    young: float = 0.0

    def __post_init__(self) -> None:
        if self.young < 0:
            raise ConfigError(f"DAC with a threshold of {self.young} of the drive's pages: it is 0 (none) or above")

    def start(self, logical_pages: int, blocks: int) -> Placing:
        """See `Rule.start`."""
        young = max(round(self.young * logical_pages), 1) if self.young else 0
        written = logical_pages if young else 0
        return self._state(written=written, numbers=(young,), by_page=(1, logical_pages))
