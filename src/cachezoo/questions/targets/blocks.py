"""A volume in blocks larger than a page, as caches with cache lines or cache blocks have it."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.questions.tiers.stream import TierStream


@dataclass(frozen=True)
class Blocks:
    """The blocks that a trace touches, by dense ids in the order of their addresses."""

    block: I32  # [n_pages] of each page
    within: I32  # [n_pages] place of each page in its block
    address: I64  # [n_blocks] first page on the volume
    pages: int  # of a block

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.address)


def blocks(ts: TierStream, pages: int) -> Blocks:
    """Blocks of so many pages, from the beginning of the volume on."""
    number, within = np.divmod(ts.address, pages)
    known, block = np.unique(number, return_inverse=True)
    return Blocks(block.astype(np.int32), within.astype(np.int32), known * pages, pages)
