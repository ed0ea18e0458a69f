"""Read caches before a disk, as slowly as they can be written: LRU, and the most reads that any cache can find."""

from collections import OrderedDict
from collections.abc import Sequence
from itertools import combinations

Access = tuple[int, bool]
"""A page, and whether it is written."""


def lru_reads(accesses: Sequence[Access], capacity: int, writes: str) -> list[bool]:
    """Of each access, whether it is a read of a page that the cache holds.

    With writes around, what a write overwrites is void: it takes up room, and is never found, until it is evicted.
    """
    held = OrderedDict[tuple[int, int], None]()
    version = dict[int, int]()
    found = []
    for page, write in accesses:
        if write and writes == "around":
            version[page] = version.get(page, 0) + 1
            found.append(False)
            continue
        key = page, version.get(page, 0)
        found.append(key in held and not write)
        held[key] = None
        held.move_to_end(key)
        if len(held) > capacity:
            held.popitem(last=False)
    return found


def most_reads(accesses: Sequence[Access], capacity: int, writes: str) -> int:
    """Reads that are found by the best of all ways to hold pages; a page may be kept out.

    All sets of pages that can be held are followed. With writes around a write takes the page out; through, it may
    enter, as a read page may.
    """
    states = {frozenset[int](): 0}
    for page, write in accesses:
        after = dict[frozenset[int], int]()
        for held, count in states.items():
            gained = count + (page in held and not write)
            around = write and writes == "around"
            pages = held - {page} if around else held | {page}
            size = min(len(pages), capacity)
            for kept in map(frozenset, combinations(sorted(pages), size)):
                after[kept] = max(after.get(kept, -1), gained)
        states = after
    return max(states.values())
