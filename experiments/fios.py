"""Stage fios of experiments/dvc.yaml: write amplification by combination of FIOS's features, on every drive."""

from typing import TYPE_CHECKING

from cachezoo.figures.fios import FILE, PLOT
from cachezoo.figures.fios_plot import draw
from cachezoo.figures.fios_run import fios
from cachezoo.io import write_json
from cachezoo.jobs import processes, side_by_side
from cachezoo.stage import stage

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params") -> None:
    """Run the drives, write the table and its plot."""
    with processes(side_by_side(2)) as pool:
        found = fios(params, pool)
    draw(found, PLOT)
    write_json(FILE, found.model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
