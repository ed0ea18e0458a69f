"""Generated requests: a script that is written request by request, or drawn, and read as a batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cachezoo.coded import Coded
from cachezoo.seeds import derive_seed
from cachezoo.serving.requests import RequestBatch

READ, WRITE = 0, 1
GAPS_US = (100, 0, 2500, 40, 900_000)  # between requests, in turns; two may come at once


@dataclass
class Script:
    """Requests, one after the other.

    Attributes:
        volumes, namespaces, users, flags: names that requests take in turns, unless they are given one.
        rows: op, volume, offset, size, namespace, user, flags of each.
    """

    volumes: Sequence[str]
    namespaces: Sequence[str] = ()
    users: Sequence[str] = ()
    flags: Sequence[str] = ()
    rows: list[tuple[int, str, int, int, str, str, str]] = field(default_factory=list)

    def add(self, op: int, offset: int, size: int, volume: int = 0, turn: int | None = None) -> None:
        """One request more.

        Args:
            op: `READ` or `WRITE`.
            offset: bytes.
            size: bytes.
            volume: place among the volumes.
            turn: of the names; None takes the request's number.
        """
        k = len(self.rows) if turn is None else turn
        space, user, flag = (each[k % len(each)] if each else "" for each in (self.namespaces, self.users, self.flags))
        self.rows.append((op, self.volumes[volume], offset, size, space, user, flag))

    def batch(self) -> RequestBatch:
        """The requests; a column of names that has none is absent."""
        op, volume, offset, size, namespace, user, flags = zip(*self.rows, strict=True)
        times = np.cumsum([0, *(GAPS_US[k % len(GAPS_US)] for k in range(len(op) - 1))])
        return RequestBatch(
            times.astype(np.int64), np.array(op, np.uint8), np.array(offset, np.int64), np.array(size, np.int64),
            Coded.of(volume), Coded.of(namespace) if self.namespaces else None,
            Coded.of(user) if self.users else None, Coded.of(flags) if self.flags else None,
        )  # fmt: skip


def draws_of(name: str) -> np.random.Generator:
    """Draws of a set: they hang on its name alone, so that what a stream passes is the same in every bundle."""
    return np.random.default_rng(derive_seed(0, "synthetic_set", name))


def widest_gap(values: np.ndarray) -> float:
    """A threshold that last digits do not decide: midway in the widest gap about the median, or the one value.

    Args:
        values: float[n] outputs; the gap is looked for in the middle half of them.
    """
    ordered = np.unique(np.asarray(values, np.float64))
    if len(ordered) < 2:
        return float(ordered[0])
    low, high = len(ordered) // 4, max(len(ordered) // 4 + 1, -(-3 * len(ordered) // 4) - 1)
    inner = ordered[low : high + 1]
    place = int(np.argmax(np.diff(inner)))
    return float((inner[place] + inner[place + 1]) / 2)
