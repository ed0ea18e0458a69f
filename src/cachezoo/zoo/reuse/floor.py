"""How far below a classic the cache may fall on a trace."""

FLOOR = 0.01  # of page hit ratio, below the best classic in hindsight, besides one reload of the cache
NEAR = 0.005  # of page hit ratio, below the classic that one would have chosen


def allowed(capacity: int, counted: int) -> float:
    """Page hit ratio below the best classic that is above the floor still: `FLOOR` and one reload of the cache.

    Args:
        capacity: pages.
        counted: page accesses.
    """
    return FLOOR + capacity / counted
