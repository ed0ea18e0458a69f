"""Counting sketches: about how often each page was seen, in a table far smaller than the pages there are.

A page has a few counters of the table, found by hashing, and its count is the least of them: never below the truth.

Source: Cormode and Muthukrishnan, "An improved data stream summary: the count-min sketch and its applications",
Journal of Algorithms 55(1), 2005. `seen` and `see` have four counters of a page and raise only the least of them
(conservative update: Estan and Varghese, SIGCOMM 2002); `noted` and `note` have any number and raise all, which is a
counting Bloom filter (Fan et al., SIGCOMM 1998).
"""

import numpy as np

from cachezoo.arrays import U8, U16
from cachezoo.kernels.admit.draws import MASK, mix
from cachezoo.kernels.step import step

# Odd multipliers for multiply-shift hashing (Dietzfelbinger et al., 1997), 2**32 by the golden ratio and its like.
FIRST, SECOND, THIRD, FOURTH = 0x9E3779B1, 0xB5297A4D, 0x68E31DA5, 0x1B56C4E9


@step
def seen(table: U8, page: int) -> int:
    """How often the page was seen, up to the limit."""
    width = table.size
    page = int(page) + 1
    least = min(table[(page * FIRST & MASK) * width >> 32], table[(page * SECOND & MASK) * width >> 32])
    other = min(table[(page * THIRD & MASK) * width >> 32], table[(page * FOURTH & MASK) * width >> 32])
    return int(min(least, other))


@step
def see(table: U8, limit: int, page: int) -> None:
    """The page was seen once more; no count grows above `limit`."""
    width = table.size
    page = int(page) + 1
    first, second = (page * FIRST & MASK) * width >> 32, (page * SECOND & MASK) * width >> 32
    third, fourth = (page * THIRD & MASK) * width >> 32, (page * FOURTH & MASK) * width >> 32
    least = min(min(table[first], table[second]), min(table[third], table[fourth]))
    raised = np.uint8(min(int(least) + 1, limit))
    table[first] = max(table[first], raised)
    table[second] = max(table[second], raised)
    table[third] = max(table[third], raised)
    table[fourth] = max(table[fourth], raised)


@step
def noted(table: U16, rows: int, page: int) -> int:
    """How often the page was noted."""
    place, stride = mix(int(page)), mix(~int(page) & MASK)
    least = 65_535
    for _ in range(rows):
        least = min(least, int(table[place * table.size >> 32]))
        place = place + stride & MASK
    return least


@step
def note(table: U16, rows: int, page: int) -> None:
    """The page came once more; no count grows above 65,535."""
    place, stride = mix(int(page)), mix(~int(page) & MASK)
    for _ in range(rows):
        slot = place * table.size >> 32
        table[slot] += np.uint16(table[slot] < 65_535)
        place = place + stride & MASK


@step
def halve(table: U8 | U16) -> None:
    """Forget half of everything."""
    for slot in range(table.size):
        table[slot] >>= 1
