import pytest

from cachezoo.zoo.caching.objective import best_of
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
