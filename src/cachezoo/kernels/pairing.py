"""Pairing heaps over dense ids, many in three flat arrays: the least key of each is at its root.

A node is in one heap at most. Putting one in costs a comparison; taking any out costs as much as it has children, and
few have any. Source: Fredman, Sedgewick, Sleator and Tarjan, "The Pairing Heap", Algorithmica 1, 1986: two passes.

`child[node]` is a node's first child, `after[node]` its next sibling, `before[node]` its previous sibling or, of a
first child, its parent; all are `NONE` where there is none. The arrays may be longer than there are nodes.
"""

from cachezoo.arrays import I32, I64
from cachezoo.kernels.step import step

NONE = -1


@step
def meld(keys: I64, child: I32, before: I32, after: I32, one: int, two: int) -> int:
    """The root of two heaps made one; each may be `NONE`. Of equal keys the first stays on top."""
    if one == NONE:
        return two
    if two == NONE:
        return one
    if keys[two] < keys[one]:
        one, two = two, one
    first = child[one]
    after[two] = first
    if first != NONE:
        before[first] = two
    before[two] = one
    child[one] = two
    return one


@step
def below(keys: I64, child: I32, before: I32, after: I32, node: int) -> int:
    """The root of what lies below a node, as a heap of its own: melded in pairs, then from the last pair on."""
    pairs, here = NONE, int(child[node])
    child[node] = NONE
    while here != NONE:
        other = int(after[here])
        rest = int(after[other]) if other != NONE else NONE
        before[here], after[here] = NONE, NONE
        if other != NONE:
            before[other], after[other] = NONE, NONE
        root = meld(keys, child, before, after, here, other)
        after[root] = pairs  # the pairs so far, the last one first
        pairs, here = root, rest
    found = NONE
    while pairs != NONE:
        rest = int(after[pairs])
        after[pairs] = NONE
        found = meld(keys, child, before, after, found, pairs)
        pairs = rest
    return found


@step
def put(keys: I64, child: I32, before: I32, after: I32, root: int, node: int) -> int:
    """The root of a heap with a node more, which is in none yet."""
    child[node], before[node], after[node] = NONE, NONE, NONE
    return meld(keys, child, before, after, root, node)


@step
def take(keys: I64, child: I32, before: I32, after: I32, root: int, node: int) -> int:
    """The root of a heap without a node of it."""
    rest = below(keys, child, before, after, node)
    if node == root:
        return rest
    previous, following = int(before[node]), int(after[node])
    if child[previous] == node:
        child[previous] = following
    else:
        after[previous] = following
    if following != NONE:
        before[following] = previous
    before[node], after[node] = NONE, NONE
    return meld(keys, child, before, after, root, rest)
