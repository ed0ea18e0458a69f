from hypothesis import given
from hypothesis import strategies as st

from cachezoo.flash.budget import meet_budget


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200), st.integers(1, 3000), st.integers(-1, 250))
def test_meets_the_budget_or_stays_below(steps: list[int], budget: int, guess: int) -> None:
    writes = [0]
    for step in steps:
        writes.append(writes[-1] + step)
    found = meet_budget(writes.__getitem__, len(steps), budget, 0.025, guess)
    assert writes[found.index] == found.writes
    within = [abs(w - budget) <= 0.025 * budget for w in writes]
    assert found.reached == within[found.index]
    if not found.reached:
        assert not any(within)
        assert found.writes == max(w for w in writes if w <= budget)
