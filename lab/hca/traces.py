"""The two workloads of HCA's measurements, made anew: one record in `SAMPLE` of the paper's files.

A cache of one hundredth of the size over one hundredth of the records, drawn by place and not by popularity, has the
hit ratios of the whole (spatial sampling: Waldspurger et al., FAST 2015). Records keep the places that they would have
among all, so that the disk's head travels as far. Their times are not made here, see `lab.hca.closed`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.seeds import derive_seed
from cachezoo.traces.table import OP_READ, OP_WRITE, PAGE_BYTES, Trace, TraceMeta
from lab.hca.paper import OLTP, RECORD_BYTES

SAMPLE = 100
GIB = 1 << 30
SPREAD_BYTES = 200_000_000_000
"""Over how much of the disk the records lie. Chosen so that the disk alone does the 105 reads/s that Table I's baseline
has: side by side in 10 GB it would do 170. ZFS places records all over its pool."""
MAIN_SKEW, SIZED_SKEW = 0.7, 0.4
"""Of OLTP's Zipf distribution in Table II, and in Tables VI to VIII. Chosen so that ARC in 2 GB hits 53 % of 10 GB, as
in Table II's baseline, and 17 % of 20 GB, as in Tables VI and VII with 4 GB of SSD; all other numbers follow. It takes
two: with 2 GB of RAM for 10 GB of records RAM serves 50 % in Table II and 37 % in Tables VI and VII. Filebench's own
reads are uniform, but the paper's hit ratios are not those of uniform reads, and it says no more of them."""
# Filebench's oltp.f: of 1,000 reads the database writers write 100 times, of 3,200 the log writer writes 256 KiB.
WRITES_A_READ = 0.1
LOG_RECORDS_A_READ = 262144 / RECORD_BYTES / 3200
LOG_SHARE = 0.1  # the log is one of ten files


def pages_of(gigabytes: float) -> int:
    """Pages of the sample that stand for so many GiB."""
    return round(gigabytes * GIB / PAGE_BYTES / SAMPLE)


@dataclass(frozen=True)
class Workload:
    """Filebench's random read, or its OLTP.

    Attributes:
        name: one of `hca_paper.WORKLOADS`.
        set_gb: working set, GiB.
        seed: of its draws.
        skew: exponent of OLTP's Zipf distribution; of no meaning for random read.
    """

    name: str
    set_gb: int
    seed: int
    skew: float = MAIN_SKEW

    @property
    def records(self) -> int:
        """In the sample."""
        return pages_of(self.set_gb) * PAGE_BYTES // RECORD_BYTES

    def trace(self, requests: int) -> Trace:
        """The first so many requests, a microsecond apart: only their order counts. More requests begin with the same.

        Args:
            requests: how many, at least 1.
        """
        record, write = self._random(requests) if self.name != OLTP else self._oltp(requests)
        gap = SPREAD_BYTES // self.records // RECORD_BYTES * RECORD_BYTES
        return Trace(
            time_us=np.arange(requests, dtype=np.int64),
            op=np.where(write, OP_WRITE, OP_READ).astype(np.uint8),
            offset=record * gap,
            size=np.full(requests, RECORD_BYTES, np.int64),
            volume=Coded.constant("disk", requests),
            meta=TraceMeta(f"{self.name}, {self.set_gb} GB", "synthetic", "made", "0" * 64),
        )

    def _draw(self, part: str, count: int) -> npt.NDArray[np.float64]:
        key = derive_seed(self.seed, "hca", self.name, str(self.set_gb), part)
        return np.random.default_rng(key).random(count)

    def _random(self, requests: int) -> tuple[I64, npt.NDArray[np.bool_]]:
        record = (self._draw("records", requests) * self.records).astype(np.int64)
        return record, np.zeros(requests, np.bool_)

    def _oltp(self, requests: int) -> tuple[I64, npt.NDArray[np.bool_]]:
        """Zipf reads and writes of data records in places that have nothing to do with their rank; a log, in order."""
        log = round(LOG_SHARE * self.records)
        data = self.records - log
        weight = np.cumsum((np.arange(data) + 0.5) ** -self.skew)
        rank = np.searchsorted(weight, self._draw("records", requests) * weight[-1], side="right").clip(max=data - 1)
        record = np.argsort(self._draw("places", data), kind="stable")[rank].astype(np.int64)
        kind = self._draw("kinds", requests) * (1 + WRITES_A_READ + LOG_RECORDS_A_READ)
        logged = kind >= 1 + WRITES_A_READ
        record[logged] = data + np.arange(np.count_nonzero(logged)) % log
        return record, kind >= 1
