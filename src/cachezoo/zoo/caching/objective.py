"""What the judge chooses a caching model's networks, oracles, rules and thresholds by: `judge.caching.objective`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cachezoo.contest.verdict import LEAST_SAVING
from cachezoo.zoo.caching.settings import Objective

Row = Mapping[str, Any]
Rank = tuple[float, ...]
# At equal worth a higher threshold, which writes less.
RANKS: dict[Objective, Callable[[Row], Rank]] = {
    "hits": lambda row: (row["hit_ratio"], row["threshold"]),
    "response": lambda row: (-row["response_us"], row["threshold"]),
    "writes": lambda row: (-row["ssd_writes"], row["hit_ratio"], row["threshold"]),
}


def best_of(rows: Sequence[Row], objective: Objective, least_gain: float) -> int:
    """The place of the best candidate.

    Args:
        rows: of each candidate `threshold`, `hit_ratio` and `ssd_writes`, and for response times `response_us`.
        objective: `hits`, the most; `response`, the shortest mean response time; `writes`, the fewest pages written
            among the candidates that hit no less than `least_gain` below the best.
        least_gain: hit ratio that matters.
    """
    enough = max(row["hit_ratio"] for row in rows) - least_gain if objective == "writes" else 0.0
    places = [place for place, row in enumerate(rows) if row["hit_ratio"] >= enough]
    return max(places, key=lambda place: RANKS[objective](rows[place]))


def worth_changing(row: Row, kept: Row, objective: Objective, least_gain: float) -> bool:
    """Whether a candidate is better than another by what is worth having.

    Args:
        row: of the candidate, as of `best_of`.
        kept: of the other.
        objective: by `hits` it has to gain `least_gain`; by `response` to save `LEAST_SAVING` of the time; by `writes`
            to save as much of the pages written, or to gain `least_gain`.
        least_gain: hit ratio that matters.
    """
    gains = bool(row["hit_ratio"] - kept["hit_ratio"] >= least_gain)
    if objective == "hits":
        return gains
    cost = {"response": "response_us", "writes": "ssd_writes"}[objective]
    saves = bool(row[cost] <= (1.0 - LEAST_SAVING) * kept[cost])
    return saves or (objective == "writes" and gains)
