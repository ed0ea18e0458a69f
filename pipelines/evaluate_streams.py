"""Stage evaluate_streams@category: write amplification on the category's test cycle, by placement."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.stage import stage
from cachezoo.systems.streams.cycles import metrics_of
from cachezoo.systems.streams.evaluate import evaluate_streams

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params", category: str) -> None:
    """Evaluate `category`."""
    write_json(metrics_of(category), evaluate_streams(params, category).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
