"""Stage judge_caching: the oracle, threshold and rules of that LSTM, and its verdict, on validation."""

from cachezoo.kept import Each, page_categories
from cachezoo.stage import stage
from cachezoo.zoo.caching.judge import Settings, judge_caching

EACH = Each(
    page_categories,
    Settings,
    [
        "data/requests/{category}",
        "data/labels/benefit/{category}",
        "models/fitted/caching/caching.{category}.{arch_caching}",
    ],
    [
        "models/trained/caching/caching.{category}.{arch_caching}",
    ],
)

if __name__ == "__main__":
    stage(judge_caching, EACH)()
