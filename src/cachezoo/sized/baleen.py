"""Baleen's admission for caches of objects: which objects are worth their writes to flash, and what tells them.

What `cachezoo.labels.episodes` and `cachezoo.features.history` are for blocks, by an object's identity alone: its size,
operations, and how often and when it was asked for. Nothing is known of where it lies, and none of its name.

Source: Baleen post, "OPT approximates optimal online admission policy" and "Training Baleen to imitate OPT". Here the
eviction age is found by Little's law and not refined by simulation, and the clock is the number of requests.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cachezoo.arrays import F32, F64, I32, I64, U8, Bool
from cachezoo.coded import Coded
from cachezoo.flash_cache.problem import meet_budget
from cachezoo.kernels.admit import mask
from cachezoo.kernels.flash import DiskHead
from cachezoo.kernels.history import KINDS, empty_log, update_history
from cachezoo.kernels.sized.episodes import GAPS, object_episodes, past
from cachezoo.sized.components import Admission, Composition
from cachezoo.sized.evictions import LRU
from cachezoo.sized.requests import Requests
from cachezoo.traces.table import OP_READ

BUCKET_OF_AGE = 0.25
WINDOWS = (1, 2, 4, 8, 16, 32)
"""Windows of the history in buckets; buckets in eviction ages: as `features.history`."""
HORIZON = 0.25
"""Part of the training part at most whose late episodes are masked: as `label.episodes.horizon_fraction`."""
MOST_NAMES = 64
UNKNOWN = -1
CODED = ("namespace", "user")
FIRST, LAST, HELD, WRITTEN = range(4)


def decided(decisions: Bool) -> Composition:
    """LRU behind decisions known beforehand, bool[n], one for each request."""
    state = mask.State(decisions.astype(np.uint8))
    return Composition(LRU, Admission("decided", "as decided beforehand", lambda *_: state, mask.admit, mask.saw))


@dataclass(frozen=True)
class Flash:
    """The cache that is to be kept.

    Attributes:
        capacity: bytes.
        cost: of a disk's I/O.
        around: writes pass by.
    """

    capacity: int
    cost: DiskHead
    around: bool


@dataclass(frozen=True)
class ObjectEpisodes:
    """Episodes of n requests.

    Attributes:
        episode: int32[n] of each request, -1 of none.
        place: int32[n] of a request within its episode, from 0.
        figures: int64[e, 4] first request, last request, bytes held, bytes written.
        saved: float64[e] seconds of a disk's head.
    """

    episode: I32
    place: I32
    figures: I64
    saved: F64

    @classmethod
    def of(cls, requests: Requests, flash: Flash, age: int) -> "ObjectEpisodes":
        """At an eviction age in requests."""
        none = np.zeros(0, np.int64)
        lives = (none, none)
        if requests.time_us is not None and requests.expires_us is not None:
            lives = (requests.time_us, requests.expires_us)
        io = float(flash.cost.seconds(np.ones(1), np.zeros(1))[0])
        byte = float(flash.cost.seconds(np.zeros(1), np.ones(1))[0])
        rules = (age, flash.capacity, flash.around)
        return cls(
            *object_episodes(requests.ids, requests.size, requests.op, lives, rules, (io, byte), requests.n_objects)
        )

    @cached_property
    def order(self) -> I64:
        """The useful episodes, those that save most for a byte written first, ties by time."""
        order = np.argsort(-(self.saved / self.figures[:, WRITTEN]), kind="stable")
        return order[: int(np.count_nonzero(self.saved > 0))]

    def within(self, budget: float) -> I64:
        """The first of `order` whose writes fit into a budget in bytes, if each is written as often as it began."""
        written = np.cumsum(self.figures[self.order, WRITTEN])
        return self.order[: int(np.searchsorted(written, budget, side="right"))]

    def admitted(self, chosen: I64) -> Bool:
        """bool[n]: the requests of some episodes."""
        mark = np.zeros(len(self.figures) + 1, np.bool_)
        mark[chosen] = True
        admitted: Bool = mark[self.episode]
        return admitted


def eviction_age(requests: Requests, flash: Flash, budget: float) -> int:
    """By Little's law: bytes admitted a request x (mean time between first and last access + age) = capacity.

    Returns:
        Requests, in [1, n]; n where even that age does not fill the cache.
    """
    n = len(requests)

    def size(age: int) -> float:
        episodes = ObjectEpisodes.of(requests, flash, age)
        figures = episodes.figures[episodes.within(budget)]
        return float((figures[:, HELD] * (figures[:, LAST] - figures[:, FIRST] + age).astype(np.float64)).sum()) / n

    low, high = 1, 2
    while high < n and size(high) < flash.capacity:
        low, high = high, high * 2
    high = min(high, n)
    if high == n and size(high) < flash.capacity:
        return high
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) < flash.capacity else (low, middle)
    return high


@dataclass(frozen=True)
class Labels:
    """What OPT would admit of a part of a trace, computed from that part alone.

    Attributes:
        age: the eviction age in requests.
        episodes: at that age.
        opt: bool[n] the request's episode is admitted.
        settled: bool[n] the request's episode began early enough for its label to count.
    """

    age: int
    episodes: ObjectEpisodes
    opt: Bool
    settled: Bool

    @classmethod
    def of(cls, part: Requests, flash: Flash, budget: float, writes: Callable[[Bool], int], tolerance: float
           ) -> "Labels":  # fmt: skip
        """Label a part.

        Args:
            part: the requests.
            flash: the cache.
            budget: bytes that the part may write.
            writes: bytes that some decisions, bool[n], write on the part, simulated.
            tolerance: how near to the budget OPT must come, relative.
        """
        age = eviction_age(part, flash, budget)
        episodes = ObjectEpisodes.of(part, flash, age)
        order = episodes.order
        guess = len(episodes.within(budget))
        found = meet_budget(
            lambda count: writes(episodes.admitted(order[:count])), len(order), budget, tolerance, guess
        )
        horizon = min(age, int(len(part) * HORIZON))
        settled = np.append(episodes.figures[:, FIRST] < len(part) - horizon, False)[episodes.episode]
        return cls(age, episodes, episodes.admitted(order[: found.index]), settled)


def codes_of(coded: Coded | None, rows: I64 | None, n: int) -> F32:
    """float32[n] codes of a column by first appearance, at most `MOST_NAMES`; -1 of the others and of no column."""
    if coded is None:
        return np.full(n, UNKNOWN, np.float32)
    codes = coded.codes if rows is None else coded.codes[rows]
    known, first = np.unique(codes, return_index=True)
    number = np.full(len(coded.names), UNKNOWN, np.float32)
    seen = known[np.argsort(first)][:MOST_NAMES]
    number[seen] = np.arange(len(seen))
    return number[codes]


def inputs(requests: Requests, columns: Sequence[F32], age: int) -> tuple[F32, list[str]]:
    """What the forest sees of each request, of itself and of the object's requests before it.

    Args:
        requests: in order.
        columns: float32[n] of `codes_of`, as `CODED`.
        age: the eviction age in requests, of which the windows of the history are multiples.

    Returns:
        float32[n, F] and the names of the columns.
    """
    n = len(requests)
    read: U8 = (requests.op == OP_READ).astype(np.uint8)
    windows = np.array(WINDOWS, np.int64)
    history = np.zeros((n, KINDS * len(windows)), np.float32)
    width = max(1, round(age * BUCKET_OF_AGE))
    update_history(
        np.arange(n + 1),
        requests.ids,
        read.astype(np.bool_),
        0,
        width,
        windows,
        empty_log(requests.n_objects, n),
        history,
    )
    own = np.stack([requests.op.astype(np.float32), requests.size.astype(np.float32), *columns], axis=1)
    found = np.concatenate([own, past(requests.ids, read, requests.n_objects), history], axis=1)
    names = ["op", "size", *CODED, "reads", "changes", "since_first", *(f"gap_{k}" for k in range(GAPS))]
    names += [f"{kind}_{window}" for kind in ("reads", "changes") for window in WINDOWS]
    return found, names
