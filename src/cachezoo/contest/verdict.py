"""What a lead is worth: the one gate of promotions, recommendations and comparisons."""

from enum import StrEnum

from cachezoo.contest.lead import Interval, Mean

LEAST_HITS = 0.005
"""Hit ratio that another policy or a model has to gain to be worth the change: half a point."""
LEAST_SAVING = 0.02
"""Share of a cost (time, reads of the disk, writes of the SSD) that has to be saved to be worth the change."""


class Verdict(StrEnum):
    """A candidate against its rival."""

    BETTER = "better"
    TRIFLE = "better by too little to matter"
    EVEN = "not told apart"
    WORSE = "worse"
    SHORT = "too short to tell"


def verdict(lead: Mean, least: float) -> Verdict:
    """Judge a lead.

    Args:
        lead: of the candidate.
        least: effect worth having, in the lead's unit.
    """
    return judged(lead.value, lead.interval, least)


def judged(value: float, interval: Interval | None, least: float) -> Verdict:
    """Judge a lead by its value and its 90 % interval, as documents keep them; see `verdict`."""
    if interval is None:
        return Verdict.SHORT
    low, high = interval
    if low > 0:
        return Verdict.BETTER if value >= least else Verdict.TRIFLE
    return Verdict.WORSE if high < 0 else Verdict.EVEN
