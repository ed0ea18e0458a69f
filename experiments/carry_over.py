"""Stage carry_over of experiments/dvc.yaml: the next-use forest on programs and set-ups that its fit has not seen."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.jobs import processes, side_by_side
from cachezoo.stage import stage
from cachezoo.systems.reuse.carried import FILE, PLOT
from cachezoo.systems.reuse.carried_plot import draw
from cachezoo.systems.reuse.carry_over import carry_over

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params") -> None:
    """Fit, run, write the table and its plot."""
    with processes(side_by_side(2)) as pool:
        found = carry_over(params, pool)
    draw(found, PLOT)
    write_json(FILE, found.model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
