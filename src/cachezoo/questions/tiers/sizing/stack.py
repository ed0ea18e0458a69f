"""LRU in RAM, alone or before an LRU on an exclusive SSD: every pair of sizes from one pass.

Both tiers together hold what was used last: a page found on the SSD leaves room for the one that RAM evicts for it, so
the SSD has the next pages of the same stack. A read whose distance is below RAM's size is RAM's, one below the sum of
both sizes is the SSD's, and the disk has the rest. A transient buffer passes pages down in another order, so that with
one this does not hold.

Source: Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970; of two levels
that are exclusive, Wong and Wilkes, "My cache or yours? Making storage more exclusive", USENIX ATC 2002.
"""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.kernels.stack_distance import COLD, stack_distances
from cachezoo.questions.tiers.hierarchy import Hierarchy
from cachezoo.questions.tiers.stream import TierStream

FIRST_OUT = ("lru", "fifo")
"""What an exclusive SSD below an LRU may run: every page found leaves it, so that both evict what came first."""


def is_stack(hierarchy: Hierarchy) -> bool:
    """Does RAM with the SSD hold the pages used last, whatever their sizes?"""
    below = hierarchy.kind == "ram" or (hierarchy.kind == "exclusive" and hierarchy.ssd in FIRST_OUT)
    return hierarchy.ram == "lru" and below and not hierarchy.buffer_bytes


@dataclass(frozen=True)
class Stack:
    """Reads by the distance of their pages.

    Attributes:
        distance: int64[k] pages used since, rising; of a first access more than any cache holds.
        beyond_us: float64[k + 1] sum of the times of those reads from each one on.
    """

    distance: I64
    beyond_us: F64

    @classmethod
    def of(cls, stream: TierStream, rows: I64, time_us: F64) -> "Stack":
        """One pass over a stream.

        Args:
            stream: the accesses.
            rows: int64[k] those that count.
            time_us: float64[k] of each.
        """
        found = stack_distances(stream.stream.page_ids, stream.stream.n_pages)[rows].astype(np.int64)
        found[found == COLD] = np.iinfo(np.int64).max
        order = np.argsort(found, kind="stable")
        beyond = np.concatenate([np.cumsum(time_us[order][::-1])[::-1], [0.0]])
        return cls(found[order], beyond)

    def served(self, ram: int, ssd: int) -> tuple[int, int, float]:
        """Reads that an SSD and the disk serve, and the mean time of the disk's; 0 where it serves none.

        Args:
            ram: pages.
            ssd: pages; 0 without one.
        """
        in_ram, in_both = np.searchsorted(self.distance, (ram, ram + ssd))
        missed = len(self.distance) - int(in_both)
        return int(in_both - in_ram), missed, float(self.beyond_us[in_both]) / max(missed, 1)
