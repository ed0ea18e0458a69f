"""RC-RNN's online cache as an eviction: `three_queues` makes one of queues decided beforehand."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.kernels import manager
from cachezoo.kernels.evict import threequeues
from cachezoo.policies.decisions import for_each_access
from cachezoo.policies.parts import Eviction, Values
from cachezoo.policies.rcrnn import Cache, manager_limits
from cachezoo.policies.stream import Stream

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


def three_queues(
    queues: I32, policy: Mapping[str, Any], eviction_id: str, title: str = "three LRU queues, decided beforehand"
) -> Eviction:
    """The eviction of a caching model or an oracle that has already decided; it keeps out what it decided to.

    Behind `ACCEPT_ALL`, on requests of one page, it is `cachezoo.policies.rcrnn.serve_decisions` outcome by outcome;
    on longer requests it is the same cache with each page served as a request of its own (see
    `cachezoo.kernels.evict.threequeues`).

    Args:
        queues: int32, 0 keeps out what is missing, 1 soon, 2 mean, 3 late; one for each access of the stream,
            prefetches included or not, or one for each request.
        policy: `on_hit`, `queues`, `demote_capacities`, `protected_percent` and `fill_free`, as in a bundle's manifest.
        eviction_id: of the eviction; lower case without punctuation.
        title: one line for people.

    Returns:
        An eviction that takes no parameters. Its use raises ConfigError for a stream that has another number of
        accesses and of requests.

    Raises:
        ConfigError: a queue outside 0 to 3, or a rule of `policy` that this release does not know.
    """
    decided = np.asarray(queues)
    wrong = np.flatnonzero((decided < manager.ABSENT) | (decided > manager.LATE))
    if len(wrong):
        row = int(wrong[0])
        message = f"{eviction_id}: queue {decided[row]} of row {row}; use 0 to keep out, 1 soon, 2 mean or 3 late"
        raise ConfigError(message)
    single = policy["queues"] == "single"
    entered = np.where(decided > manager.ABSENT, manager.MEAN, manager.ABSENT) if single else decided

    def limits(capacity: int) -> I64:
        cache = Cache(capacity, 0.0, str(policy["on_hit"]), str(policy["queues"]))
        return np.ravel(manager_limits(policy, [cache]))

    def make(stream: Stream, capacity: int, values: Values) -> threequeues.State:
        queue = for_each_access(entered.astype(np.uint8), stream, eviction_id)
        asked = stream.asked
        clock = np.cumsum(asked, dtype=np.int32) - asked.astype(np.int32)
        return threequeues.make(stream.n_pages, limits(capacity), queue, clock)

    limits(1)
    return Eviction(eviction_id, title, make, threequeues.has, threequeues.touch, threequeues.insert)
