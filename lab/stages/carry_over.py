"""Stage carry_over of lab/dvc.yaml: the next-use forest on programs and set-ups that its fit has not seen."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.jobs import processes, side_by_side
from cachezoo.stage import stage
from lab.carry_over.document import FILE, PLOT
from lab.carry_over.plot import draw
from lab.carry_over.run import carry_over

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
