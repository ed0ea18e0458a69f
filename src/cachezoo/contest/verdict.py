"""What a lead is worth: the one gate of promotions, recommendations and comparisons."""

from enum import StrEnum

from cachezoo.contest.lead import Interval, Mean
from cachezoo.show.formats import percent, span

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


class Worth(StrEnum):
    """Whether to do what a candidate stands for."""

    YES = "worth it"
    NO = "not worth it"
    """Even the upper end of the interval is no effect worth having."""
    UNSURE = "cannot be told"


def verdict(lead: Mean, least: float) -> Verdict:
    """Judge a lead.

    Args:
        lead: of the candidate.
        least: effect worth having, in the lead's unit.
    """
    return judged(lead.value, lead.interval, least)


def judged(value: float, interval: Interval | None, least: float) -> Verdict:
    """As `verdict`, of a lead that is known by its value and its 90 % interval alone, as files of metrics have it."""
    if interval is None:
        return Verdict.SHORT
    if interval[0] > 0:
        return Verdict.BETTER if value >= least else Verdict.TRIFLE
    return Verdict.WORSE if interval[1] < 0 else Verdict.EVEN


def worth(value: float, interval: Interval | None, least: float) -> Worth:
    """Whether an effect is worth having: surely, surely not, or neither; the arguments are as of `judged`."""
    if judged(value, interval, least) == Verdict.BETTER:
        return Worth.YES
    return Worth.NO if interval is not None and interval[1] <= least else Worth.UNSURE


def saves(value: float, interval: Interval | None, least: float) -> str:
    """What a candidate saves of its rival's cost, with the interval, as a verb and its object.

    `saves 12.0 % [10.0, 14.0]`, `saves too little to matter, 0.5 % [0.2, 0.8]`, `is not told apart, 0.1 % [0.0, 0.6]`,
    `costs 3.0 % [2.1, 4.0] more`; without an interval `saves 12.0 %, how surely this trace is too short to say`.
    """
    found = judged(value, interval, least)
    if interval is None:
        change = f"saves {percent(value)}" if value >= 0 else f"costs {percent(-value)} more"
        return f"{change}, how surely this trace is too short to say"
    if found == Verdict.WORSE:
        return f"costs {percent(-value)} {span((-interval[1], -interval[0]), 1)} more"
    figures = f"{percent(value, signed=value < 0)} {span(interval, 1)}"
    return {
        Verdict.BETTER: f"saves {figures}",
        Verdict.TRIFLE: f"saves too little to matter, {figures}",
        Verdict.EVEN: f"is not told apart, {figures}",
    }[found]
