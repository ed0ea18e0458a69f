"""From where on a trace counts: the one rule of all comparisons, and how it is typed.

The first half of a trace warms caches up and may choose; figures are of the second half, so that nothing is quoted on
what it was chosen on, and every size and policy is counted on the same requests.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I64
from cachezoo.errors import ConfigError
from cachezoo.traces.pages import PageAccesses

ALL, AUTO, HALF = "all", "auto", "half"
HOW = f"give {HALF}, {AUTO}, {ALL}, a share such as 25%, a time such as 60s, or a number of accesses"
TYPED = re.compile(r"([0-9]+(?:\.[0-9]+)?)(%|s|m|h|d)?")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LONGEST = 24
MIN_WARMUP, MAX_WARMUP = 0.10, 1 / 3


@dataclass(frozen=True)
class Count:
    """What counts."""

    # `half`: the second half; `all`; `auto`: from where LRU has filled the cache, after a tenth of the accesses at
    # least and a third at most; `25%`, `60s`, `1000`: from that share, time or access on
    text: str = HALF

    def __post_init__(self) -> None:
        """Refuse what is no rule.

        Raises:
            ConfigError: it is none.
        """
        own = TYPED.fullmatch(self.text) if len(self.text) <= LONGEST else None
        share = own is not None and own[2] == "%"
        if self.text in (ALL, AUTO, HALF):
            return
        if own is None or (own[2] is None and "." in own[1]) or (share and Decimal(own[1]) >= 100):
            raise ConfigError(f"--count {self.text[:LONGEST]!r}: {HOW}")

    def place(self, total: int, filled: int, time_us: I64 | None = None) -> int:
        """The first of so many accesses, references or requests that counts.

        Args:
            total: how many there are.
            filled: how many there were when the cache was full, for `auto`.
            time_us: int64[total] of each; None where it is not known.

        Raises:
            ConfigError: nothing would be left to count, or there are no times.
        """
        if self.text == AUTO:
            return int(min(max(filled, MIN_WARMUP * total), MAX_WARMUP * total))
        if self.text in (ALL, HALF):
            return 0 if self.text == ALL else total // 2
        number, unit = self._typed
        if unit == "%":
            return int(number * total / 100)
        first = int(number) if not unit else self._at(number * SECONDS[unit], time_us)
        if first >= total:
            raise ConfigError(f"--count {self.text}: the trace ends before; {HOW}")
        return first

    def on(self, pages: PageAccesses, time_us: I64) -> "Count":
        """The same rule for a trace whose times are not at hand later: a time becomes an access.

        Raises:
            ConfigError: as of `first_access`.
        """
        if self.wait_us is None:
            return self
        return Count(str(first_access(pages, self, time_us=time_us)))

    @property
    def wait_us(self) -> int | None:
        """Microseconds of a trace before counting; None where the rule is no time."""
        if self.text in (ALL, AUTO, HALF) or self._typed[1] not in SECONDS:
            return None
        return int(self._typed[0] * SECONDS[self._typed[1]] * 1_000_000)

    @property
    def _typed(self) -> tuple[Decimal, str]:
        own = TYPED.fullmatch(self.text)
        assert own is not None
        return Decimal(own[1]), own[2] or ""

    def _at(self, seconds: Decimal, time_us: I64 | None) -> int:
        if time_us is None or not len(time_us) or time_us[0] == time_us[-1]:
            raise ConfigError(f"--count {self.text}: there is no clock; give a share such as 25%")
        return int(np.searchsorted(time_us, int(time_us[0]) + int(seconds * 1_000_000)))


SECOND_HALF = Count()


def first_access(pages: PageAccesses, count: Count = SECOND_HALF, capacity: int = 1, time_us: I64 | None = None) -> int:
    """The page access from which on a trace counts, the first of its request.

    Args:
        pages: the trace's page accesses.
        count: the rule.
        capacity: pages of the cache, for `auto`.
        time_us: int64[n] of each request, for times.

    Raises:
        ConfigError: nothing would be left to count.
    """
    return int(first_accesses(pages, count, [capacity], time_us)[0])


def first_accesses(pages: PageAccesses, count: Count, capacities: npt.ArrayLike, time_us: I64 | None = None) -> I64:
    """int64[k]: `first_access` of each of many capacities; a larger cache's is never lower."""
    sizes, total, starts = np.asarray(capacities, np.int64), len(pages.page_ids), pages.request_start
    if count.text == AUTO:
        # Ids are numbered by first appearance, so the largest id so far counts the distinct pages so far.
        largest = np.maximum.accumulate(pages.page_ids)
        filled = np.searchsorted(largest, sizes - 1) + 1
    else:
        filled = np.zeros(len(sizes), np.int64)
    times = None if time_us is None else np.repeat(time_us, np.diff(starts))
    firsts = np.array([count.place(total, int(own), times) for own in filled], np.int64)
    found: I64 = starts[np.searchsorted(starts, firsts, side="right") - 1].astype(np.int64)
    return found


def counted_words(firsts: Sequence[int], accesses: Sequence[int]) -> str:
    """From where on figures count, in words.

    Args:
        firsts: page accesses before counting, of each figure.
        accesses: page accesses in all, of each figure's trace.
    """
    if len({*zip(firsts, accesses, strict=True)}) == 1:
        return f"counted after {firsts[0]:,} of {accesses[0]:,} page accesses"
    if len({*accesses}) == 1:
        span = f"{min(firsts):,} to {max(firsts):,} of {accesses[0]:,}"
    else:
        shares = [100 * first / total for first, total in zip(firsts, accesses, strict=True)]
        span = f"{min(shares):.0f} to {max(shares):.0f} % of its"
    return f"each size counted after its own warm-up, {span} page accesses"
