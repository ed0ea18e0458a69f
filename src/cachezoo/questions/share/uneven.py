"""Applications that say little of sharing: one that ends long before the others, or of which few references count."""

import numpy as np

from cachezoo.questions.share.counting import Counting
from cachezoo.questions.share.mix import Mix
from cachezoo.show.formats import share

EARLY = 0.5  # of the run: an application that ends before it leaves the cache to the others for most of the time
FEW = 0.25  # of an application's references
MOST_SAID = 3


def uneven(mix: Mix, counting: Counting) -> list[str]:
    """What to know of applications that are hardly there, a line each; of many the first to end, and how many more.

    Args:
        mix: the applications.
        counting: which references count.
    """
    counted = [int(np.count_nonzero(places >= start)) for places, start in zip(mix.at, counting.start, strict=True)]
    early = {k for k in range(mix.count) if _end(mix, k) < EARLY}
    few = {k for k in range(mix.count) if counted[k] < FEW * len(mix.applications[k])}
    told = sorted(early | few, key=lambda k: _end(mix, k))
    lines = [_line(mix, k, counted[k], ends=k in early) for k in told[:MOST_SAID]]
    if len(told) > MOST_SAID:
        lines.append(f"{len(told) - MOST_SAID} more applications end early too, or few of their references count")
    return lines


def _end(mix: Mix, k: int) -> float:
    """At what part of the run an application has its last reference."""
    return (int(mix.at[k][-1]) + 1) / len(mix)


def _line(mix: Mix, k: int, counted: int, *, ends: bool) -> str:
    name, end = mix.names[k], _end(mix, k)
    count = f"{counted:,} of the {len(mix.applications[k]):,} references of {name} count"
    if not ends:
        return f"only {count}"
    left = [other for j, other in enumerate(mix.names) if _end(mix, j) > end]
    after = f"{left[0]} has the cache to itself" if len(left) == 1 else f"the {len(left)} that go on have the cache"
    return f"{name} ends at {share(end)} of the run; after that {after}; {count}"
