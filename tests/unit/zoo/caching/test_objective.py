import pytest

from cachezoo.zoo.caching.objective import best_of, worth_changing
from cachezoo.zoo.caching.settings import Objective

ROWS = [
    {"hit_ratio": 0.30, "ssd_writes": 900, "threshold": 0.1, "response_us": 50.0},
    {"hit_ratio": 0.30, "ssd_writes": 800, "threshold": 0.2, "response_us": 45.0},
    {"hit_ratio": 0.297, "ssd_writes": 300, "threshold": 0.5, "response_us": 46.0},
    {"hit_ratio": 0.20, "ssd_writes": 10, "threshold": 0.9, "response_us": 40.0},
]


@pytest.mark.parametrize(("objective", "best"), [("hits", 1), ("writes", 2), ("response", 3)])
def test_the_objective_chooses(objective: Objective, best: int) -> None:
    assert best_of(ROWS, objective, 0.005) == best
    assert best_of(ROWS[::-1], objective, 0.005) == len(ROWS) - 1 - best


@pytest.mark.parametrize(
    ("objective", "row", "worth"),
    [
        ("hits", {"hit_ratio": 0.3045}, False),
        ("hits", {"hit_ratio": 0.3055, "ssd_writes": 9000}, True),
        ("response", {"response_us": 49.5, "hit_ratio": 0.5}, False),
        ("response", {"response_us": 48.0, "hit_ratio": 0.2}, True),
        ("writes", {"ssd_writes": 890, "hit_ratio": 0.299}, False),
        ("writes", {"ssd_writes": 800, "hit_ratio": 0.296}, True),
        ("writes", {"ssd_writes": 2000, "hit_ratio": 0.31}, True),
    ],
)
def test_what_is_kept_gives_way_to_what_is_better_by_what_matters(
    objective: Objective, row: dict[str, float], worth: bool
) -> None:
    assert worth_changing({**ROWS[0], **row}, ROWS[0], objective, 0.005) is worth
    assert not worth_changing(ROWS[0], ROWS[0], objective, 0.005)
