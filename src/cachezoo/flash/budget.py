"""Meeting a write budget: the strictest knob setting comes from simulated writes, never from a formula."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class BudgetSetting:
    """The setting found.

    Attributes:
        index: the knob's integer setting; larger settings admit more.
        writes: segment writes simulated at it.
        reached: the writes are within the tolerance of the budget. False: no setting is, and this is the
            largest that stays below it.
    """

    index: int
    writes: int
    reached: bool


def meet_budget(
    writes_at: Callable[[int], int], upper: int, budget: float, tolerance: float, guess: int = -1
) -> BudgetSetting:
    """Bisect an integer knob until the simulated writes meet the budget.

    Args:
        writes_at: segment writes at a setting in [0, upper]; rises with the setting, small dips do no harm.
        upper: the most permissive setting.
        budget: segment writes to reach.
        tolerance: how near is near enough, relative to the budget.
        guess: a setting to try first, or -1.

    Returns:
        The first setting within the tolerance, else the largest found that stays below the budget.
    """
    low, high = -1, upper + 1
    best = BudgetSetting(0, 0, False)
    at = guess if 0 <= guess <= upper else upper
    while high - low > 1:
        writes = writes_at(at)
        if abs(writes - budget) <= tolerance * budget:
            return BudgetSetting(at, writes, True)
        if writes < budget:
            low = at
            best = max(best, BudgetSetting(at, writes, False), key=lambda c: c.index)
        else:
            high = at
        at = (low + high) // 2
    return best
