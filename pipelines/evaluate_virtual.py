"""Stage evaluate_virtual@category: virtual caches beside the plain policies of their queues, on the test traces."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.stage import stage
from cachezoo.systems.virtual.evaluate import evaluate_virtual
from cachezoo.systems.virtual.metrics import metrics_of

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params", category: str) -> None:
    """Evaluate `category`."""
    write_json(metrics_of(category), evaluate_virtual(params, category).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
