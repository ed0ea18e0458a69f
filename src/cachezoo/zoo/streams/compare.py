"""Write amplification of two runs of a drive, compared over blocks of time.

Blocks are of (almost) equally many page writes of the host. Garbage collection carries over from one to the next, so
that intervals by these are of the writes of this cycle, not of drives or days.
"""

from cachezoo.contest.lead import Lead, Mean, ratio_of, saving
from cachezoo.wear.run import Wear


def waf(run: Wear) -> Mean:
    """A run's WAF, pages written to flash for each that the host writes, with its interval."""
    host = run.host.astype(float)
    return ratio_of(host + run.copied, host)


def lead(run: Wear, rival: Wear) -> Lead:
    """The part of a rival's page writes to flash that a run of the same writes saves."""
    return saving((run.host + run.copied).astype(float), (rival.host + rival.copied).astype(float))


def of_legacy(run: Wear, legacy: Wear) -> Mean:
    """A run's WAF over that without streams."""
    return ratio_of((run.host + run.copied).astype(float), (legacy.host + legacy.copied).astype(float))
