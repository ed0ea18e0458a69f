"""Write amplification of uniform random writes by theory: what a drive of many blocks comes to at rest, by its victim.

It is what the simulated drive is held against, in `tests/unit/flash_drive/test_theory.py` and `benchmarks/ftl.py`.
"""

import math

from cachezoo.kernels.ftl import FlashDrive

STEPS = 60  # halvings of an interval
MOST_STEPS = 10_000


def full_share(drive: FlashDrive) -> float:
    """Of the flash that is neither kept free nor open, the share that holds valid pages."""
    return drive.logical_pages / ((drive.blocks - drive.gc_free_blocks - drive.open_blocks) * drive.pages_per_block)


def fifo_waf(share: float) -> float:
    """Of a drive that erases its blocks in turn.

    A page of the oldest block is valid with p = exp(-(1 - p) / share): between its write and its turn all other flash
    is written once, of which the host writes 1 - p. (Robinson, "Analysis of Steady-State Segment Storage Utilizations
    in a Log-Structured File System with Least-Utilized Segment Cleaning", Operating Systems Review 30, 1996; Desnoyers,
    "Analytic Modeling of SSD Write Performance", SYSTOR 2012, by Lambert's W.)

    Args:
        share: of the flash that holds valid pages, below 1; see `full_share`.
    """
    valid = 0.5
    for _ in range(MOST_STEPS):
        valid = math.exp(-(1 - valid) / share)
    return 1 / (1 - valid)


def choices_waf(share: float, pages: int, choices: int) -> float:
    """Of a drive that erases the emptiest of some blocks drawn by chance; greedy as these become many.

    The mean field of Van Houdt, SIGMETRICS 2013, solved in our own way. Let T(j) be the share of blocks with at least
    j valid pages, and h the host's writes from one erase to the next. Blocks with j valid pages lose one
    h j (T(j) - T(j + 1)) / (share * pages) times an erase. At rest as many pass j downwards as come from above, which
    is 1 - T(j)^choices: each erase makes one block full again, but for those that were chosen with j or more. And h is
    such that the T(j) add up to the valid pages of a block.

    Args:
        share: of the flash that holds valid pages, below 1; see `full_share`.
        pages: of a block.
        choices: blocks that are drawn.
    """
    low, high = 0.0, float(pages)
    for _ in range(STEPS):
        middle = (low + high) / 2
        if _valid_pages(middle, share, pages, choices) > share * pages:
            low = middle
        else:
            high = middle
    return pages / low


def _valid_pages(writes: float, share: float, pages: int, choices: int) -> float:
    """Mean valid pages of a block where the host writes so much from one erase to the next."""
    above, total = 0.0, 0.0
    for j in range(pages, 0, -1):
        low, high = above, 1.0
        for _ in range(STEPS):
            middle = (low + high) / 2
            if writes * j * (middle - above) / (share * pages) < 1 - middle**choices:
                low = middle
            else:
                high = middle
        above = low
        total += above
    return total
