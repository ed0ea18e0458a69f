"""Stage evaluate_flash@category: admission and prefetch in the flash cache, on the category's test traces."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.evaluation.flash import evaluate_flash
from cachezoo.io import write_json
from cachezoo.stage import stage

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params", category: str) -> None:
    """Evaluate `category`."""
    write_json(paths.flash_metrics(category), evaluate_flash(params, category).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
