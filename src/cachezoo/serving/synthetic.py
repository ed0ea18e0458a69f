"""Synthetic golden sets: small generated streams, with rules changed so far that they pass every branch.

Golden rows of a real trace never fill a history's buckets or evict from a cache of the training's size. A synthetic set
does, in some tens of requests, because it says what is changed in the model's document before the model is built.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cachezoo.arrays import F32
from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.seeds import derive_seed
from cachezoo.serving.requests import RequestBatch

GIVEN = "given"


@dataclass(frozen=True)
class SyntheticSet:
    """Requests to be answered under changed rules.

    Attributes:
        name: of its folder: lower case letters, digits and underscores.
        requests: in order.
        changes: new values by their place in the document, keys with points between; see `changed`.
        context: what the recomputation is given beside them, as a golden context; `outputs` is `given` in it where
            `given` is not None, and else absent.
        given: float32[k, O], outputs that the runtime acts on in place of the model's; None where the model computes.
    """

    name: str
    requests: RequestBatch
    changes: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    given: F32 | None = None


def changed(document: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a document with other values at some places.

    Args:
        document: as a bundle states it.
        changes: new values by place: keys with points between, such as `policy.history.windows`.

    Raises:
        ConfigError: the document has no such place.
    """
    found = copy.deepcopy(dict(document))
    for place, value in changes.items():
        *way, last = place.split(".")
        inner: Any = found
        for key in way:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or last not in inner:
            message = f"{place} is changed by a synthetic golden set, but there is no such value; export it again"
            raise ConfigError(message)
        inner[last] = copy.deepcopy(value)
    return found


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
