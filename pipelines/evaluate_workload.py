"""Stage evaluate_workload: the classifier and its baseline on the test traces and on mixtures of them."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.io import write_json
from cachezoo.stage import stage
from cachezoo.zoo.workload.evaluate import evaluate_workload

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


def main(params: "Params") -> None:
    """Evaluate the classifier."""
    model_dir = paths.trained(f"workload.{params.model.workload.arch}")
    write_json(paths.overall_metrics("workload"), evaluate_workload(model_dir, params).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
