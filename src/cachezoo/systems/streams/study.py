"""How dictionaries are compared over seeds: by write amplification on validation, K-means begun from other centres."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.models.trained import read_trained
from cachezoo.systems.base import Studied
from cachezoo.systems.streams.evaluate import evaluate_streams
from cachezoo.systems.streams.fit import fit_streams
from cachezoo.systems.streams.judge import judge_streams

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def choosing(folder: Path) -> float:
    """Write amplification of the dictionary that FIOS's own rule chooses, which looks at no validation trace."""
    found = read_trained(folder, "streams").validation.get("automatic_waf")
    return float("inf") if found is None else found


def tests(params: "Params", category: str) -> dict[str, float]:
    """Write amplification of the dictionary that validation chose, on the test cycle."""
    metrics = evaluate_streams(params, category)
    return {key: row.waf for key, trace in metrics.traces.items() if (row := metrics.chosen(trace)) is not None}


STUDIED = Studied(
    fit=fit_streams,
    judge=judge_streams,
    choosing=choosing,
    choosing_is="write amplification on validation with the features that FIOS's own rule chooses",
    lower_is_better=True,
    judging="waf",
    judging_is="write amplification on validation with the dictionary chosen there",
    tests=tests,
    tests_are="write amplification on the test cycle",
)
