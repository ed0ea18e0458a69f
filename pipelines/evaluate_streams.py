"""Stage evaluate_streams: write amplification on each category's test cycle, by placement."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.kept import Each, stream_categories
from cachezoo.stage import stage
from cachezoo.zoo.streams.evaluate import evaluate_streams
from cachezoo.zoo.streams.judge import Settings
from cachezoo.zoo.streams.metrics import metrics_of

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

EACH = Each(
    stream_categories,
    Settings,
    [
        "{folder}/{category}",
        "data/labels/streams/{category}",
        "models/fitted/streams/streams.{category}.{arch_streams}",
        "models/trained/streams/streams.{category}.{arch_streams}",
    ],
    ["metrics/streams/{category}.json"],
)


def main(params: "Params", category: str) -> None:
    """Evaluate `category`."""
    write_json(metrics_of(category), evaluate_streams(params, category).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main, EACH)()
