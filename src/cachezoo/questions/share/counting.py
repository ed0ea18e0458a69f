"""From where on a mix counts: for all at one moment, or for each application after references of its own."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I64, Bool
from cachezoo.contest.counting import HALF, Count
from cachezoo.errors import ConfigError
from cachezoo.questions.share.mix import Mix


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


def counting(mix: Mix, count: str = HALF, pages: int = 1) -> Counting:
    """What counts of a mix.

    Args:
        mix: the applications.
        count: a rule, see `cachezoo.contest.counting.Count`, for the references of all; or one for each application,
            with commas, of its own references. For `auto` the cache is full when as many distinct pages were asked for.
        pages: of the whole cache.

    Raises:
        ConfigError: no such rule, or nothing would be left of an application.
    """
    rules = [Count(piece.strip()) for piece in count.split(",")]
    if len(rules) == 1:
        filled = int(np.searchsorted(mix.distinct, pages)) + 1
        return Counting.of(mix, np.full(mix.count, rules[0].place(len(mix), filled), np.int64))
    if len(rules) != mix.count:
        message = f"--count: {len(rules)} rules for {mix.count} applications; give one for all, or one for each"
        raise ConfigError(message)
    firsts = [rule.place(len(own), 0) for rule, own in zip(rules, mix.at, strict=True)]
    return Counting.of(mix, np.array([own[first] for own, first in zip(mix.at, firsts, strict=True)], np.int64))
