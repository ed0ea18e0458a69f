"""Stage evaluate_reuse: the cache of forest and classics on all test traces, at home and away."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.io import write_json
from cachezoo.stage import stage
from cachezoo.zoo.reuse.evaluate import evaluate_reuse

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


def main(params: "Params") -> None:
    """Evaluate the model."""
    write_json(paths.overall_metrics("reuse"), evaluate_reuse(params).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
