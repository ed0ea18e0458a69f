"""An eviction from one function: what an access makes a page worth."""

from cachezoo.kernels.evict import by_rank
from cachezoo.kernels.evict.by_rank import Rank
from cachezoo.policies.components import Eviction


def eviction_by_rank(id: str, title: str, rank: Rank) -> Eviction:
    """The eviction by which the page of least rank leaves; among equals the one used longest ago.

    Args:
        id: lower case without punctuation.
        title: one line for people.
        rank: (page, i, count, last, entered) to a float, as `cachezoo.kernels.evict.by_rank.rank` says: the page's
            rank from access number i on; count is its accesses since it entered with this one, last its access
            before this one (-1: none), entered the access at which it entered. A function of numba's njit runs
            compiled; a plain one runs in Python, about 100 times slower.
    """
    has, touch, insert = by_rank.make_ranked(id, rank)
    return Eviction(id, title, lambda stream, capacity, _: by_rank.make(stream.n_pages, capacity), has, touch, insert)
