"""The best setting of a policy that keeps a limit on writes: more writes may make a cache worse, so fewer are tried."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cachezoo.flash.policies import Tuned
from cachezoo.questions.flash.asked import TOLERANCE

MOST_HALVINGS = 6


@dataclass(frozen=True)
class Within:
    """A policy's setting under a limit.

    Attributes:
        mode: of prefetch.
        tuned: its run.
        busy: what its missing reads cost the disks.
        reached: it writes as much as the limit allows, to 2.5 %.
        more_helps: False where a setting that writes more, and keeps the limit, was tried and is no better.
    """

    mode: str
    tuned: Tuned
    busy: float
    reached: bool = True
    more_helps: bool = True

    @property
    def writes(self) -> int:
        """Segments written."""
        return self.tuned.run.segment_writes


class Limits:
    """A policy in one prefetch mode, under several limits.

    It is set to each limit, then to halves of it until that no longer helps. Under a limit the best of all that was
    tried and keeps it is taken, so a higher limit is never worse than a lower one.
    """

    def __init__(self, set_to: Callable[[float], Within], limits: Sequence[float]) -> None:
        """Try settings.

        Args:
            set_to: the policy with its knob set to write at most so many segments.
            limits: segments that may be written.
        """
        tried = dict[float, Within]()
        for limit in limits:
            target, before = limit, float("inf")
            for _ in range(MOST_HALVINGS + 1):
                if target not in tried:
                    tried[target] = set_to(target)
                if tried[target].busy >= before or target < 2:
                    break
                target, before = target / 2, tried[target].busy
        self._tried = list(tried.values())

    def best(self, limit: float) -> Within:
        """The setting that costs the disks least, of those that keep a limit; ties go to fewer writes.

        Where none keeps it, the one that exceeds it least.
        """
        found = min(self._tried, key=lambda own: (max(own.writes, limit), own.busy, own.writes))
        clearly = found.writes * (1 + TOLERANCE)
        more = any(clearly < own.writes <= limit for own in self._tried)
        return Within(found.mode, found.tuned, found.busy, found.writes >= limit * (1 - TOLERANCE), not more)
