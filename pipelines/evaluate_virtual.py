"""Stage evaluate_virtual: virtual caches beside the plain policies of their queues, on each category's test traces."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.kept import Each, page_categories
from cachezoo.stage import stage
from cachezoo.zoo.virtual.evaluate import evaluate_virtual
from cachezoo.zoo.virtual.judge import Settings
from cachezoo.zoo.virtual.metrics import metrics_of

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

EACH = Each(
    page_categories,
    Settings,
    [
        "data/requests/{category}",
        "models/fitted/virtual/virtual.{category}.{arch_virtual}",
        "models/trained/virtual/virtual.{category}.{arch_virtual}",
    ],
    ["metrics/virtual/{category}.json"],
)


def main(params: "Params", category: str) -> None:
    """Evaluate `category`."""
    write_json(metrics_of(category), evaluate_virtual(params, category).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main, EACH)()
