"""A lead in words: the one place where an interval becomes a sentence."""

from cachezoo.contest.lead import Interval
from cachezoo.contest.verdict import Verdict, judged
from cachezoo.show.formats import percent, span


def saves(value: float, interval: Interval | None, least: float, rival: str = "", costs: str = "costs") -> str:
    """What a candidate saves of its rival's cost, with the interval, as a verb and its object.

    `saves 12.0 % [10.0, 14.0]`, `saves 0.5 % [0.2, 0.8], too little to matter`, `costs 3.0 % [2.1, 4.0] more`; where
    the interval reaches zero `saves 0.1 % [-0.4, 0.6], perhaps by chance`; without an interval `saves 12.0 %, how
    surely this trace is too short to say`.

    Args:
        value: share of the rival's cost that is saved; negative: it costs more.
        interval: its 90 % interval; None where the trace is too short for one.
        least: saving worth having.
        rival: its name, to be in the sentence: `saves 12.0 % [10.0, 14.0] against LRU`.
        costs: the verb of what costs more.
    """
    if interval == (0, 0):
        return f"saves nothing{rival and f' against {rival}'}"
    found, more = judged(value, interval, least), value < 0
    ends = (-interval[1], -interval[0]) if interval and more else interval
    figures = f"{percent(abs(value))} {span(ends, 1)}".rstrip()
    change = (
        f"{costs} {figures} more{rival and f' than {rival}'}"
        if more
        else f"saves {figures}{rival and f' against {rival}'}"
    )
    return change + {
        Verdict.TRIFLE: ", too little to matter",
        Verdict.EVEN: ", perhaps by chance",
        Verdict.SHORT: ", how surely this trace is too short to say",
    }.get(found, "")
