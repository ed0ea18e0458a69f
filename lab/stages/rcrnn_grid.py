"""Stage rcrnn_grid of lab/dvc.yaml: the workload classifier with other units and windows (RC-RNN, Fig. 8)."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.stage import stage
from lab.rcrnn.grid_fit import fit_grid
from lab.rcrnn.trained import GRID

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params") -> None:
    """Train, write the accuracies."""
    write_json(GRID, fit_grid(params).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
