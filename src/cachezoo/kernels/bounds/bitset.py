"""A set of stream positions as bits, 64 to a word, with words above that say which words are not empty.

`words` holds all levels one after another, `start[level]` is where each begins; the last level is one word, and there
are at least two. Adding, removing and finding the highest touch at most one word a level, so O(log64 m), and mostly
the lowest one or two: each level holds a 64th of the words of the one below.
"""

import numpy as np

from cachezoo.arrays import I64, U64
from cachezoo.kernels.jit import njit

LOW = np.uint64(63)
PAIRS = np.uint64(0x5555555555555555)
FOURS = np.uint64(0x3333333333333333)
EIGHTS = np.uint64(0x0F0F0F0F0F0F0F0F)
SUM = np.uint64(0x0101010101010101)
U1, U2, U4, U8, U16, U32, U56 = (np.uint64(k) for k in (1, 2, 4, 8, 16, 32, 56))


def empty(positions: int) -> tuple[U64, I64]:
    """`words` and `start` of an empty set over [0, positions)."""
    sizes = [max(1, -(-positions // 64))]
    while sizes[-1] > 1 or len(sizes) < 2:
        sizes.append(-(-sizes[-1] // 64))
    return np.zeros(sum(sizes), np.uint64), np.cumsum([0, *sizes[:-1]], dtype=np.int64)


@njit
def bit(position: int) -> np.uint64:
    """The word in which this position's bit alone is set."""
    return U1 << (np.uint64(position) & LOW)


@njit
def count(word: np.uint64) -> int:
    """Bits set in a word; the compiler knows the idiom and makes it one instruction."""
    word = word - ((word >> U1) & PAIRS)
    word = (word & FOURS) + ((word >> U2) & FOURS)
    word = (word + (word >> U4)) & EIGHTS
    return int(np.int64((word * SUM) >> U56))


@njit
def top(word: np.uint64) -> int:
    """Number of the highest bit set in a word that is not 0."""
    word |= word >> U1
    word |= word >> U2
    word |= word >> U4
    word |= word >> U8
    word |= word >> U16
    word |= word >> U32
    return count(word) - 1


@njit
def holds(words: U64, position: int) -> bool:
    """Is the position in the set?"""
    return bool(words[position >> 6] & bit(position) != 0)


@njit
def add(words: U64, start: I64, position: int) -> None:
    """Put a position in. The two lowest levels are written unasked: whether they must be is hard to predict."""
    words[position >> 6] |= bit(position)
    above = position >> 6
    k = start[1] + (above >> 6)
    before = words[k]
    words[k] = before | bit(above)
    if before == 0:
        for level in range(2, start.size):
            above >>= 6
            words[start[level] + (above >> 6)] |= bit(above)


@njit
def remove(words: U64, start: I64, position: int) -> None:
    """Take a position out."""
    for level in range(start.size):
        k = start[level] + (position >> 6)
        words[k] &= ~bit(position)
        if words[k] != 0:
            break
        position >>= 6


@njit
def highest(words: U64, start: I64, most: int) -> int:
    """The greatest position in the set.

    Args:
        words: of a set that is not empty.
        start: its levels.
        most: no position in the set is greater; the nearer it is, the fewer words are read.
    """
    at = most >> 6
    level = 0
    found = words[at]
    while found == 0:
        level += 1
        found = words[start[level] + (at >> 6)] & (bit(at) - U1)
        at >>= 6
    at = (at << 6) + top(found)
    while level > 0:
        level -= 1
        at = (at << 6) + top(words[start[level] + at])
    return at
