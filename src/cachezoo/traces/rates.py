"""Units of time by what they would make of a trace: its rate of requests, and the day that it was taken."""

import math

import numpy as np

from cachezoo.arrays import F64
from cachezoo.traces.reading import PER_UNIT_US

USUAL_RATE = 300.0
FREE_DECADES = 1.5
FAST_RATE = 1e5
UNITS = ("s", "ms", "us", "ns")
NO_TIME_DOUBTS = {"ms": 0.0, "us": 1.0, "s": 2.0, "ns": 2.0}
# Days, in seconds since 1970, of which block traces are: from 1990 to 2100.
FIRST_DAY_S, LAST_DAY_S = 631_152_000.0, 4_102_444_800.0
SINCE_1601_S = 11_644_473_600.0  # from the epoch of Windows' file times to 1970
SHORTEST, LONGEST = 1e-200, 1e200  # spans whose rates are numbers in every unit
MOMENT_DOUBT = 2.5  # of a unit that makes no day of what another makes one


def rate_doubt(rate: float) -> float:
    """How unusual a rate of requests a second is, in powers of ten.

    It is as many as lie between the rate and `USUAL_RATE`, but for `FREE_DECADES`, and twice so beyond `FAST_RATE`.
    """
    decades = abs(math.log10(rate / USUAL_RATE))
    return max(0.0, decades - FREE_DECADES) + max(0.0, math.log10(rate / FAST_RATE))


def is_day(seconds: float, since_1601: bool = False) -> bool:
    """Whether a moment is one of a trace, between 1990 and 2100.

    Args:
        seconds: since 1970, or 1601.
        since_1601: which.
    """
    return FIRST_DAY_S <= seconds - (SINCE_1601_S if since_1601 else 0.0) < LAST_DAY_S


def unit_doubts(times: F64, usual: dict[str, float]) -> dict[str, float]:
    """How doubtful each unit of some times is, by their rate.

    Args:
        times: float64[n], of requests one after another.
        usual: how unusual each unit is by itself; its keys are the units to think of.
    """
    span = float(np.max(times)) - float(np.min(times)) if len(times) else 0.0
    if span == 0:
        return {unit: NO_TIME_DOUBTS.get(unit, 2.0) for unit in usual}
    span = min(max(span, SHORTEST), LONGEST)
    rates = {unit: (len(times) - 1) / (span * PER_UNIT_US[unit] / 1e6) for unit in usual}
    return {unit: usual[unit] + rate_doubt(rate) for unit, rate in rates.items()}


def moment_units(first: float) -> list[str]:
    """The units in which a number is a moment of a trace since 1970, or since 1601 in Windows' 100 ns."""
    found = [unit for unit in UNITS if is_day(first * PER_UNIT_US[unit] / 1e6)]
    return [*found, *(["100ns"] if is_day(first / 1e7, since_1601=True) else [])]
