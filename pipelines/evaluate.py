"""Stage evaluate@category: classics, bounds and models on the category's validation and test traces."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.evaluation.category import evaluate_category
from cachezoo.io import write_json
from cachezoo.stage import stage

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


@stage
def main(params: "Params", category: str) -> None:
    """Evaluate `category`."""
    write_json(paths.metrics(category), evaluate_category(params, category))


if __name__ == "__main__":
    main()
