"""The requests around those that a sample keeps: what a disk did before each, and how long they were.

A sample cuts requests at its blocks, and what came before one in the trace is mostly not in it. How long a disk takes
depends on both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from cachezoo.arrays import I32, I64, Bool
from cachezoo.traces.table import OP_WRITE, Trace

LAGS = 4
"""Requests before one that it may have waited for, of which it is known what they were."""
BEFORE = LAGS + 1
"""Requests that are kept before each: where the head was before the first of those, too."""


class Rows(Protocol):
    """Requests with those before them."""

    def take(self, rows: I64) -> "Neighbours":
        """Those of some rows."""


@dataclass(frozen=True)
class Neighbours:
    """n requests, each whole, after the `BEFORE` that came before it; before a trace's first, that one again."""

    offset: I64  # [n, BEFORE + 1] bytes
    size: I64
    write: Bool
    volume: I32  # numbers of the volumes, as those of all requests of the trace

    def take(self, rows: I64) -> "Neighbours":
        """Those of some rows."""
        return Neighbours(*(getattr(self, own.name)[rows] for own in fields(self)))


def joined(parts: Sequence[Neighbours]) -> Neighbours:
    """One behind the other."""
    return Neighbours(*(np.concatenate([getattr(part, own.name) for part in parts]) for own in fields(Neighbours)))


class Stretch:
    """The requests of a piece of a trace, with the last ones of the piece before."""

    def __init__(self, trace: Trace, last: "Stretch | None") -> None:
        """Take a piece; names of an earlier one are the first ones of the next, in their order."""
        own = (trace.offset, trace.size, trace.op == OP_WRITE, trace.volume.codes)
        first = np.zeros(BEFORE, np.int64)
        self._columns: list[Any] = [
            np.concatenate([values[first] if last is None else last._columns[at][-BEFORE:], values])
            for at, values in enumerate(own)
        ]

    def take(self, rows: I64) -> Neighbours:
        """Those of some rows of the piece."""
        places = rows[:, None] + np.arange(BEFORE + 1)
        return Neighbours(*(values[places] for values in self._columns))
