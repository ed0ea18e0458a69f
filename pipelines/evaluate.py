"""Stage evaluate@category: classics, bounds and models on the category's validation and test traces."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.evaluation.category import evaluate_category
from cachezoo.io import write_json
from cachezoo.stage import stage
from cachezoo.systems.admission import evaluate as admission
from cachezoo.systems.admission import record as admission_record
from cachezoo.systems.caching import evaluate as caching
from cachezoo.systems.caching import record as caching_record
from cachezoo.systems.reuse import evaluate as reuse
from cachezoo.systems.reuse import record as reuse_record

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

# The parts of systems that run in the page cache: the imports put them on the stage's list of sources.
PARTS = (admission, admission_record, caching, caching_record, reuse, reuse_record)


def main(params: "Params", category: str) -> None:
    """Evaluate `category`."""
    write_json(paths.metrics(category), evaluate_category(params, category).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
