"""Bloom: a miss is admitted if one of two Bloom filters holds the page; else the page is put into the younger filter.

A filter takes `entries` pages. When the younger is full, the older is emptied and becomes the younger, so between one
and two times `entries` pages are remembered, and now and then one that never missed.

Source: Berg et al., "The CacheLib caching engine: design and experiences at scale", OSDI 2020, Sec. 4.2 (reject first);
filters: Bloom, CACM 13(7), 1970, with the two-hash scheme of Kirsch and Mitzenmacher, ESA 2006. Parameters:
capacities = 2 (pages that both filters take together, in capacities), bits_per_entry = 10 (about 1 % of strangers pass;
bits_per_entry * ln 2 bits are set for each page).
Where it differs: CacheLib's released code keeps sets of key prints that drop what does not fit in place of the filters;
the order of look-up, replacement and entry is the same: what either holds is not put in again. libCacheSim's
BloomFilterAdmissioner is a hash table that never forgets (see `rejectx`).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.admit.draws import draw, scaled
from cachezoo.kernels.step import step

LN2 = 0.6931471805599453


class State(NamedTuple):
    """Filters uint8[generations * stride] of bits; `counts` int64[2]: which is the youngest, and how many it took."""

    filters: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.int64]
    stride: int
    bits: int
    hashes: int
    entries: int


def make(n_pages: int, entries: int, bits_per_entry: float, generations: int = 2) -> State:
    """Empty filters, two unless more generations are remembered; a filter for more than all pages is never full."""
    entries = max(1, min(entries, n_pages + 1))
    bits = max(8, round(entries * bits_per_entry))
    stride = (bits + 7) // 8
    hashes = max(1, round(bits_per_entry * LN2))
    return State(np.zeros(generations * stride, np.uint8), np.zeros(2, np.int64), stride, bits, hashes, entries)


@step
def age(state: State, page: int) -> int:
    """How many generations before the youngest is the youngest filter that holds the page? -1 where none does."""
    filters, generations = state.filters, len(state.filters) // state.stride
    low, stride = draw(0, page), draw(1, page) | 1
    for back in range(generations):
        base = (state.counts[0] + generations - back) % generations * state.stride
        there, place = True, low
        for _ in range(state.hashes):
            bit = scaled(place, state.bits)
            there = filters[base + (bit >> 3)] & (1 << (bit & 7)) != 0
            if not there:
                break
            place = (place + stride) & 0xFFFFFFFF
        if there:
            return back
    return -1


@step
def put(state: State, page: int) -> None:
    """The youngest filter takes the page. Where it is full, the oldest is emptied before and becomes the youngest."""
    filters, generations = state.filters, len(state.filters) // state.stride
    if state.counts[1] == state.entries:
        state.counts[0] = (state.counts[0] + 1) % generations
        state.counts[1] = 0
        young = state.counts[0] * state.stride
        for k in range(young, young + state.stride):
            filters[k] = 0
    state.counts[1] += 1
    base = state.counts[0] * state.stride
    place, stride = draw(0, page), draw(1, page) | 1
    for _ in range(state.hashes):
        bit = scaled(place, state.bits)
        filters[base + (bit >> 3)] |= np.uint8(1 << (bit & 7))
        place = (place + stride) & 0xFFFFFFFF


@step
def admit(state: State, page: int, i: int) -> bool:
    """Does a filter hold the page? If none does, the youngest takes it."""
    known = bool(age(state, page) >= 0)
    if not known:
        put(state, page)
    return known


@step
def saw(state: State, page: int, i: int) -> None:
    """Nothing to note: hits do not count."""
