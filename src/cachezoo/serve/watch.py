"""What was promised, and what is measured.

`recommend` counts from the half of a trace on, when the cache has filled. So does this: the hits of all accesses after
the first half of those so far, of a day at most.
"""

from __future__ import annotations

from dataclasses import dataclass

DAY_S = 86_400.0
MOST = 1024  # notes kept; then every second one goes, and half as many are taken
ENOUGH = 1000  # accesses: of fewer a share says too little to call a promise missed
LEAST = 0.01  # a promise that is missed by a point or less is kept


@dataclass(frozen=True)
class Measured:
    """Hits over a time.

    Attributes:
        hits: a share of the accesses; None before there are any.
        accesses: counted, after the first half.
        seconds: that they are counted over.
    """

    hits: float | None
    accesses: int
    seconds: float

    def missed(self, promised: float | None) -> bool:
        """Whether a promise is not kept."""
        if promised is None or self.hits is None or self.accesses < ENOUGH:
            return False
        return self.hits < promised - LEAST


class Watch:
    """Notes of the counters since the start."""

    def __init__(self) -> None:
        self._notes: list[tuple[float, int, int]] = []
        self._every = 0.0

    def begin(self, now: float, accesses: int, hits: int) -> None:
        """Measure from here on, as after a change of the policy; arguments as of `note`."""
        self._notes, self._every = [(now, accesses, hits)], 0.0

    def note(self, now: float, accesses: int, hits: int) -> None:
        """Take the counters, which start again where the cache does.

        Args:
            now: seconds of a clock that does not go back.
            accesses: so far.
            hits: of them.
        """
        if self._notes and accesses < self._notes[-1][1]:
            self._notes.clear()
        if not self._notes:
            self._notes.append((now, 0, 0))
        if accesses == self._notes[-1][1]:
            return
        while len(self._notes) > 2 and self._notes[1][0] <= now - DAY_S:
            self._notes.pop(0)
        if len(self._notes) >= MOST:
            self._notes = [*self._notes[:-1:2], self._notes[-1]]
            self._every = 2 * self._every or (self._notes[-1][0] - self._notes[0][0]) / len(self._notes)
        if len(self._notes) > 1 and self._notes[-1][0] - self._notes[-2][0] < self._every:
            self._notes.pop()  # the last one is the newest always
        self._notes.append((now, accesses, hits))

    def measured(self, now: float) -> Measured:
        """The hits after the first half of the accesses."""
        if len(self._notes) < 2:
            return Measured(None, 0, 0.0)
        first, last = self._notes[0], self._notes[-1]
        half = first[1] + (last[1] - first[1]) / 2
        begin = min(self._notes[:-1], key=lambda one: abs(one[1] - half))
        accesses = last[1] - begin[1]
        hits = (last[2] - begin[2]) / accesses if accesses > 0 else None
        return Measured(hits, accesses, max(0.0, now - begin[0]))
