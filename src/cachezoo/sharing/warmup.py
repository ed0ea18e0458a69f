"""From where on a mix counts: for all at one moment, or for each application after references of its own."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.sharing.mix import Mix
from cachezoo.traces.warmup import AUTO, MAX_WARMUP, MIN_WARMUP

I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
HALF = "half"


@dataclass(frozen=True)
class Counting:
    """What counts.

    Attributes:
        start: int64[A] the place among all M references from which on each application counts.
        counted: bool[M].
    """

    start: I64
    counted: Bool

    @classmethod
    def of(cls, mix: Mix, start: I64) -> "Counting":
        """From each application's start on."""
        return cls(start, np.arange(len(mix)) >= start[mix.app])


def _number(text: str, below: int, whose: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(below)) and int(text) < below):
        message = f"--warmup {text[:40]!r}: give {AUTO}, {HALF}, or references below {below}{whose}"
        raise ConfigError(message)
    return int(text)


def counting(mix: Mix, warmup: str = AUTO, pages: int = 1) -> Counting:
    """What counts of a mix.

    Args:
        mix: the applications.
        warmup: ``auto``: until as many distinct pages were asked for as the cache has, 10 to 33 % of all references;
            ``half`` of them; a number of them; or a number for each application, with commas, of its own references.
        pages: of the whole cache.

    Raises:
        ConfigError: no such warm-up, or nothing would be left of an application.
    """
    total = len(mix)
    pieces = [piece.strip() for piece in warmup.split(",")]
    if len(pieces) > 1:
        if len(pieces) != mix.count:
            message = f"--warmup: {len(pieces)} numbers for {mix.count} applications; give one for all, or one for each"
            raise ConfigError(message)
        firsts = [
            _number(piece, len(one), f", which {one.name} makes")
            for piece, one in zip(pieces, mix.applications, strict=True)
        ]
        return Counting.of(mix, np.array([own[first] for own, first in zip(mix.at, firsts, strict=True)], np.int64))
    if warmup == AUTO:
        filled = int(np.searchsorted(mix.distinct, pages)) + 1
        first = int(min(max(filled, MIN_WARMUP * total), MAX_WARMUP * total))
    else:
        first = total // 2 if warmup == HALF else _number(warmup.strip(), total, "")
    return Counting.of(mix, np.full(mix.count, first, np.int64))
