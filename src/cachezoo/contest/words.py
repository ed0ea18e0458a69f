"""A lead in words: the one place where an interval becomes a sentence."""

from cachezoo.contest.lead import Interval
from cachezoo.contest.verdict import Verdict, judged
from cachezoo.show.formats import percent, span


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
