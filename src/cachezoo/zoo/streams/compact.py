"""A dictionary that fits into memory: ranges are joined where that misplaces the least, until they are few enough.

The exact dictionary of a busy volume has a range for almost every chunk: at 5 bytes each that is more than FIOS's BD
takes, half a byte a chunk. Given up first are gaps: a chunk that the cycle did not write has no evidence, so that it
can go with its neighbours. Then short ranges take the stream of what lies beside them. Its cost is a sum over chunks
that change their stream: pages written in the cycle x how far the two streams' mean log2 lifetimes are apart.

The least cost for a number of ranges is found by a price for each range (Lagrange): at any price the cheapest streams
follow by dynamic programming (`cachezoo.kernels.ranges`); the lowest price at which they fit is sought by bisection.
"""

import math
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.kernels.ranges import Line
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, RANGE_BYTES, Dictionary

LEAST_RANGES = 2  # one of what was learned, one behind it
HALVINGS = 60
UNUSED = 0.001  # share of the ranges that may be left over: a pass over a large volume takes long


@dataclass(frozen=True)
class Evidence:
    """What a cycle says of the m chunks that a dictionary was learned from.

    Attributes:
        chunks: int64[m] distinct chunk numbers, rising; one at least.
        pages: int64[m] page writes of each.
        life: float64[m] mean log2 lifetime of these, in page writes.
    """

    chunks: I64
    pages: I64
    life: F64


def most_ranges(chunks: int, bytes_per_tb: float) -> int:
    """Ranges that a volume of so many chunks may have.

    Args:
        chunks: from address 0 to its last learned one.
        bytes_per_tb: that ranges may take for each TB (10**12 bytes) of these.
    """
    return max(LEAST_RANGES, math.floor(bytes_per_tb * chunks * CHUNK_BYTES / 1e12 / RANGE_BYTES))


def compact(dictionary: Dictionary, evidence: Evidence, most: int) -> Dictionary:
    """A dictionary of at most `most` ranges, least wrong on the chunks that were learned.

    Behind the last learned chunk nothing changes, and nothing at all where the dictionary is small enough.

    Args:
        dictionary: learned from the evidence.
        evidence: of the cycle.
        most: ranges, `LEAST_RANGES` at least.
    """
    if len(dictionary) <= most:
        return dictionary
    starts, weight = _segments(dictionary, evidence)
    streams = dictionary.look_up(starts)
    used, own = np.unique(streams, return_inverse=True)
    line = Line(own[:-1].astype(np.uint8), weight, _distances(dictionary, evidence)[np.ix_(used, used)], int(own[-1]))
    found = np.append(used[line.labels(_price(line, most))], streams[-1])
    new = np.append(True, found[1:] != found[:-1])
    return Dictionary(starts[new].astype(np.uint32), found[new].astype(np.uint8), dictionary.count)


def _segments(dictionary: Dictionary, evidence: Evidence) -> tuple[I64, F64]:
    """Where the dictionary's ranges and stretches of learned chunks begin, and what all but the last weigh."""
    known = evidence.chunks
    new = np.append(True, np.diff(known) != 1)
    behind = known[np.append(new[1:], True)] + 1
    starts = np.unique(np.concatenate([[0], dictionary.starts.astype(np.int64), known[new], behind]))
    starts = starts[: np.searchsorted(starts, known[-1] + 1) + 1]
    place = np.searchsorted(starts, known, side="right") - 1
    weight: F64 = np.bincount(place, evidence.pages, len(starts) - 1).astype(np.float64)
    return starts, weight


def _distances(dictionary: Dictionary, evidence: Evidence) -> F64:
    """float64[K, K]: how far two streams' mean log2 lifetimes are apart; one without chunks lives longest."""
    stream = dictionary.look_up(evidence.chunks)
    pages = np.bincount(stream, evidence.pages, dictionary.count)
    life = np.bincount(stream, evidence.pages * evidence.life, dictionary.count)
    mean = life / np.maximum(pages, 1)
    mean[pages == 0] = evidence.life.max()
    return np.abs(mean[:, None] - mean[None, :])


def _price(line: Line, most: int) -> float:
    """About the lowest price of a range at which they are few enough."""
    high = 1 + float(line.weight.sum() * line.distance.max())
    low = high * 1e-15
    if line.ranges(low) <= most:
        return low
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        ranges = line.ranges(middle)
        if ranges > most:
            low = middle
            continue
        high = middle
        if most - ranges <= most * UNUSED:
            break
    return high
