"""Fig. 9: a disk that takes one time for every page, and an application that waits for it.

The application does something for `THINK_US` before each reference. Pages that the cache moves at a reference are
queued at the disk, and the next reference waits until all of them are read, hit or miss: a page that is still queued
helps nobody. A miss then waits for its own page. The paper gives no time between references, and that of its traces is
not known, so that only the disk's time in proportion to `THINK_US` counts.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

THINK_US = 1000
LATENCIES_US = (50, 100, 200, 400, 800, 1600, 3200, 6400)


@dataclass(frozen=True)
class Disk:
    """A cache's references before the disk.

    Attributes:
        miss: bool[m].
        moved: int64[m] pages moved at each reference.
        latency_us: of a page.
    """

    miss: npt.NDArray[np.bool_]
    moved: npt.NDArray[np.int64]
    latency_us: int

    @property
    def total_us(self) -> int:
        """Until the last page is read."""
        m, latency = len(self.miss), self.latency_us
        late = np.maximum(self.moved[:-1] * latency - THINK_US, 0)
        return THINK_US * m + latency * int(np.count_nonzero(self.miss) + self.moved[-1]) + int(late.sum())

    @property
    def mean_us(self) -> float:
        """Mean time of a reference, with what the application does before it."""
        return self.total_us / len(self.miss)

    @property
    def busy(self) -> float:
        """Share of the time that the disk is busy."""
        return self.latency_us * int(np.count_nonzero(self.miss) + self.moved.sum()) / self.total_us
