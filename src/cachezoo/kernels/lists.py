"""Doubly linked lists over dense ids, in two flat arrays `before` and `after`.

The arrays have a place for each id and, from the number of ids on, a sentinel for each list, so that an empty list
needs no special case. `after[sentinel]` is the list's head, `before[sentinel]` its tail. Any two arrays of one
dimension will do, rows or columns of a table too. The places of an id that is in no list are free for its owner's use.
"""

import numpy as np

from cachezoo.arrays import I32
from cachezoo.kernels.jit import njit
from cachezoo.kernels.step import step


def links(n_pages: int, lists: int) -> tuple[I32, I32]:
    """`before` and `after` of that many empty lists.

    Not compiled: numpy asks the system for huge pages of memory for arrays of megabytes, and numba does not.
    """
    before = np.arange(n_pages + lists, dtype=np.int32)
    return before, before.copy()


own_links = njit(links)
"""`links` for kernels that make their own lists, and are faster for it: these overlap none of their arguments."""


@step
def unlink(before: I32, after: I32, node: int) -> None:
    """Take `node` out of its list."""
    after[before[node]] = after[node]
    before[after[node]] = before[node]


@step
def link_head(before: I32, after: I32, sentinel: int, node: int) -> None:
    """Put `node` at the head of the list of `sentinel`."""
    first = after[sentinel]
    before[node] = sentinel
    after[node] = first
    before[first] = node
    after[sentinel] = node


@step
def link_tail(before: I32, after: I32, sentinel: int, node: int) -> None:
    """Put `node` at the tail of the list of `sentinel`."""
    last = before[sentinel]
    after[node] = sentinel
    before[node] = last
    after[last] = node
    before[sentinel] = node


@step
def pop_tail(before: I32, after: I32, sentinel: int) -> int:
    """Take the tail out of the list of `sentinel`, which is not empty; returns it."""
    node = int(before[sentinel])
    unlink(before, after, node)
    return node
