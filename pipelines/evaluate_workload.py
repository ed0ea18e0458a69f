"""Stage evaluate_workload: the classifier and its baseline on the test traces and on mixtures of them."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.evaluation.workload import evaluate_workload
from cachezoo.io import write_json
from cachezoo.stage import stage

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


@stage
def main(params: "Params") -> None:
    """Evaluate the classifier."""
    model_dir = paths.trained(f"workload.{params.model.workload.arch}")
    write_json(paths.metrics("workload"), evaluate_workload(model_dir, params))


if __name__ == "__main__":
    main()
