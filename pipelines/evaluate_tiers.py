"""Stage evaluate_tiers: what the same money does as RAM alone or as RAM and an SSD, on each category's test traces."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.kept import Each, page_categories
from cachezoo.questions.tiers.columns import tiers_metrics
from cachezoo.questions.tiers.stage import Settings, evaluate_tiers
from cachezoo.stage import stage

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

EACH = Each(
    page_categories,
    Settings,
    [
        "data/requests/{category}",
    ],
    ["metrics/tiers/{category}.json"],
)


def main(params: "Params", category: str) -> None:
    """Evaluate `category`."""
    write_json(tiers_metrics(category), evaluate_tiers(params, category).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main, EACH)()
