"""What a lead is worth: the one gate of promotions, recommendations and comparisons."""

from enum import StrEnum

from cachezoo.contest.lead import Mean

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
    if lead.low is None or lead.high is None:
        return Verdict.SHORT
    if lead.low > 0:
        return Verdict.BETTER if lead.value >= least else Verdict.TRIFLE
    return Verdict.WORSE if lead.high < 0 else Verdict.EVEN
