"""Doubly linked lists over dense page ids in two flat arrays.

`before` and `after` have a place for each page and, from `n_pages` on, one sentinel a list, so that an empty list
needs no special case. `after[sentinel]` is the list's head (most recent), `before[sentinel]` its tail.
"""

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.step import step

I32 = npt.NDArray[np.int32]


def links(n_pages: int, lists: int) -> tuple[I32, I32]:
    """`before` and `after` of that many empty lists."""
    before = np.arange(n_pages + lists, dtype=np.int32)
    return before, before.copy()


@step
def unlink(before: I32, after: I32, node: int) -> None:
    """Take `node` out of its list."""
    after[before[node]] = after[node]
    before[after[node]] = before[node]


@step
def link_head(before: I32, after: I32, sentinel: int, node: int) -> None:
    """Put `node` at the head of the list of `sentinel`; with a page in place of the sentinel, right after it."""
    first = after[sentinel]
    before[node] = sentinel
    after[node] = first
    before[first] = node
    after[sentinel] = node


@step
def link_tail(before: I32, after: I32, sentinel: int, node: int) -> None:
    """Put `node` at the tail of the list of `sentinel`; with a page in place of the sentinel, right before it."""
    last = before[sentinel]
    after[node] = sentinel
    before[node] = last
    after[last] = node
    before[sentinel] = node
