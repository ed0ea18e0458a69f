"""How long a cache takes from its start until it hits as it will."""

import numpy as np

from cachezoo.zoo.virtual.bench import Run


def window_of(references: int, window: int) -> int:
    """The window that a trace is looked at over: no longer than a quarter of it."""
    return max(1, min(window, references // 4))


def steady(run: Run) -> float:
    """Hit ratio of the second half."""
    return float(run.hit[len(run.hit) // 2 :].mean())


def reached(run: Run, window: int, share: float, value: float) -> int | None:
    """References until the hit ratio of the last `window` of them first is a share of the steady value; None: never.

    Args:
        run: from its start on.
        window: page accesses; a short trace is looked at over a quarter of its own.
        share: of the steady value.
        value: the steady one.
    """
    own = window_of(len(run.hit), window)
    wanted = share * value
    total = np.concatenate([[0], np.cumsum(run.hit)])
    means = (total[own:] - total[:-own]) / own
    found = np.flatnonzero(means >= wanted)
    return int(found[0]) + own if len(found) else None
