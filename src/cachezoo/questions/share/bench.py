"""A mix ready for partitioners: what depends on no cache is computed once."""

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from cachezoo.arrays import I32, I64, Bool
from cachezoo.kernels.stack_distance import stack_distances
from cachezoo.kernels.virtual.queues import Moves, moves
from cachezoo.questions.share.mix import Mix

Kept = TypeVar("Kept")
MOST_KEPT = 4  # queues, 12 bytes a reference each


@dataclass(frozen=True)
class Bench:
    """One mix, tried under several partitioners and sizes.

    Attributes:
        mix: the applications and their order.
    """

    mix: Mix
    _moves: OrderedDict[tuple[str, int], Moves] = field(default_factory=OrderedDict, repr=False, compare=False)

    @cached_property
    def distance(self) -> I32:
        """int32[M]: pages of the same application since the page's last reference; -1 at its first."""
        return self.mix.spread([stack_distances(one.page_ids, one.n_pages) for one in self.mix.applications])

    def moves(self, queue: str, n: int) -> Moves:
        """What every application's queue of n pages does at each of all references."""
        key = queue, n
        if key not in self._moves:
            own = [moves(queue, one.page_ids, one.n_pages, n) for one in self.mix.applications]
            self._moves[key] = Moves(*(self.mix.spread([part[k] for part in own]) for k in range(3)))
            if len(self._moves) > MOST_KEPT:
                self._moves.popitem(last=False)
        self._moves.move_to_end(key)
        return self._moves[key]

    def misses(self, counted: Bool, pages: int, fragment: int) -> I64:
        """int64[A, k + 1]: misses of references that count, of an LRU partition of 0 to k fragments.

        Args:
            counted: bool[M].
            pages: of the cache, k fragments of which fit.
            fragment: its pages.
        """
        from cachezoo.kernels.partition import add_misses

        misses = np.zeros((self.mix.count, pages // fragment + 1), np.int64)
        add_misses(self.mix.app, self.distance, counted, 0, len(self.mix), fragment, misses)
        return misses
